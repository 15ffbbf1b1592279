"""Handlers of a machine's reports during a run: suspension, file transfer, usage.

A report about a run that is not the job's current one is outdated, and changes nothing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from roost.classad import ClassAd
from roost.classad.values import fold
from roost.model.addresses import daemon_address
from roost.model.claims import RunStanding
from roost.schedd.cell.usage import charge
from roost.schedd.claims.claim_table import ClaimTable
from roost.schedd.claims.held_claims import HeldClaim
from roost.schedd.effects import StandStill
from roost.schedd.event_log import log
from roost.schedd.events import FilesMoved, JobSaid, RunMeasured, RunSaved, RunStoodStill
from roost.schedd.identifiers import JobId
from roost.schedd.jobs.book import GROUPS, Job
from roost.schedd.jobs.job_transitions import On
from roost.schedd.jobs.owned import COUNTED, IMMUTABLE
from roost.schedd.status import ON_MACHINE, JobStatus
from roost.schedd.work import PLAIN, Work

#: Reported attributes that are not taken over, because the queue maintains them and policies rely on them.
_OWN: Final = IMMUTABLE | COUNTED | frozenset(map(fold, (*GROUPS, "JobStartDate", "NumCkptsThisRun")))
#: Several events of a run follow each other.
_read: Final = lru_cache(maxsize=4096)(JobId.read)
#: Fraction by which ImageSize, KiB, must grow before it is logged again.
_GROWTH: Final = 1.0
_Stage: Final = log.TransferStage
#: Transfer stages in reports to those in the log.
_STAGES: Final = {
    "input-queued": _Stage.INPUT_QUEUED,
    "input-started": _Stage.INPUT_STARTED,
    "input-finished": _Stage.INPUT_FINISHED,
    "output-queued": _Stage.OUTPUT_QUEUED,
    "output-started": _Stage.OUTPUT_STARTED,
    "output-finished": _Stage.OUTPUT_FINISHED,
}


def present(work: Work, run: str, claim_id: str) -> Job | None:
    """The job whose current run has that name, and is on that claim: names of runs are not secret, claims are."""
    try:
        name = _read(run.partition("#")[0])
    except ValueError:
        return None
    cluster = work.book.clusters.get(name.cluster)
    # A job to which nothing has happened has no run.
    job = None if cluster is None else cluster.jobs.get(name.proc)
    return job if job is not None and job.run == run and job.claim_id == claim_id else None


def address(claim_table: ClaimTable, job: Job) -> str:
    claim = claim_table.claims.get(job.claim_id)
    return "" if claim is None else daemon_address(claim_table.settings.place, claim.node, "startd")


def run_stood_still(work: Work, claim_table: ClaimTable, event: RunStoodStill) -> None:
    """Note that the job has been suspended, or continued. This completes a command that wanted it."""
    job = present(work, event.run, event.claim_id)
    if job is None or job.status not in ON_MACHINE:
        return
    _take_note(work, job, event)
    claim = claim_table.claims.get(event.claim_id)
    if claim is None:
        return
    if claim.still is event.still:
        _carried_out(work, claim)
    elif not event.still and claim.still is None:
        claim.by_command = False


def _take_note(work: Work, job: Job, event: RunStoodStill) -> None:
    at = int(event.at)
    if event.still and job.status is not JobStatus.SUSPENDED:
        work.move(job, On.SUSPENDED)
        work.set(job, LastSuspensionTime=at, TotalSuspensions=job.whole("totalsuspensions") + 1)
        work.log(job, lambda ad: log.JobSuspended(processes=event.processes))
    elif not event.still and job.status is JobStatus.SUSPENDED:
        work.move(job, On.CONTINUED)
        count_suspension(work, job, at)
        work.log(job, lambda ad: log.JobUnsuspended())


def agree(work: Work, claim: HeldClaim, standing: str) -> None:
    """Compare a machine's report of the run on a claim with the queue's record, and with what a command wants.

    Orders to suspend and continue, and reports that they were carried out, may be lost. An order that was carried out
    is not repeated: from then on the machine's policy may reverse it.
    """
    job = None if claim.job is None else work.book.find(claim.job)
    if not standing or job is None or job.run != claim.run or job.status not in ON_MACHINE:
        return
    still = standing != RunStanding.RUNNING
    _take_note(work, job, RunStoodStill(claim_id=claim.id, run=claim.run, at=work.now, still=still))
    by_command = standing == RunStanding.SUSPENDED_BY_COMMAND
    if claim.still is by_command:
        _carried_out(work, claim)
    elif claim.still is None:
        claim.by_command = by_command
    elif claim.still is not None:
        stand_still(work, claim)


def _carried_out(work: Work, claim: HeldClaim) -> None:
    """Note that a command on the run of a claim has been carried out."""
    claim.still = None
    work.keep(claim)


def stand_still(work: Work, claim: HeldClaim) -> None:
    """Order what a command wants for the run on a claim."""
    assert claim.still is not None
    work.order(StandStill(node=claim.node, claim_id=claim.id, run=claim.run, still=claim.still))


def count_suspension(work: Work, job: Job, at: int) -> None:
    since = job.whole("lastsuspensiontime")
    if since:
        work.set(job, CumulativeSuspensionTime=job.whole("cumulativesuspensiontime") + max(0, at - since))
        work.set(job, LastSuspensionTime=0)


def files_moved(work: Work, claim_table: ClaimTable, event: FilesMoved) -> None:
    """Note that a job's files are being transferred, or have arrived. While output is transferred, the job's ad shows
    it.
    """
    job, stage = present(work, event.run, event.claim_id), _STAGES.get(event.stage)
    if job is None or stage is None:
        return
    queued = _queued_since(work, job, stage, int(event.at))
    # As in HTCondor: the machine is named once, when its input begins to wait or to transfer.
    names_host = stage in (_Stage.INPUT_QUEUED, _Stage.INPUT_STARTED) and queued is None
    host = address(claim_table, job) if names_host else ""
    waited_s = None if queued is None else max(0, int(event.at) - queued)
    work.log(job, log.FileTransfer(stage=stage, queued_s=waited_s, host=host))
    if stage in (_Stage.OUTPUT_QUEUED, _Stage.OUTPUT_STARTED) and job.status is JobStatus.RUNNING:
        work.move(job, On.OUTPUT_BEGAN)
    elif stage is _Stage.OUTPUT_FINISHED and job.status is JobStatus.TRANSFERRING_OUTPUT:
        work.move(job, On.OUTPUT_MOVED)


def _queued_since(work: Work, job: Job, stage: log.TransferStage, at: int) -> int | None:
    """When files whose transfer begins now began to wait for their turn; None if they did not wait."""
    match stage:
        case _Stage.INPUT_QUEUED:
            work.set(job, TransferQueued=True, TransferInQueued=at)
        case _Stage.OUTPUT_QUEUED:
            work.set(job, TransferQueued=True, TransferOutQueued=at)
        case _Stage.INPUT_STARTED | _Stage.OUTPUT_STARTED if job.truth("transferqueued"):
            work.set(job, TransferQueued=None)
            return job.whole("transferinqueued" if stage is _Stage.INPUT_STARTED else "transferoutqueued")
        case _:
            pass
    return None


def job_said(work: Work, event: JobSaid) -> None:
    """Write a running job's message to its event log."""
    job = work.book.find(event.job)
    if job is not None and job.run == event.run:
        work.log(job, log.Generic(text=event.text))


def run_saved(work: Work, event: RunSaved) -> None:
    """Note a checkpoint of the job."""
    job = present(work, event.run, event.claim_id)
    if job is not None:
        take_over(job, event.attributes)
        count_checkpoints(work, job, event.checkpoints, event.at)


def count_checkpoints(work: Work, job: Job, of_run: int, at: float) -> None:
    """Count checkpoints of the current run that were not reported before; `of_run`: how many it has made."""
    more = of_run - job.whole("numckptsthisrun")
    if more > 0:
        work.set(job, NumCkpts=job.whole("numckpts") + more, NumCkptsThisRun=of_run, LastCkptTime=int(at))
        work.log(job, log.Checkpointed.of)


def run_measured(work: Work, claim_table: ClaimTable, event: RunMeasured) -> None:
    """Take over new usage figures of a running job."""
    job = present(work, event.run, event.claim_id)
    if job is None:
        return
    before = job.whole("imagesize")
    take_over(job, event.attributes)
    charge(work, claim_table, job, event.run, event.at, event.attributes)
    work.touch(job)
    if job.whole("imagesize") > before * _GROWTH:
        work.log(
            job,
            log.ImageSize(
                image_size_kib=job.whole("imagesize"),
                memory_usage_mb=job.whole("memoryusage"),
                resident_set_kib=job.whole("residentsetsize"),
            ),
        )


def take_over(job: Job, attributes: ClassAd) -> None:
    """Take over a machine's report of a job."""
    if attributes.chained is not None:
        attributes = attributes.unchained()
    ad = job.ad
    cells = ad.cells
    # A spelling that both have registered first does not need to be compared.
    usual = ad.own_spellings is None and attributes.own_spellings is None
    for key, cell in attributes.cells.items():
        if key not in _OWN:
            if cell.__class__ in PLAIN and (usual or key in cells):
                cells[key] = cell
            else:
                ad.put(attributes.spelling(key), cell)
