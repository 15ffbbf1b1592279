"""An event loop with simulated time: time stands still while anything is left to do, and then jumps to the next timer.

Daemons in it can sleep for hours of simulated time. The loop knows its own pending work and that of its threads. It
cannot see activity outside (messages in the bus's server, signals, processes that start or end). So before time
advances, it awaits `settle`, which must wait for all that: if `happened` returns the same value before and after,
nothing is in progress, and time advances. Otherwise the loop tries again.

While time is `held`, it is the system's time, for setup and teardown.

A run without progress ends with `Stuck`, raised from the loop: after `STUCK_S` without an awaited event, or when the
limit on real time (`until`) is reached.
"""

from __future__ import annotations

import asyncio
import math
import selectors
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, tzinfo
from typing import Any, Final

from roost.runtime.clock import Clock

#: Longest wait for an outside event, s of real time.
STUCK_S: Final = 60.0
#: Longest single wait, s of real time.
_LOOK_S: Final = 1.0


class Stuck(Exception):
    """No progress; the text says what it waits for."""


class _Selector(selectors.DefaultSelector):
    """Waits for outside events, and advances time if it need not wait."""

    loop: DrivenLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """The ready events, after waiting as long as needed."""
        self.loop.look()
        ready: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            self.loop.tick()
            return ready
        wait_s = self.loop.idle(timeout)
        return super().select(wait_s) if wait_s else []


class DrivenLoop(asyncio.SelectorEventLoop):
    """The loop. Its time is initially held."""

    def __init__(self) -> None:
        self._time = 0.0
        self._held_since: float | None = time.monotonic()
        self._working = 0
        #: Results of threads so far.
        self.worked = 0
        self._settling: asyncio.Task[None] | None = None
        self._settled: object = None
        self._waits_since = 0.0
        #: When the run must be over, on the system's monotonic clock; None for no limit.
        self.until: float | None = None
        #: Waits for activity outside to finish.
        self.settle: Callable[[], Awaitable[None]] | None = None
        #: Returns a value that changes with each event from outside.
        self.happened: Callable[[], object] = lambda: None
        #: What is known to be in progress, in words; "" for nothing.
        self.under_way: Callable[[], str] = lambda: ""
        selector = _Selector()
        selector.loop = self
        super().__init__(selector)
        # No timer fires early: code that waits for the rest of an interval would loop forever on less than the
        # resolution.
        self._clock_resolution = 0.0

    # -- time ----------------------------------------------------------------------------------------

    def time(self) -> float:
        """Seconds since the loop was created, in its own time."""
        if self._held_since is not None:
            return self._time + time.monotonic() - self._held_since
        return self._time

    async def settled(self) -> None:
        """Wait until the loop no longer waits for activity outside."""
        if self._settling is not None:
            await asyncio.wait([self._settling])

    @contextmanager
    def held(self) -> Iterator[None]:
        """Use the system's time in this context."""
        before = self._held_since
        if before is None:
            self._held_since = time.monotonic()
        try:
            yield
        finally:
            if before is None:
                self.drive()

    def drive(self) -> None:
        """Start simulated time."""
        self._time, self._held_since = self.time(), None
        self._settled = None

    # -- progress -----------------------------------------------------------------------------

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:  # type: ignore[override]
        """Run work in a thread, which keeps time from advancing."""
        found = super().run_in_executor(executor, func, *args)
        self._working += 1
        found.add_done_callback(self._worked)
        return found

    def _worked(self, _: object) -> None:
        self._working -= 1
        self.worked += 1

    def idle(self, timeout: float | None) -> float:
        """Nothing is ready: how long to wait for outside events, s; 0 if time has advanced."""
        if self._held_since is not None:
            return _LOOK_S if timeout is None else min(timeout, _LOOK_S)
        if waited_for := self._waited_for():
            return self._wait(waited_for)
        self._waits_since = 0.0
        if self.settle is not None and self._fingerprint() != self._settled:
            self._settling = self.create_task(self._settle(self.settle))
            return 0.0
        if timeout is None:
            return _LOOK_S
        self._time += timeout
        self.tick()
        return 0.0

    def look(self) -> None:
        """Raise Stuck if the limit on real time is reached."""
        if self.until is not None and time.monotonic() > self.until:
            self.until = None
            waited_for = self._waited_for()
            raise Stuck(f"it waits for {waited_for}" if waited_for else "it is still busy")

    def _waited_for(self) -> str:
        """What keeps time from advancing; "" for nothing."""
        if self._working:
            return "a thread"
        return self.under_way() or ("the answers of bus and jobs" if self._settling is not None else "")

    def tick(self) -> None:
        """Advance time minimally: a timer is due only after its time."""
        self._time = math.nextafter(self._time, math.inf)

    def _wait(self, what: str) -> float:
        now = time.monotonic()
        if not self._waits_since:
            self._waits_since = now
        elif now - self._waits_since > STUCK_S:
            self._waits_since = 0.0
            raise Stuck(f"it has been waiting for {what} for {STUCK_S:g} s")
        return _LOOK_S

    def _fingerprint(self) -> object:
        return self.worked, self.happened()

    async def _settle(self, settle: Callable[[], Awaitable[None]]) -> None:
        try:
            before = self._fingerprint()
            await settle()
            if self._fingerprint() == before:
                self._settled = before
        finally:
            self._settling = None


class DrivenClock(Clock):
    """The clock of daemons in a `DrivenLoop`, which reads `start` when it is set."""

    def __init__(self, loop: DrivenLoop, start: float) -> None:
        self._loop = loop
        self._start = start
        # Kept separately: their difference would be rounded, and whole seconds would not be whole.
        self._since = loop.time()

    def now(self) -> float:
        """Seconds since 1970, UTC."""
        return self._start + (self._loop.time() - self._since)

    def at(self, instant: float) -> float:
        """An instant in the loop's time."""
        return self._since + (instant - self._start)

    def zone_offset_s(self) -> int:
        """It is always UTC."""
        return 0

    def zone(self) -> tzinfo:
        """It is always UTC."""
        return UTC
