"""Measuring the usage of a job with all its processes once.

Processes and CPU time come from the job's control group if it has one; otherwise from the tree below its shepherd,
whose own accounting includes the CPU time of all processes that were waited for. Without a group, the usage of a
process is missed if its parent did not wait for it (it ignored SIGCHLD). Reads and writes are counted by system calls,
whether they reach a disk or not, and come from the tree in any case. Sizes are sums over the processes, as in HTCondor:
shared pages count in each.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from roost.model.starter import Usage
from roost.runtime.processes.shepherd.processes import Seen, descendants, io_bytes, look
from roost.runtime.processes.shepherd.system import read_kernel_file

_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_PAGE_KIB: Final = os.sysconf("SC_PAGE_SIZE") // 1024
_USEC_PER_S: Final = 1_000_000


def family_usage(shepherd: int, group: Path | None, io_before: int = 0) -> Usage | None:
    """The usage of a job's processes; None if there are none. `io_before`: the shepherd's I/O before the job, bytes."""
    members = group_members(group) if group is not None else list(descendants(shepherd).values())
    if not members:
        return None
    user_s, system_s = _group_cpu(group) if group is not None else _tree_cpu(shepherd, members)
    return Usage(
        image_size_kib=sum(each.virtual for each in members) // 1024,
        resident_kib=sum(each.pages for each in members) * _PAGE_KIB,
        user_cpu_s=user_s,
        system_cpu_s=system_s,
        process_count=len(members),
        io_bytes=max(0, sum(io_bytes(pid) for pid in (shepherd, *(each.pid for each in members))) - io_before),
    )


def group_members(group: Path) -> list[Seen]:
    """The living processes of a control group."""
    pids = read_kernel_file(f"{group}/cgroup.procs").split()
    found = (look(int(pid)) for pid in pids)
    return [each for each in found if each is not None and not each.is_dead]


def _group_cpu(group: Path) -> tuple[float, float]:
    words = read_kernel_file(f"{group}/cpu.stat").split()
    told = dict(zip(words[::2], words[1::2], strict=False))
    return int(told.get(b"user_usec", 0)) / _USEC_PER_S, int(told.get(b"system_usec", 0)) / _USEC_PER_S


def _tree_cpu(shepherd: int, members: list[Seen]) -> tuple[float, float]:
    """Each process with those it waited for; for the shepherd only the latter."""
    head = look(shepherd)
    user = sum(each.user + each.child_user for each in members) + (head.child_user if head else 0)
    system = sum(each.system + each.child_system for each in members) + (head.child_system if head else 0)
    return user / _TICKS_PER_S, system / _TICKS_PER_S
