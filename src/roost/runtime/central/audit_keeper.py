"""The storage of the pool's audit trail, in the central manager's daemon: between the bus and the audit database.

A thread writes, and waits for an unavailable database. Meanwhile records wait here, up to a limit, and other daemons
keep theirs, since a record is acknowledged only once it is stored. Matchmaking does not wait. The central manager's own
records take the same way as all others, through a file of the state directory.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from roost.base.records import dataclass
from roost.config import Config
from roost.runtime.central.audit_store import AuditStore
from roost.runtime.clock import Clock
from roost.runtime.database_guard import Damaged, StoreError
from roost.runtime.home import Home
from roost.wire.audit import audit_data, audit_from
from roost.wire.errors import WireError
from roost.wire.messages import Audit
from roost.wire.requests.central import AuditPage, AuditTrail

_log = logging.getLogger("roost.audit")

#: Maximum number of records that wait for the database; further ones stay with their senders.
PENDING_MAX: Final = 20_000
#: Interval at which old records are deleted, s.
FORGET_EVERY_S: Final = 600.0
#: Maximum number of concurrent searches; further ones wait.
SEARCHES: Final = 2
_PAUSE_MAX_S: Final = 30.0

#: Confirms stored records: ``role name`` of a daemon to the serial of its last one.
Tell = Callable[[dict[str, int]], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSettings:
    """Where the trail is stored, and for how long."""

    url: str
    #: The file that says which database was used last; None for no file.
    known: Path | None = None
    #: AUDIT_MAX_AGE, s.
    age_max_s: float
    #: AUDIT_MAX_RECORDS.
    records_max: int


def audit_settings(config: Config, home: Home) -> AuditSettings:
    """The settings as configured. Raises ConfigError."""
    queue = config.get("DATABASE_URL", subsys="SCHEDD") or ""
    shared = queue if queue and not queue.startswith("sqlite") else ""
    beside = home.database.with_name("audit.sqlite")
    return AuditSettings(
        url=config.get("AUDIT_DATABASE_URL") or shared or f"sqlite:///{beside}",
        known=home.identity("audit"),
        age_max_s=config.get_float("AUDIT_MAX_AGE", 90 * 86_400.0),
        records_max=config.get_int("AUDIT_MAX_RECORDS", 1_000_000),
    )


class AuditKeeper:
    """Stores records and answers requests for them."""

    def __init__(
        self, settings: AuditSettings, tell: Tell, clock: Clock, note: Callable[[str], None] = lambda problem: None
    ) -> None:
        """`note` is called with the reason when records cannot be stored, and with "" when they can again."""
        self.settings = settings
        self._clock = clock
        self._tell = tell
        self._note = note
        self._store: AuditStore | None = None
        #: ``role name`` of the sender, its records in wire form, the serial of the last.
        self._pending: list[tuple[str, list[dict[str, Any]], int]] = []
        self._count = 0
        self._wake = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="audit")
        #: Searches may take long, and records are stored meanwhile.
        self._searches = ThreadPoolExecutor(SEARCHES, thread_name_prefix="audit-search")
        self._opening = threading.Lock()
        self.problem = ""

    def take(self, message: Audit, name: str) -> None:
        """Accept records of the daemon with that name. If too many are waiting, they stay with their sender."""
        sender = f"{message.role} {name}"
        if self._count + len(message.records) > PENDING_MAX:
            return
        if any(each[0] == sender and each[2] >= message.serial for each in self._pending):
            # Repeated while the database is slow.
            return
        found = []
        for data in message.records:
            try:
                found.append(audit_data(audit_from(data)))
            except WireError as error:
                _log.warning("from %s: %s", sender, error)
        self._pending.append((sender, found, message.serial))
        self._count += len(found)
        self._wake.set()

    async def keep_all(self) -> None:
        """Write records as they arrive, forever."""
        loop = asyncio.get_running_loop()
        pause_s, forget_at = 0.2, 0.0
        while True:
            if not self._pending:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(FORGET_EVERY_S):
                        await self._wake.wait()
                self._wake.clear()
            batch = list(self._pending)
            try:
                await loop.run_in_executor(self._thread, self._write, batch)
                if loop.time() >= forget_at:
                    forget_at = loop.time() + FORGET_EVERY_S
                    await loop.run_in_executor(self._thread, self._forget)
            except StoreError as error:
                if isinstance(error, Damaged):
                    # It is opened again once the problem has been fixed.
                    await loop.run_in_executor(self._thread, self._let_go)
                self._failed(str(error), pause_s)
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 2, _PAUSE_MAX_S)
                continue
            pause_s = 0.2
            self._tell_problem("")
            del self._pending[: len(batch)]
            self._count -= sum(len(records) for _, records, _ in batch)
            if batch:
                await self._tell({sender: serial for sender, _, serial in batch})

    def _failed(self, problem: str, pause_s: float) -> None:
        if problem != self.problem:
            _log.error("%s; %d records are waiting; trying again in %.1f s", problem, self._count, pause_s)
        self._tell_problem(problem)

    def _tell_problem(self, problem: str) -> None:
        if problem != self.problem:
            self.problem = problem
            self._note(problem)

    def _let_go(self) -> None:
        with self._opening:
            store, self._store = self._store, None
        if store is not None:
            store.close()

    def _opened(self) -> AuditStore:
        with self._opening:
            if self._store is None:
                self._store = AuditStore.open(self.settings.url, self.settings.known)
            return self._store

    def _write(self, batch: list[tuple[str, list[dict[str, Any]], int]]) -> None:
        store = self._opened()
        records = [(sender, record) for sender, found, _ in batch for record in found]
        if records:
            store.keep(records)

    def _forget(self) -> None:
        before = self._clock.now() - self.settings.age_max_s
        while self._opened().forget(before=before, most=self.settings.records_max):
            pass

    async def query(self, asked: AuditTrail) -> AuditPage:
        """The requested records. Raises StoreError."""
        return await asyncio.get_running_loop().run_in_executor(self._searches, lambda: self._opened().query(asked))

    def close(self) -> None:
        """Stop writing; waiting records are in the files of their senders."""
        self._searches.shutdown(wait=True, cancel_futures=True)
        self._thread.shutdown(wait=True, cancel_futures=True)
        if self._store is not None:
            self._store.close()
