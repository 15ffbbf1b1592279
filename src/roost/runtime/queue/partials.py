"""Incomplete files of users that a queue is writing, recorded so that none outlives the run it is for.

They are in users' directories, where the queue would not find them again; each is therefore recorded in a file before
it is created, one line each. An entry for a file that was completed long ago does no harm: its name is not used again,
and there may be nothing to remove. The file is rewritten from time to time, with only the entries still in progress.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from roost.runtime.files.whole_files import write_whole

_log = logging.getLogger("roost.schedd")

#: Number of lines of the file after which it is rewritten, if most of them are for completed files.
LINES_MAX: Final = 2_000


class Partial(NamedTuple):
    """An incomplete file."""

    #: The owner.
    owner: str
    #: Its final name, and its name until then.
    target: str
    mark: str


class Partials:
    """The incomplete files of one queue, by the runs that write them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._runs: dict[str, set[Partial]] = {}
        self._lines = 0

    def load(self) -> None:
        """Read the entries of an earlier daemon, some of which are for finished runs."""
        try:
            lines = self._path.read_bytes().splitlines()
        except FileNotFoundError:
            return
        except OSError as error:
            _log.error("cannot read %s: %s; incomplete files may be left behind", self._path, error.strerror)
            return
        for line in lines:
            try:
                run, owner, target, mark = map(str, json.loads(line))
            except (ValueError, TypeError):
                # Truncated by a full disk or a crash of the machine.
                continue
            self._runs.setdefault(run, set()).add(Partial(owner, target, mark))
        self._lines = len(lines)

    def begun(self, run: str, partial: Partial) -> None:
        """Record a file that is about to be created or continued."""
        known = self._runs.setdefault(run, set())
        if partial in known:
            return
        known.add(partial)
        try:
            if self._lines >= max(LINES_MAX, 4 * sum(map(len, self._runs.values()))):
                self._anew()
            else:
                self._append(_line(run, partial))
        except OSError as error:
            _log.error("%s cannot be written: %s", self._path, error.strerror)

    def finished(self, run: str, partial: Partial) -> None:
        """Record that a file is complete."""
        known = self._runs.get(run)
        if known is not None:
            known.discard(partial)
            if not known:
                del self._runs[run]

    @property
    def runs(self) -> list[str]:
        """Runs with incomplete files."""
        return list(self._runs)

    def over(self, run: str) -> Iterator[Partial]:
        """Return the files that a finished run has left, to be removed."""
        yield from sorted(self._runs.pop(run, ()))

    def _append(self, line: bytes) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
        self._lines += 1

    def _anew(self) -> None:
        lines = [_line(run, partial) for run, known in self._runs.items() for partial in sorted(known)]
        write_whole(self._path, b"".join(lines), mode=0o600)
        self._lines = len(lines)


def _line(run: str, partial: Partial) -> bytes:
    # An earlier line may have been truncated by a full disk.
    return b"\n" + json.dumps([run, *partial]).encode() + b"\n"
