"""HTCondor's history file, beside the database's: the ad of each job that has left, as the knob HISTORY says.

An ad is added when the database has it. One that was killed between the two leaves a file that lacks the last jobs, or
has half an ad: at the start the half is cut off, and what the database has beyond the last whole one is added. A file
that would become larger than MAX_HISTORY_LOG is renamed, with the time behind its name, and MAX_HISTORY_ROTATIONS of
these are kept. PER_JOB_HISTORY_DIR gets a file for each job, ``history.7.0``, which is there whole or not at all.
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
from roost.schedd.records.history import Banner, BytesStore, backwards, format_entry, rotated_name, to_delete

_log = logging.getLogger("roost.schedd")

#: Jobs that a file which is new, or knows none of the database's, is begun with; and how far back the last job is
#: looked for in a file, bytes.
CATCH_UP_JOBS_MAX: Final = 10_000
_TAIL_BYTES: Final = 8 * 1024 * 1024


class HistoryFile:
    """The file, and the directory of single ones. Its methods are for one thread."""

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
        self._told: set[str] = set()

    def begin(self, newest_first: Iterable[ClassAd]) -> None:
        """Repair the file, and add what the database has beyond it."""
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
        """Add jobs that have left."""
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
        """The last job of the file; what follows it is not a whole ad, and is cut off."""
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
        if self._path is None:
            return
        now = self._clock()
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(self._path, flags, 0o644)
        try:
            offset = os.fstat(descriptor).st_size
            data = format_entry(ad, offset, now=int(now))
            if offset and 0 < self._bytes_max < offset + len(data):
                os.close(descriptor)
                self._rotate(now)
                descriptor = os.open(self._path, flags, 0o644)
                data = format_entry(ad, 0, now=int(now))
            # At once: a reader never sees the half of an ad.
            if (written := os.write(descriptor, data)) < len(data):
                os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
                raise OSError(28, os.strerror(28), str(self._path))
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
        if text not in self._told:
            self._told.add(text)
            _log.error("a job that has left is not in its history file: %s; `roost history` has it", text)


def _job(ad: ClassAd) -> tuple[object, object]:
    return ad.eval("ClusterId"), ad.eval("ProcId")


def _end_of_last(data: bytes) -> int:
    """Where the last whole banner ends; 0 where there is none."""
    return max((at for at in _line_ends(data)), default=0)


def _line_ends(data: bytes) -> Iterator[int]:
    end = len(data)
    while (end := data.rfind(b"\n", 0, end)) >= 0:
        begin = data.rfind(b"\n", 0, end) + 1
        if Banner.read(data[begin:end].decode("utf-8", "replace")) is not None:
            yield end + 1
            return
