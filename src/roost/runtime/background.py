"""Background tasks of a daemon: kept until they are done, logged if they fail, cancelled at the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any


class Background:
    """The tasks of a daemon, or of a part of one. A failure ends only its task, and is in `log`."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._tasks: set[asyncio.Task[Any]] = set()

    def spawn(self, work: Coroutine[Any, Any, Any], name: str | None = None) -> asyncio.Task[Any]:
        """Start a task."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._log.error("internal error", exc_info=task.exception())

    def cancel(self) -> None:
        """Cancel all tasks."""
        for task in list(self._tasks):
            task.cancel()

    async def end(self, timeout_s: float) -> None:
        """Cancel all tasks and wait for their end; a task that takes too long is abandoned, and logged."""
        left = list(self._tasks)
        self.cancel()
        if left:
            _, stuck = await asyncio.wait(left, timeout=timeout_s)
            for task in stuck:
                self._log.warning("task did not stop in time; abandoned: %r", task)
