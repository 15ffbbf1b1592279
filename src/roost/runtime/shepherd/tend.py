# pathlib and contextlib are too large for this process.
# ruff: noqa: PTH102, SIM105
"""A shepherd's life: it forks the job, waits for its end, records it, and leaves nothing of the job behind.

``started.json`` is written when the job's program runs, before anybody is told; ``ended.json`` when the main process
has ended or could not be started, and once more when all the rest is gone, if there was a rest. Who finds the second
with ``final`` false and no shepherd knows that something may be left. Where the disk has no room for a second file, the
end is added to the first one, whose block has.

A shepherd obeys nobody: it is told all when it is born. Who wants something of the job reaches the job's processes
through control group and /proc, and the shepherd sees them end.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import marshal
import os
import sys
import time

from roost.runtime.shepherd.launch import Failed, is_plain, launch, launch_plain
from roost.runtime.shepherd.processes import children, kill_family, remove_group, send, start_of
from roost.runtime.shepherd.system import append_record, become_reaper, read_kernel_file, set_name, write_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

STARTED = b"/started.json"
ENDED = b"/ended.json"

#: How long the shepherd tries to kill what the main process left, s; it may be another user's, or hang in the kernel.
SWEEP_S = 20.0
#: How long it tries to record the end where there is no room on the disk, s.
RECORD_S = 600.0
#: The time between two tries while nothing ends, s.
_RETRY_S = 0.25

_DEAF = (_signal.SIGHUP, _signal.SIGINT, _signal.SIGQUIT, _signal.SIGTERM)


def tend(order: dict[str, Any], boot: str, channel: _socket.socket, held: list[int]) -> NoReturn:
    """Live. `channel` is where the daemon is told; `held` are files to be closed when it has been."""
    try:
        _tend(order, boot, channel, held)
    finally:
        os._exit(0)


def _tend(order: dict[str, Any], boot: str, channel: _socket.socket, held: list[int]) -> None:
    nursery = os.getppid()
    os.setsid()
    become_reaper()
    set_name(b"roost-shepherd")
    for number in _DEAF:
        _signal.signal(number, _signal.SIG_IGN)
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    job = Job(order, boot)
    try:
        _make_places(order)
        problem = job.begin()
    except Exception as unforeseen:
        problem = job.give_up(unforeseen)
    answer: dict[str, object] = {"order": order["number"], "shepherd": os.getpid()}
    answer.update(problem if problem is not None else job.identity)
    _tell(channel, answer)
    channel.close()
    for file in held:
        os.close(file)
    if problem is None:
        job.wait()
    if order["group"] is not None:
        remove_group(order["group"])
        if os.getppid() != nursery:
            # Nobody is left who would make another group beside it. It goes if it is empty.
            remove_group(order["group"].rpartition(b"/")[0])


def _make_places(order: dict[str, Any]) -> None:
    """The record's directory, and a control group if that is possible: the job can do without one."""
    try:
        os.mkdir(order["record"], 0o700)
    except FileExistsError:
        pass
    if order["group"] is not None and not _make_group(order["group"]):
        order["group"] = None


def _make_group(group: bytes) -> bool:
    try:
        os.mkdir(group)
    except FileExistsError:
        return True
    except FileNotFoundError:
        # A shepherd of an earlier daemon was the last of its time.
        try:
            os.mkdir(group.rpartition(b"/")[0])
            os.mkdir(group)
        except OSError:
            return False
    except OSError:
        return False
    return True


def _tell(channel: _socket.socket, answer: dict[str, object]) -> None:
    """The daemon gets the answer together with a handle on this process. It may be dead: then the records tell."""
    handle = os.pidfd_open(os.getpid())
    passed = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, handle.to_bytes(4, sys.byteorder))
    try:
        channel.sendmsg([marshal.dumps(answer)], [passed])
    except OSError:
        pass
    finally:
        os.close(handle)


class Job:
    """The job as its shepherd sees it."""

    __slots__ = ("boot", "identity", "order", "outcome", "pid", "started_at")

    def __init__(self, order: dict[str, Any], boot: str) -> None:
        self.order = order
        self.boot = boot
        self.pid = 0
        self.started_at = 0.0
        #: What tells the job's processes from all others.
        self.identity: dict[str, object] = {}
        #: How the main process ended.
        self.outcome: dict[str, object] = {}

    def begin(self) -> dict[str, object] | None:
        """Start the program and record that; what failed if it could not be started, which is recorded as well."""
        shepherd = os.getpid()
        self.started_at = time.time()
        try:
            if is_plain(self.order):
                self.pid = launch_plain(self.order)
            else:
                self._fork(shepherd)
        except Failed as failed:
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
        }
        write_record(self.order["record"] + STARTED, {"key": self.order["key"], **self.identity})
        return None

    def _fork(self, shepherd: int) -> None:
        reader, writer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            launch(self.order, writer, shepherd)
        os.close(writer)
        report = _read_all(reader)
        os.close(reader)
        if report:
            os.waitpid(self.pid, 0)
            raise Failed.reported(report)

    def give_up(self, problem: Exception) -> dict[str, object]:
        """A job whose start cannot be recorded must not run: nobody would know of it."""
        if self.pid:
            while not send(self.pid, start_of(self.pid), _signal.SIGKILL):
                pass
            os.waitpid(self.pid, 0)
            self._sweep()
        failure: dict[str, object] = {
            "failed": "record",
            "errno": getattr(problem, "errno", None) or 0,
            "detail": f"{os.fsdecode(self.order['record'])}: {problem}",
        }
        try:
            self._record_not_started(failure)
        except OSError:
            pass
        return failure

    def _record_not_started(self, failure: dict[str, object]) -> None:
        record = {"key": self.order["key"], "boot": self.boot, "at": time.time(), "final": True}
        write_record(self.order["record"] + ENDED, {**record, **failure})

    def wait(self) -> None:
        """Wait for the main process, record its end, and see to the rest."""
        status, usage = self._main_ended()
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
        }
        if not _reap():
            self._record(0)
            return
        self._record(1)
        left = self._await_rest() if self.order["await_family"] else self._sweep()
        self._record(left)

    def _main_ended(self) -> tuple[int, Any]:
        while True:
            pid, status, usage = os.wait4(-1, 0)
            if pid == self.pid:
                return status, usage

    def _await_rest(self) -> int:
        while True:
            try:
                os.wait4(-1, 0)
            except ChildProcessError:
                return 0

    def _sweep(self) -> int:
        """Kill until nothing is left; how many children could not be got rid of."""
        until = time.monotonic() + SWEEP_S
        _signal.pthread_sigmask(_signal.SIG_BLOCK, (_signal.SIGCHLD,))
        while True:
            kill_family(os.getpid(), self.order["group"])
            if not _reap():
                return 0
            left_s = until - time.monotonic()
            if left_s <= 0:
                return len(children(os.getpid()))
            _signal.sigtimedwait((_signal.SIGCHLD,), min(left_s, _RETRY_S))

    def _record(self, left: int) -> None:
        """How it ended, with what all of its processes have used so far."""
        user_s, system_s = self._used()
        used = {"user_s": user_s, "system_s": system_s, "left": left, "final": left == 0}
        record, until = {**self.outcome, **used}, time.monotonic() + RECORD_S
        while True:
            try:
                write_record(self.order["record"] + ENDED, record)
                return
            except FileNotFoundError:
                # Somebody has removed the directory: nobody wants to know.
                return
            except OSError:
                if append_record(self.order["record"] + STARTED, record) or time.monotonic() > until:
                    return
            time.sleep(_RETRY_S)

    def _used(self) -> tuple[float, float]:
        """CPU of the job's processes: the control group counts all, else those count that were waited for."""
        times = os.times()
        user_s, system_s = times.children_user, times.children_system
        if self.order["group"] is not None:
            words = read_kernel_file(self.order["group"] + b"/cpu.stat").split()
            told = dict(zip(words[::2], words[1::2], strict=False))
            user_s = max(user_s, int(told.get(b"user_usec", b"0")) / 1e6)
            system_s = max(system_s, int(told.get(b"system_usec", b"0")) / 1e6)
        return user_s, system_s


def _reap() -> bool:
    """Take note of all children that have ended; whether others live."""
    while True:
        try:
            pid, _, _ = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True


def _read_all(file: int) -> bytes:
    data = b""
    while part := os.read(file, 4096):
        data += part
    return data
