"""Users' event logs, written concurrently: a file server or file worker of one user that hangs delays no other user's
log.

The pieces of one user's logs are written in order, in a thread. A user whose log takes longer than `PATIENCE_S` is not
waited for again until everything is written.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final

from roost.runtime.files.file_workers import FileWorkers
from roost.runtime.queue.database.kept import LogPiece
from roost.runtime.queue.log_files import Appended, LogFiles

_log = logging.getLogger("roost.schedd")

#: How long effects wait for an event log, s: a log is usually written before its reader acts on the event.
PATIENCE_S: Final = 0.5


class _Writer:
    """The logs of one user, and the text waiting for them."""

    def __init__(self, file_workers: FileWorkers) -> None:
        self.files = LogFiles(file_workers)
        self.pieces: list[LogPiece] = []
        self.again = False
        self.task: asyncio.Task[None] | None = None
        self.is_slow = False


class UserLogs:
    """The event logs of all users of a queue. `heard` is called with the results."""

    def __init__(self, file_workers: FileWorkers, heard: Callable[[Appended], None]) -> None:
        self._file_workers = file_workers
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
        """Write pieces that may already be in their files, because an earlier daemon was killed."""
        self._begin(pieces, again=True)

    def retry(self) -> None:
        """Retry what logs have not accepted."""
        for owner, writer in list(self._writers.items()):
            if writer.task is None:
                if writer.files.wait:
                    self._go(owner, writer)
                else:
                    del self._writers[owner]

    def is_behind(self, owner: str) -> bool:
        """Whether a user's logs have earlier pieces waiting."""
        writer = self._writers.get(owner)
        return writer is not None and (writer.task is not None or writer.files.wait)

    async def settle(self, timeout_s: float) -> None:
        """Wait until all pieces are written, up to a time limit."""
        tasks = [writer.task for writer in self._writers.values() if writer.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=timeout_s)

    def _begin(self, pieces: Iterable[LogPiece], *, again: bool) -> list[_Writer]:
        found: dict[str, _Writer] = {}
        for piece in pieces:
            writer = self._writers.get(piece.owner)
            if writer is None:
                writer = self._writers[piece.owner] = _Writer(self._file_workers)
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
