"""The accounting and reporting files of a cell in ``$SGE_ROOT/default/common``, written from the queue's database.

The database has each line once, numbered, from the commit in which its event happened. The file gets the lines in the
order of the numbers, after that commit; a later commit records the progress. When the queue is killed, the file may
therefore have some lines more than the database knows. At startup those are looked for at the end of the file, and of
files to which an administrator has renamed it meanwhile; an incomplete line is cut off. Then the queue writes the
missing lines.

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

#: Maximum number of lines that are written at once.
LINES_MAX: Final = 1000
#: Maximum number of lines that may be in the file without being known to be when the queue is killed; any more would be
#: written twice.
AHEAD_MAX: Final = 200_000
#: How much of a file's end is compared with them, bytes.
_TAIL_BYTES: Final = 4 * 1024 * 1024
#: Maximum number of files next to it that are examined, those written last.
_OTHERS_MAX: Final = 3

#: The message while the file cannot be written.
_LATE: Final = "finished runs are not in the accounting file yet: %s; `qacct` shows them"

Numbered = Sequence[tuple[int, str]]


class _Tail(NamedTuple):
    """The end of a file."""

    lines: list[str]
    #: Whether the file is longer.
    is_cut: bool


class LineFile:
    """The file. Its methods are for a single thread."""

    def __init__(self, path: Path, after: Callable[[int, int], Numbered], late: str = _LATE) -> None:
        self._path = path
        self._late = late
        #: Returns the records after a number, up to a maximum.
        self._after = after
        #: The last record that is in the file, or was not wanted there.
        self.filed = 0
        #: Whether the file should be written at all.
        self.is_wanted = True
        #: Whether something could not be written.
        self.is_behind = False
        self._reported = ""

    def begin(self, filed: int) -> None:
        """Continue after the record that is known to be in the file."""
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
        """Write the lines that are not in the file yet."""
        while True:
            try:
                if not (waiting := self._after(self.filed, LINES_MAX)):
                    break
                if self.is_wanted:
                    self._append("".join(f"{line}\n" for _, line in waiting))
            except StoreError as error:
                self.is_behind = True
                _log.error("the %s file is not up to date: %s", self._path.name, error)
                return
            except OSError as error:
                self._failed(error)
                return
            self.filed = waiting[-1][0]
            self.is_behind, self._reported = False, ""

    def _append(self, text: str) -> None:
        # A queue without a cell does not need it.
        from roost.gridengine.accounting_lines import HEADER

        self._path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            size = os.fstat(descriptor).st_size
            data = ((HEADER if size == 0 else "") + text).encode("utf-8", "surrogateescape")
            written = os.write(descriptor, data)
            if written < len(data):
                # Otherwise half of it would be there twice after the retry.
                os.ftruncate(descriptor, size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
        finally:
            os.close(descriptor)

    def _mended(self) -> _Tail:
        """The end of the file, after cutting off an incomplete line."""
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
        """How many of the next lines are in the files already; `tail` is the end of the current one.

        A file may have been renamed between two of the lines, so one file continues where another ends.
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
        if text != self._reported:
            self._reported = text
            _log.error(self._late, text)


def _tail(path: Path) -> _Tail:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL_BYTES))
        return _tail_of(file.read(), is_cut=size > _TAIL_BYTES)


def _tail_of(data: bytes, *, is_cut: bool) -> _Tail:
    lines = data.decode("utf-8", "surrogateescape").split("\n")[:-1]
    # The first may be incomplete.
    return _Tail(lines[1:] if is_cut else lines, is_cut=is_cut)


def _known(tail: _Tail, lines: list[str]) -> int:
    """The number of lines that are at the end of a file: the largest n such that the first n lines are its last ones.

    If there are more than the tail holds, as many as it holds are compared.
    """
    longest = len(lines) if tail.is_cut else min(len(tail.lines), len(lines))
    for count in range(longest, 0, -1) if tail.lines else ():
        seen = min(count, len(tail.lines))
        if lines[count - 1] == tail.lines[-1] and tail.lines[-seen:] == lines[count - seen : count]:
            return count
    return 0
