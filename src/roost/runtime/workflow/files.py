"""The files next to a DAG file, under DAGMan's names, relative to where the run was started."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import time
from enum import Enum
from pathlib import Path
from typing import Final, Literal, NamedTuple

from roost.base.records import dataclass
from roost.runtime.files.bounded_text import bounded_text
from roost.runtime.files.whole_files import write_first, write_whole
from roost.runtime.processes.shepherd.processes import boot_id, is_alive, start_of

#: How long to wait for a DAG that another run has locked, and the interval of checks, s.
LOCKED_S: Final = 10.0
_LOOK_S: Final = 0.1

#: Maximum number of rescue files of one DAG by default.
RESCUES_MAX: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFiles:
    """The files of one run."""

    #: The first DAG file.
    primary: str
    #: Whether there are others.
    several: bool = False

    def _beside(self, suffix: str) -> Path:
        return Path(self.primary + suffix)

    @property
    def description(self) -> Path:
        """The submit description of the run itself."""
        return self._beside(".condor.sub")

    @property
    def out(self) -> Path:
        """The output of the process."""
        return self._beside(".lib.out")

    @property
    def err(self) -> Path:
        """The file for the process's own error messages."""
        return self._beside(".lib.err")

    @property
    def log(self) -> Path:
        """The event log of the run's own job."""
        return self._beside(".dagman.log")

    @property
    def debug(self) -> Path:
        """The log of the run, for people."""
        return self._beside(".dagman.out")

    @property
    def nodes_log(self) -> Path:
        """The event log of all jobs of nodes."""
        return self._beside(".nodes.log")

    @property
    def lock(self) -> Path:
        """Exists while the run is not over."""
        return self._beside(".lock")

    @property
    def metrics(self) -> Path:
        """Statistics, written at the end."""
        return self._beside(".metrics")

    @property
    def halt(self) -> Path:
        """While it exists, nothing new is started."""
        return self._beside(".halt")

    def rescue(self, number: int) -> Path:
        """A rescue file, from 1."""
        return self._beside(f"{'_multi' if self.several else ''}.rescue{number:03}")

    def last_rescue(self, most: int = RESCUES_MAX) -> int:
        """The number of the newest rescue file; 0 if there is none."""
        return next((number for number in range(most, 0, -1) if self.rescue(number).exists()), 0)

    def retire_rescues(self, above: int, most: int = RESCUES_MAX) -> None:
        """Rename rescue files that are newer than a given one. Raises OSError."""
        for number in range(above + 1, most + 1):
            path = self.rescue(number)
            if path.exists():
                path.rename(f"{path}.old")


def unused(path: Path) -> Path:
    """The first of `path.0`, `path.1`, … that does not exist."""
    return next(found for number in itertools.count() if not (found := Path(f"{path}.{number}")).exists())


def read_text(path: str) -> str | None:
    """The text of a file; None if it cannot be read, or is too long."""
    try:
        return bounded_text(Path(path))
    except OSError:
        return None


class Locked(Exception):
    """Another process runs the DAG."""


def take_lock(path: Path, *, own_job: str = "", patience_s: float = LOCKED_S) -> bool:
    """Write the process that runs the DAG; return whether an earlier run left the file behind. Raises Locked, OSError.

    A process that has ended owns nothing, even while it is a zombie. This waits for one that runs: for an earlier
    process of the same run, `own_job`, without limit, since it is exiting if the queue has started another; for any
    other up to `patience_s`. It waits as long for a lock that names no process: its run may belong to another program,
    which removes it at its end; then the lock is taken over.
    """
    text = f"{os.getpid()} {start_of(os.getpid())} {boot_id()} {own_job}\n"
    left, until = False, time.monotonic() + patience_s
    while True:
        try:
            write_first(path, text)
            return left
        except FileExistsError:
            left = True
        is_late = time.monotonic() >= until
        owner = _take_over(path, text, is_late=is_late)
        if owner is None:
            return True
        if is_late and isinstance(owner, _Owner) and not (own_job and owner.job == own_job):
            raise Locked(
                f"{path}: process {owner.pid}{owner.job and f', job {owner.job},'} is already running this "
                "DAG; wait for it to finish, or remove its job"
            )
        time.sleep(_LOOK_S)


def _take_over(path: Path, text: str, *, is_late: bool) -> _Owner | Unknown | None:
    """Replace a lock that no longer has an owner, one process after another; return None if that is done, otherwise its
    owner.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return UNKNOWN
    try:
        # On file systems without such locks, runs that begin at the same instant are not distinguished.
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        try:
            is_replaced = not os.path.samestat(os.fstat(file), path.stat())
        except FileNotFoundError:
            is_replaced = True
        if is_replaced:
            return UNKNOWN
        owner = _owner(path)
        if owner.is_alive if isinstance(owner, _Owner) else not is_late:
            return owner
        write_whole(path, text)
        return None
    finally:
        os.close(file)


class _Owner(NamedTuple):
    """The process that runs the DAG, according to a lock."""

    pid: int
    #: When the process began, in the kernel's ticks, and the boot to which these refer.
    began: int
    boot: str
    job: str

    @property
    def is_alive(self) -> bool:
        return self.pid != os.getpid() and self.boot in ("", boot_id()) and is_alive(self.pid, self.began)


class Unknown(Enum):
    """The class of `UNKNOWN`."""

    UNKNOWN = "unknown"


#: The owner of a lock that names no process.
UNKNOWN: Final[Literal[Unknown.UNKNOWN]] = Unknown.UNKNOWN


def _owner(path: Path) -> _Owner | Unknown:
    """The recorded owner."""
    try:
        pid, began, boot, job, *_ = *path.read_text().split(), "", "", ""
        return _Owner(int(pid), int(began), boot, job)
    except (ValueError, OSError):
        return UNKNOWN
