"""Users' event logs on disk: pieces appended in order, each complete, as the user who owns the log.

A piece that was committed before a crash may or may not be in its file. Before it is written again, it is looked for at
the end of the file.

A log whose disk is full, or whose file server is unavailable, is retried until everything that waits for it is written.
A log that cannot be opened at all, because its user may not or its directory is gone, is refused: the queue's core
decides what happens to its jobs.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterable
from typing import Final

from roost.base.records import dataclass
from roost.model.codes import HoldCode
from roost.runtime.files.file_workers import FileWorkers
from roost.runtime.files.worker.hands import Hands
from roost.runtime.processes.accounts import NoSuchAccount
from roost.runtime.queue.database.kept import LogPiece

_log = logging.getLogger("roost.schedd")

#: How far back a piece is looked for, bytes, in addition to the total size of the pieces.
LOOK_BACK_BYTES: Final = 256 * 1024
#: Identifies the beginning of a piece: number, job and time of its first event.
HEAD_BYTES: Final = 36
#: Maximum total size of text that waits for failing logs, characters; beyond that the oldest is dropped.
WAITING_CHARS_MAX: Final = 16_000_000

#: The message for a log that an internal error prevents from being written.
_INTERNAL: Final = "internal error"
#: Errors that pass by themselves, or when a user frees space.
_PASSING: Final = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ETIMEDOUT, errno.ESTALE, errno.EAGAIN, errno.ENOMEM, errno.EMFILE)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRefused:
    """A log that cannot be written for its user's jobs."""

    path: str
    owner: str
    #: The resulting hold, with its subcode, errno.
    code: HoldCode
    subcode: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """The result of writing pieces."""

    #: Pieces that no longer need to be kept.
    done: list[int]
    refused: list[LogRefused]


class LogFiles:
    """The files of event logs."""

    def __init__(self, file_workers: FileWorkers) -> None:
        self._file_workers = file_workers
        #: (path, owner) to the text waiting for the log.
        self._waiting: dict[tuple[str, str], list[LogPiece]] = {}
        #: The last messages about those logs.
        self._reported: dict[tuple[str, str], str] = {}

    @property
    def wait(self) -> bool:
        """Whether a log has to be retried."""
        return bool(self._waiting)

    def append(self, pieces: Iterable[LogPiece], *, again: bool = False) -> Appended:
        """Write pieces, and waiting text."""
        found = Appended(done=[], refused=[])
        texts, self._waiting = self._waiting, {}
        tried = frozenset(texts)
        for piece in pieces:
            texts.setdefault((piece.path, piece.owner), []).append(piece)
        for (path, owner), parts in texts.items():
            self._append(path, owner, parts, again or (path, owner) in tried, found)
        self._forget_oldest(found)
        return found

    def _append(self, path: str, owner: str, parts: list[LogPiece], again: bool, found: Appended) -> None:
        try:
            _write(self._file_workers.hands_of(owner), path, parts, again)
        except NoSuchAccount as problem:
            code = HoldCode.FAILED_TO_ACCESS_USER_ACCOUNT
            found.refused.append(LogRefused(path=path, owner=owner, code=code, subcode=0, text=str(problem)))
        except OSError as problem:
            why = problem.strerror or str(problem)
            if why != self._reported.get((path, owner)):
                # Not again at every retry.
                _log.error("cannot write the event log %s of %s: %s", path, owner, why)
            if problem.errno in _PASSING:
                self._reported[path, owner] = why
                self._waiting[path, owner] = parts
                return
            text = f"Cannot write the event log {path}: {why}; correct the job's 'log', or the directory it names"
            code = HoldCode.UNABLE_TO_INIT_USER_LOG
            refused = LogRefused(path=path, owner=owner, code=code, subcode=problem.errno or 0, text=text)
            found.refused.append(refused)
        except Exception:
            if self._reported.get((path, owner)) != _INTERNAL:
                _log.exception("internal error: the event log %s of %s was not written; trying again", path, owner)
            self._reported[path, owner] = _INTERNAL
            self._waiting[path, owner] = parts
            return
        self._reported.pop((path, owner), None)
        found.done.extend(piece.id for piece in parts)

    def _forget_oldest(self, found: Appended) -> None:
        most = WAITING_CHARS_MAX
        total = sum(len(piece.text) for parts in self._waiting.values() for piece in parts)
        for (path, owner), parts in list(self._waiting.items()):
            while parts and total > most:
                piece = parts.pop(0)
                total -= len(piece.text)
                found.done.append(piece.id)
                _log.error(
                    "the event log %s of %s could not be written for too long; some events were dropped", path, owner
                )
            if not parts:
                del self._waiting[path, owner]
                self._reported.pop((path, owner), None)


def _write(hands: Hands, path: str, parts: list[LogPiece], again: bool) -> None:
    texts = [part.text.encode("utf-8", "surrogateescape") for part in parts]
    data = _missing(texts, _tail(hands, path, sum(map(len, texts)))) if again else b"".join(texts)
    if data:
        hands.append(path, data)


def _missing(texts: list[bytes], tail: bytes) -> bytes:
    """The part of texts that is not at the end of a log yet; the writer may have been killed in the middle of one."""
    found: list[bytes] = []
    for text in texts:
        if text not in tail:
            found.append(text if found else text[_begun(text, tail) :])
    return b"".join(found)


def _begun(text: bytes, tail: bytes) -> int:
    """How many bytes of a text are at the very end of a log."""
    at = tail.rfind(text[:HEAD_BYTES])
    if at >= 0:
        return len(tail) - at if text.startswith(tail[at:]) else 0
    return next((size for size in range(HEAD_BYTES, 0, -1) if tail.endswith(text[:size])), 0)


def _tail(hands: Hands, path: str, size_bytes: int) -> bytes:
    """The end of a log: as much as pieces of that size, and what others have appended since."""
    try:
        file = hands.open(path)
    except (FileNotFoundError, PermissionError):
        # A user may be able to write a log, but not to read it.
        return b""
    try:
        size, most = os.fstat(file).st_size, LOOK_BACK_BYTES + size_bytes
        return os.pread(file, most, max(0, size - most))
    finally:
        os.close(file)
