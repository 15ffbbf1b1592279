"""Files of users that a queue has begun to write and that are not whole yet, so that none outlives the run it is for.

They lie in users' directories, where the queue would not find them again; so each is noted in a file before it is
made, one line each. What is noted there and was finished long since does no harm: its name is not used again, and
what is to be removed may be gone. The file is written anew now and then, with those alone that are still under way.
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

#: Lines of the file after which it is written anew, if most of them are of files that are whole.
LINES_MAX: Final = 2_000


class Partial(NamedTuple):
    """A file that is not whole."""

    #: The owner.
    owner: str
    #: What it will be, and its name until then.
    target: str
    mark: str


class Partials:
    """The unfinished files of one queue, by the runs that write them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._runs: dict[str, set[Partial]] = {}
        self._lines = 0

    def load(self) -> None:
        """Read what an earlier daemon noted: runs that are over are among them."""
        try:
            lines = self._path.read_bytes().splitlines()
        except FileNotFoundError:
            return
        except OSError as error:
            _log.error("%s cannot be read: %s; incomplete files may be left behind", self._path, error.strerror)
            return
        for line in lines:
            try:
                run, owner, target, mark = map(str, json.loads(line))
            except (ValueError, TypeError):
                # Cut off by a full disk or a crash of the machine.
                continue
            self._runs.setdefault(run, set()).add(Partial(owner, target, mark))
        self._lines = len(lines)

    def begun(self, run: str, partial: Partial) -> None:
        """A file is about to be made, or goes on."""
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
        """A file is whole."""
        known = self._runs.get(run)
        if known is not None:
            known.discard(partial)
            if not known:
                del self._runs[run]

    @property
    def runs(self) -> list[str]:
        """Those with files that are not whole."""
        return list(self._runs)

    def over(self, run: str) -> Iterator[Partial]:
        """A run is over: what it has left, to be removed."""
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
    # A line before it may have been cut off by a full disk.
    return b"\n" + json.dumps([run, *partial]).encode() + b"\n"
