# pathlib and contextlib are too large for this process.
# ruff: noqa: SIM105
"""A shepherd's life: it forks the job, waits for its end, records it, and leaves nothing of the job behind.

A shepherd appends to the run's record that the job's program runs, before it reports that to the daemon; then how the
main process ended or why it could not be started, and once more when all its other processes are gone, if there were
any. If a daemon finds an end that is not ``final``, and no shepherd, processes may be left.

A shepherd gets everything about a job at its beginning. Later operations on the job use control group and /proc to
reach the job's processes, and the shepherd observes their end. It has a connection to its daemon, over which it reports
that nothing of the job is left, and over which it may get the next job: reusing a process is cheaper than creating one.
Without a daemon at the other end there is no next job: the shepherd exits.

No order from a dead daemon is carried out. The first order of a shepherd is covered by the lock that it inherits from
the fork server; for every other one it takes its own lock on the same file, and then checks whether the daemon is still
alive. Either lock is held until the start is recorded, so that the daemon's successor, which waits for the locks, finds
it.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import fcntl
import marshal
import os
import sys
import time

from roost.runtime.processes.shepherd.launch import Failed, is_plain, launch, launch_plain
from roost.runtime.processes.shepherd.memory import killed_for_memory, limit_memory, memory_words
from roost.runtime.processes.shepherd.processes import (
    children,
    io_bytes,
    kill_family,
    make_group,
    remove_group,
    send,
    start_of,
)
from roost.runtime.processes.shepherd.system import (
    append_record,
    become_reaper,
    fork_apart,
    fork_into,
    forks_into,
    hung_up,
    open_record,
    read_kernel_file,
    receive,
    set_name,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from roost.runtime.processes.shepherd.relay import Relay

#: How long the shepherd tries to kill what the main process left, s; such a process may belong to another user, or hang
#: in the kernel.
SWEEP_S = 20.0
#: How long it tries to record the end while the disk is full, s.
RECORD_S = 600.0
#: Interval of retries while nothing ends, s.
_RETRY_S = 0.25
#: Interval of checks whether a child of the main process was killed for memory, s.
_MEMORY_S = 1.0
#: The kernel's accounting of the main process and of those that it waited for; see getrusage(2).
_RESOURCES = (
    "ru_utime", "ru_stime", "ru_maxrss", "ru_ixrss", "ru_idrss", "ru_isrss", "ru_minflt", "ru_majflt", "ru_nswap",
    "ru_inblock", "ru_oublock", "ru_msgsnd", "ru_msgrcv", "ru_nsignals", "ru_nvcsw", "ru_nivcsw",
)  # fmt: skip

_DEAF = (_signal.SIGHUP, _signal.SIGINT, _signal.SIGQUIT, _signal.SIGTERM)


def tend(order: dict[str, Any], boot: str, channel: _socket.socket, lock: int) -> NoReturn:
    """Serve jobs. `channel` is where the daemon gets the answer for the first job; `lock` is released after that."""
    try:
        _live(order, boot, channel, lock)
    finally:
        os._exit(0)


def _live(order: dict[str, Any], boot: str, channel: _socket.socket, lock: int) -> None:
    fork_server = os.getppid()
    os.setsid()
    become_reaper()
    set_name(b"roost-shepherd")
    for number in _DEAF:
        _signal.signal(number, _signal.SIG_IGN)
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    line, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    # Opened again, it is a separate lock.
    own_lock = os.open(b"/proc/self/fd/%d" % lock, os.O_RDWR | os.O_CLOEXEC)
    job = Job(order, boot)
    answer = job.begin()
    _tell(channel, answer, theirs if job.runs else None)
    theirs.close()
    channel.close()
    os.close(lock)
    while job.runs and job.wait():
        job.leave_group()
        _say(line, job.outcome)
        following = _next(line, own_lock)
        if following is None:
            break
        job = Job(following, boot)
        answer = job.begin()
        _say(line, answer)
        fcntl.flock(own_lock, fcntl.LOCK_UN)
    job.leave_group()
    group = job.order["group"]
    memory = job.order["memory"]
    for each in (group, None if memory is None else memory["group"]):
        if each is not None and os.getppid() != fork_server:
            # No process is left that would create another group next to it. It is removed if it is empty.
            remove_group(each.rpartition(b"/")[0])


def _next(line: _socket.socket, lock: int) -> dict[str, Any] | None:
    """The next order; None if there will be none."""
    data = receive(line)
    if data is None:
        return None
    fcntl.flock(lock, fcntl.LOCK_SH)
    if hung_up(line):
        return None
    found: dict[str, Any] = marshal.loads(data)
    return found


def _say(line: _socket.socket, words: dict[str, object]) -> None:
    """Report to the daemon. It may be dead: then the record has the report."""
    try:
        line.send(marshal.dumps(words))
    except OSError:
        pass


def _tell(channel: _socket.socket, answer: dict[str, object], line: _socket.socket | None) -> None:
    """Send the daemon the answer together with its end of the connection. It may be dead: then the record has the
    answer.
    """
    passed = []
    if line is not None:
        passed.append((_socket.SOL_SOCKET, _socket.SCM_RIGHTS, line.fileno().to_bytes(4, sys.byteorder)))
    try:
        channel.sendmsg([marshal.dumps(answer)], passed)
    except OSError:
        pass


class Job:
    """The job on the shepherd's side."""

    __slots__ = (
        "boot", "file", "identity", "io_before", "order", "outcome", "pid", "relay", "runs", "started_at", "told",
        "used_before",
    )  # fmt: skip

    def __init__(self, order: dict[str, Any], boot: str) -> None:
        self.order = order
        self.boot = boot
        self.pid = 0
        #: The relay of a job to which a user is connected; None for any other.
        self.relay: Relay | None = None
        #: Its record.
        self.file = -1
        #: Where the first process of the job's PID namespace tells how the job ended; -1 without one.
        self.told = -1
        #: Its program has been started.
        self.runs = False
        self.started_at = 0.0
        #: The mark of the job's processes.
        self.identity: dict[str, object] = {}
        #: How the main process ended.
        self.outcome: dict[str, object] = {}
        #: The usage of the shepherd's earlier children, those of earlier jobs.
        before = os.times()
        self.used_before = before.children_user, before.children_system
        self.io_before = io_bytes(os.getpid())

    def begin(self) -> dict[str, object]:
        """Start the program; return the answer for the daemon."""
        group = self.order["group"]
        if group is not None and not make_group(group):
            # The job can do without one.
            self.order["group"] = None
        try:
            # If nothing can be recorded, nothing is started.
            self.file = open_record(self.order["record"])
            problem = self._start(self.order["memory"])
        except Exception as unforeseen:
            problem = self._give_up(unforeseen)
        self.runs = problem is None
        found = self.identity if problem is None else problem
        return {"order": self.order["number"], "shepherd": os.getpid(), **found}

    def leave_group(self) -> None:
        """Note that its control group is empty."""
        if self.order["group"] is not None:
            remove_group(self.order["group"])
        if self.order["memory"] is not None:
            remove_group(self.order["memory"]["group"])

    def _start(self, memory: dict[str, Any] | None) -> dict[str, object] | None:
        """Start the program and record that; return what failed if it could not be started, which is also recorded."""
        shepherd = os.getpid()
        self.started_at = time.time()
        try:
            if memory is not None:
                if memory["group"] != self.order["group"]:
                    make_group(memory["group"])
                limit_memory(memory)
            self._connect()
            if is_plain(self.order) and not self._is_better_forked():
                self.pid = launch_plain(self.order)
            else:
                self._fork(shepherd)
            if self.relay is not None:
                self.relay.begun()
        except Failed as failed:
            if self.relay is not None:
                self.relay.close()
            failure: dict[str, object] = {"failed": failed.stage, "errno": failed.number}
            failure["detail"] = failed.detail.decode("utf-8", "replace")
            self._record_not_started(failure)
            return failure
        group = self.order["group"]
        self.identity = {
            "pid": self.pid,
            "start": start_of(self.pid),
            "shepherd": shepherd,
            "shepherd_start": start_of(shepherd),
            "boot": self.boot,
            "group": None if group is None else os.fsdecode(group),
            "started_at": self.started_at,
            "io_before": self.io_before,
        }
        if memory is not None and memory["group"] != group:
            self.identity["memory_group"] = os.fsdecode(memory["group"])
        append_record(self.file, {"key": self.order["key"], **self.identity})
        return None

    def _connect(self) -> None:
        """Create the streams of a job to which a user is connected. Raises Failed."""
        if self.order["relay"] is None:
            return
        try:
            from roost.runtime.processes.shepherd.relay import Relay

            self.relay = Relay(self.order["relay"], self.order["account"])
        except OSError as problem:
            raise Failed("streams", problem, self.order["relay"]["directory"]) from problem
        self.order["ends"] = self.relay.ends

    def _is_better_forked(self) -> bool:
        """Whether a plain order starts faster with a forked child that does not have to move into its group."""
        return self.order["group"] is not None and self.order["alone"] and forks_into()

    def _fork(self, shepherd: int) -> None:
        reader, writer = os.pipe()
        isolation = self.order["isolation"]
        if isolation is not None and isolation["processes"]:
            self.told, self.order["told"] = os.pipe()
            try:
                self.pid, moves = fork_apart(), True
            except OSError as problem:
                for file in (reader, writer, self.told, self.order["told"]):
                    os.close(file)
                raise Failed("isolation", problem, b"PID namespace") from problem
        else:
            self.pid, moves = _born(self.order["group"])
        if self.pid == 0:
            launch(self.order, writer, shepherd, moves=moves)
        os.close(writer)
        if self.told >= 0:
            os.close(self.order["told"])
        report = _read_all(reader)
        os.close(reader)
        if report:
            os.waitpid(self.pid, 0)
            self._told_status(0)
            raise Failed.reported(report)

    def _give_up(self, problem: Exception) -> dict[str, object]:
        """Kill a job whose start cannot be recorded: after a restart the daemon would not know of it."""
        if self.pid:
            while not send(self.pid, start_of(self.pid), _signal.SIGKILL):
                pass
            os.waitpid(self.pid, 0)
            self._sweep()
        failure: dict[str, object] = {
            "failed": "record",
            "errno": getattr(problem, "errno", None) or 0,
            "detail": os.fsdecode(self.order["record"]) + ("" if isinstance(problem, OSError) else f": {problem}"),
        }
        try:
            self._record_not_started(failure)
        except OSError:
            pass
        return failure

    def _record_not_started(self, failure: dict[str, object]) -> None:
        record = {"key": self.order["key"], "boot": self.boot, "at": time.time(), "final": True}
        append_record(self.file, {**record, **failure}, again=True)

    def wait(self) -> bool:
        """Wait for the main process, record its end, and clean up; return whether nothing is left."""
        memory = self.order["memory"]
        if self.relay is not None:
            status, usage = self._main_ended_carried(self.relay, memory)
        else:
            status, usage = self._main_ended() if memory is None else self._main_ended_or_starved(memory)
        status = self._told_status(status)
        self.outcome = {
            "key": self.order["key"],
            "boot": self.boot,
            "exit_code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
            "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
            "core_dumped": os.WCOREDUMP(status),
            "started_at": self.started_at,
            "ended_at": time.time(),
            "main_user_s": usage.ru_utime,
            "main_system_s": usage.ru_stime,
            "max_resident_kib": usage.ru_maxrss,
            **{name: getattr(usage, name) for name in _RESOURCES},
        }
        if memory is not None and killed_for_memory(memory):
            self.outcome.update(memory_words(memory))
        if not _reap():
            left = 0
        else:
            self._record(1)
            left = self._await_rest() if self.order["await_family"] else self._sweep()
        if self.relay is not None:
            # Before the end is reported, so that the last output is available then.
            self.relay.finish()
            self.relay.close()
        self._record(left)
        os.close(self.file)
        return left == 0

    def _told_status(self, status: int) -> int:
        """How the job ended, where the shepherd's child was not the job but its namespace's first process."""
        if self.told < 0:
            return status
        found = _read_all(self.told)
        os.close(self.told)
        self.told = -1
        return int(found) if found else status

    def _main_ended(self) -> tuple[int, Any]:
        while True:
            pid, status, usage = os.wait4(-1, 0)
            if pid == self.pid:
                return status, usage

    def _main_ended_or_starved(self, memory: dict[str, Any]) -> tuple[int, Any]:
        """The same for a job with a memory limit: if one of its processes is killed because of it, all others are.

        The kernel kills one of them, and does not notify the shepherd if the main process is its parent.
        """
        mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, (_signal.SIGCHLD,))
        try:
            while True:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
                if pid == self.pid:
                    return status, usage
                if pid == 0:
                    if killed_for_memory(memory):
                        kill_family(os.getpid(), self.order["group"])
                    _signal.sigtimedwait((_signal.SIGCHLD,), _MEMORY_S)
        finally:
            _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)

    def _main_ended_carried(self, relay: Relay, memory: dict[str, Any] | None) -> tuple[int, Any]:
        """The same for a job whose streams are relayed meanwhile."""
        process = os.pidfd_open(self.pid)
        try:
            while True:
                relay.carry(process, _MEMORY_S)
                while True:
                    pid, status, usage = os.wait4(-1, os.WNOHANG)
                    if pid == self.pid:
                        return status, usage
                    if pid == 0:
                        break
                if memory is not None and killed_for_memory(memory):
                    kill_family(os.getpid(), self.order["group"])
        finally:
            os.close(process)

    def _await_rest(self) -> int:
        while True:
            try:
                os.wait4(-1, 0)
            except ChildProcessError:
                return 0

    def _sweep(self) -> int:
        """Kill until nothing is left; return how many children could not be killed."""
        until = time.monotonic() + SWEEP_S
        mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, (_signal.SIGCHLD,))
        try:
            while True:
                kill_family(os.getpid(), self.order["group"])
                if not _reap():
                    return 0
                left_s = until - time.monotonic()
                if left_s <= 0:
                    return len(children(os.getpid()))
                _signal.sigtimedwait((_signal.SIGCHLD,), min(left_s, _RETRY_S))
        finally:
            _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)

    def _record(self, left: int) -> None:
        """Record how it ended, with the usage of all of its processes so far."""
        user_s, system_s = self._used()
        moved = max(0, io_bytes(os.getpid()) - self.io_before)
        self.outcome.update(user_s=user_s, system_s=system_s, io_bytes=moved, left=left, final=left == 0)
        until, again = time.monotonic() + RECORD_S, False
        while True:
            try:
                append_record(self.file, self.outcome, again=again)
                return
            except OSError:
                if time.monotonic() > until:
                    return
            again = True
            time.sleep(_RETRY_S)

    def _used(self) -> tuple[float, float]:
        """CPU time of the job's processes: a control group counts all, otherwise those that were waited for."""
        times = os.times()
        user_s = times.children_user - self.used_before[0]
        system_s = times.children_system - self.used_before[1]
        if self.order["group"] is not None:
            words = read_kernel_file(self.order["group"] + b"/cpu.stat").split()
            told = dict(zip(words[::2], words[1::2], strict=False))
            user_s = max(user_s, int(told.get(b"user_usec", b"0")) / 1e6)
            system_s = max(system_s, int(told.get(b"system_usec", b"0")) / 1e6)
        return user_s, system_s


def _reap() -> bool:
    """Reap all children that have ended; return whether others live."""
    while True:
        try:
            pid, _, _ = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True


def _born(group: bytes | None) -> tuple[int, bool]:
    """Fork a child: 0 in the child, and whether it has yet to move into its group."""
    if group is not None and forks_into():
        try:
            return fork_into(group), False
        except OSError:
            # There may be no resources for a process, or the group may be unavailable: the other way reports the error.
            pass
    return os.fork(), True


def _read_all(file: int) -> bytes:
    data = b""
    while part := os.read(file, 4096):
        data += part
    return data
