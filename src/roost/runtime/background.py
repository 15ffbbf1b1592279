"""Work that a daemon does beside answering: kept until it is over, logged where it fails, called off at the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any


class Background:
    """The tasks of a daemon, or of a part of one. A failure ends its task only, and is in `log`."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._tasks: set[asyncio.Task[Any]] = set()

    def spawn(self, work: Coroutine[Any, Any, Any], name: str | None = None) -> asyncio.Task[Any]:
        """Begin something."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._log.error("internal error", exc_info=task.exception())

    def cancel(self) -> None:
        """Call everything off."""
        for task in list(self._tasks):
            task.cancel()

    async def end(self, timeout_s: float) -> None:
        """Call everything off and wait until it is over; what takes longer is left alone, and logged."""
        left = list(self._tasks)
        self.cancel()
        if left:
            _, stuck = await asyncio.wait(left, timeout=timeout_s)
            for task in stuck:
                self._log.warning("task did not stop in time; abandoned: %r", task)
