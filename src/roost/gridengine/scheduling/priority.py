"""Priorities: `qsub -p`, urgency, and their weights.

The urgency of a job is what its resources add (amount times the complex's urgency; texts count once; every job asks for
a slot), what waiting adds by the second, and what a deadline adds that comes nearer. Over all jobs that run or wait it
is stretched from 0 to 1; where all have the same, it is 0.5. Tickets count as a part of the most that any job has;
where no job has any, it is 0.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from roost.gridengine.cell import Cell
from roost.gridengine.objects.complex import Complex, value_number
from roost.gridengine.objects.scheduler import SchedulerConfiguration
from roost.gridengine.scheduling.ledger import SLOTS
from roost.gridengine.scheduling.patterns import environments
from roost.gridengine.scheduling.snapshot import Range, Request, Snapshot
from roost.gridengine.scheduling.tickets import Tickets, tickets
from roost.model.cell_priority import Priority

#: `qsub -p` goes from here to its negative
_LOWEST: Final = -1024
#: the share of every job where there are no tickets
_NO_TICKETS: Final = 0.5


class _Job(NamedTuple):
    number: int
    request: Request
    posix: int
    submitted: float
    deadline: float | None
    slots: float


def _jobs(snapshot: Snapshot) -> Iterable[_Job]:
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
    """The slots that count for the urgency of a job that waits: what `urgency_slots` makes of its ranges."""
    return counted_slots(request.environment, request.slots, cell) if request.slots else 1


def counted_slots(pattern: str, ranges: Sequence[Range], cell: Cell) -> float:
    """What `urgency_slots` of the first parallel environment that a pattern names makes of ranges of slots."""
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
    """What the hard requests of a job and its slots add to its urgency."""
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


def priorities(snapshot: Snapshot) -> dict[int, Priority]:
    """The priority of each job, by number; a job that runs and waits has that of its waiting tasks."""
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


class _Parts(NamedTuple):
    """What the urgency of a job is the sum of."""

    job: _Job
    resources: float
    waiting: float
    deadline: float

    @property
    def urgency(self) -> float:
        return self.resources + self.waiting + self.deadline


class _Scale(NamedTuple):
    """What figures of a job are compared with: the lowest and highest urgency of all, and the most tickets."""

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
