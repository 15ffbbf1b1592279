"""The claims of a parallel job: it begins once it has all of them, and ends when one of them is over.

1. The negotiator assigns several slots to a job at once. All are requested for it (`form`).
2. When the last machine has granted its slot, the run is ordered on the claim of the master. The other claims are
   stored with it, so that a restarted queue finds all of them (`restore`). They have no run of their own.
3. Claims are released together: when one is refused or withdrawn before the run, and when the run is over (`left`).
4. If another claim than the master's ends during the run, the machine of the master is ordered to evict the job until
   it reports the end. The job is requeued, or leaves, as after any other eviction.

A granted claim that waits for others is released like any claim without a job (`periodic`), so a machine that does not
answer blocks the others only for a few seconds.
"""

from __future__ import annotations

from roost.classad import ClassAd
from roost.model.codes import VacateCode
from roost.schedd.cell.rerun import lease_s
from roost.schedd.claims.claim_table import ClaimTable
from roost.schedd.claims.claim_transitions import ClaimOn, move_claim
from roost.schedd.claims.held_claims import Gang, HeldClaim, Stage
from roost.schedd.effects import EndRun, GiveBack
from roost.schedd.events import MatchGiven
from roost.schedd.jobs.book import Job
from roost.schedd.status import JobStatus
from roost.schedd.work import Work


def form(work: Work, claim_table: ClaimTable, master: HeldClaim, event: MatchGiven, job: Job) -> None:
    """Form a gang from the claim of the master and those of the other parts of a match, if there are any."""
    if not event.parts:
        return
    gang = Gang(job=job.id, master=master, claims=[master])
    master.gang = gang
    for part in event.parts:
        claim = HeldClaim(
            id=part.claim_id,
            node=part.node,
            slot=part.slot,
            submitter=event.submitter,
            slot_ad=part.slot_ad,
            offered=part.slot_ad,
            task=part.task,
            job=job.id,
            wanted_at=work.now,
            heard_at=work.now,
            alive_s=claim_table.settings.alive_interval_s,
            alive_at=work.now,
            gang=gang,
        )
        gang.claims.append(claim)
        claim_table.claims[claim.id] = claim
        claim_table.nodes[claim.node] = None


def begun(work: Work, gang: Gang, job: Job) -> None:
    """Note that the run was ordered on the claim of the master: the others serve it."""
    for claim in gang.claims:
        if claim is not gang.master:
            move_claim(claim, ClaimOn.STARTED)
            claim.idle_since, claim.heard_at, claim.alive_at = None, work.now, work.now
            # It has no run that the machine could report.
            claim.confirmed = True
            claim.keep_within(lease_s(job.ad, is_part=True))
            work.keep(claim)


def release(work: Work, claim_table: ClaimTable, claim: HeldClaim) -> None:
    """End a claim from the queue's side, whatever its stage."""
    claim_table.claims.pop(claim.id, None)
    if claim.stage is Stage.ASKED:
        move_claim(claim, ClaimOn.LOST)
        work.drop(claim)
    else:
        move_claim(claim, ClaimOn.GIVEN_BACK)
        work.leave_slot(claim)
    work.order(GiveBack(node=claim.node, claim_id=claim.id))


def left(work: Work, claim_table: ClaimTable, claim: HeldClaim, why: str) -> None:
    """Handle the end of a claim: if it belongs to a gang, either the run ends, or all other claims are released and the
    job is idle again.
    """
    gang = claim.gang
    if gang is None:
        return
    claim.gang = None
    gang.claims.remove(claim)
    if claim is not gang.master and gang.master.run:
        gang.broken = gang.broken or f"{why} ({claim.slot})"
        end_broken(work, gang)
        return
    for other in gang.claims:
        other.gang, other.job, other.run = None, None, ""
        release(work, claim_table, other)
    gang.claims.clear()
    job = work.book.find(gang.job)
    if job is not None and job.claim_id == gang.master.id and not job.run:
        job.claim_id = ""
        work.set(job, LastRejMatchTime=int(work.now), LastRejMatchReason=f"{claim.slot}: {why}")
        claim_table.pauses.missed(job.id, work.now)
        back_to_idle(work, job)


def end_broken(work: Work, gang: Gang) -> None:
    """End the run of a gang that has lost a claim."""
    work.order(
        EndRun.of(
            gang.master,
            "evict",
            VacateCode.RECONNECT_FAILED,
            f"a slot of the parallel job was lost: {gang.broken}",
        )
    )


def back_to_idle(work: Work, job: Job) -> None:
    """Make a job idle again that was taken for a claim."""
    if job.status is JobStatus.IDLE:
        work.book.put_idle(job.cluster, job.id.proc)
        work.touch(job)
        work.offer()


def restore(work: Work, claim_table: ClaimTable, kept: list[HeldClaim]) -> None:
    """Form the gangs again from stored claims: those with runs are in force, `kept` are without one.

    A claim whose job is not running is no longer wanted. A gang that lacks a claim has lost it.
    """
    for claim in [each for each in claim_table.claims.values() if each.run and each.job is not None]:
        job = None if claim.job is None else work.book.find(claim.job)
        task = None if job is None else job.ad.get("CellTask")
        if job is not None and isinstance(task, ClassAd) and task.get("Parts", 1) > 1:
            claim.gang = Gang(job=job.id, master=claim, claims=[claim])
    for claim in kept:
        job = None if claim.job is None else work.book.find(claim.job)
        master = None if job is None else claim_table.claims.get(job.claim_id)
        if job is None or master is None or master.gang is None:
            claim.job, claim.unwanted = None, True
            continue
        claim.unwanted, claim.confirmed, claim.gang = False, True, master.gang
        claim.keep_within(lease_s(job.ad, is_part=True))
        master.gang.claims.append(claim)
    for claim in claim_table.claims.values():
        gang = claim.gang
        if gang is not None and gang.master is claim and len(gang.claims) < _parts(work, gang):
            gang.broken = "the restarted queue has no claim on it"


def _parts(work: Work, gang: Gang) -> int:
    job = work.book.find(gang.job)
    task = None if job is None else job.ad.get("CellTask")
    return int(task.get("Parts", 1)) if isinstance(task, ClassAd) else 1
