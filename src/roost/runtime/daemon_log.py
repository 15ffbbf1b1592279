"""The log of a daemon: one line per event, times in UTC, in files that are rotated before they grow too long.

Every transition of a slot is a line, so a line must be cheap: it is formatted once and written in one call, and nothing
about the caller is determined that the line does not show.

A message may contain text of others: programs, users, machines. Such text cannot imitate a log line, nor send control
sequences to the reader's terminal: further lines of a message are indented, and unprintable characters are written as
``\\x1b``.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import time
from itertools import pairwise
from pathlib import Path
from typing import Final

#: Bytes of one log file, and old ones kept.
LOG_BYTES_MAX: Final = 10_000_000
LOGS_KEPT: Final = 2

#: A further line of a message that begins at the margin.
_MARGIN: Final = re.compile(r"\n(?=\S)")


class DaemonLog(logging.Handler):
    """Appends lines to a log file."""

    def __init__(
        self,
        path: Path,
        bytes_max: int = LOG_BYTES_MAX,
        kept: int = LOGS_KEPT,
        lines: logging.Formatter | None = None,
    ) -> None:
        super().__init__()
        self._path = path
        self._bytes_max = bytes_max
        self._kept = kept
        self._file = -1
        self._size = 0
        #: Second of the last check whether the file still exists.
        self._looked_at = 0
        self._open()
        self.setFormatter(lines or _Lines("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s"))
        # No line names a process, a thread or a place in the source.
        logging.logProcesses = logging.logThreads = logging.logMultiprocessing = False
        logging._srcfile = None

    def emit(self, record: logging.LogRecord) -> None:
        """Append the line of a record."""
        try:
            text = self.format(record)
            data = ((text if text.isprintable() else _readable(text)) + "\n").encode("utf-8", "backslashreplace")
            if int(record.created) != self._looked_at:
                self._look(int(record.created))
            if self._size + len(data) > self._bytes_max and self._size:
                self._turn_over()
            self._size += os.write(self._file, data)
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """Close the file."""
        self.acquire()
        try:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1
        finally:
            self.release()
        super().close()

    def _look(self, second: int) -> None:
        """Open a new file if this one was removed; keep the old one if the directory no longer exists."""
        self._looked_at = second
        if not self._path.exists():
            old = self._file
            with contextlib.suppress(OSError):
                self._open()
                os.close(old)

    def _open(self) -> None:
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._size = os.fstat(self._file).st_size

    def _turn_over(self) -> None:
        os.close(self._file)
        self._file = -1
        names = [self._path, *(self._path.with_name(f"{self._path.name}.{number + 1}") for number in range(self._kept))]
        if not self._kept:
            self._path.unlink(missing_ok=True)
        for newer, older in reversed(list(pairwise(names))):
            with contextlib.suppress(FileNotFoundError):
                newer.replace(older)
        self._open()


def _readable(text: str) -> str:
    """A message as readable lines, of which only the first begins at the margin."""
    if not all(each.isprintable() or each in "\n\t" for each in text):
        text = "".join(each if each.isprintable() or each in "\n\t" else _code(each) for each in text)
    return _MARGIN.sub("\n    ", text)


def _code(each: str) -> str:
    return each.encode("unicode_escape").decode("ascii")


class _Lines(logging.Formatter):
    """Formats the time once per second."""

    _second = 0
    _text = ""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        """The time, UTC, without its fraction."""
        second = int(record.created)
        if second != self._second:
            self._text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
            self._second = second
        return self._text
