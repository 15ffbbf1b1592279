"""Whether jobs of a Grid Engine cell are run again when they are lost, and how long their machines may be silent.

A job of `qsub` is run again if it was submitted with `-r y`, or without `-r` to a queue with `rerun`. The run that
grants its slots knows that of the queue, and says so in `CellTask` (``Rerun``), with the time after which jobs of an
unknown host are run again (``RescheduleAfter``, s; none for never).

* Its machine is silent: it is run again after that time. Else it stays where it is until the machine is heard of, for
  it may run there. The machine keeps the job as long without a sign of life from the queue, so none runs twice.
* Its machine has lost it (restarted, or lost its state): it is run again, or it is over. One whose epilog failed
  is run again always.
* Its machine's owner or the pool takes the slot away, which no Grid Engine does: it is run again, unless it was
  submitted with `-r n`.

Other jobs are run again in all these cases, and have leases of their own (JobLeaseDuration). Source: sge_conf(5),
queue_conf(5), and what Grid Engine 8.1.9 does when hosts fail.
"""

from __future__ import annotations

from typing import Final

from roost.classad import ClassAd
from roost.classad.values import fold
from roost.model import cell_requests as cell
from roost.model.cell_accounting import MIGRATING
from roost.model.codes import VacateCode
from roost.schedd.jobs.book import Job

#: A lease that does not end before the job does, s: ten years.
FOREVER_S: Final = 315_360_000
#: Ends of runs by which a machine, its owner, or the pool has taken its slot away.
_TAKEN_AWAY: Final = frozenset(
    (
        VacateCode.STARTD_VACATE_COMMAND, VacateCode.STARTD_PREEMPT_EXPRESSION, VacateCode.STARTD_EXCEPTION,
        VacateCode.STARTD_SHUTDOWN, VacateCode.STARTD_DRAINING, VacateCode.STARTD_COALESCE,
        VacateCode.STARTD_HIBERNATE, VacateCode.STARTD_RELEASE_COMMAND, VacateCode.STARTD_PREEMPTING_CLAIM_RANK,
        VacateCode.STARTD_PREEMPTING_CLAIM_USER_PRIO, VacateCode.STARTD_REHOMING, VacateCode.RECONNECT_FAILED,
    )
)  # fmt: skip
#: Ends by which a machine says that it lost sight of a run.
_LOST: Final = frozenset((VacateCode.STARTER_ERROR,))
#: `CellFailed` of a run whose job had ended, and whose epilog failed: the machine saw how it ended.
_IN_EPILOG: Final = frozenset((14, 15))
_NAME, _RERUN = fold(cell.NAME), fold(cell.RERUN)


def task_of(ad: ClassAd) -> ClassAd | None:
    """What a job of `qsub` got of the cell; None for any other job, and for one that got nothing yet."""
    if ad.cell(_NAME).__class__ is not str:
        return None
    task = ad.get(cell.TASK)
    return task if isinstance(task, ClassAd) else None


def reruns(ad: ClassAd) -> bool:
    """Whether a job that was lost with its machine is run again."""
    task = task_of(ad)
    if task is None:
        return True
    if cell.INTERACTIVE in ad:
        # Its user is connected to this run.
        return False
    asked = ad.cell(_RERUN)
    return asked == "y" or (asked != "n" and task.get("Rerun") is True)


def lease_s(ad: ClassAd, *, is_part: bool = False) -> int:
    """How long a machine keeps the claim of a job without a sign of life, s; 0 or less for no lease.

    `is_part`: the job runs elsewhere, and the claim is for slave tasks of it. A parallel job is run again when the
    host of its master is unknown, and not for any other host.
    """
    task = task_of(ad)
    if task is None:
        lease = ad.eval("JobLeaseDuration")
        return lease if isinstance(lease, int) else 0
    after_s = task.get("RescheduleAfter")
    if is_part or not reruns(ad) or not isinstance(after_s, int | float):
        return FOREVER_S
    return max(1, int(after_s))


def is_over(job: Job, code: int, attributes: ClassAd) -> bool:
    """Whether a job whose begun run was ended by its machine is not to be run again; `code` says why it was ended."""
    task = task_of(job.ad)
    if task is None or attributes.get("CellFailed") == MIGRATING:
        return False
    if code in _LOST:
        return not reruns(job.ad) and attributes.get("CellFailed") not in _IN_EPILOG
    return code in _TAKEN_AWAY and job.ad.cell(_RERUN) == "n"
