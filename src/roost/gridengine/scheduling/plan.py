"""What a scheduling run decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from roost.base.records import dataclass
from roost.gridengine.objects.pairs import Pair
from roost.gridengine.scheduling.reasons import Reason
from roost.gridengine.scheduling.snapshot import Grant
from roost.model.cell_priority import Priority
from roost.model.cell_requests import Suspender


class Dispatch(NamedTuple):
    """A task that is to start."""

    job: int
    task: int
    #: the first one is that of the master
    grants: tuple[Grant, ...]
    #: the parallel environment; empty for a job of one slot
    environment: str = ""


class Reservation(NamedTuple):
    """What is kept for a task that cannot start now."""

    job: int
    task: int
    #: the first one is that of the master
    grants: tuple[Grant, ...]
    environment: str
    #: seconds since the epoch
    start: float
    end: float


class Suspension(NamedTuple):
    """A task that is to be suspended, or to lose this reason for being suspended."""

    job: int
    task: int
    #: `THRESHOLD` or `SLOTWISE`
    cause: str
    begins: bool


class Waiting(NamedTuple):
    """Why a job waits."""

    #: jobs with the same requests share them
    reasons: tuple[Reason, ...]
    hard: tuple[Pair, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The result of a run."""

    #: in the order of the decisions
    dispatches: tuple[Dispatch, ...]
    reservations: tuple[Reservation, ...]
    #: in the order in which they are to be done; also of tasks that are dispatched here
    suspensions: tuple[Suspension, ...]
    #: what is to suspend each task that runs, each cause with what to say of it, in the order of the snapshot; what is
    #: dispatched here counts as soon as it is among them
    suspenders: tuple[Mapping[Suspender, str], ...]
    #: the same once what is dispatched here has started; who stands still, and would again then, need not go on before
    suspenders_after: tuple[Mapping[Suspender, str], ...]
    #: of running and waiting jobs, by number
    priorities: Mapping[int, Priority]
    #: why instances took no job at all; true for every job that waits
    dropped: tuple[Reason, ...]
    #: why each job that waits did not start, by number
    waiting: Mapping[int, Waiting]
    #: letters of each instance after the run, as `qstat -f` shows them; instances without letters are left out
    states: Mapping[str, str]

    def first_reason(self, job: int) -> str:
        """One of the lines of `scheduling_info`, of its own reasons if it has some, without making them all."""
        found = self.waiting[job]
        reasons = found.reasons or self.dropped
        return reasons[0].sentence(found.hard) if reasons else "no queue instance takes it now"

    def scheduling_info(self, job: int) -> tuple[str, ...]:
        """The lines that `qstat -j` prints as scheduling info of a job; empty if it does not wait."""
        found = self.waiting.get(job)
        if found is None:
            return ()
        return tuple(dict.fromkeys(one.sentence(found.hard) for one in (*self.dropped, *found.reasons)))
