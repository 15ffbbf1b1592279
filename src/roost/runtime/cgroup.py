"""Control groups (version 2) in which jobs are frozen, killed and counted as a whole, where this process may make them.

A pool needs no controllers for that, only the right to make groups below its own: root has it, a systemd service with
``Delegate=yes`` has it, a user's login session usually has not. Without them Roost walks the tree of processes, which
takes longer and can be outrun for a moment by a program that forks without end.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path
from typing import Final

#: What a group has to offer: all of it is there from Linux 5.14 on.
_NEEDED: Final = ("cgroup.procs", "cgroup.freeze", "cgroup.kill", "cgroup.events")
#: How long the test of a new group may take, s.
_PROBE_S: Final = 10.0


def make_parent_group(name: str) -> Path | None:
    """Make, or find, a group for the groups of jobs, below that of this process; None where that is not possible."""
    own = _own_group()
    if own is None:
        return None
    parent = own / name
    probe = parent / f"probe-{os.getpid()}"
    try:
        parent.mkdir(exist_ok=True)
        probe.mkdir(exist_ok=True)
        usable = all((probe / each).exists() for each in _NEEDED) and _can_join(probe)
        probe.rmdir()
    except OSError:
        return None
    return parent if usable else None


def remove_parent_group(parent: Path) -> bool:
    """Remove a group and the empty ones in it; False if there is still a process in one."""
    try:
        for group in parent.iterdir():
            if group.is_dir():
                group.rmdir()
        parent.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def remove_unused_groups(parent: Path) -> None:
    """Remove the groups in a group that have no process: shepherds that were killed have left them."""
    with contextlib.suppress(OSError):
        for group in parent.iterdir():
            if group.is_dir():
                with contextlib.suppress(OSError):
                    group.rmdir()


def _can_join(group: Path) -> bool:
    """A process that is born for it moves there; only that shows that it may."""
    script = 'echo 0 > "$1/cgroup.procs"'
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", script, "sh", str(group)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_PROBE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _own_group() -> Path | None:
    mount = _mount_point()
    if mount is None:
        return None
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        number, _, path = line.split(":", 2)
        if number == "0":
            return mount / path.lstrip("/")
    return None


def _mount_point() -> Path | None:
    """Where version 2 is mounted; beside version 1 that is not the root of the mounts."""
    try:
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        before, _, after = line.partition(" - ")
        if after.startswith("cgroup2 "):
            return Path(before.split()[4].encode().decode("unicode_escape"))
    return None
