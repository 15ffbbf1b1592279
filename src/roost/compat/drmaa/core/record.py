"""The jobs of a session, and which of them were reaped: a file that outlives the program.

A line is written before a submission (``P``), for the submitted jobs (``S``), and for reaped jobs (``R``). A
program that died between the first two may have jobs that no line names: `is_cut` says so, and the session looks for
them by the attribute that all its jobs have.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from roost.compat.drmaa.core.codes import Code, DrmaaError

#: Records that were not written to for this time are removed, s.
KEPT_S: Final = 30 * 86_400
#: A session with a longer record accepts no more jobs, bytes; a job takes about 20.
BYTES_MAX: Final = 64 * 1024 * 1024
#: Ids in a line.
_TOGETHER: Final = 1000


class Record:
    """The record of one session."""

    def __init__(self, path: Path) -> None:
        self._path = path
        #: Ids of queue and DRMAA, ``12.0=12``, of jobs that were submitted and not reaped, in order.
        self.jobs: dict[str, str] = {}
        self.reaped: set[str] = set()
        #: Whether there was no record, or the last submission was interrupted.
        self.is_cut = True
        self._read()

    @classmethod
    def of(cls, pool: str, session: str) -> Record:
        """The record of a session of this user with a pool. Raises DrmaaError."""
        base = Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser()
        directory = (
            base / "roost" / "drmaa" / "".join(sign if sign.isalnum() or sign in ".-_" else "_" for sign in pool)
        )
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            _tidy(directory)
            return cls(directory / session)
        except OSError as error:
            text = f"cannot keep the record of session {session}: {error.filename}: {error.strerror}"
            raise DrmaaError(Code.DRMS_INIT_FAILED, text) from None

    def _read(self) -> None:
        try:
            lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return
        self.is_cut = False
        for line in lines:
            letter, _, rest = line.partition(" ")
            words = rest.split()
            if letter == "P":
                self.is_cut = True
            elif letter == "S":
                self.is_cut = False
                pairs = (word.partition("=") for word in words)
                self.jobs.update((job, name) for job, _, name in pairs)
            elif letter == "R":
                self.reaped.update(words)
        for job in self.reaped:
            self.jobs.pop(job, None)

    def begin(self) -> None:
        """Record that a submission begins. Raises DrmaaError."""
        try:
            if self._path.exists() and self._path.stat().st_size > BYTES_MAX:
                raise DrmaaError(
                    Code.DENIED_BY_DRM, f"the record {self._path} of the session is longer than {BYTES_MAX} bytes: "
                    "end the session, and begin another one"
                )  # fmt: skip
            self._write("P\n")
        except OSError as error:
            raise self._unwritable(error) from None

    def submitted(self, jobs: Iterable[tuple[str, str]]) -> None:
        """Record submitted jobs: ids of the queue, and of DRMAA. Raises DrmaaError."""
        self._note("S", [f"{job}={name}" for job, name in jobs])

    def nothing(self) -> None:
        """Record that nothing was submitted. Raises DrmaaError."""
        self._note("S", [""])

    def reap(self, jobs: Iterable[str]) -> None:
        """Record jobs of the queue as reaped. Raises DrmaaError."""
        self._note("R", list(jobs))

    def _note(self, letter: str, words: list[str]) -> None:
        lines = [f"{letter} {' '.join(words[at : at + _TOGETHER])}\n" for at in range(0, len(words), _TOGETHER)]
        try:
            self._write("".join(lines))
        except OSError as error:
            raise self._unwritable(error) from None

    def _write(self, text: str) -> None:
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(handle, text.encode())
        finally:
            os.close(handle)

    def _unwritable(self, error: OSError) -> DrmaaError:
        return DrmaaError(Code.INTERNAL_ERROR, f"cannot write the record {self._path}: {error.strerror}")


def _tidy(directory: Path) -> None:
    """Remove records that no program has used for KEPT_S."""
    now = time.time()
    for path in directory.iterdir():
        if now - path.stat().st_mtime > KEPT_S:
            path.unlink(missing_ok=True)
