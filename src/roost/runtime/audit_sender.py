"""Records of decisions on their way to the central manager: sent until it says that it has them.

Where a daemon has no database of its own, what waits is also in a file of the state directory, so that a daemon that is
killed goes on telling it. More than WAITING_MAX records do not wait: then the newest are lost, and counted.
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

#: Records that wait.
WAITING_MAX: Final = 100_000
#: Records of one message, and their bytes.
BATCH_MAX: Final = 200
BATCH_BYTES_MAX: Final = 400_000
#: How long records wait for others, and how long an answer is waited for, s.
GATHER_S: Final = 0.1
AGAIN_S: Final = 5.0


class AuditSender:
    """What waits, in its order. `send` puts a message on the way to the central manager."""

    def __init__(
        self, send: Callable[[Audit], Awaitable[None]], *, role: str, now: float, path: Path | None = None
    ) -> None:
        self._send = send
        self._path = path
        self._role = role
        #: Serial, record in the form of the wire, and its size in bytes.
        self._waiting: deque[tuple[int, dict[str, Any], int]] = deque()
        # Higher than any that an earlier daemon came to, for answers to it may still be under way.
        self._serial = int(now * 1000)
        self._wake = asyncio.Event()
        self._answered = asyncio.Event()
        self.lost = 0

    def load(self) -> None:
        """Read what an earlier daemon left."""
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
        """Tell records; the serial of the last."""
        fresh = []
        for record in records:
            if len(self._waiting) >= WAITING_MAX:
                self.lost += 1
                if self.lost == 1 or self.lost % 10_000 == 0:
                    _log.error("%d decisions are not recorded: %d records wait already", self.lost, WAITING_MAX)
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
            _log.error("%s: %s: records of decisions are in memory only", self._path, error.strerror)

    def kept(self, serial: int) -> None:
        """The central manager has all up to that."""
        before = len(self._waiting)
        while self._waiting and self._waiting[0][0] <= serial:
            self._waiting.popleft()
        if len(self._waiting) == before:
            # A word to others, or an old one.
            return
        if not self._waiting and self._path is not None:
            try:
                self._path.unlink(missing_ok=True)
            except OSError as error:
                _log.error("%s: %s", self._path, error.strerror)
        self._answered.set()

    async def send_all(self) -> None:
        """Send what comes, for ever."""
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
        """The first of what waits."""
        records: list[dict[str, Any]] = []
        size = last = 0
        for serial, record, own in self._waiting:
            if records and (len(records) == BATCH_MAX or size + own > BATCH_BYTES_MAX):
                break
            records.append(record)
            size, last = size + own, serial
        return Audit(role=self._role, records=records, serial=last)
