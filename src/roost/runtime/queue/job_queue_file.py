"""``job_queue.log``: a file with the job queue for programs that follow HTCondor's.

The database is authoritative; this file is written after it if JOB_QUEUE_LOG is set, in the form of
`schedd.records.job_queue_log`. The file is rebuilt from the database when the queue starts, when it has grown by more
than its initial size, and at QUEUE_CLEAN_INTERVAL: under another name first, which then replaces the old one, and with
the next sequence number. A daemon that is killed in the middle of a line therefore does no harm, and a reader
recognises by inode or number that it has to start over. MAX_JOB_QUEUE_LOG_ROTATIONS old files are kept, with their
numbers appended to their names.

It contains what people submitted, including their environment: only the queue's own user can read it, as with
HTCondor's.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from roost.runtime.files.whole_files import open_beside
from roost.schedd.changes import Change
from roost.schedd.records import job_queue_log as jq

_log = logging.getLogger("roost.schedd")

#: A file is rebuilt when the appended part is larger than this, and larger than its initial size, bytes.
GROWTH_BYTES_MIN: Final = 16 * 1024 * 1024
#: Number of records that are written at once, and how long a disk that cannot be written is left alone, s.
_PIECE_LINES: Final = 10_000
_PAUSE_S: Final = 10.0


class JobQueueFile:
    """The file. Its methods are for a single thread."""

    def __init__(
        self,
        path: Path,
        mirror: jq.Mirror,
        *,
        kept_max: int,
        clean_s: float,
        clock: Callable[[], float] = time.time,
        growth_bytes: int = GROWTH_BYTES_MIN,
    ) -> None:
        self._path = path
        self._mirror = mirror
        self._kept_max = kept_max
        self._clean_s = clean_s
        self._clock = clock
        self._growth_bytes = growth_bytes
        #: Initial size of the file, size of the appended part, and when it was made.
        self._whole = self._added = 0
        self._made_at = 0.0
        self._problem = ""
        self._again_at = 0.0

    def begin(self) -> None:
        """Build the file from the contents of the queue."""
        self._anew()

    def add(self, steps: Iterable[Sequence[Change]]) -> None:
        """Append committed changes."""
        lines = [line for step in steps for line in self._mirror.records(step)]
        now = self._clock()
        if self._problem:
            # What it missed is in the mirror.
            if now >= self._again_at:
                self._anew()
            return
        if lines:
            data = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")
            try:
                self._append(data)
            except OSError as error:
                self._failed(error)
                return
            self._added += len(data)
        if self._added > max(self._growth_bytes, self._whole) or (self._added and now >= self._made_at + self._clean_s):
            self._anew()

    def _append(self, data: bytes) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        try:
            while data:
                data = data[os.write(descriptor, data) :]
        finally:
            os.close(descriptor)

    def _anew(self) -> None:
        now = self._clock()
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            sequence = self._sequence() + 1
            descriptor, fresh = open_beside(self._path, mode=0o600)
            try:
                self._whole = self._write(descriptor, sequence, now)
                if sequence > 1 and self._kept_max:
                    old = self._path.with_name(f"{self._path.name}.{sequence - 1}")
                    old.unlink(missing_ok=True)
                    os.link(self._path, old)
                fresh.replace(self._path)
            except BaseException:
                fresh.unlink(missing_ok=True)
                raise
            self._forget_old()
        except OSError as error:
            self._failed(error)
            return
        self._added, self._made_at, self._problem = 0, now, ""

    def _write(self, descriptor: int, sequence: int, now: float) -> int:
        size = 0
        with os.fdopen(descriptor, "wb") as file:
            size += file.write(f"{jq.first_line(sequence, now)}\n".encode())
            records = iter(self._mirror.whole())
            while piece := list(islice(records, _PIECE_LINES)):
                size += file.write("".join(f"{line}\n" for line in piece).encode("utf-8", "surrogateescape"))
        return size

    def _sequence(self) -> int:
        try:
            with self._path.open(encoding="utf-8", errors="replace") as file:
                return jq.sequence_of(file.readline(200))
        except FileNotFoundError:
            return 0

    def _forget_old(self) -> None:
        begin = f"{self._path.name}."
        names = [path for path in self._path.parent.iterdir() if path.name.startswith(begin)]
        numbered = sorted((int(end), path) for path in names if (end := path.name.removeprefix(begin)).isdecimal())
        for _, path in numbered[: max(0, len(numbered) - self._kept_max)]:
            path.unlink(missing_ok=True)

    def _failed(self, error: OSError) -> None:
        text = f"{error.filename or self._path}: {error.strerror}"
        if text != self._problem:
            _log.error("cannot write the mirror of the job queue: %s; it will be rewritten as soon as possible", text)
        self._problem, self._again_at = text, self._clock() + _PAUSE_S
