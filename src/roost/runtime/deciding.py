"""Making a decision in slices, while requests are answered and the decision's input does not change.

The negotiator's cycle reads the table of slots and the queues' demands from its beginning to the delivery of its
matches. It runs `SLICE_S` at a time. Changes that arrive meanwhile wait, and are applied in the order of arrival once
the decision is delivered, as if they had arrived after it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, TypeVar

from roost.negotiator.timing import Steps

_log = logging.getLogger("roost.central")

Result = TypeVar("Result")

#: How long a decision, or the changes that waited for it, may block requests, s; one step may take longer.
SLICE_S: Final = 0.02


class Deciding:
    """Whether a decision is in progress, and the changes that wait for it."""

    def __init__(self) -> None:
        self.under_way = False
        self._waiting: deque[Callable[[], None]] = deque()
        self._over = asyncio.Event()
        self._over.set()

    def change(self, make: Callable[[], None]) -> None:
        """Apply a change: at once, or when the decision in progress is delivered."""
        if self.under_way:
            self._waiting.append(make)
        else:
            make()

    async def over(self) -> None:
        """Wait until no decision is in progress."""
        while self.under_way:
            await self._over.wait()

    @asynccontextmanager
    async def decision(self) -> AsyncIterator[None]:
        """Keep the input of a decision unchanged. Only one decision is made at a time."""
        assert not self.under_way
        self.under_way = True
        self._over.clear()
        try:
            yield
        finally:
            await self._make_changes()
            self.under_way = False
            self._over.set()

    async def _make_changes(self) -> None:
        began = time.monotonic()
        while self._waiting:
            try:
                self._waiting.popleft()()
            except Exception:
                _log.exception("internal error: a change that waited for a cycle")
            if time.monotonic() - began >= SLICE_S:
                await asyncio.sleep(0)
                began = time.monotonic()


async def in_slices(steps: Steps[Result]) -> tuple[Result, float]:
    """The result of steps, and their total duration, s; each step is told how long those before it took."""
    took_s = slice_s = 0.0
    advance: Callable[[], None] = steps.__next__
    while True:
        began = time.monotonic()
        try:
            advance()
        except StopIteration as end:
            result: Result = end.value
            return result, took_s + time.monotonic() - began
        spent_s = time.monotonic() - began
        took_s += spent_s
        slice_s += spent_s
        if slice_s >= SLICE_S:
            slice_s = 0.0
            await asyncio.sleep(0)
        advance = partial(steps.send, took_s)
