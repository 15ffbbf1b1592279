"""The accounting and reporting files of a cell in ``$SGE_ROOT/default/common``, made from the queue's database.

The database has each line once, numbered, since the commit in which its event happened. The file gets the lines in the
order of the numbers, after that commit; how far it is goes to the database with a later one. When the queue is killed,
the file may be some lines ahead of what the database knows. At the start those are looked for at the end of the file,
and of files to which an administrator has renamed it meanwhile; half a line is cut off. Then the queue writes
those that are missing.

An administrator may rename or delete the file at any time: the next lines begin a new one. If it cannot be written, the
lines wait in the database.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from roost.runtime.database_guard import StoreError

_log = logging.getLogger("roost.schedd")

#: Lines that are written at once.
LINES_MAX: Final = 1000
#: Lines that may be in the file and not yet known to be when the queue is killed; more would be there twice.
AHEAD_MAX: Final = 200_000
#: How much of a file's end is compared with them, bytes.
_TAIL_BYTES: Final = 4 * 1024 * 1024
#: Files beside it that are looked at, those that were written last.
_OTHERS_MAX: Final = 3

#: What is said while the file cannot be written.
_LATE: Final = "ended runs are not in the accounting file yet: %s; `qacct` has them"

Numbered = Sequence[tuple[int, str]]


class _Tail(NamedTuple):
    """The end of a file."""

    lines: list[str]
    #: The file is longer.
    is_cut: bool


class LineFile:
    """The file. Its methods are for one thread."""

    def __init__(self, path: Path, after: Callable[[int, int], Numbered], late: str = _LATE) -> None:
        self._path = path
        self._late = late
        #: The records after a number, at most so many.
        self._after = after
        #: The last record that is in the file, or was not wanted there.
        self.filed = 0
        #: Whether the file is to be written at all.
        self.is_wanted = True
        #: Whether there is something that could not be written.
        self.is_behind = False
        self._told = ""

    def begin(self, filed: int) -> None:
        """Go on after the record that is known to be in the file."""
        self.filed = filed
        waiting = self._after(filed, AHEAD_MAX)
        try:
            tail = self._mended()
            present = self._present([line for _, line in waiting], tail)
        except OSError as error:
            self._failed(error)
            return
        if present:
            self.filed = waiting[present - 1][0]
        self.write()

    def write(self) -> None:
        """Write what is not in the file yet."""
        while True:
            try:
                if not (waiting := self._after(self.filed, LINES_MAX)):
                    break
                if self.is_wanted:
                    self._append("".join(f"{line}\n" for _, line in waiting))
            except StoreError as error:
                self.is_behind = True
                _log.error("the %s file waits: %s", self._path.name, error)
                return
            except OSError as error:
                self._failed(error)
                return
            self.filed = waiting[-1][0]
            self.is_behind, self._told = False, ""

    def _append(self, text: str) -> None:
        # A queue without a cell does not need it.
        from roost.gridengine.accounting import HEADER

        self._path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            size = os.fstat(descriptor).st_size
            data = ((HEADER if size == 0 else "") + text).encode("utf-8", "surrogateescape")
            written = os.write(descriptor, data)
            if written < len(data):
                # Half of it would be there twice when it is tried again.
                os.ftruncate(descriptor, size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
        finally:
            os.close(descriptor)

    def _mended(self) -> _Tail:
        """The end of the file; half a line is cut off."""
        try:
            with self._path.open("rb+") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - _TAIL_BYTES))
                tail = file.read()
                whole = tail.rfind(b"\n") + 1
                if whole < len(tail):
                    file.truncate(size - len(tail) + whole)
        except FileNotFoundError:
            return _Tail([], is_cut=False)
        return _tail_of(tail[:whole], is_cut=len(tail) < size)

    def _present(self, lines: list[str], tail: _Tail) -> int:
        """How many of the next lines are in the files already; `tail` is the end of the present one.

        A file may have been renamed between two of the lines, so one file goes on where another ends.
        """
        if not lines:
            return 0
        tails, present = [tail, *(_tail(each) for each in self._others())], 0
        while tails and present < len(lines):
            longest = max(tails, key=lambda each: _known(each, lines[present:]))
            if not (more := _known(longest, lines[present:])):
                break
            present += more
            tails.remove(longest)
        return present

    def _others(self) -> list[Path]:
        try:
            found = [each for each in self._path.parent.glob(f"{self._path.name}?*") if each.is_file()]
        except OSError:
            return []
        return sorted(found, key=lambda each: each.stat().st_mtime, reverse=True)[:_OTHERS_MAX]

    def _failed(self, error: OSError) -> None:
        self.is_behind = True
        text = f"{error.filename or self._path}: {error.strerror}"
        if text != self._told:
            self._told = text
            _log.error(self._late, text)


def _tail(path: Path) -> _Tail:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL_BYTES))
        return _tail_of(file.read(), is_cut=size > _TAIL_BYTES)


def _tail_of(data: bytes, *, is_cut: bool) -> _Tail:
    lines = data.decode("utf-8", "surrogateescape").split("\n")[:-1]
    # The first may be half a line.
    return _Tail(lines[1:] if is_cut else lines, is_cut=is_cut)


def _known(tail: _Tail, lines: list[str]) -> int:
    """How many of the lines end a file: the largest number of them, from the first on, that are its last ones.

    Of more than the tail holds, those that it holds are compared.
    """
    longest = len(lines) if tail.is_cut else min(len(tail.lines), len(lines))
    for count in range(longest, 0, -1) if tail.lines else ():
        seen = min(count, len(tail.lines))
        if lines[count - 1] == tail.lines[-1] and tail.lines[-seen:] == lines[count - seen : count]:
            return count
    return 0
