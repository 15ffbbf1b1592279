"""The decisions of a scheduling run."""

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
    """A task to start."""

    job: int
    task: int
    #: the first one is that of the master
    grants: tuple[Grant, ...]
    #: the parallel environment; empty for a job of one slot
    environment: str = ""


class Reservation(NamedTuple):
    """Resources reserved for a task that cannot start now."""

    job: int
    task: int
    #: the first one is that of the master
    grants: tuple[Grant, ...]
    environment: str
    #: seconds since the epoch
    start: float
    end: float


class Suspension(NamedTuple):
    """A task to suspend, or from which this cause of suspension is removed."""

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
class SchedulingPlan:
    """The result of a run."""

    #: in the order of the decisions
    dispatches: tuple[Dispatch, ...]
    reservations: tuple[Reservation, ...]
    #: in order of execution; includes tasks dispatched in this run
    suspensions: tuple[Suspension, ...]
    #: the causes that must suspend each running task, with descriptions, in the order of the snapshot; tasks dispatched
    #: here count once they are in the snapshot
    suspenders: tuple[Mapping[Suspender, str], ...]
    #: the same after the tasks dispatched here have started; a suspended task that would be suspended again then need
    #: not resume before
    suspenders_after: tuple[Mapping[Suspender, str], ...]
    #: of running and waiting jobs, by number
    priorities: Mapping[int, Priority]
    #: why instances accepted no jobs at all; applies to every waiting job
    dropped: tuple[Reason, ...]
    #: why each waiting job did not start, by number
    waiting: Mapping[int, Waiting]
    #: letters of each instance after the run, as `qstat -f` shows them; instances without letters are left out
    states: Mapping[str, str]

    def first_reason(self, job: int) -> str:
        """One of the lines of `scheduling_info`, from its own reasons if it has any, without formatting all of them."""
        found = self.waiting[job]
        reasons = found.reasons or self.dropped
        return reasons[0].sentence(found.hard) if reasons else "no queue instance takes it now"

    def scheduling_info(self, job: int) -> tuple[str, ...]:
        """The lines that `qstat -j` prints as scheduling info of a job; empty if it does not wait."""
        found = self.waiting.get(job)
        if found is None:
            return ()
        return tuple(dict.fromkeys(one.sentence(found.hard) for one in (*self.dropped, *found.reasons)))
