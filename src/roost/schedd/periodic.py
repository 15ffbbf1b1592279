"""Periodic work: keepalives to machines, claims given up after silence, and job policy.

Periodic policy costs nothing for clusters without any of its expressions, unless the administrator has set some for all
jobs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from roost.classad.allowance import EXPRESSION_STEPS, UNLIMITED, Allowance
from roost.model.codes import VacateCode
from roost.schedd.cell.rerun import lease_s
from roost.schedd.changes import AddAudit
from roost.schedd.claims.claim_table import ClaimTable
from roost.schedd.claims.held_claims import ALIVES_A_LEASE, HeldClaim, Stage
from roost.schedd.effects import AskAgain, EndRun, GiveBack, SayAlive
from roost.schedd.events import ClaimLost, ClaimsHeard
from roost.schedd.job_policy.expressions import Occasion, Outcome, Verdict, decide
from roost.schedd.job_policy.policy_round import JOBS_A_STEP, STEPS_A_STEP, Round, has_policy
from roost.schedd.jobs.book import Cluster, Job
from roost.schedd.jobs.job_transitions import On
from roost.schedd.runs.course import ask_for_slot, claim_lost, end_again, give_back
from roost.schedd.runs.outcome import HoldReason, carry_out, hold, leave_at_last, leave_removed, note_verdict, remove
from roost.schedd.runs.recurring import look
from roost.schedd.status import JobStatus
from roost.schedd.work import Work

#: How long a machine may be silent after a slot was requested, s. A machine whose slot must first evict a job says so.
_ANSWER_S: Final = 120.0
#: Interval at which unexecuted orders are repeated, and machines are asked about claims in doubt, s.
ASK_AGAIN_S: Final = 20.0
#: How long a machine may be silent after a message, s, before the message is repeated: it or its answer was lost, and a
#: slot is idle until that is noticed.
QUIET_S: Final = 5.0
#: How often the interval between two requests for the same slot is doubled.
_LESS_OFTEN: Final = 2
#: A longer time without a tick means that the whole machine was paused, s.
_PAUSE_S: Final = 120.0
#: The lease of a claim whose job is gone, s.
_LEASE_S: Final = 2400.0
#: Stages in which a machine is known to hold a claim.
_HELD: Final = frozenset((Stage.IDLE, Stage.RUNNING))
#: Statuses of jobs to which periodic policy applies.
_JUDGED: Final = frozenset(
    (JobStatus.IDLE, JobStatus.RUNNING, JobStatus.SUSPENDED, JobStatus.HELD, JobStatus.TRANSFERRING_OUTPUT,
     JobStatus.COMPLETED)
)  # fmt: skip


class Clock:
    """When each kind of work was last done, epoch s."""

    __slots__ = ("asked_at", "policy_at", "resume", "round", "ticked_at")

    def __init__(self, now: float) -> None:
        self.asked_at = now
        self.policy_at = now
        self.ticked_at = now
        #: The evaluation of all jobs' policies in progress.
        self.round: Round | None = None
        #: Owner to cluster and number of the job at which the next evaluation begins.
        self.resume: dict[str, tuple[int, int]] = {}


def tick(work: Work, claim_table: ClaimTable, clock: Clock) -> None:
    """Do everything that is due."""
    settings = claim_table.settings
    if claim_table.pauses.ended(work.book.clusters, work.now):
        work.offer()
    if work.now - clock.ticked_at > _PAUSE_S:
        # This machine slept, and could not have received anything.
        for claim in claim_table.claims.values():
            claim.heard_at = work.now
    clock.ticked_at = work.now
    work.changes.extend(AddAudit(record=each) for each in claim_table.vetoes.due(work.now))
    look(work)
    _send_due_keepalives(work, claim_table)
    _ask_the_quiet(work, claim_table)
    if work.now - clock.asked_at >= ASK_AGAIN_S:
        clock.asked_at = work.now
        _ask_again(work, claim_table)
        _give_up(work, claim_table)
    if work.now - clock.policy_at >= settings.periodic_interval_s:
        clock.policy_at = work.now
        if clock.round is None:
            clock.round = Round(work.book.clusters, clock.resume)
    go_on(work, claim_table, clock)


def _send_due_keepalives(work: Work, claim_table: ClaimTable) -> None:
    """Send the keepalives that are due: each claim has its own interval."""
    held = (each for each in claim_table.claims.values() if each.stage in _HELD)
    _keep_alive(work, claim_table, [each for each in held if work.now - each.alive_at >= each.alive_s])


def answer_alive(work: Work, claim_table: ClaimTable, event: ClaimsHeard) -> None:
    """Answer a machine that asks for keepalives before leases expire."""
    known = (claim_table.claims.get(claim_id) for claim_id in event.known)
    _keep_alive(work, claim_table, [each for each in known if each is not None and each.stage in _HELD])


def _keep_alive(work: Work, claim_table: ClaimTable, claims: list[HeldClaim]) -> None:
    nodes: dict[str, list[str]] = {}
    for claim in claims:
        claim.alive_at = work.now
        nodes.setdefault(claim.node, []).append(claim.id)
    if not nodes:
        return
    claim_table.asks += 1
    for node, ids in nodes.items():
        work.order(SayAlive(node=node, claim_ids=tuple(ids), serial=claim_table.asks))


def _ask_again(work: Work, claim_table: ClaimTable) -> None:
    """Repeat what machines have not answered: any message may be lost."""
    claims = claim_table.claims.values()
    ask_about_claims(work, claim_table, {claim.node for claim in claims if claim.stage is Stage.UNSURE})
    for claim in claims:
        end_again(work, claim_table, claim)


def _ask_the_quiet(work: Work, claim_table: ClaimTable) -> None:
    """Ask machines that have not answered a request for a slot or the start of a run."""
    claims = list(claim_table.claims.values())
    _keep_alive(
        work,
        claim_table,
        [
            each
            for each in claims
            if each.stage is Stage.RUNNING and not each.confirmed and work.now - each.heard_at >= QUIET_S
        ],
    )
    for claim in claims:
        # The machine may have granted the slot, and its repeated answers may be lost. A machine whose slot must first
        # evict a job may take long, and is asked less and less often.
        patience_s = QUIET_S * 2 ** min(claim.askings - 1, _LESS_OFTEN)
        if claim.stage is Stage.ASKED and work.now - claim.asked_at >= patience_s:
            _ask_for_slot_again(work, claim_table, claim)


def _ask_for_slot_again(work: Work, claim_table: ClaimTable, claim: HeldClaim) -> None:
    """Repeat a request, or withdraw it if its job no longer wants the slot.

    The request may be waiting for another job to leave, which is spared if the withdrawal arrives in time.
    """
    job = None if claim.job is None else work.book.find(claim.job)
    if job is not None and job.status is JobStatus.IDLE:
        ask_for_slot(work, claim, job)
    else:
        withdraw(work, claim_table, claim, "the job no longer wants the slot")


def withdraw(work: Work, claim_table: ClaimTable, claim: HeldClaim, reason: str, code: int = 0) -> None:
    """Give up a claim, and notify the machine in case it receives messages."""
    claim_lost(work, claim_table, ClaimLost(claim_id=claim.id, reason=reason, code=code))
    work.order(GiveBack(node=claim.node, claim_id=claim.id))


def ask_about_claims(work: Work, claim_table: ClaimTable, nodes: Iterable[str]) -> None:
    """Ask machines about the claims on them; they give up all claims that are not named."""
    claim_table.asks += 1
    known = claim_table.by_node()
    for node in sorted(nodes):
        work.order(AskAgain(node=node, claims=known.get(node, {}), serial=claim_table.asks))


def bus_came_back(work: Work, claim_table: ClaimTable) -> None:
    """Note that recent messages to or from machines may be lost."""
    for claim in list(claim_table.claims.values()):
        if claim.stage is Stage.ASKED:
            _ask_for_slot_again(work, claim_table, claim)
    ask_about_claims(
        work, claim_table, claim_table.nodes.keys() | {claim.node for claim in claim_table.claims.values()}
    )


def _give_up(work: Work, claim_table: ClaimTable) -> None:
    """Give up claims of machines that have fallen silent."""
    for claim in list(claim_table.claims.values()):
        silent_s = work.now - claim.heard_at
        if claim.stage is Stage.ASKED:
            if silent_s > _ANSWER_S:
                withdraw(work, claim_table, claim, "the machine does not answer")
            elif claim.gang is not None and work.now - claim.wanted_at > ASK_AGAIN_S:
                # Other machines may have granted theirs, which are idle meanwhile.
                withdraw(work, claim_table, claim, "not all slots of the parallel job were granted in time")
            elif work.now - claim.wanted_at > claim_table.settings.request_timeout_s:
                withdraw(work, claim_table, claim, "the slot was not free within REQUEST_CLAIM_TIMEOUT")
        elif claim.stage is Stage.OVER:
            # It was given up together with another claim of its job.
            continue
        elif claim.stage is Stage.IDLE:
            if claim.idle_since is not None and work.now - claim.idle_since > ASK_AGAIN_S:
                give_back(work, claim_table, claim)
        elif silent_s > 0 and silent_s > _lease_s(work, claim_table, claim):
            code = int(VacateCode.RECONNECT_FAILED)
            withdraw(work, claim_table, claim, "the machine did not respond", code)


def _lease_s(work: Work, claim_table: ClaimTable, claim: HeldClaim) -> float:
    """How long a machine may be silent: as long as it keeps the claim without a keepalive.

    A lease that is shorter than the keepalive interval lasts until the machine has missed as many keepalives as with
    any other lease.
    """
    job = None if claim.job is None else work.book.find(claim.job)
    if job is None:
        return _LEASE_S
    kept_s = lease_s(job.ad, is_part=claim.is_part)
    if kept_s > 0:
        return max(float(kept_s), ALIVES_A_LEASE * claim.alive_s)
    return claim_table.settings.alives_missed_max * claim.alive_s


# -- policy ----------------------------------------------------------------------------------------------------


def go_on(work: Work, claim_table: ClaimTable, clock: Clock) -> None:
    """Evaluate the policies of some more jobs, if an evaluation of all of them is in progress."""
    if clock.round is None:
        return
    with Allowance(UNLIMITED, EXPRESSION_STEPS) as allowance:
        for _ in range(JOBS_A_STEP):
            if allowance.left < UNLIMITED - STEPS_A_STEP:
                return
            found = clock.round.next(work.book, claim_table.system_policy.judges_periodically)
            if found is None:
                clock.round = None
                return
            before = allowance.left
            _apply_policy(work, claim_table, *found)
            clock.round.spent(found[0], before - allowance.left)


def _apply_policy(work: Work, claim_table: ClaimTable, cluster: Cluster, proc: int) -> None:
    """Carry out a job's policy; a completed or removed job stays as long as its policy wants."""
    status = cluster.status(proc)
    if status is JobStatus.COMPLETED:
        if cluster.ad_of(proc).eval("LeaveJobInQueue", None, work.world) is not True:
            leave_at_last(work, cluster.job(proc))
            return
    elif status is JobStatus.REMOVED and not cluster.job(proc).run:
        leave_removed(work, cluster.job(proc))
        return
    if status in _JUDGED and (claim_table.system_policy.judges_periodically or has_policy(cluster, proc)):
        _judge_one(work, claim_table, cluster, proc)


def _judge_one(work: Work, claim_table: ClaimTable, cluster: Cluster, proc: int) -> None:
    verdict = decide(cluster.ad_of(proc), claim_table.system_policy, work.world, Occasion.PERIODIC)
    if verdict.outcome is Outcome.STAY:
        return
    job = cluster.job(proc)
    if job.run:
        _on_machine(work, claim_table, job, verdict)
    else:
        carry_out(work, job, verdict)
        if job.status is not JobStatus.IDLE:
            claim_table.let_go(job)


def _on_machine(work: Work, claim_table: ClaimTable, job: Job, verdict: Verdict) -> None:
    """Carry out the policy of a job that has yet to leave its machine."""
    claim = claim_table.claims.get(job.claim_id)
    if claim is None:
        return
    ending = "evict"
    match verdict.outcome:
        case Outcome.HOLD:
            ending = "hold"
            hold(work, job, On.HOLD_POLICY, HoldReason(verdict.code, verdict.reason, verdict.subcode), tell=False)
        case Outcome.REMOVE:
            ending = "remove"
            remove(work, job, On.REMOVE_POLICY, verdict.reason)
        case Outcome.VACATE:
            pass
        case _:
            return
    note_verdict(work, job, verdict)
    work.order(EndRun.of(claim, ending, verdict.code, verdict.reason, subcode=verdict.subcode))
