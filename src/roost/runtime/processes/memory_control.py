"""Memory limits of jobs, by control groups: version 1's memory controller, or version 2's.

A machine has the controller in one of the two hierarchies. In version 2 the limits are set on the group that the job
has anyway; in version 1 the job gets a second group, in the hierarchy of the controller. This module decides what is
written to which file; the shepherd writes it before the job's program runs, and at the end reads whether the kernel has
killed a process because the job had reached its limit.

In version 2 a group that contains processes, except for the root, cannot delegate the controller. A pool that should
limit memory there must set BASE_CGROUP to a group without processes.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.base.records import dataclass
from roost.classad import ClassAd, ParseError, Syntax, parse_expression
from roost.runtime.processes.cgroup import base_group, mount_of

if TYPE_CHECKING:
    from roost.config import Config

_log = logging.getLogger("roost.node")

_MIB: Final = 1024 * 1024
#: More than any machine has; the kernel accepts no larger number.
_BYTES_MAX: Final = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLimit:
    """How much memory a job may use, bytes."""

    #: A job that needs more is killed; None for no limit.
    hard: int | None = None
    #: Memory above this is reclaimed first, and such a job may be slowed down; None for no limit.
    soft: int | None = None
    #: The job uses no swap space.
    no_swap: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryControl:
    """Where the groups for memory limits are created."""

    parent: Path
    #: Whether it is version 2.
    unified: bool

    def packed(self, limit: MemoryLimit, name: str) -> dict[str, object]:
        """The limit of a run in the form for its shepherd."""
        return {
            "group": os.fsencode(self.parent / name),
            "settings": self._settings(limit),
            "hard": limit.hard,
            # The files with the kernel's count of killed processes, and the peak usage.
            "kills": b"memory.events" if self.unified else b"memory.oom_control",
            "peak": self._peak(limit),
        }

    def _peak(self, limit: MemoryLimit) -> bytes:
        if self.unified:
            return b"memory.peak"
        return b"memory.memsw.max_usage_in_bytes" if limit.no_swap else b"memory.max_usage_in_bytes"

    def _settings(self, limit: MemoryLimit) -> list[tuple[bytes, bytes]]:
        """Files and their contents, in order."""
        names = _UNIFIED if self.unified else _LEGACY
        found = [
            (names[which], b"%d" % size)
            for which, size in (("soft", limit.soft), ("hard", limit.hard))
            if size is not None
        ]
        if limit.no_swap and self.unified:
            found.append((b"memory.swap.max", b"0"))
        elif limit.no_swap and limit.hard is not None:
            # Memory plus swap space; it cannot be less than memory alone, which is therefore set first.
            found.append((b"memory.memsw.limit_in_bytes", b"%d" % limit.hard))
        if self.unified:
            # If one process of the job is killed, so are all others.
            found.append((b"memory.oom.group", b"1"))
        return found


_UNIFIED: Final = {"soft": b"memory.high", "hard": b"memory.max"}
_LEGACY: Final = {"soft": b"memory.soft_limit_in_bytes", "hard": b"memory.limit_in_bytes"}


def find_memory_control(name: str, base: str, jobs: Path | None) -> MemoryControl | str:
    """The memory control of this machine, or why there is none.

    `name` is that of the group for the groups of jobs, below BASE_CGROUP, `base`; `jobs` is the one in version 2.
    """
    legacy = base_group(base, "memory")
    parent = legacy / name if legacy is not None else jobs
    if parent is None:
        return "this process may not create control groups; it must run as root or as a service with Delegate=yes"
    probe = parent / f"probe-memory-{os.getpid()}"
    try:
        if legacy is None:
            hand_down(parent, mount_of(parent) or parent)
        probe.mkdir(parents=True, exist_ok=True)
        try:
            needed = "memory.max" if legacy is None else "memory.limit_in_bytes"
            if not (probe / needed).exists():
                return f"the control group {parent} does not have the memory controller"
        finally:
            probe.rmdir()
    except OSError as error:
        return f"the memory controller cannot be used in {error.filename or parent}: {error.strerror}"
    return MemoryControl(parent=parent, unified=legacy is None)


def hand_down(parent: Path, mount: Path) -> None:
    """Delegate the memory controller to the groups below `parent`, in version 2. Raises OSError, which says where that
    failed.
    """
    for group in (*reversed([each for each in parent.parents if each.is_relative_to(mount)]), parent):
        switch = group / "cgroup.subtree_control"
        if "memory" not in switch.read_text().split():
            try:
                switch.write_text("+memory")
            except OSError as error:
                why = "it contains processes; set BASE_CGROUP to a group that contains none"
                text = why if error.errno == _BUSY else error.strerror
                raise OSError(error.errno, text, str(group)) from None


_BUSY: Final = 16


def limits_memory(config: Config) -> bool:
    """Whether CGROUP_MEMORY_LIMIT_POLICY asks for limits."""
    return _policy(config) != "none"


def memory_limit(config: Config, slot_ad: ClassAd, job_ad: ClassAd) -> MemoryLimit | None:
    """The limit of a job in a slot by CGROUP_MEMORY_LIMIT_POLICY; None for none."""
    policy = _policy(config)
    if policy == "none":
        return None
    no_swap = config.get_bool("DISABLE_SWAP_FOR_JOB", subsys="STARTER")
    if policy == "custom":
        hard = _bytes(config, "CGROUP_HARD_MEMORY_LIMIT_EXPR", slot_ad, job_ad)
        soft = _bytes(config, "CGROUP_SOFT_MEMORY_LIMIT_EXPR", slot_ad, job_ad)
    else:
        memory = slot_ad.cell("memory")
        size = int(memory) * _MIB if isinstance(memory, int) and not isinstance(memory, bool) else None
        hard, soft = (size, None) if policy == "hard" else (None, size)
    if hard is None and soft is None:
        return None
    return MemoryLimit(hard=hard, soft=soft, no_swap=no_swap)


def _policy(config: Config) -> str:
    return (config.get("CGROUP_MEMORY_LIMIT_POLICY", subsys="STARTER") or "none").strip().lower()


def _bytes(config: Config, name: str, slot_ad: ClassAd, job_ad: ClassAd) -> int | None:
    """The value of an expression over slot and job, in MB, as bytes."""
    text = config.get(name, subsys="STARTER") or ""
    if not text.strip():
        return None
    value: object
    try:
        value = slot_ad.eval_expr(parse_expression(text, Syntax.OLD), job_ad)
    except ParseError as error:
        value = error
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        _log.warning("%s = %s is %s, not a number of MB; this limit is not set", name, text, value)
        return None
    return int(min(value * _MIB, _BYTES_MAX))
