"""Priorities: `qsub -p`, urgency, and their weights.

The urgency of a job is the sum of the contributions of its resources (amount times the complex's urgency; texts count
once; every job requests a slot), of its waiting time, and of an approaching deadline. It is normalized to 0 to 1 over
all running and waiting jobs; if all are equal, it is 0.5. Tickets count relative to the highest number of any job; if
no job has any, the value is 0.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from roost.gridengine.cell import Cell
from roost.gridengine.objects.complex import Complex, value_number
from roost.gridengine.objects.scheduler import SchedulerConfiguration
from roost.gridengine.scheduling.ledger import SLOTS
from roost.gridengine.scheduling.patterns import environments
from roost.gridengine.scheduling.snapshot import CellSnapshot, PendingJob, Range, Request
from roost.gridengine.scheduling.tickets import Tickets, tickets
from roost.model.cell_priority import NO_PRIORITY, Priority

#: `qsub -p` ranges from here to its negative
_LOWEST: Final = -1024
#: the share of every job if there are no tickets
_NO_TICKETS: Final = 0.5


class _Job(NamedTuple):
    number: int
    request: Request
    posix: int
    submitted: float
    deadline: float | None
    slots: float


def _jobs(snapshot: CellSnapshot) -> Iterable[_Job]:
    slots: float
    for task in snapshot.running:
        slots = sum([grant.slots for grant in task.grants])
        yield _Job(task.job, task.request, task.priority, task.submitted, task.deadline, slots)
    for job in snapshot.pending:
        if job.not_before > snapshot.now:
            continue
        slots = assumed_slots(job.request, snapshot.cell)
        yield _Job(job.number, job.request, job.priority, job.submitted, job.deadline, slots)


def assumed_slots(request: Request, cell: Cell) -> float:
    """The slots that count for the urgency of a waiting job: `urgency_slots` applied to its ranges."""
    return counted_slots(request.environment, request.slots, cell) if request.slots else 1


def counted_slots(pattern: str, ranges: Sequence[Range], cell: Cell) -> float:
    """The slots by `urgency_slots` of the first parallel environment that a pattern names, for ranges of slots."""
    low, high = min(one.low for one in ranges), max(one.high for one in ranges)
    environment = next(iter(environments(pattern, cell)), None)
    match environment.urgency_slots.casefold() if environment else "min":
        case "min":
            return low
        case "max":
            return high
        case "avg":
            return (low + high) / 2
        case number:
            return float(int(number))


def resource_urgency(request: Request, slots: float, complexes: Mapping[str, Complex]) -> float:
    """The contribution of a job's hard requests and slots to its urgency."""
    total = complexes[SLOTS].urgency_number * slots if SLOTS in complexes else 0.0
    for name, text in request.hard:
        definition = complexes.get(name)
        if definition is None:
            continue
        value = value_number(definition.type, text)
        urgency = definition.urgency_number
        total += urgency if definition.type.is_text or value is None else urgency * value * slots
    return total


def _deadline(deadline: float | None, weight: float, now: float) -> float:
    return 0.0 if deadline is None else weight / max(deadline - now, 1.0)


def priorities(snapshot: CellSnapshot) -> dict[int, Priority]:
    """The priority of each job, by number; a job with running and waiting tasks has that of its waiting ones."""
    scheduler, complexes = snapshot.cell.scheduler, snapshot.cell.complexes
    kinds: dict[tuple[Request, float], float] = {}
    parts: dict[int, _Parts] = {}
    for job in _jobs(snapshot):
        key = (job.request, job.slots)
        if key not in kinds:
            kinds[key] = resource_urgency(job.request, job.slots, complexes)
        waiting = scheduler.weight_waiting_time * max(snapshot.now - job.submitted, 0.0)
        deadline = _deadline(job.deadline, scheduler.weight_deadline, snapshot.now)
        parts[job.number] = _Parts(job, kinds[key], waiting, deadline)
    sums = [each.urgency for each in parts.values()]
    given = tickets(snapshot)
    scale = _Scale(
        min(sums, default=0.0), max(sums, default=0.0), max([one.total for one in given.values()], default=0.0)
    )
    none = Tickets()
    return {number: _priority(scheduler, each, scale, given.get(number, none)) for number, each in parts.items()}


def turn(job: PendingJob, found: Mapping[int, Priority]) -> tuple[float, float, int]:
    """The sort key of jobs in a run; those that may not start yet have no priority."""
    return -found.get(job.number, NO_PRIORITY).priority, job.submitted, job.number


class _Parts(NamedTuple):
    """The components of a job's urgency."""

    job: _Job
    resources: float
    waiting: float
    deadline: float

    @property
    def urgency(self) -> float:
        return self.resources + self.waiting + self.deadline


class _Scale(NamedTuple):
    """The scale for a job's figures: the lowest and highest urgency of all jobs, and the most tickets."""

    low: float
    high: float
    most: float


def _priority(scheduler: SchedulerConfiguration, parts: _Parts, scale: _Scale, tickets: Tickets) -> Priority:
    low, high, most = scale
    share = tickets.total / most if most else _NO_TICKETS
    posix = (parts.job.posix - _LOWEST) / (-2 * _LOWEST)
    urgency = (parts.urgency - low) / (high - low) if high > low else 0.5
    return Priority(
        priority=scheduler.weight_priority * posix
        + scheduler.weight_urgency * urgency
        + scheduler.weight_ticket * share,
        posix=posix,
        urgency_share=urgency,
        ticket_share=share,
        override=tickets.override,
        functional=tickets.functional,
        share=tickets.share,
        resources=parts.resources,
        waiting=parts.waiting,
        deadline=parts.deadline,
    )
