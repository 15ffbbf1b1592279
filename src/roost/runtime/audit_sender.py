"""Audit records on their way to the central manager: sent until it confirms them.

If a daemon has no database of its own, waiting records are also stored in a file of the state directory, so that a
restarted daemon keeps sending them. At most WAITING_MAX records wait; beyond that, the newest are lost, and counted.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, Final

from roost.wire.messages import Audit

_log = logging.getLogger("roost.audit")

#: Maximum number of waiting records.
WAITING_MAX: Final = 100_000
#: Maximum number of records of one message, and their total size, bytes.
BATCH_MAX: Final = 200
BATCH_BYTES_MAX: Final = 400_000
#: How long records wait for others, and how long to wait for an answer, s.
GATHER_S: Final = 0.1
AGAIN_S: Final = 5.0


class AuditSender:
    """Waiting records, in order. `send` sends a message to the central manager."""

    def __init__(
        self, send: Callable[[Audit], Awaitable[None]], *, role: str, now: float, path: Path | None = None
    ) -> None:
        self._send = send
        self._path = path
        self._role = role
        #: Serial, record in wire form, and its size in bytes.
        self._waiting: deque[tuple[int, dict[str, Any], int]] = deque()
        # Higher than any serial of an earlier daemon, because answers to it may still be in transit.
        self._serial = int(now * 1000)
        self._wake = asyncio.Event()
        self._answered = asyncio.Event()
        self.lost = 0

    def load(self) -> None:
        """Read the records that an earlier daemon left."""
        if self._path is None:
            return
        try:
            lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return
        except OSError as error:
            _log.error("%s: %s", self._path, error.strerror)
            return
        for line in lines[:WAITING_MAX]:
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict):
                self._put(found)

    def add(self, records: Iterable[dict[str, Any]]) -> int:
        """Add records; return the serial of the last."""
        fresh = []
        for record in records:
            if len(self._waiting) >= WAITING_MAX:
                self.lost += 1
                if self.lost == 1 or self.lost % 10_000 == 0:
                    _log.error(
                        "%d decisions were not recorded: %d records are already waiting to be sent",
                        self.lost,
                        WAITING_MAX,
                    )
                continue
            self._put(record)
            fresh.append(record)
        self._write(fresh)
        return self._serial

    def _put(self, record: dict[str, Any]) -> None:
        self._serial += 1
        self._waiting.append((self._serial, record, len(json.dumps(record))))
        self._wake.set()

    def _write(self, records: list[dict[str, Any]]) -> None:
        if self._path is None or not records:
            return
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(each, separators=(",", ":")) + "\n" for each in records)
        except OSError as error:
            _log.error("%s: %s: records of decisions are kept in memory only", self._path, error.strerror)

    def kept(self, serial: int) -> None:
        """Note that the central manager has stored all records up to that serial."""
        before = len(self._waiting)
        while self._waiting and self._waiting[0][0] <= serial:
            self._waiting.popleft()
        if len(self._waiting) == before:
            # The message is for another sender, or outdated.
            return
        if not self._waiting and self._path is not None:
            try:
                self._path.unlink(missing_ok=True)
            except OSError as error:
                _log.error("%s: %s", self._path, error.strerror)
        self._answered.set()

    async def send_all(self) -> None:
        """Send records as they arrive, forever."""
        while True:
            await self._wake.wait()
            await asyncio.sleep(GATHER_S)
            self._wake.clear()
            while self._waiting:
                self._answered.clear()
                await self._send(self._batch())
                try:
                    async with asyncio.timeout(AGAIN_S):
                        await self._answered.wait()
                except TimeoutError:
                    continue

    def _batch(self) -> Audit:
        """The first of the waiting records."""
        records: list[dict[str, Any]] = []
        size = last = 0
        for serial, record, own in self._waiting:
            if records and (len(records) == BATCH_MAX or size + own > BATCH_BYTES_MAX):
                break
            records.append(record)
            size, last = size + own, serial
        return Audit(role=self._role, records=records, serial=last)
