"""The files beside a DAG file, by DAGMan's names, relative to where the run was started."""

from __future__ import annotations

import contextlib
import itertools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from roost.runtime.whole_files import write_whole

#: Rescue files of one DAG, where the settings say nothing else.
RESCUES_MAX: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFiles:
    """The files of one run."""

    #: The first DAG file.
    primary: str
    #: There are others.
    several: bool = False

    def _beside(self, suffix: str) -> Path:
        return Path(self.primary + suffix)

    @property
    def description(self) -> Path:
        """The submit description of the run itself."""
        return self._beside(".condor.sub")

    @property
    def out(self) -> Path:
        """What the process prints."""
        return self._beside(".lib.out")

    @property
    def err(self) -> Path:
        """What the process complains of."""
        return self._beside(".lib.err")

    @property
    def log(self) -> Path:
        """The event log of the run's own job."""
        return self._beside(".dagman.log")

    @property
    def debug(self) -> Path:
        """What the run did, for people."""
        return self._beside(".dagman.out")

    @property
    def nodes_log(self) -> Path:
        """The event log of all jobs of nodes."""
        return self._beside(".nodes.log")

    @property
    def lock(self) -> Path:
        """There while the run is not over."""
        return self._beside(".lock")

    @property
    def metrics(self) -> Path:
        """Figures, written at the end."""
        return self._beside(".metrics")

    @property
    def halt(self) -> Path:
        """While it is there, nothing new is begun."""
        return self._beside(".halt")

    def rescue(self, number: int) -> Path:
        """A rescue file, from 1."""
        return self._beside(f"{'_multi' if self.several else ''}.rescue{number:03}")

    def last_rescue(self, most: int = RESCUES_MAX) -> int:
        """The number of the newest rescue file; 0 where there is none."""
        return next((number for number in range(most, 0, -1) if self.rescue(number).exists()), 0)

    def retire_rescues(self, above: int, most: int = RESCUES_MAX) -> None:
        """Give rescue files that are newer than one another name. Raises OSError."""
        for number in range(above + 1, most + 1):
            path = self.rescue(number)
            if path.exists():
                path.rename(f"{path}.old")


def unused(path: Path) -> Path:
    """The first of `path.0`, `path.1`, … that is not there."""
    return next(found for number in itertools.count() if not (found := Path(f"{path}.{number}")).exists())


def read_text(path: str) -> str | None:
    """The text of a file; None where it can't be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


class Locked(Exception):
    """Another process runs the DAG."""


def take_lock(path: Path) -> bool:
    """Write who runs the DAG; whether an earlier run left the file behind. Raises Locked, OSError."""
    left = path.exists()
    if left:
        with contextlib.suppress(ValueError, OSError):
            pid, _, began = path.read_text().partition(" ")
            if _alive(int(pid), began.strip()):
                raise Locked(f"{path}: process {pid} runs this DAG")
    write_whole(path, f"{os.getpid()} {_began(os.getpid())}\n")
    return left


def _alive(pid: int, began: str) -> bool:
    return pid != os.getpid() and bool(began) and _began(pid) == began


def _began(pid: int) -> str:
    """When a process began, in the kernel's ticks; "" where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
