# pathlib and contextlib are too large for this process.
"""The memory limit of a job as its shepherd sets it, and whether the limit killed the job.

A limit has the form of `memory_control.MemoryControl.packed`. The kernel counts a process that it kills for memory
before it kills it, so an observer of the process's end sees the new count.
"""

from __future__ import annotations

from roost.runtime.processes.shepherd.launch import Failed
from roost.runtime.processes.shepherd.system import read_kernel_file, write_kernel_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Minimum fraction of its limit that a job has used when the kernel finds no more memory for it.
NEAR = 0.9


def limit_memory(memory: dict[str, Any]) -> None:
    """Set the limits of an existing group. Raises Failed."""
    group: bytes = memory["group"]
    for name, value in memory["settings"]:
        path = group + b"/" + name
        try:
            try:
                write_kernel_file(path, value)
            except FileNotFoundError:
                # The last shepherd of an earlier daemon removed the parent: its successor has no controllers yet.
                write_kernel_file(group.rpartition(b"/")[0] + b"/cgroup.subtree_control", b"+memory")
                write_kernel_file(path, value)
        except OSError as problem:
            raise Failed("memory", problem, path) from problem


def killed_for_memory(memory: dict[str, Any]) -> bool:
    """Whether the kernel has killed a process of the job because the job had reached its limit.

    A job far below its limit was killed because the machine itself had no memory left.
    """
    words = read_kernel_file(memory["group"] + b"/" + memory["kills"]).split()
    kills = int(dict(zip(words[::2], words[1::2], strict=False)).get(b"oom_kill", b"0"))
    return memory["hard"] is not None and kills > 0 and _peak(memory) >= memory["hard"] * NEAR


def memory_words(memory: dict[str, Any]) -> dict[str, object]:
    """The fields of the record of a job that was killed for its memory."""
    return {"memory_limit": memory["hard"], "memory_peak": _peak(memory)}


def _peak(memory: dict[str, Any]) -> int:
    """The peak usage; the limit if version 2 does not report it, before Linux 5.19."""
    peak = read_kernel_file(memory["group"] + b"/" + memory["peak"]).strip()
    return int(peak) if peak.isdigit() else int(memory["hard"])
