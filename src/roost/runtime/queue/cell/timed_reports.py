"""Timed entries of a cell's reporting file: the share tree at the interval of `sharelog`, and the runs in progress at
midnight.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from roost.classad import ClassAd
from roost.model.cell_reporting import Report
from roost.model.cell_requests import TASK
from roost.runtime.clock import Clock
from roost.runtime.database_guard import StoreError
from roost.runtime.queue.database.store import Store
from roost.runtime.queue.exported_files import ExportedFiles
from roost.schedd.events import DayBegan, Event
from roost.schedd.queue import Queue

if TYPE_CHECKING:
    from roost.gridengine.cell import Cell

_log = logging.getLogger("roost.cell")
_T = TypeVar("_T")
#: Maximum interval between two checks of the clock, which may be set, s.
_LOOK_S: Final = 60.0


class TimedReportsDaemon(Protocol):
    """The interface of the queue's daemon for timed reports."""

    clock: Clock
    store: Store
    queue: Queue
    copies: ExportedFiles

    def feed(self, event: Event) -> None:
        """Pass an event to the core."""

    async def on_store(self, work: Callable[..., _T], *arguments: Any) -> _T:
        """Use the database in its thread. Raises StoreError."""


class TimedReports:
    """The reports of one queue."""

    def __init__(self, daemon: TimedReportsDaemon, read_cell: Callable[[], Awaitable[Cell]]) -> None:
        self._daemon, self._read_cell = daemon, read_cell
        #: Interval of reports of the share tree, s; 0 for none.
        self._interval_s = 0.0
        #: When the next one is due, and the next midnight; epoch s.
        self._due = self._midnight = math.inf
        self._changed = asyncio.Event()

    def use(self, files: Mapping[str, str]) -> None:
        """Use a changed cell."""
        from roost.gridengine.pool.accounting_settings import accounting_settings_of

        wanted, now = accounting_settings_of(files), self._daemon.clock.now()
        interval_s = wanted.sharelog_s if wanted.reporting else 0.0
        if interval_s != self._interval_s:
            self._interval_s, self._due = interval_s, now + interval_s if interval_s else math.inf
        if not wanted.reporting:
            self._midnight = math.inf
        elif self._midnight == math.inf:
            self._midnight = midnight_after(now)
        self._changed.set()

    async def run(self) -> None:
        """Write them at their time, forever."""
        while True:
            try:
                async with asyncio.timeout(self._pause_s()):
                    await self._changed.wait()
                self._changed.clear()
            except TimeoutError:
                try:
                    await self._look()
                except StoreError as error:
                    _log.warning("cannot record the share tree for the reporting file: %s", error)

    def _pause_s(self) -> float | None:
        due = min(self._due, self._midnight)
        return None if due == math.inf else min(max(due - self._daemon.clock.now(), 0.0), _LOOK_S)

    async def _look(self) -> None:
        now = self._daemon.clock.now()
        if self._midnight <= now:
            self._midnight = midnight_after(now)
            self._daemon.feed(DayBegan())
        if self._due <= now:
            self._due = now + self._interval_s
            await self._tell()

    async def _tell(self) -> None:
        if reports := self._lines(await self._read_cell()):
            await self._daemon.on_store(self._daemon.store.keep_reports, reports)
            self._daemon.copies.took_reports()

    def _lines(self, cell: Cell) -> tuple[Report, ...]:
        from roost.gridengine.pool.share_log import share_log

        queue = self._daemon.queue
        running: Counter[tuple[str, str]] = Counter()
        for claim in queue.claim_table.claims.values():
            job = queue.book.find(claim.job) if claim.job is not None and claim.run else None
            task = None if job is None else job.ad.get(TASK)
            if isinstance(task, ClassAd):
                running[str(task.get("User", "")), str(task.get("Project", ""))] += 1
        usage = queue.claim_table.usage
        return share_log(cell, usage.by_owner, usage.rules, running, self._daemon.clock.now())


def midnight_after(now: float) -> float:
    """The next midnight in local time, epoch s."""
    day = datetime.fromtimestamp(now).date() + timedelta(days=1)
    return datetime(day.year, day.month, day.day).timestamp()
