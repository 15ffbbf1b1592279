"""HTCondor's history files: of jobs that have left, in addition to the database's history, and of runs, which only
files have.

An ad is appended after it is in the database. A kill between the two leaves a file that lacks the last jobs, or ends in
an incomplete ad: at startup that is cut off, and jobs in the database after the last complete one are appended. A file
that would exceed MAX_HISTORY_LOG is renamed, with the time appended to its name, and MAX_HISTORY_ROTATIONS of these are
kept. PER_JOB_HISTORY_DIR gets a file for each job, ``history.7.0``, written atomically.

The epoch history (JOB_EPOCH_HISTORY, MAX_EPOCH_HISTORY_*) is written in the same way, one ad for each finished run.
Runs lost by a kill stay lost. JOB_EPOCH_HISTORY_DIR gets a file with its runs for each job, ``job.runs.7.0.ads``.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from roost.classad import ClassAd
from roost.classad.forms import Form, format_ad
from roost.runtime.files.whole_files import write_whole
from roost.schedd.records.history import (
    Banner,
    BytesStore,
    Entry,
    FileStore,
    backwards,
    format_entry,
    format_epoch,
    is_rotated,
    rotated_name,
    to_delete,
)

_log = logging.getLogger("roost.schedd")

#: Number of jobs with which a file begins that is new, or has none of the database's; and how far back the last job is
#: looked for in a file, bytes.
CATCH_UP_JOBS_MAX: Final = 10_000
_TAIL_BYTES: Final = 8 * 1024 * 1024


class HistoryFile:
    """The file, and the directory of per-job files. Its methods are for a single thread."""

    _MISSING = "a job that left the queue is missing from its history file: %s; `roost history` lists it"

    def __init__(
        self,
        path: Path | None,
        *,
        bytes_max: int,
        kept_max: int,
        each: Path | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = path
        self._bytes_max = bytes_max
        self._kept_max = kept_max
        self._each = each
        self._clock = clock
        self._reported: set[str] = set()

    def begin(self, newest_first: Iterable[ClassAd]) -> None:
        """Repair the file, and append jobs of the database that it lacks."""
        if self._path is None:
            return
        try:
            last = self._mended()
            missing: list[ClassAd] = []
            for ad in newest_first:
                if _job(ad) == last or len(missing) >= CATCH_UP_JOBS_MAX:
                    break
                missing.append(ad)
            for ad in reversed(missing):
                self._add(ad)
        except OSError as error:
            self._failed(self._path, error)

    def add(self, ads: Iterable[ClassAd]) -> None:
        """Append jobs that have left."""
        for ad in ads:
            try:
                self._add(ad)
            except OSError as error:
                self._failed(self._path, error)
            try:
                self._add_single(ad)
            except OSError as error:
                self._failed(self._each, error)

    def _mended(self) -> tuple[object, object] | None:
        """The last job of the file; text after it is not a complete ad, and is cut off."""
        assert self._path is not None
        self._path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self._path.open("rb+") as file:
                size = file.seek(0, os.SEEK_END)
                begin = max(0, size - _TAIL_BYTES)
                file.seek(begin)
                tail = file.read()
                end = _end_of_last(tail)
                if begin + end < size:
                    file.truncate(begin + end)
        except FileNotFoundError:
            return self._last_of_rotated()
        entry = next(backwards(BytesStore(tail[:end])), None)
        return _job(entry.ad) if entry is not None else self._last_of_rotated() if not size else None

    def _last_of_rotated(self) -> tuple[object, object] | None:
        assert self._path is not None
        names = to_delete(self._path.name, [each.name for each in self._path.parent.iterdir()], 0)
        if not names:
            return None
        data = self._path.with_name(names[-1]).read_bytes()[-_TAIL_BYTES:]
        entry = next(backwards(BytesStore(data)), None)
        return None if entry is None else _job(entry.ad)

    def _add(self, ad: ClassAd) -> None:
        if self._path is not None:
            self._append(self._path, ad, self._bytes_max)

    def _format(self, ad: ClassAd, offset: int, now: int) -> bytes:
        return format_entry(ad, offset, now=now)

    def _append(self, path: Path, ad: ClassAd, bytes_max: int) -> None:
        now = self._clock()
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o644)
        try:
            offset = os.fstat(descriptor).st_size
            data = self._format(ad, offset, int(now))
            if offset and 0 < bytes_max < offset + len(data):
                os.close(descriptor)
                self._rotate(now)
                descriptor = os.open(path, flags, 0o644)
                data = self._format(ad, 0, int(now))
            # In one call: a reader never sees half of an ad.
            if (written := os.write(descriptor, data)) < len(data):
                os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
                raise OSError(28, os.strerror(28), str(path))
        finally:
            os.close(descriptor)

    def _rotate(self, now: float) -> None:
        assert self._path is not None
        while (full := self._path.with_name(rotated_name(self._path.name, now))).exists():
            now += 1
        self._path.rename(full)
        names = [each.name for each in self._path.parent.iterdir()]
        for name in to_delete(self._path.name, names, self._kept_max):
            self._path.with_name(name).unlink(missing_ok=True)

    def _add_single(self, ad: ClassAd) -> None:
        if self._each is None:
            return
        cluster, proc = _job(ad)
        path = self._each / f"history.{cluster}.{proc}"
        write_whole(path, format_ad(ad, Form.OLD))

    def _failed(self, path: Path | None, error: OSError) -> None:
        text = f"{error.filename or path}: {error.strerror}"
        if text not in self._reported:
            self._reported.add(text)
            _log.error(self._MISSING, text)


class EpochFile(HistoryFile):
    """The same for runs of jobs."""

    _MISSING = "a run of a job is missing from its epoch history: %s; `roost story` tells of it"

    def _format(self, ad: ClassAd, offset: int, now: int) -> bytes:
        return format_epoch(ad, now=now)

    def _add_single(self, ad: ClassAd) -> None:
        if self._each is None:
            return
        cluster, proc = _job(ad)
        self._append(self._each / f"job.runs.{cluster}.{proc}.ads", ad, 0)


def epoch_files(path: str, each: str) -> list[Path]:
    """The files of an epoch history, newest first: `path` and its rotated files, or those in `each`.

    Raises OSError.
    """
    if path:
        file = Path(path)
        rotated = sorted((other for other in file.parent.iterdir() if is_rotated(file.name, other.name)), reverse=True)
        return [*([file] if file.exists() else []), *rotated]
    return sorted(Path(each).glob("job.runs.*.ads"), key=lambda file: file.stat().st_mtime, reverse=True)


def entries_of(paths: Iterable[Path]) -> Iterator[Entry]:
    """The entries of such files, the last of each first. Raises OSError."""
    for path in paths:
        with path.open("rb") as file:
            yield from backwards(FileStore(file))


def _job(ad: ClassAd) -> tuple[object, object]:
    return ad.eval("ClusterId"), ad.eval("ProcId")


def _end_of_last(data: bytes) -> int:
    """Where the last complete banner ends; 0 if there is none."""
    return max((at for at in _line_ends(data)), default=0)


def _line_ends(data: bytes) -> Iterator[int]:
    end = len(data)
    while (end := data.rfind(b"\n", 0, end)) >= 0:
        begin = data.rfind(b"\n", 0, end) + 1
        if Banner.read(data[begin:end].decode("utf-8", "replace")) is not None:
            yield end + 1
            return
