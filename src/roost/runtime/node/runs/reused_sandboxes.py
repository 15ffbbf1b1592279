"""Reusing scratch directories.

On a disk's file system, removing a directory and creating another one with two files in it is the most expensive
operation of a short job: recently freed inode numbers are passed over (ext4), and a removal waits for the journal. A
directory in which a job has left nothing is therefore set aside, with the files of the ads, which are truncated, and is
renamed for a later job. Only directories of the daemon's own user are reused, since another user might still have one
open.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from pathlib import Path
from typing import Final

from roost.runtime.node.runs.job_environment import JOB_AD, MACHINE_AD
from roost.runtime.processes.accounts import Account
from roost.runtime.processes.sandbox import Sandbox, remove_tree

#: Their subdirectory in EXECUTE.
ASIDE: Final = ".spare"
#: How long one is kept, s, how many are kept longer, and the maximum number.
IDLE_S: Final = 2.0
KEPT: Final = 1
SPARE_MAX: Final = 64

_MODE: Final = 0o700
_ADS: Final = frozenset((JOB_AD, MACHINE_AD))
_EMPTY: Final = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Sandboxes:
    """The scratch directories of a machine's jobs. Used within a running event loop; blocks on the disk."""

    def __init__(self, execute: Path) -> None:
        self._execute = execute
        self._aside = execute / ASIDE
        #: Names of those set aside, oldest first, with the loop's time since when.
        self._spare: list[tuple[str, float]] = []
        self._last = 0
        self._dismissal: asyncio.TimerHandle | None = None

    def make(self, name: str, *, owner: Account | None = None, permissions: str = "user") -> Sandbox:
        """Make ``dir_<name>``. Raises SandboxFailed."""
        while owner is None and permissions == "user" and self._spare:
            spare, _ = self._spare.pop()
            path = self._execute / f"dir_{name}"
            # An administrator may have removed it by hand.
            with contextlib.suppress(OSError):
                os.rename(self._aside / spare, path)  # noqa: PTH104 - every job has one
                return Sandbox(path=path)
        return Sandbox.make(self._execute, name, owner=owner, permissions=permissions)

    def removed_at_once(self, sandbox: Sandbox) -> bool:
        """Set it aside, or remove it, if that does not block; return whether it is gone."""
        found = sandbox.emptied(keep=_ADS)
        if found is None:
            return False
        if len(self._spare) < SPARE_MAX and self._is_plain(sandbox.path) and all(map(_is_emptied, found)):
            with contextlib.suppress(OSError):
                self._set_aside(sandbox.path)
                return True
        return sandbox.removed_at_once()

    def close(self) -> None:
        """Remove all directories that were set aside."""
        if self._dismissal is not None:
            self._dismissal.cancel()
            self._dismissal = None
        self._spare.clear()
        remove_tree(self._aside)

    def _is_plain(self, path: Path) -> bool:
        """Whether it is as it was created: owned by the daemon, with its mode, and without other attributes."""
        try:
            found = os.lstat(path)
            return found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) == _MODE and not os.listxattr(path)
        except OSError:
            return False

    def _set_aside(self, path: Path) -> None:
        self._last += 1
        spare = str(self._last)
        try:
            os.rename(path, self._aside / spare)  # noqa: PTH104
        except FileNotFoundError:
            self._aside.mkdir(mode=_MODE, exist_ok=True)
            os.rename(path, self._aside / spare)  # noqa: PTH104
        loop = asyncio.get_running_loop()
        self._spare.append((spare, loop.time()))
        if self._dismissal is None:
            self._dismissal = loop.call_later(IDLE_S, self._dismiss)

    def _dismiss(self) -> None:
        """Remove those that were set aside long ago."""
        loop = asyncio.get_running_loop()
        now, self._dismissal = loop.time(), None
        while len(self._spare) > KEPT and now - self._spare[0][1] >= IDLE_S:
            remove_tree(self._aside / self._spare.pop(0)[0])
        if len(self._spare) > KEPT:
            self._dismissal = loop.call_at(self._spare[0][1] + IDLE_S, self._dismiss)


def _is_emptied(path: str) -> bool:
    """Truncate a file without a second name (hard link); return whether that was possible."""
    try:
        file = os.open(path, _EMPTY)
    except OSError:
        return False
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or found.st_uid != os.geteuid():
            return False
        os.ftruncate(file, 0)
    except OSError:
        return False
    finally:
        os.close(file)
    return True
