"""Control groups (version 2) in which jobs are frozen, killed and counted as a whole, if this process may create them.

A pool needs no controllers for that, only the right to create groups below its own: root has it, a systemd service with
``Delegate=yes`` has it, a user's login session usually does not. Without them Roost walks the process tree, which takes
longer and can be outrun for a moment by a program that forks without end.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path
from typing import Final

#: The features that a group must have: all of them exist from Linux 5.14 on.
_NEEDED: Final = ("cgroup.procs", "cgroup.freeze", "cgroup.kill", "cgroup.events")
#: How long the test of a new group may take, s.
_PROBE_S: Final = 10.0


def make_parent_group(name: str, base: str = "") -> Path | None:
    """Create, or find, a group for the groups of jobs; None if that is not possible.

    It is below `base`, a path below the root of the hierarchy, or below the group of this process if that is empty.
    """
    top = base_group(base)
    if top is None:
        return None
    parent = top / name
    probe = parent / f"probe-{os.getpid()}"
    try:
        parent.mkdir(exist_ok=True, parents=True)
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
    """Remove the groups in a group that have no process: killed shepherds have left them."""
    with contextlib.suppress(OSError):
        for group in parent.iterdir():
            if group.is_dir():
                with contextlib.suppress(OSError):
                    group.rmdir()


def _can_join(group: Path) -> bool:
    """Test that a process born for it can move there; only that shows that it may."""
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


def base_group(base: str = "", controller: str = "") -> Path | None:
    """The group `base` below the root of a hierarchy, or that of this process if `base` is empty; None if there is
    none.

    The hierarchy is that of version 2, or that of a controller of version 1.
    """
    found = _mount_point(controller)
    if found is None:
        return None
    mount, root = found
    if base.strip("/"):
        return mount / base.strip("/")
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        if controller in controllers.split(",") if controller else number == "0":
            # A container may see only its own part of the hierarchy, while paths refer to the machine's root.
            inside = path.removeprefix(root) if path == root or path.startswith(f"{root.rstrip('/')}/") else path
            return mount / inside.lstrip("/")
    return None


def mount_of(group: Path) -> Path | None:
    """Where the hierarchy of version 2 is mounted, if a group belongs to it."""
    found = _mount_point("")
    return found[0] if found is not None and group.is_relative_to(found[0]) else None


def _mount_point(controller: str) -> tuple[Path, str] | None:
    """Where version 2, or a controller of version 1, is mounted, and the root of that; both may exist at once."""
    try:
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        if kind == ("cgroup" if controller else "cgroup2") and (not controller or controller in options.split(",")):
            words = before.split()
            return Path(words[4].encode().decode("unicode_escape")), words[3]
    return None
