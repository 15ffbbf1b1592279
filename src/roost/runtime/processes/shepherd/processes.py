# pathlib is too large for this process.
# ruff: noqa: PTH102, PTH106, PTH110, PTH208
"""Finding the processes of a job through /proc, measuring them, and signalling only them.

A process is identified by its number and the clock tick at which it started, because numbers are reused. A signal goes
through a pidfd that was opened before the start time was compared, so it cannot reach a later process with the same
number.

The family of a job is everything below its shepherd. The kernel reparents orphans to the shepherd, so a process cannot
leave the tree by a double fork or a new session. If the shepherd itself was killed, the family is the processes with
the job's mark in their environment, and those below them or in their sessions.

One read of /proc/PID/stat yields everything needed about a process; psutil would read several files for it, and use as
much memory as the whole fork server.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import os
import time

from roost.runtime.processes.shepherd.system import read_kernel_file, write_kernel_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

#: Environment variable that marks the processes of a job.
MARK = b"_ROOST_JOB"

#: How often to look for new processes of a family before it counts as complete.
PASSES_MAX = 64

#: How long processes left in a control group may take to die, and how often to check whether they have, s.
_CLEAR_S = 5.0
_CLEAR_LOOK_S = 0.01

_KILL, _STOP, _CONT = 9, 19, 18


class Seen:
    """A process at the time of the reading. Times in clock ticks, sizes in bytes and pages."""

    __slots__ = (
        "child_system", "child_user", "pages", "parent", "pid", "session", "start", "state", "system", "user", "virtual"
    )  # fmt: skip

    def __init__(self, pid: int, fields: list[bytes]) -> None:
        self.pid = pid
        self.state = fields[0]
        self.parent = int(fields[1])
        self.session = int(fields[3])
        self.user, self.system = int(fields[11]), int(fields[12])
        self.child_user, self.child_system = int(fields[13]), int(fields[14])
        self.start = int(fields[19])
        self.virtual, self.pages = int(fields[20]), int(fields[21])

    @property
    def is_dead(self) -> bool:
        """Whether it is a zombie."""
        return self.state in (b"Z", b"X")

    @property
    def is_stopped(self) -> bool:
        """Whether a signal has stopped it."""
        return self.state == b"T"


def look(pid: int) -> Seen | None:
    """The process with that number; None if there is none."""
    # The name in the second field may contain spaces and parentheses; nothing after it does.
    rest = read_kernel_file(f"/proc/{pid}/stat").rpartition(b") ")[2]
    return Seen(pid, rest.split()) if rest else None


def start_of(pid: int) -> int:
    """When the process started, clock ticks since boot; 0 if there is none."""
    seen = look(pid)
    return seen.start if seen is not None else 0


def is_alive(pid: int, start: int) -> bool:
    """Whether the process that started then still runs: a zombie does not."""
    seen = look(pid)
    return seen is not None and seen.start == start and not seen.is_dead


def boot_id() -> str:
    """The identifier of this boot of the machine."""
    return read_kernel_file("/proc/sys/kernel/random/boot_id").decode().strip()


# -- finding -------------------------------------------------------------------------------------------------------


def children(pid: int) -> list[int]:
    """The children of a process, of all its threads."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    found: list[int] = []
    for thread in threads:
        found += map(int, read_kernel_file(f"/proc/{pid}/task/{thread}/children").split())
    return found


def descendants(root: int) -> dict[int, Seen]:
    """All processes below one, excluding itself and zombies."""
    if not _KNOWS_CHILDREN:
        return _below(root, everybody())
    found: dict[int, Seen] = {}
    asked, ahead = {root}, [root]
    while ahead:
        for pid in children(ahead.pop()):
            if pid in asked:
                continue
            asked.add(pid)
            ahead.append(pid)
            seen = look(pid)
            if seen is not None and not seen.is_dead:
                found[pid] = seen
    return found


def everybody() -> dict[int, Seen]:
    """All processes of the machine."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    return {pid: seen for pid in pids if (seen := look(pid)) is not None}


def _below(root: int, all_of_them: dict[int, Seen]) -> dict[int, Seen]:
    below: dict[int, list[int]] = {}
    for pid, seen in all_of_them.items():
        below.setdefault(seen.parent, []).append(pid)
    found: dict[int, Seen] = {}
    ahead = list(below.get(root, ()))
    while ahead:
        pid = ahead.pop()
        ahead += below.get(pid, ())
        if not all_of_them[pid].is_dead:
            found[pid] = all_of_them[pid]
    return found


def marked(mark: bytes, session: int = 0, since: int = 0) -> dict[int, Seen]:
    """The remains of a job without a shepherd: processes with its mark or in its session, and all below them.

    A session counts only for processes that started at the tick `since` or later.
    """
    mark = MARK + b"=" + mark + b"\0"
    found: dict[int, Seen] = {}
    here, own = everybody(), os.getpid()
    for pid, seen in here.items():
        if pid == own or seen.is_dead:
            continue
        of_session = session > 0 and seen.session == session and seen.start >= since > 0
        if of_session or (b"\0" + read_kernel_file(f"/proc/{pid}/environ")).find(b"\0" + mark) >= 0:
            found[pid] = seen
            found.update(_below(pid, here))
    found.pop(own, None)
    return found


def marks() -> set[bytes]:
    """The marks of all processes that have one."""
    found, name = set(), b"\0" + MARK + b"="
    for pid, seen in everybody().items():
        environment = b"" if seen.is_dead else b"\0" + read_kernel_file(f"/proc/{pid}/environ")
        _, present, rest = environment.partition(name)
        if present:
            found.add(rest.partition(b"\0")[0])
    return found


_KNOWS_CHILDREN = os.path.exists(f"/proc/self/task/{os.getpid()}/children")


# -- signals -------------------------------------------------------------------------------------------------------


def send(pid: int, start: int, signal: int) -> bool:
    """Send a signal to the process with that number and start time; False if it is gone or not permitted."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if start_of(pid) != start:
            return False
        _signal.pidfd_send_signal(handle, signal)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def send_all(family: Iterable[Seen], signal: int) -> int:
    """Send a signal to each; return how many it reached."""
    return sum([send(seen.pid, seen.start, signal) for seen in family])


def stop_family(root: int) -> int:
    """SIGSTOP everything below a process, until no new one appears; return how many it reached.

    A process to which SIGSTOP was sent does not fork any longer, so a pass that finds no new one has found all.
    """
    stopped: dict[int, int] = {}
    for _ in range(PASSES_MAX):
        new = [seen for seen in descendants(root).values() if stopped.get(seen.pid) != seen.start]
        if not new:
            break
        for seen in new:
            send(seen.pid, seen.start, _STOP)
            stopped[seen.pid] = seen.start
    return len(stopped)


def continue_family(root: int) -> int:
    """SIGCONT everything below a process; return how many it reached.

    It is also sent to running processes: it cancels a SIGSTOP that may still be pending for them.
    """
    reached: set[int] = set()
    for _ in range(PASSES_MAX):
        new = [seen for seen in descendants(root).values() if seen.pid not in reached or seen.is_stopped]
        if not send_all(new, _CONT):
            break
        reached.update([seen.pid for seen in new])
    return len(reached)


def io_bytes(pid: int) -> int:
    """Bytes that a process, and those that it waited for, have read and written through system calls; 0 if unknown."""
    words = read_kernel_file(b"/proc/%d/io" % pid).split()
    told = dict(zip(words[::2], words[1::2]))  # noqa: B905
    try:
        return int(told.get(b"rchar:", b"0")) + int(told.get(b"wchar:", b"0"))
    except ValueError:
        return 0


def kill_family(root: int, group: bytes | None) -> int:
    """SIGKILL everything below a process and in a control group; return how many were found below it.

    Processes that fork as fast as they are found are stopped before they are killed. A process may have left the group,
    if permitted, but not the tree.
    """
    if group is not None:
        kill_group(group)
    family = descendants(root)
    if family:
        stop_family(root)
        family = descendants(root)
        send_all(family.values(), _KILL)
    return len(family)


def kill_group(group: bytes) -> bool:
    """SIGKILL everything in a control group; False if that is not possible."""
    try:
        write_kernel_file(group + b"/cgroup.kill", b"1")
    except OSError:
        return False
    return True


def make_group(group: bytes) -> bool:
    """Create a control group, and its parent; False if that is not possible.

    A group of the same name from an earlier run is removed first: it may be frozen, and processes born in it would be
    too.
    """
    try:
        os.mkdir(group)
    except FileExistsError:
        if not _clear_group(group):
            return False
        os.mkdir(group)
    except FileNotFoundError:
        # The last shepherd of an earlier daemon has removed it.
        try:
            os.mkdir(group.rpartition(b"/")[0])
            os.mkdir(group)
        except OSError:
            return False
    except OSError:
        return False
    return True


def _clear_group(group: bytes) -> bool:
    """Kill everything in a control group and remove it; False if that takes too long."""
    kill_group(group)
    until = time.monotonic() + _CLEAR_S
    while not remove_group(group):
        if time.monotonic() > until:
            return False
        time.sleep(_CLEAR_LOOK_S)
    return True


def remove_group(group: bytes) -> bool:
    """Remove a control group; False if it is still in use."""
    try:
        os.rmdir(group)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
