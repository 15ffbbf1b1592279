"""Users' event logs on disk: pieces appended in order, each whole, with the hands of the user whose log it is.

A piece that was committed before a crash may or may not be in its file. Written again, it is looked for in the end of
the file first.

A log whose disk is full, or whose file server is away, is tried again until it takes what waits for it. One that cannot
be opened at all, for its user may not, or its directory is gone, is refused: what becomes of its jobs the queue's core
decides.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterable
from typing import Final

from roost.base.records import dataclass
from roost.model.codes import HoldCode
from roost.runtime.files.deputies import Deputies
from roost.runtime.files.deputy.hands import Hands
from roost.runtime.processes.accounts import NoSuchAccount
from roost.runtime.queue.store import LogPiece

_log = logging.getLogger("roost.schedd")

#: How far back a piece is looked for, bytes, beside the size of all that are.
LOOK_BACK_BYTES: Final = 256 * 1024
#: What tells the beginning of a piece from other text: number, job and time of its first event.
HEAD_BYTES: Final = 36
#: What waits for logs that take nothing, characters over all logs; of more the oldest is given up.
WAITING_CHARS_MAX: Final = 16_000_000

#: What was said of a log that an internal error keeps from being written.
_INTERNAL: Final = "internal error"
#: Errors that pass by themselves, or when a user makes room.
_PASSING: Final = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ETIMEDOUT, errno.ESTALE, errno.EAGAIN, errno.ENOMEM, errno.EMFILE)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRefused:
    """A log that its user's jobs cannot have."""

    path: str
    owner: str
    #: The hold that it leads to, with its subcode, errno.
    code: HoldCode
    subcode: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """What came of pieces."""

    #: Those that need not be kept any more.
    done: list[int]
    refused: list[LogRefused]


class LogFiles:
    """The files that event logs are."""

    def __init__(self, deputies: Deputies) -> None:
        self._deputies = deputies
        #: (path, owner) to what its log has not taken yet.
        self._waiting: dict[tuple[str, str], list[LogPiece]] = {}
        #: What was said of those logs.
        self._told: dict[tuple[str, str], str] = {}

    @property
    def wait(self) -> bool:
        """Whether a log has to be tried again."""
        return bool(self._waiting)

    def append(self, pieces: Iterable[LogPiece], *, again: bool = False) -> Appended:
        """Write pieces, and what waits."""
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
            _write(self._deputies.hands_of(owner), path, parts, again)
        except NoSuchAccount as problem:
            code = HoldCode.FAILED_TO_ACCESS_USER_ACCOUNT
            found.refused.append(LogRefused(path=path, owner=owner, code=code, subcode=0, text=str(problem)))
        except OSError as problem:
            why = problem.strerror or str(problem)
            if why != self._told.get((path, owner)):
                # Not again at every try.
                _log.error("the event log %s of %s cannot be written: %s", path, owner, why)
            if problem.errno in _PASSING:
                self._told[path, owner] = why
                self._waiting[path, owner] = parts
                return
            text = f"The event log {path} cannot be written: {why}; correct 'log' of the job, or its directory"
            code = HoldCode.UNABLE_TO_INIT_USER_LOG
            refused = LogRefused(path=path, owner=owner, code=code, subcode=problem.errno or 0, text=text)
            found.refused.append(refused)
        except Exception:
            if self._told.get((path, owner)) != _INTERNAL:
                _log.exception("internal error: the event log %s of %s is not written; it is tried again", path, owner)
            self._told[path, owner] = _INTERNAL
            self._waiting[path, owner] = parts
            return
        self._told.pop((path, owner), None)
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
                    "the event log %s of %s could not be written for too long: some events are dropped", path, owner
                )
            if not parts:
                del self._waiting[path, owner]
                self._told.pop((path, owner), None)


def _write(hands: Hands, path: str, parts: list[LogPiece], again: bool) -> None:
    texts = [part.text.encode("utf-8", "surrogateescape") for part in parts]
    data = _missing(texts, _tail(hands, path, sum(map(len, texts)))) if again else b"".join(texts)
    if data:
        hands.append(path, data)


def _missing(texts: list[bytes], tail: bytes) -> bytes:
    """What of texts is not in the end of a log yet; the writer may have been killed in the middle of one."""
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
    """The end of a log: as much as pieces of that size, and what others have added since."""
    try:
        file = hands.open(path)
    except (FileNotFoundError, PermissionError):
        # A log may be one that its user can write and not read.
        return b""
    try:
        size, most = os.fstat(file).st_size, LOOK_BACK_BYTES + size_bytes
        return os.pread(file, most, max(0, size - most))
    finally:
        os.close(file)
