"""The directories of replays: each is locked by the process that uses it, and the next run removes those of dead ones.

A run that is killed cannot clean up: its directories stay, and so may processes that it could not stop. A lock says
whether its process still exists: the system releases it when that process ends, so no process id has to be trusted.
`sweep` ends the processes that the records in such a directory name, and removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from roost.runtime.processes.family import bury
from roost.runtime.processes.run_records import SUFFIX, read_record
from roost.runtime.processes.shepherd.processes import boot_id

#: Nothing of a pool is kept, so its disk may be memory.
MEMORY: Final = Path("/dev/shm")
_PREFIX: Final = "roost-replay-"
_LOCK: Final = "lock"
#: A directory that was never locked counts as abandoned after this time, s.
_UNLOCKED_S: Final = 3600.0


class RunDirectory:
    """A directory of this process, until it is removed or the process ends."""

    def __init__(self, parent: Path) -> None:
        made = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}", dir=parent))
        self._lock = os.open(made / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        # It gets its final name only once it is locked.
        self.path = made.rename(made.with_name(made.name.removeprefix(".")))

    def remove(self) -> None:
        """Remove it with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def memory() -> Path | None:
    """Where directories in memory can be created; None for nowhere."""
    return MEMORY if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else None


def sweep() -> int:
    """Remove what runs of dead processes have left, and return the number of their directories."""
    found = [path for parent in {Path(tempfile.gettempdir()), MEMORY} for path in _ours(parent) if _is_left(path)]
    for path in found:
        _bury_jobs(path)
        shutil.rmtree(path, ignore_errors=True)
    return len(found)


def _ours(parent: Path) -> Iterator[Path]:
    """Directories of replays in a world-writable place: only those of this user are trusted."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(parent):
            name = entry.name.removeprefix(".")
            if (
                name.startswith(_PREFIX)
                and entry.is_dir(follow_symlinks=False)
                and entry.stat(follow_symlinks=False).st_uid == os.geteuid()
            ):
                yield Path(entry.path)


def _is_left(path: Path) -> bool:
    try:
        lock = os.open(path / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return _age_s(path) > _UNLOCKED_S
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    # One without its final name is just being created.
    return not path.name.startswith(".") or _age_s(path) > _UNLOCKED_S


def _age_s(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0


def _bury_jobs(path: Path) -> None:
    """Kill the jobs of a run that are still running: the daemon that would have done so is gone."""
    for record in sorted(path.glob(f"*/jobs/*{SUFFIX}")):
        with contextlib.suppress(OSError, ValueError):
            for key, started in read_record(record).starts.items():
                if started.boot == boot_id():
                    bury(record, key, started)
