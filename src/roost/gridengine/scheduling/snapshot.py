"""The input of a scheduling run: the cell, its hosts with their reports, running tasks, and waiting jobs."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from typing import Final, NamedTuple

from roost.base.records import dataclass, field
from roost.gridengine.cell import Cell
from roost.gridengine.instances import QueueInstance
from roost.gridengine.objects.pairs import Pair

#: state letters of instances that the pool provides; the run computes all others
GIVEN_STATES: Final = "dsEu"
#: what suspends a task: a user, a suspend threshold, a task of a superordinate queue
BY_USER: Final = "s"
THRESHOLD: Final = "T"
SLOTWISE: Final = "P"


class UsageOwner(NamedTuple):
    """The owner of usage; `project` is empty for jobs without one."""

    user: str
    project: str = ""


class Range(NamedTuple):
    """A range of slots, both ends inclusive."""

    low: int
    high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The requests of a job. Jobs with equal requests are of one kind: what refuses one refuses all."""

    user: str
    groups: tuple[str, ...] = ()
    #: empty for none
    project: str = ""
    #: ``-l``: complexes under their full names
    hard: tuple[Pair, ...] = ()
    soft: tuple[Pair, ...] = ()
    #: ``-q``: queues, instances and queue domains, with wildcards; empty allows all
    queues: tuple[str, ...] = ()
    soft_queues: tuple[str, ...] = ()
    #: ``-now y``: needs an interactive queue
    interactive: bool = False
    #: ``-ckpt``; empty for none
    checkpoint: str = ""
    #: ``-pe``: a parallel environment, with wildcards, and amounts of slots from and to; empty for a job of one slot
    environment: str = ""
    slots: tuple[Range, ...] = ()
    #: ``-masterq``: where the master task runs; `queues` is then for the others
    master_queues: tuple[str, ...] = ()
    #: hosts whose machines refuse the job by policy, or which its own requirements refuse
    refused_hosts: frozenset[str] = frozenset()
    #: the host of a run that the job was just rescheduled from; empty for none
    cleaned_host: str = ""
    #: requests are hashed far more often than they are created
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the hash; refuse a parallel job without slots, and the reverse."""
        if bool(self.environment) != bool(self.slots) or (self.master_queues and not self.environment):
            message = "environment, slots and master_queues belong together: a parallel job has the first two"
            raise ValueError(message)
        if any(not 1 <= low <= high for low, high in self.slots):
            message = f"slots {self.slots} are not ranges from 1 on"
            raise ValueError(message)
        values = tuple([getattr(self, one.name) for one in dataclasses.fields(self) if one.compare])
        object.__setattr__(self, "_hash", hash(values))

    def __hash__(self) -> int:
        """The hash of all compared fields."""
        return self._hash


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingJob:
    """A job with waiting tasks."""

    number: int
    request: Request
    #: seconds since the epoch
    submitted: float
    #: ``-p``
    priority: int = 0
    #: ``-js``, and override tickets by ``-ot``
    share: int = 0
    override: int = 0
    #: ``-dl``, seconds since the epoch
    deadline: float | None = None
    #: the waiting tasks; task 0 is the only one of a job that is not an array
    tasks: tuple[int, ...] = (0,)
    #: ``-tc``: how many tasks may run at a time; 0 means without limit
    concurrency: int = 0
    #: ``-h``, or `qhold`
    held: bool = False
    #: ``-R y``: reserve resources for it if it cannot start now
    reserve: bool = False
    #: ``-hold_jid``: a predecessor has not left yet
    depends: bool = False
    error: bool = False
    #: ``-a``, seconds since the epoch
    not_before: float = 0.0
    #: ``-ar``: the number of the advance reservation whose resources it uses; 0 for none
    reservation: int = 0


class Grant(NamedTuple):
    """Slots of an instance."""

    instance: str
    slots: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningTask:
    """A task that is running or was dispatched; the first grant is that of the master."""

    job: int
    task: int
    request: Request
    grants: tuple[Grant, ...]
    submitted: float
    started: float
    #: the parallel environment that it got; empty for a job of one slot
    environment: str = ""
    #: letters of what suspends the task itself, of `BY_USER`, `THRESHOLD` and `SLOTWISE`
    suspended: str = ""
    priority: int = 0
    share: int = 0
    override: int = 0
    deadline: float | None = None
    #: the number of the advance reservation that it runs in; 0 for none
    reservation: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Booked:
    """An advance reservation: resources only for the jobs that request it."""

    number: int
    #: what it was granted for
    request: Request
    #: the first grant is that of the master
    grants: tuple[Grant, ...]
    #: seconds since the epoch; the end is not included
    start: float
    end: float
    #: the parallel environment that it got; empty for none
    environment: str = ""
    #: whether none of its jobs starts now, because its errors are hard and one of its instances is in error
    blocked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReport:
    """The last report of an execution host."""

    time: float
    #: load values by complex, as reported, without scaling
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSnapshot:
    """The complete input of a run."""

    cell: Cell
    #: from `roost.gridengine.instances.resolve`
    instances: tuple[QueueInstance, ...]
    reports: Mapping[str, HostReport]
    now: float
    #: the same moment as local time, for calendars
    local_time: datetime.datetime
    #: letters of `GIVEN_STATES` by instance
    states: Mapping[str, str] = field(default_factory=dict)
    running: tuple[RunningTask, ...] = ()
    pending: tuple[PendingJob, ...] = ()
    #: how many more slots of tasks fit on machines, regardless of the slots of instances; hosts that are left out have
    #: no such limit
    seats: Mapping[str, int] = field(default_factory=dict)
    #: when suspend thresholds last suspended or resumed tasks of an instance, seconds since the epoch
    threshold_times: Mapping[str, float] = field(default_factory=dict)
    #: usage, decayed until `now`, by the names of `usage_weight_list`; None if it is not recorded, so that share tree
    #: tickets cannot be given
    usage: Mapping[UsageOwner, Mapping[str, float]] | None = None
    #: advance reservations that have not ended
    reservations: tuple[Booked, ...] = ()
    #: whether ``-q`` with the name of a queue or instance also asks for its forced resources; 8.1.9 says no
    forced_implied_by_queue_request: bool = True

    def __post_init__(self) -> None:
        """Refuse states that the run would ignore."""
        for name, letters in self.states.items():
            if unknown := set(letters) - set(GIVEN_STATES):
                message = f'state "{"".join(sorted(unknown))}" of {name} is not one of {GIVEN_STATES}'
                raise ValueError(message)
