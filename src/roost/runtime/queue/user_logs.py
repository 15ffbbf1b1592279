"""Users' event logs, written side by side: one user's file server or deputy that hangs delays no other user's log.

The pieces of one user's logs are written in order, in a thread. A user whose log takes longer than `PATIENCE_S` is not
waited for again until it has taken everything.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final

from roost.runtime.files.deputies import Deputies
from roost.runtime.queue.log_files import Appended, LogFiles
from roost.runtime.queue.store import LogPiece

_log = logging.getLogger("roost.schedd")

#: How long orders wait for an event log, s: a log is mostly written before its reader acts on what it tells.
PATIENCE_S: Final = 0.5


class _Writer:
    """The logs of one user, and what they have not taken yet."""

    def __init__(self, deputies: Deputies) -> None:
        self.files = LogFiles(deputies)
        self.pieces: list[LogPiece] = []
        self.again = False
        self.task: asyncio.Task[None] | None = None
        self.is_slow = False


class UserLogs:
    """The event logs of all users of a queue. `heard` is told what became of pieces."""

    def __init__(self, deputies: Deputies, heard: Callable[[Appended], None]) -> None:
        self._deputies = deputies
        self._heard = heard
        self._writers: dict[str, _Writer] = {}

    async def write(self, pieces: Iterable[LogPiece]) -> None:
        """Write pieces, and wait for logs that are not slow, at most `PATIENCE_S`."""
        fresh = [writer for writer in self._begin(pieces, again=False) if not writer.is_slow]
        tasks = [writer.task for writer in fresh if writer.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=PATIENCE_S)
        for writer in fresh:
            writer.is_slow = writer.task is not None

    def write_again(self, pieces: Iterable[LogPiece]) -> None:
        """Write pieces that may be in their files already: an earlier daemon was killed."""
        self._begin(pieces, again=True)

    def retry(self) -> None:
        """Try again what logs have not taken."""
        for owner, writer in list(self._writers.items()):
            if writer.task is None:
                if writer.files.wait:
                    self._go(owner, writer)
                else:
                    del self._writers[owner]

    def is_behind(self, owner: str) -> bool:
        """Whether a user's logs have to take earlier pieces first."""
        writer = self._writers.get(owner)
        return writer is not None and (writer.task is not None or writer.files.wait)

    async def settle(self, timeout_s: float) -> None:
        """Wait until all pieces are written, for some time."""
        tasks = [writer.task for writer in self._writers.values() if writer.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=timeout_s)

    def _begin(self, pieces: Iterable[LogPiece], *, again: bool) -> list[_Writer]:
        found: dict[str, _Writer] = {}
        for piece in pieces:
            writer = self._writers.get(piece.owner)
            if writer is None:
                writer = self._writers[piece.owner] = _Writer(self._deputies)
            writer.pieces.append(piece)
            writer.again = writer.again or again
            found[piece.owner] = writer
        for owner, writer in found.items():
            if writer.task is None:
                self._go(owner, writer)
        return list(found.values())

    def _go(self, owner: str, writer: _Writer) -> None:
        writer.task = asyncio.create_task(self._work(writer), name=f"logs of {owner}")

    async def _work(self, writer: _Writer) -> None:
        try:
            while True:
                pieces, writer.pieces = writer.pieces, []
                again, writer.again = writer.again, False
                self._heard(await asyncio.to_thread(writer.files.append, pieces, again=again))
                if not writer.pieces:
                    break
        except Exception:
            # The pieces are in the database, and are written at the next start.
            _log.critical("internal error: an event log is not written", exc_info=True)
        finally:
            writer.task = None
            writer.is_slow = False
