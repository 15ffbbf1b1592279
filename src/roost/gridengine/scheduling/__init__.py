"""The scheduling run of a Grid Engine cell: a pure function from a snapshot to a plan.

`run` computes priorities and dispatches the tasks that wait, best priority first, each to the best instance that takes
it: the one with the fewest soft requests unmet, then by load or sequence number. Every dispatch is booked before the
next job is looked at: slots and consumables on `global`, the host and the instance, exclusive use, resource quotas,
load adjustments, and queues that it suspends on its host. For jobs with ``-R y`` that cannot start, up to
`max_reservation` of them, the run keeps what they need from the first moment on at which they fit; jobs after them may
start if they end before, or do without. Jobs that wait keep the reasons of what refused them, in the words of
`qstat -j`; the run keeps them whatever `schedd_job_info` says, which is about what commands print. The plan also says
which tasks suspend thresholds and slot-wise subordination suspend and resume. The same snapshot gives the same plan.

What it does not do
    It keeps no usage: a snapshot without it of a cell with share tree tickets is refused with `NotScheduled`.
    Of several parallel environments that a pattern names, the first by name is taken if soft requests do not decide;
    Grid Engine takes the oldest.

The modules
    `snapshot` and `plan` are the two ends. `loads`, `ledger`, `quotas` and `states` hold what changes during a run,
    `matching` says whether a job fits, `allocation` spreads the slots of a parallel one, `durations` says how long jobs
    run, `booked` what jobs of an advance reservation see, `priority`, `tickets` and `share_tickets` order jobs,
    `suspension` suspends tasks, `dispatch` is the loop, `reasons` has the words.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator

from roost.base.records import replace
from roost.gridengine.instances import QueueInstance
from roost.gridengine.scheduling.allocation import Allocation
from roost.gridengine.scheduling.dispatch import Dispatcher
from roost.gridengine.scheduling.ledger import Window
from roost.gridengine.scheduling.plan import Dispatch, Plan, Reservation, Suspension
from roost.gridengine.scheduling.reasons import Reason
from roost.gridengine.scheduling.snapshot import (
    Account,
    Booked,
    Grant,
    HostReport,
    PendingJob,
    Range,
    Request,
    RunningTask,
    Snapshot,
)
from roost.model.cell_priority import Priority

__all__ = [
    "Account",
    "Allocation",
    "Booked",
    "Dispatch",
    "Grant",
    "HostReport",
    "NotScheduled",
    "PendingJob",
    "Plan",
    "Priority",
    "Range",
    "Request",
    "Reservation",
    "RunningTask",
    "Snapshot",
    "Suspension",
    "allot",
    "run",
    "running",
    "unsupported",
]


class NotScheduled(Exception):
    """The cell is configured with what the run does not do."""


def unsupported(snapshot: Snapshot) -> Iterator[str]:
    """What the configuration of a cell wants and the run does not do."""
    if snapshot.cell.scheduler.weight_tickets_share and snapshot.cell.share_tree and snapshot.usage is None:
        yield "weight_tickets_share"


def allot(
    snapshot: Snapshot, request: Request, start: float, end: float, takes: Callable[[QueueInstance], bool]
) -> Allocation | tuple[Reason, ...]:
    """What an advance reservation would get from `start` to `end` (epoch s), of the instances that may be taken.

    If there is not enough, the reasons. Quotas do not count, nor do slots of machines that are in use now.
    """
    free = replace(snapshot, pending=(), cell=replace(snapshot.cell, quota_sets={}))
    instances = free.instances
    return Dispatcher(free, timed=True).allot(request, Window(start, end), lambda at: takes(instances[at]))


def run(snapshot: Snapshot) -> Plan:
    """Decide what starts; raise `NotScheduled` if the cell wants what the run does not do."""
    steps = running(snapshot)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            plan: Plan = end.value
            return plan


def running(snapshot: Snapshot) -> Generator[None, object, Plan]:
    """`run` in steps, a job each; the first step is longer, for it looks at all hosts."""
    missing = list(unsupported(snapshot))
    if missing:
        raise NotScheduled(f"the scheduling run does not do these yet: {', '.join(missing)}; take them out of the cell")
    yield
    return (yield from Dispatcher(snapshot).steps())
