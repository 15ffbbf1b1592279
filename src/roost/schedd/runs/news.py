"""What a machine tells of a run while it lasts: it stands still, its files are moved, it uses so much.

A word about a run that is not the job's present one is about the past, and changes nothing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from roost.classad import ClassAd
from roost.classad.values import fold
from roost.model.addresses import daemon_address
from roost.model.claims import Standing
from roost.schedd.admission.owned import COUNTED, IMMUTABLE
from roost.schedd.cell.usage import charge
from roost.schedd.claims.claim_table import ClaimTable
from roost.schedd.claims.held_claims import HeldClaim
from roost.schedd.effects import StandStill
from roost.schedd.event_log import log
from roost.schedd.events import FilesMoved, JobSaid, RunMeasured, RunSaved, RunStoodStill
from roost.schedd.identifiers import JobId
from roost.schedd.jobs.book import GROUPS, Job
from roost.schedd.jobs.job_transitions import On
from roost.schedd.status import ON_MACHINE, JobStatus
from roost.schedd.work import PLAIN, Work

#: Of what a machine says of a job, what is not taken over: the queue knows better, and policies rely on it.
_OWN: Final = IMMUTABLE | COUNTED | frozenset(map(fold, (*GROUPS, "JobStartDate", "NumCkptsThisRun")))
#: Several events of a run come one after the other.
_read: Final = lru_cache(maxsize=4096)(JobId.read)
#: ImageSize, KiB, has to grow by this part before the event log is told again.
_GROWTH: Final = 1.0
#: What machines say of files that are moved, to what the log says.
_STAGES: Final = {
    "input-started": log.TransferStage.INPUT_STARTED,
    "input-finished": log.TransferStage.INPUT_FINISHED,
    "output-started": log.TransferStage.OUTPUT_STARTED,
    "output-finished": log.TransferStage.OUTPUT_FINISHED,
}


def present(work: Work, run: str, claim_id: str) -> Job | None:
    """The job whose present run has that name, and is on that claim: names of runs are not secrets, claims are."""
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


def run_stood_still(work: Work, event: RunStoodStill) -> None:
    """The job has been suspended, or goes on."""
    job = present(work, event.run, event.claim_id)
    if job is None or job.status not in ON_MACHINE:
        return
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
    """Compare with what the queue knows, and what a command wants, what a machine says of the run on a claim.

    Orders to suspend and continue, and the news that they were carried out, may be lost.
    """
    job = None if claim.job is None else work.book.find(claim.job)
    if not standing or job is None or job.run != claim.run or job.status not in ON_MACHINE:
        return
    run_stood_still(
        work,
        RunStoodStill(claim_id=claim.id, run=claim.run, at=work.now, still=standing != Standing.RUNNING),
    )
    if claim.still is not None and claim.still is not (standing == Standing.SUSPENDED_BY_COMMAND):
        stand_still(work, claim)


def stand_still(work: Work, claim: HeldClaim) -> None:
    """Order what a command wants of the run on a claim."""
    assert claim.still is not None
    work.order(StandStill(node=claim.node, claim_id=claim.id, run=claim.run, still=claim.still))


def count_suspension(work: Work, job: Job, at: int) -> None:
    since = job.whole("lastsuspensiontime")
    if since:
        work.set(job, CumulativeSuspensionTime=job.whole("cumulativesuspensiontime") + max(0, at - since))
        work.set(job, LastSuspensionTime=0)


def files_moved(work: Work, claim_table: ClaimTable, event: FilesMoved) -> None:
    """Files of a job are on their way, or there. A job whose output is moved while it is on the machine shows it."""
    job, stage = present(work, event.run, event.claim_id), _STAGES.get(event.stage)
    if job is None or stage is None:
        return
    started = stage in (log.TransferStage.INPUT_STARTED, log.TransferStage.OUTPUT_STARTED)
    work.log(job, log.FileTransfer(stage=stage, host=address(claim_table, job) if started else ""))
    if stage is log.TransferStage.OUTPUT_STARTED and job.status is JobStatus.RUNNING:
        work.move(job, On.OUTPUT_BEGAN)
    elif stage is log.TransferStage.OUTPUT_FINISHED and job.status is JobStatus.TRANSFERRING_OUTPUT:
        work.move(job, On.OUTPUT_MOVED)


def job_said(work: Work, event: JobSaid) -> None:
    """Write what a running job says into its event log."""
    job = work.book.find(event.job)
    if job is not None and job.run == event.run:
        work.log(job, log.Generic(text=event.text))


def run_saved(work: Work, event: RunSaved) -> None:
    """The job's state has been saved."""
    job = present(work, event.run, event.claim_id)
    if job is not None:
        take_over(job, event.attributes)
        count_checkpoints(work, job, event.checkpoints, event.at)


def count_checkpoints(work: Work, job: Job, of_run: int, at: float) -> None:
    """Count checkpoints of the present run that were not heard of yet; `of_run`: how many it has made."""
    more = of_run - job.whole("numckptsthisrun")
    if more > 0:
        work.set(job, NumCkpts=job.whole("numckpts") + more, NumCkptsThisRun=of_run, LastCkptTime=int(at))
        work.log(job, log.Checkpointed.of)


def run_measured(work: Work, claim_table: ClaimTable, event: RunMeasured) -> None:
    """New figures of a running job."""
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
    """Take over what a machine says of a job."""
    if attributes.chained is not None:
        attributes = attributes.unchained()
    ad = job.ad
    cells = ad.cells
    # What both spell as the first ads had it needs no look at how.
    usual = ad.own_spellings is None and attributes.own_spellings is None
    for key, cell in attributes.cells.items():
        if key not in _OWN:
            if cell.__class__ in PLAIN and (usual or key in cells):
                cells[key] = cell
            else:
                ad.put(attributes.spelling(key), cell)
