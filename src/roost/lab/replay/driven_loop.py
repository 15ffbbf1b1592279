"""An event loop whose time is driven: it stands still while anything is left to do, and then jumps to the next timer.

Daemons that run in it sleep for hours and notice nothing. The loop itself knows what is left to do in it and in its
threads. It cannot see what is under way outside (messages in the bus's server, signals, processes that start or end).
So before time goes on, it awaits `settle`, which has to wait for all that: if `happened` says the same afterwards as
before, nothing is under way, and time goes on. Otherwise the loop asks again.

While the time is `held`, it is the system's: for building up and taking down.

What does not get on ends with `Stuck`, raised out of the loop: after `STUCK_S` in which nothing has come of what is
waited for, or when the real time is over that all may take (`until`).
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

#: Longest time without anything happening outside while something is waited for, s of real time.
STUCK_S: Final = 60.0
#: Longest wait in one go, s of real time.
_LOOK_S: Final = 1.0


class Stuck(Exception):
    """It does not get on; the text says what it waits for."""


class _Selector(selectors.DefaultSelector):
    """Waits for the world outside, and moves the time where it does not have to."""

    loop: DrivenLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready, after as long a wait as is needed."""
        self.loop.look()
        ready: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            self.loop.tick()
            return ready
        wait_s = self.loop.idle(timeout)
        return super().select(wait_s) if wait_s else []


class DrivenLoop(asyncio.SelectorEventLoop):
    """The loop. It begins held."""

    def __init__(self) -> None:
        self._time = 0.0
        self._held_since: float | None = time.monotonic()
        self._working = 0
        #: Results of threads so far.
        self.worked = 0
        self._settling: asyncio.Task[None] | None = None
        self._settled: object = None
        self._waits_since = 0.0
        #: When all has to be over, as the system's monotonic clock has it; None for never.
        self.until: float | None = None
        #: Waits for what is under way outside.
        self.settle: Callable[[], Awaitable[None]] | None = None
        #: Counts all that has come in from outside.
        self.happened: Callable[[], object] = lambda: None
        #: What is known to be under way, in words; "" for nothing.
        self.under_way: Callable[[], str] = lambda: ""
        selector = _Selector()
        selector.loop = self
        super().__init__(selector)
        # No timer is early: who waits for the rest of a time would wait for ever for less than the resolution.
        self._clock_resolution = 0.0

    # -- time ----------------------------------------------------------------------------------------

    def time(self) -> float:
        """Seconds since the loop was made, as its daemons count them."""
        if self._held_since is not None:
            return self._time + time.monotonic() - self._held_since
        return self._time

    async def settled(self) -> None:
        """Wait until the loop no longer waits for what is under way outside."""
        if self._settling is not None:
            await asyncio.wait([self._settling])

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let time be the system's meanwhile."""
        before = self._held_since
        if before is None:
            self._held_since = time.monotonic()
        try:
            yield
        finally:
            if before is None:
                self.drive()

    def drive(self) -> None:
        """From now on time is driven."""
        self._time, self._held_since = self.time(), None
        self._settled = None

    # -- what is under way -----------------------------------------------------------------------------

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:  # type: ignore[override]
        """Work in a thread keeps time from going on."""
        found = super().run_in_executor(executor, func, *args)
        self._working += 1
        found.add_done_callback(self._worked)
        return found

    def _worked(self, _: object) -> None:
        self._working -= 1
        self.worked += 1

    def idle(self, timeout: float | None) -> float:
        """Nothing is ready: how long to wait for the world outside, s; 0 if time has gone on."""
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
        """Raises Stuck if all has to be over."""
        if self.until is not None and time.monotonic() > self.until:
            self.until = None
            waited_for = self._waited_for()
            raise Stuck(f"it waits for {waited_for}" if waited_for else "it is still working")

    def _waited_for(self) -> str:
        """What keeps time from going on; "" for nothing."""
        if self._working:
            return "a thread"
        return self.under_way() or ("the answers of bus and jobs" if self._settling is not None else "")

    def tick(self) -> None:
        """Let the least time pass: a timer is only due when its time is over."""
        self._time = math.nextafter(self._time, math.inf)

    def _wait(self, what: str) -> float:
        now = time.monotonic()
        if not self._waits_since:
            self._waits_since = now
        elif now - self._waits_since > STUCK_S:
            self._waits_since = 0.0
            raise Stuck(f"it waits for {what}, which has not happened for {STUCK_S:g} s")
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
    """The clock of daemons in a `DrivenLoop`, which says `start` when it is set."""

    def __init__(self, loop: DrivenLoop, start: float) -> None:
        self._loop = loop
        self._start = start
        # Their difference would be rounded, and full seconds would not be full.
        self._since = loop.time()

    def now(self) -> float:
        """Seconds since 1970, UTC."""
        return self._start + (self._loop.time() - self._since)

    def at(self, instant: float) -> float:
        """An instant as the loop counts."""
        return self._since + (instant - self._start)

    def zone_offset_s(self) -> int:
        """It is always UTC."""
        return 0

    def zone(self) -> tzinfo:
        """It is always UTC."""
        return UTC
