"""Whether a SQLite database on disk is still the one that this process writes: not deleted, replaced or overwritten.

SQLite itself does not notice: it continues to write to a file that no longer has a name, and it reads a write-ahead log
(WAL) through an index in memory. A queue would thus confirm jobs that its next start does not find.

* `look` compares the files at the database's paths with those that are open: a few microseconds, around every commit.
* `grown` remembers a checksum of the WAL as this process wrote it, `verify` compares it with the file, and checks the
  header of the database. Neither reads the database's body: an overwritten page is found by SQLite when it reads the
  page, by the check at the next start, or not until a backup is needed.
* `Tail` determines at startup whether SQLite could use the WAL to the end that the last writer had reached.

SQLite's locks belong to the process and to the file: closing any descriptor of the database or of its index would
release them. This module therefore keeps its descriptors open until the database is closed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import struct
import time
import zlib
from pathlib import Path
from typing import Final, NamedTuple

from sqlalchemy.exc import SQLAlchemyError

#: The first bytes of every SQLite database.
_MAGIC: Final = b"SQLite format 3\0"
#: Sizes in the WAL: its header, and the header of each page.
_HEADER_BYTES: Final = 32
_FRAME_BYTES: Final = 24
#: Layout of the index: the first copy of its header, with the number of frames, and the position of the
#: number of frames that are in the database.
_INDEX_BYTES: Final = 100
_FRAMES_AT, _DONE_AT = 16, 96
_PIECE_BYTES: Final = 1 << 20
#: Errors of a disk or a file server that fails temporarily: the state of the files is then unknown.
_PASSING: Final = frozenset(
    (errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
)
#: SQLite's codes for a file that is damaged or not a database.
_DAMAGED: Final = (11, 26)


class StoreError(Exception):
    """The database cannot be used; the text says why and what to do."""


class Damaged(StoreError):
    """The database is damaged, replaced or gone: nothing may be confirmed from now on."""


def is_damage(error: BaseException) -> bool:
    """Whether an error of the database means that its file is damaged."""
    original = error.orig if isinstance(error, SQLAlchemyError) and hasattr(error, "orig") else error
    code = getattr(original, "sqlite_errorcode", None)
    return isinstance(code, int) and code & 0xFF in _DAMAGED


class _Index(NamedTuple):
    """The relevant part of the WAL's index."""

    frames: int
    #: Number of frames that are also in the database.
    done: int


def _index(data: bytes) -> _Index | None:
    if len(data) < _INDEX_BYTES:
        return None
    frames, done = (struct.unpack_from("=I", data, at)[0] for at in (_FRAMES_AT, _DONE_AT))
    return _Index(frames, done)


class Tail:
    """The extent of a database's WAL when its last writer ended. Create it before the database is opened."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before: _Index | None = None
        with contextlib.suppress(OSError):
            self._before = _index(Path(f"{path}-shm").read_bytes()[:_INDEX_BYTES])

    def lost(self, guard: Guard) -> int:
        """Number of pages that were written and that SQLite did not find; call it after SQLite has read the WAL, before
        it writes.
        """
        before = self._before
        if before is None or before.frames <= before.done:
            return 0
        now = guard.frames()
        return max(0, before.frames - max(now, before.done))


class Guard:
    """The watch over the files of one open database. Its methods but `look` are for the thread that writes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._wal, self._shm = Path(f"{path}-wal"), Path(f"{path}-shm")
        self._log = f"{self._wal}, its write-ahead log,"
        self._database = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._index_file = -1
        self._own = _identity(os.fstat(self._database))
        #: State of the WAL: the file's identity, its header, and the checksum of its first bytes.
        self._wal_own: tuple[int, int] | None = None
        self._header = b""
        self._size = self._checksum = 0

    def close(self) -> None:
        """Stop watching; call it when the database is closed."""
        for descriptor in (self._database, self._index_file):
            if descriptor >= 0:
                os.close(descriptor)
        self._database = self._index_file = -1

    def frames(self) -> int:
        """Number of pages in the WAL, according to its index."""
        found = self._read_index()
        return 0 if found is None else found.frames

    def read_through(self, limit_s: float) -> None:
        """Read the files, for a limited time. Raises OSError if their disk fails."""
        until = time.monotonic() + limit_s
        descriptors = [self._database]
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(FileNotFoundError):
                descriptors.append(os.open(self._wal, os.O_RDONLY | os.O_CLOEXEC))
                stack.callback(os.close, descriptors[-1])
            for descriptor in descriptors:
                at = 0
                while time.monotonic() < until and (piece := os.pread(descriptor, _PIECE_BYTES, at)):
                    at += len(piece)

    def look(self) -> None:
        """Check that the files are still those that are open. Raises Damaged, and OSError if their disk fails."""
        _same(self._path, self._own, str(self._path))
        if self._wal_own is not None:
            size = _same(self._wal, self._wal_own, self._log)
            if size < self._size:
                raise Damaged(f"{self._log} was truncated while it was in use")

    def grown(self) -> None:
        """Record what this process has written to the WAL since."""
        index = self._read_index()
        if index is None:
            return
        try:
            descriptor = os.open(self._wal, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            # `look` reports it.
            return
        try:
            header = os.pread(descriptor, _HEADER_BYTES, 0)
            end = _end(header, index.frames)
            if header != self._header or end < self._size:
                # The WAL was restarted, in the same file.
                self._wal_own = _identity(os.fstat(descriptor))
                self._header, self._size, self._checksum = header, 0, 0
            self._checksum = _checksum(descriptor, self._size, end, self._checksum)
            self._size = end
        finally:
            os.close(descriptor)

    def verify(self) -> None:
        """Check that the files contain what this process wrote, as far as that is possible quickly.

        Raises Damaged, and OSError if their disk fails.
        """
        self.look()
        head = os.pread(self._database, len(_MAGIC), 0)
        if head and head != _MAGIC:
            raise Damaged(f"{self._path} was overwritten while it was in use: it is no longer a SQLite database")
        if self._wal_own is None:
            return
        descriptor = os.open(self._wal, os.O_RDONLY | os.O_CLOEXEC)
        try:
            found = _checksum(descriptor, 0, self._size, 0)
        finally:
            os.close(descriptor)
        if found != self._checksum:
            raise Damaged(f"{self._log} was overwritten while it was in use")

    def _read_index(self) -> _Index | None:
        if self._index_file < 0:
            try:
                self._index_file = os.open(self._shm, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                return None
        return _index(os.pread(self._index_file, _INDEX_BYTES, 0))


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _same(path: Path, own: tuple[int, int], called: str) -> int:
    """The size of the file with that name, if it is the open one. Raises Damaged."""
    try:
        found = path.stat()
    except FileNotFoundError:
        raise Damaged(f"{called} is missing") from None
    except OSError as error:
        if error.errno in _PASSING:
            raise
        raise Damaged(f"{called} cannot be accessed: {error.strerror}") from None
    if _identity(found) != own:
        raise Damaged(f"{called} was replaced by another file while it was in use")
    return found.st_size


def _end(header: bytes, frames: int) -> int:
    """Offset of the end of the last frame of a WAL, bytes."""
    if len(header) < _HEADER_BYTES or not frames:
        return 0
    page = int(struct.unpack_from(">I", header, 8)[0])
    return _HEADER_BYTES + frames * (_FRAME_BYTES + page)


def _checksum(descriptor: int, begin: int, end: int, before: int) -> int:
    found = before
    while begin < end:
        piece = os.pread(descriptor, min(_PIECE_BYTES, end - begin), begin)
        if not piece:
            # It is shorter than before, so no checksum can match.
            return -1
        found = zlib.crc32(piece, found)
        begin += len(piece)
    return found
