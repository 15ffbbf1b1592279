"""The scheduling run of a Grid Engine cell: a pure function from a snapshot to a plan.

`run` computes priorities and dispatches the waiting tasks, best priority first, each to the best instance that accepts
it: the one with the fewest soft requests unmet, then by load or sequence number. Every dispatch is booked before the
next job is considered: slots and consumables on `global`, the host and the instance, exclusive use, resource quotas,
load adjustments, and queues that it suspends on its host. For jobs with ``-R y`` that cannot start, up to
`max_reservation` of them, the run reserves what they need from the earliest time at which they fit; later jobs may
start if they end before that, or do not need the same resources. Waiting jobs keep the reasons for which they were
refused, in the words of `qstat -j`, regardless of `schedd_job_info`, which only affects what commands print. The plan
also says which tasks suspend thresholds and slot-wise subordination suspend and resume. The same snapshot gives the
same plan.

What it does not do
    It does not record usage: if a cell has share tree tickets, a snapshot without usage is refused with `NotScheduled`.
    Of several parallel environments that a pattern names, the first by name is used if soft requests do not decide;
    Grid Engine uses the oldest.

The modules
    `snapshot` and `plan` are input and output. `loads`, `ledger`, `quotas` and `states` hold what changes during a run,
    `matching` says whether a job fits, `allocation` spreads the slots of a parallel one, `durations` estimates how long
    jobs run, `booked` gives the view of jobs of an advance reservation, `priority`, `tickets` and `share_tickets` order
    jobs, `suspension` suspends tasks, `dispatch` is the loop, `reasons` has the texts.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator

from roost.base.records import replace
from roost.gridengine.instances import QueueInstance
from roost.gridengine.scheduling.allocation import Allocation
from roost.gridengine.scheduling.dispatch import Dispatcher
from roost.gridengine.scheduling.ledger import Window
from roost.gridengine.scheduling.plan import Dispatch, Reservation, SchedulingPlan, Suspension
from roost.gridengine.scheduling.priority import turn
from roost.gridengine.scheduling.reasons import Reason
from roost.gridengine.scheduling.snapshot import (
    Booked,
    CellSnapshot,
    Grant,
    HostReport,
    PendingJob,
    Range,
    Request,
    RunningTask,
    UsageOwner,
)
from roost.model.cell_priority import Priority

__all__ = [
    "Allocation",
    "Booked",
    "CellSnapshot",
    "Dispatch",
    "Grant",
    "HostReport",
    "NotScheduled",
    "PendingJob",
    "Priority",
    "Range",
    "Request",
    "Reservation",
    "RunningTask",
    "SchedulingPlan",
    "Suspension",
    "UsageOwner",
    "allot",
    "run",
    "running",
    "turn",
    "unsupported",
]


class NotScheduled(Exception):
    """The cell has a setting that the run does not support."""


def unsupported(snapshot: CellSnapshot) -> Iterator[str]:
    """Settings of a cell that the run does not support."""
    if snapshot.cell.scheduler.weight_tickets_share and snapshot.cell.share_tree and snapshot.usage is None:
        yield "weight_tickets_share"


def allot(
    snapshot: CellSnapshot, request: Request, start: float, end: float, takes: Callable[[QueueInstance], bool]
) -> Allocation | tuple[Reason, ...]:
    """What an advance reservation would get from `start` to `end` (epoch s), from the instances that may be used.

    If there is not enough, the reasons. Quotas do not count, nor do slots of machines that are in use now.
    """
    free = replace(snapshot, pending=(), cell=replace(snapshot.cell, quota_sets={}))
    instances = free.instances
    return Dispatcher(free, timed=True).allot(request, Window(start, end), lambda at: takes(instances[at]))


def run(snapshot: CellSnapshot) -> SchedulingPlan:
    """Decide what starts; raise `NotScheduled` if the cell has a setting that the run does not support."""
    steps = running(snapshot)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            plan: SchedulingPlan = end.value
            return plan


def running(snapshot: CellSnapshot) -> Generator[None, object, SchedulingPlan]:
    """`run` in steps of one job each; the first step is longer, because it examines all hosts."""
    missing = list(unsupported(snapshot))
    if missing:
        raise NotScheduled(f"the scheduling run does not do these yet: {', '.join(missing)}; take them out of the cell")
    yield
    return (yield from Dispatcher(snapshot).steps())
