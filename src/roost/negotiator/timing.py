"""When cycles begin, and how long they may take.

**Begin.** Cycles are driven by events. An event that may give a slot to a request that could not get one before (a new
request, a slot that is available again, new settings) is *urgent*: it starts a cycle at once, but waits after the last
cycle for as long as that cycle took (at most NEGOTIATOR_MIN_INTERVAL), so that the matchmaker of a large pool works at
most half of the time. Other changes (mostly measurements of slots) are batched: the cycle begins when
NEGOTIATOR_MIN_INTERVAL has passed since the beginning of the last one, and NEGOTIATOR_CYCLE_DELAY since its end.
Without events, a cycle begins NEGOTIATOR_INTERVAL after the last one.

**Length.** A visit to a submitter ends when its time is up: the minimum of NEGOTIATOR_MAX_TIME_PER_PIESPIN and of the
time left for the cycle, for the queue and for the submitter. A submitter that runs out of time is skipped for the rest
of the cycle. Nothing here reads a clock: the caller passes the elapsed time of the cycle to each step.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from enum import IntEnum
from typing import Final, TypeAlias, TypeVar

from roost.base.records import dataclass, field
from roost.classad.allowance import EXPRESSION_STEPS, UNLIMITED, Allowance

Result = TypeVar("Result")

#: Work that receives the elapsed time of the cycle, s, at each step, and returns a result.
Steps: TypeAlias = Generator[None, float, Result]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLimits:
    """Time limits within a cycle, s."""

    cycle_s: float = 1200.0
    schedd_s: float = 120.0
    submitter_s: float = 60.0
    piespin_s: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """Times between cycles, s."""

    #: Maximum from start to start.
    interval_s: float = 60.0
    #: Minimum from start to start.
    min_interval_s: float = 5.0
    #: Minimum from the end to the next start.
    cycle_delay_s: float = 20.0


class Urgency(IntEnum):
    """How urgently a cycle is requested."""

    NONE = 0
    CHANGED = 1
    URGENT = 2


@dataclass(slots=True)
class CycleTimer:
    """Decides when the next cycle begins. Instants are s of a monotonic clock."""

    intervals: Intervals = field(default_factory=Intervals)
    urgency: Urgency = Urgency.NONE
    #: Maximum from start to start, s, for reasons other than the matchmaker's configuration.
    interval_max_s: float = math.inf
    #: The last cycle failed: the next one starts after the interval, whatever was requested.
    failed: bool = False
    _began: float = -math.inf
    _ended: float = -math.inf

    def ask_for_cycle(self, urgency: Urgency) -> None:
        """Request a cycle."""
        self.urgency = max(self.urgency, urgency)

    def due(self) -> float:
        """When the next cycle begins."""
        times = self.intervals
        latest = self._began + min(times.interval_s, max(times.min_interval_s, self.interval_max_s))
        match Urgency.NONE if self.failed else self.urgency:
            case Urgency.URGENT:
                took = self._ended - self._began if self._ended > -math.inf else 0.0
                return min(latest, self._ended + min(took, times.min_interval_s))
            case Urgency.CHANGED:
                return min(latest, max(self._began + times.min_interval_s, self._ended + times.cycle_delay_s))
            case _:
                return latest

    def begin(self, now: float) -> None:
        """Begin a cycle, which satisfies all requests."""
        self.urgency, self._began = Urgency.NONE, now

    def end(self, now: float, *, failed: bool = False) -> None:
        """End the cycle."""
        self._ended, self.failed = now, failed


@dataclass(slots=True)
class Stopwatch:
    """Elapsed time of a cycle, in total and by queue and submitter."""

    limits: TimeLimits
    #: Since the cycle began, s.
    elapsed: float = 0.0
    #: Visits that ended because time was up.
    timed_out: int = 0
    _of_schedd: dict[str, float] = field(default_factory=dict)
    _of_submitter: dict[str, float] = field(default_factory=dict)

    def tell(self, elapsed: float) -> None:
        """Set the elapsed time; a clock that went backwards changes nothing."""
        self.elapsed = max(self.elapsed, elapsed)

    def is_over(self) -> bool:
        """Whether no further submitter may be visited."""
        return self.elapsed >= self.limits.cycle_s

    def until(self, schedd: str, submitter: str) -> float:
        """When a visit that begins now must end."""
        limits = self.limits
        left = (
            limits.piespin_s,
            limits.cycle_s - self.elapsed,
            limits.schedd_s - self._of_schedd.get(schedd, 0.0),
            limits.submitter_s - self._of_submitter.get(submitter, 0.0),
        )
        return self.elapsed + min(left)

    def charge(self, schedd: str, submitter: str, since: float) -> None:
        """Charge the time of a visit, which began at `since`, to its queue and submitter."""
        spent = self.elapsed - since
        self._of_schedd[schedd] = self._of_schedd.get(schedd, 0.0) + spent
        self._of_submitter[submitter] = self._of_submitter.get(submitter, 0.0) + spent


def bounded(steps: Steps[Result]) -> Steps[Result]:
    """The same steps with bounded evaluation: a job's expression that takes too long is ERROR, and others proceed."""
    took_s: float | None = None
    while True:
        with Allowance(UNLIMITED, EXPRESSION_STEPS):
            try:
                # The first step receives None.
                steps.send(took_s)  # type: ignore[arg-type]
            except StopIteration as end:
                result: Result = end.value
                return result
        took_s = yield


def at_once(steps: Steps[Result]) -> Result:
    """The result of steps run without time limits: in the simulation, and where there is no limit."""
    try:
        next(steps)
        while True:
            steps.send(0.0)
    except StopIteration as end:
        result: Result = end.value
        return result


def bounded_at_once(steps: Steps[Result]) -> Result:
    """``at_once(bounded(steps))``, but cheaper: one allowance covers all steps."""
    with Allowance(UNLIMITED, EXPRESSION_STEPS) as allowance:
        try:
            next(steps)
            while True:
                allowance.exceeded = False
                steps.send(0.0)
        except StopIteration as end:
            result: Result = end.value
            return result


#: Text and cause of the rejection of requests for which there was not enough time.
OUT_OF_TIME: Final = "out of time"
