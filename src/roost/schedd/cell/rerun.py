"""Whether jobs of a Grid Engine cell are rerun when they are lost, and how long their machines may be silent.

A job of `qsub` is rerun if it was submitted with `-r y`, or without `-r` to a queue with `rerun`. The scheduling run
that grants its slots knows the queue's setting, and records it in `CellTask` (``Rerun``), with the time after which
jobs of an unknown host are rerun (``RescheduleAfter``, s; none for never).

* Its machine is silent: the job is rerun after that time. Until then it stays where it is, because it may still be
  running. The machine keeps the job for the same time without a keepalive from the queue, so no job runs twice.
* Its machine has lost it (restarted, or lost its state): the job is rerun, or it is over. A job whose epilog failed is
  always rerun.
* Its machine's owner or the pool takes the slot away, which no Grid Engine does: the job is rerun unless it was
  submitted with `-r n`.

A job that is rescheduled because it exited with 99 or by `qmod -rj` does not start on the same host until that host has
reported twice (``CleanUp``, s): Grid Engine waits until the host reports that it has cleaned up.

Other jobs are rerun in all these cases, and have their own leases (JobLeaseDuration). Source: sge_conf(5),
queue_conf(5), and the behaviour of Grid Engine 8.1.9 when hosts fail.
"""

from __future__ import annotations

from typing import Final

from roost.classad import ClassAd
from roost.classad.values import fold
from roost.model import cell_requests as cell
from roost.model.cell_accounting import MIGRATING
from roost.model.codes import VacateCode
from roost.schedd.jobs.book import Job
from roost.schedd.work import Work

#: Exit status with which jobs and scripts of queues ask for a rerun.
AGAIN: Final = 99
#: A lease that does not expire before the job ends, s: ten years.
FOREVER_S: Final = 315_360_000
#: Ends of runs in which a machine, its owner, or the pool took the slot away.
_TAKEN_AWAY: Final = frozenset(
    (
        VacateCode.STARTD_VACATE_COMMAND, VacateCode.STARTD_PREEMPT_EXPRESSION, VacateCode.STARTD_EXCEPTION,
        VacateCode.STARTD_SHUTDOWN, VacateCode.STARTD_DRAINING, VacateCode.STARTD_COALESCE,
        VacateCode.STARTD_HIBERNATE, VacateCode.STARTD_RELEASE_COMMAND, VacateCode.STARTD_PREEMPTING_CLAIM_RANK,
        VacateCode.STARTD_PREEMPTING_CLAIM_USER_PRIO, VacateCode.STARTD_REHOMING, VacateCode.RECONNECT_FAILED,
    )
)  # fmt: skip
#: Ends with which a machine reports that it lost track of a run.
_LOST: Final = frozenset((VacateCode.STARTER_ERROR,))
#: `CellFailed` of a run whose job had ended and whose epilog failed: the machine observed its end.
_IN_EPILOG: Final = frozenset((14, 15))
_NAME, _RERUN = fold(cell.NAME), fold(cell.RERUN)


def task_of(ad: ClassAd) -> ClassAd | None:
    """What a job of `qsub` was granted in the cell; None for any other job, and for one that has nothing yet."""
    if ad.cell(_NAME).__class__ is not str:
        return None
    task = ad.get(cell.TASK)
    return task if isinstance(task, ClassAd) else None


def reruns(ad: ClassAd) -> bool:
    """Whether a job that was lost with its machine is rerun."""
    task = task_of(ad)
    if task is None:
        return True
    if cell.INTERACTIVE in ad:
        # Its user is connected to this run.
        return False
    asked = ad.cell(_RERUN)
    return asked == "y" or (asked != "n" and task.get("Rerun") is True)


def lease_s(ad: ClassAd, *, is_part: bool = False) -> int:
    """How long a machine keeps the claim of a job without a keepalive, s; 0 or less for no lease.

    `is_part`: the job runs elsewhere, and the claim is for its slave tasks. A parallel job is rerun when the host of
    its master is unknown, but not for any other host.
    """
    task = task_of(ad)
    if task is None:
        lease = ad.eval("JobLeaseDuration")
        return lease if isinstance(lease, int) else 0
    after_s = task.get("RescheduleAfter")
    if is_part or not reruns(ad) or not isinstance(after_s, int | float):
        return FOREVER_S
    return max(1, int(after_s))


def note_clean_up(work: Work, job: Job, code: int, subcode: int) -> None:
    """Note that a machine ended a run whose job is to be rerun; the codes say why."""
    task = task_of(job.ad)
    after_s = None if task is None else task.get("CleanUp")
    if task is None or not isinstance(after_s, int | float):
        return
    if subcode == AGAIN or code == VacateCode.USER_VACATE_JOB:
        host = str(task.get("Instance", "")).partition("@")[2]
        work.set(job, **{cell.CLEANED: f"{host} {work.now + after_s:.0f}"})


def is_over(job: Job, code: int, attributes: ClassAd) -> bool:
    """Whether a job whose begun run was ended by its machine is not to be rerun; `code` says why the run ended."""
    task = task_of(job.ad)
    if task is None or attributes.get("CellFailed") == MIGRATING:
        return False
    if code in _LOST:
        return not reruns(job.ad) and attributes.get("CellFailed") not in _IN_EPILOG
    return code in _TAKEN_AWAY and job.ad.cell(_RERUN) == "n"
