"""The node's side of its fork server: starts jobs through it, and restarts it when it dies.

    fork_server = await ForkServer.start(home / "run" / "nursery")
    order = SpawnOrder(key="q#1.0#1", record=jobs / "1.0.1", program=Path("/bin/true"), arguments=("true",))
    family = await fork_server.spawn(order)
    if isinstance(family, NotStarted):
        …family.code, family.errno, family.text
    end = await family.wait()

At most one fork server serves a directory: it holds a lock there, and so do its shepherds until their job's start is
recorded. `ForkServer.start` waits for the lock; when it returns, everything an earlier node ordered is recorded or will
never start, and `roost.runtime.processes.family.adopt` finds all of it.

A shepherd whose job has ended gets the next order directly (`shepherd_lines`); the fork server makes as many shepherds
as there are concurrent jobs.

If the fork server dies, jobs continue. Orders that it had not carried out are given to its successor; the records say
which ones these are.

It requires Linux 5.4 (pidfds). Other systems lack subreapers (macOS), pidfds (all) or /proc; `start` refuses there.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import logging
import marshal
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from pathlib import Path
from typing import IO, Any, Final, Self

import roost
from roost.base.records import dataclass
from roost.runtime.processes.cgroup import base_group, make_parent_group, remove_parent_group, remove_unused_groups
from roost.runtime.processes.family import Family, adopt
from roost.runtime.processes.memory_control import MemoryControl, find_memory_control
from roost.runtime.processes.run_records import StartRecord, is_told_of
from roost.runtime.processes.shepherd.processes import look, send
from roost.runtime.processes.shepherd.serve import READY
from roost.runtime.processes.shepherd.system import PACKET_BYTES_MAX
from roost.runtime.processes.shepherd_lines import ORDER_MAX, IdleShepherds, ShepherdLine
from roost.runtime.processes.spawn_order import ORDER_BYTES_MAX, NotStarted, OrderTooLarge, SpawnOrder

_log = logging.getLogger("roost.processes")

#: How long a predecessor's last shepherds may take to release the lock, and a new fork server to be ready, s.
START_S: Final = 30.0
#: How long to wait for the answer to an order before checking whether the fork server is stopped by a signal, s.
LOOK_S: Final = 5.0
#: How often fork servers and shepherds may die over one order before it is given up.
DEATHS_MAX: Final = 3
#: Maximum number of jobs being started at once; others wait. More would not start faster, and answers have to fit into
#: a socket.
STARTING_MAX: Final = 64
#: A job is started alone unless it is the last of that many within that time, s (see `shepherd.launch`).
CROWD: Final = 4
CROWD_S: Final = 0.1

#: Names on disk, like that of the directory, are those of earlier versions: a lock held by one counts here.
_LOCK: Final = "nursery.lock"
_LOG: Final = "nursery.log"
#: Variables that Python may need to be loaded at all. They are not passed to jobs.
_KEPT: Final = ("LD_LIBRARY_PATH",)
_STARTS: Final = 3
_LOCK_RETRY_S: Final = 0.01
#: Number of answers read in one go before the event loop does something else.
_ANSWERS_MAX: Final = 64
#: Not every build of Python defines it.
_MSG_CMSG_CLOEXEC: Final = 0x40000000


class ForkServerFailed(RuntimeError):
    """No job can be started on this machine; the text says why."""


class AlreadyStarted(ValueError):
    """The record already contains that start."""


@dataclass(slots=True)
class _Pending:
    order: SpawnOrder
    answer: asyncio.Future[Family | NotStarted]
    deaths: int = 0
    #: The daemon no longer waits for the answer; a job that has started is killed.
    abandoned: bool = False
    #: Checks for stopped processes while the answer is late.
    watch: asyncio.TimerHandle | None = None


class ForkServer:
    """Starts jobs. One for each node."""

    #: The object for the processes of a started job.
    family_type: type[Family] = Family

    def __init__(self, directory: Path, group: Path | None) -> None:
        self.directory = directory
        #: The control group below which jobs get theirs; None if they get none.
        self.group = group
        #: The control group of this process and of all shepherds.
        self._home = None if group is None else base_group()
        #: BASE_CGROUP.
        self._base = ""
        #: The memory control of jobs; None if their memory is not limited.
        self.memory: MemoryControl | None = None
        self._loop = asyncio.get_running_loop()
        self._channel: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._pending: dict[int, _Pending] = {}
        self._outbox: deque[bytes] = deque()
        self._writing = False
        self._number = 0
        #: When the latest jobs were started, on the loop's clock.
        self._starts: deque[float] = deque(maxlen=CROWD)
        self._starting = asyncio.Lock()
        self._slots = asyncio.Semaphore(STARTING_MAX)
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = self._leaving = False
        self._idle = IdleShepherds()
        #: Number of orders given to idle shepherds.
        self._reused: dict[int, _Pending] = {}

    @classmethod
    async def start(cls, directory: Path, *, use_groups: bool = True, base: str = "") -> Self:
        """Start the fork server of a directory, which is created if it does not exist. Raises ForkServerFailed.

        `base` is the control group below which those of jobs are created; "" for that of this process.
        """
        if sys.platform != "linux" or not hasattr(os, "pidfd_open"):
            raise ForkServerFailed(f"jobs can only be run on Linux 5.4 or later; this is {sys.platform}")
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        group = None
        if use_groups:
            group = await asyncio.to_thread(make_parent_group, _group_name(directory), base)
        fork_server = cls(directory, group)
        fork_server._base = base
        await fork_server._ensure()
        if group is not None:
            # No other thread creates one at this moment, because that needs the lock.
            remove_unused_groups(group)
        return fork_server

    async def limit_memory(self) -> str:
        """Limit the memory of jobs started from now on, if their orders say so; return why not, "" for success."""
        if self.memory is None:
            name = _group_name(self.directory)
            found = await asyncio.to_thread(find_memory_control, name, self._base, self.group)
            if isinstance(found, str):
                return found
            # No thread creates one before orders have limits.
            remove_unused_groups(found.parent)
            self.memory = found
        return ""

    @property
    def pid(self) -> int:
        """The fork server's process id; 0 while there is none."""
        return self._process.pid if self._process is not None else 0

    async def spawn(self, order: SpawnOrder) -> Family | NotStarted:
        """Start a job; return its family once the program runs, or why it does not.

        Raises OrderTooLarge, AlreadyStarted, ForkServerFailed, and KeyError for a limit with an unknown name. If the
        start is cancelled, the job is killed, unless this daemon leaves its jobs to the next one (`leave`).
        """
        if is_told_of(order.record, order.key):
            raise AlreadyStarted(f"{order.record} already records {order.key}; use a different key for each start")
        async with self._slots:
            pending = _Pending(order, self._loop.create_future())
            number, data = self._packed(order)
            line = self._idle.take() if len(data) <= ORDER_MAX else None
            if line is not None:
                self._reuse(line, number, data, pending)
            else:
                if self._channel is None:
                    await self._ensure()
                self._send(number, data, pending)
            pending.watch = self._loop.call_later(LOOK_S, self._check, pending, line)
            try:
                return await asyncio.shield(pending.answer)
            except asyncio.CancelledError:
                pending.abandoned = True
                if pending.answer.done() and not pending.answer.cancelled() and not pending.answer.exception():
                    self._discard(pending.answer.result())
                raise
            finally:
                if pending.watch is not None:
                    pending.watch.cancel()

    def _check(self, pending: _Pending, line: ShepherdLine | None) -> None:
        """Check an order without an answer for a long time: continue what was stopped by a signal."""
        pending.watch = self._loop.call_later(LOOK_S, self._check, pending, line)
        for pid in (self.pid, 0 if line is None or not line.is_open else line.pid):
            seen = look(pid) if pid else None
            if seen is not None and seen.is_stopped:
                _log.warning("process %d, which starts jobs, was stopped; it is continued", pid)
                send(pid, seen.start, signal.SIGCONT)

    def leave(self) -> None:
        """Leave all jobs, including those being started, to the next daemon."""
        self._leaving = True

    async def close(self) -> None:
        """Let the fork server exit after starting what it was ordered to start; running jobs continue."""
        self._closed = True
        answers = [pending.answer for pending in (*self._pending.values(), *self._reused.values())]
        if answers:
            await asyncio.wait(answers, timeout=START_S)
        self._idle.close()
        process, self._process = self._process, None
        self._disconnect()
        self._give_up()
        if process is not None:
            await asyncio.to_thread(process.wait)
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.group is not None:
            remove_parent_group(self.group)
        if self.memory is not None:
            remove_parent_group(self.memory.parent)

    # -- the process ---------------------------------------------------------------------------------------------

    async def _ensure(self) -> None:
        """Make sure that a fork server runs."""
        async with self._starting:
            if self._channel is not None:
                return
            if self._closed:
                raise ForkServerFailed("the fork server is closed")
            # A fork server that is killed before it is ready has no orders yet: another is started.
            for left in reversed(range(_STARTS)):
                channel = await self._begun()
                if channel is not None:
                    self._channel = channel
                    self._loop.add_reader(channel.fileno(), self._hear)
                    return
                self._disconnect()
                if not left:
                    raise ForkServerFailed(f"the fork server did not start: {self._last_words()}")

    async def _begun(self) -> socket.socket | None:
        lock = await self._locked()
        try:
            channel = self._begin(lock)
            # Shared from now on: with every shepherd that is about to start another job.
            fcntl.flock(lock, fcntl.LOCK_SH)
        finally:
            os.close(lock)
        try:
            async with asyncio.timeout(START_S):
                if await self._loop.sock_recv(channel, 64) == READY:
                    return channel
        except (TimeoutError, OSError):
            pass
        except asyncio.CancelledError:
            channel.close()
            raise
        channel.close()
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            await asyncio.to_thread(process.wait)
        return None

    async def _locked(self) -> int:
        path = self.directory / _LOCK
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        until = self._loop.time() + START_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return lock
            except BlockingIOError:
                if self._loop.time() > until:
                    os.close(lock)
                    raise ForkServerFailed(f"{path} is locked: another node runs with this directory") from None
            await asyncio.sleep(_LOCK_RETRY_S)

    def _begin(self, lock: int) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        source = str(Path(roost.__file__).resolve().parents[1])
        program = (
            f"import sys; sys.path.append({source!r}); from roost.runtime.processes.shepherd.serve import serve; "
            f"serve({theirs.fileno()}, {lock}, {None if self.group is None else str(self.group)!r})"
        )
        with theirs, self._log() as log:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", program],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env={name: os.environ[name] for name in _KEPT if name in os.environ},
                pass_fds=(theirs.fileno(), lock),
                start_new_session=True,
            )
        ours.setblocking(False)
        return ours

    def _log(self) -> IO[bytes]:
        return (self.directory / _LOG).open("ab")

    def _last_words(self) -> str:
        path = self.directory / _LOG
        try:
            lines = path.read_text(errors="replace").splitlines()[-1:]
        except OSError:
            lines = []
        return f"{lines[0]} (see {path})" if lines else f"it left no message in {path}"

    def _disconnect(self) -> None:
        channel, self._channel = self._channel, None
        self._outbox.clear()
        if channel is not None:
            self._loop.remove_reader(channel.fileno())
            self._loop.remove_writer(channel.fileno())
            self._writing = False
            channel.close()

    def _died(self) -> None:
        """Note that the other end is closed: the fork server is dead, and no shepherd will answer any longer."""
        self._disconnect()
        process, self._process = self._process, None
        if self._closed:
            self._give_up()
        else:
            self._in_background(self._recover(process))

    def _give_up(self) -> None:
        """Fail all requests that are still waiting for an answer."""
        pending = [*self._pending.values(), *self._reused.values()]
        self._pending.clear()
        self._reused.clear()
        for each in pending:
            if not each.answer.done():
                each.answer.set_exception(ForkServerFailed("the node is being shut down"))
                each.answer.exception()

    async def _recover(self, process: subprocess.Popen[bytes] | None) -> None:
        """Handle the orders that a dead fork server leaves."""
        if process is not None:
            await asyncio.to_thread(process.wait)
        orphans, self._pending = self._pending, {}
        if orphans:
            await self._repeat(list(orphans.values()))

    async def _repeat(self, orphans: list[_Pending]) -> None:
        try:
            await self._ensure()
            for pending in orphans:
                await self._again(pending)
        except Exception as problem:
            for pending in orphans:
                if not pending.answer.done():
                    pending.answer.set_exception(ForkServerFailed(f"the fork server died: {problem}"))
                    pending.answer.exception()

    async def _again(self, pending: _Pending) -> None:
        found = await adopt(pending.order.record, pending.order.key)
        pending.deaths += 1
        if found is not None:
            self._answer(pending, found)
        elif pending.abandoned:
            pending.answer.cancel()
        elif pending.deaths >= DEATHS_MAX:
            text = f"the fork server or the job's shepherd died {DEATHS_MAX} times: {self._last_words()}"
            pending.answer.set_exception(ForkServerFailed(text))
        else:
            await self._ensure()
            self._send(*self._packed(pending.order), pending)

    # -- the channel ---------------------------------------------------------------------------------------------

    def _packed(self, order: SpawnOrder) -> tuple[int, bytes]:
        """An order and its number."""
        self._number += 1
        group = None if self.group is None else self.group / _group_of(order.key)
        memory = None
        if order.memory is not None and self.memory is not None:
            memory = self.memory.packed(order.memory, _group_of(order.key))
        data = marshal.dumps(order.packed(self._number, group, self._home, memory, alone=self._is_alone()))
        if len(data) > ORDER_BYTES_MAX:
            raise OrderTooLarge(f"arguments and environment of {order.key} are {len(data)} bytes; put them into a file")
        return self._number, data

    def _is_alone(self) -> bool:
        """Whether the job that is started now is almost the only one."""
        now = self._loop.time()
        self._starts.append(now)
        return len(self._starts) < CROWD or now - self._starts[0] > CROWD_S

    def _send(self, number: int, data: bytes, pending: _Pending) -> None:
        self._pending[number] = pending
        for at in range(0, len(data), ORDER_MAX):
            last = at + ORDER_MAX >= len(data)
            self._outbox.append((b"." if last else b"+") + data[at : at + ORDER_MAX])
        if not self._writing:
            self._write()

    def _write(self) -> None:
        channel = self._channel
        while channel is not None and self._outbox:
            try:
                channel.send(self._outbox[0])
            except BlockingIOError:
                if not self._writing:
                    self._writing = True
                    self._loop.add_writer(channel.fileno(), self._write)
                return
            except OSError:
                # The reader will notice that there is no writer.
                break
            self._outbox.popleft()
        if channel is not None and self._writing:
            self._writing = False
            self._loop.remove_writer(channel.fileno())

    def _hear(self) -> None:
        for _ in range(_ANSWERS_MAX):
            channel = self._channel
            if channel is None:
                return
            try:
                data, handles, _, _ = socket.recv_fds(channel, PACKET_BYTES_MAX, 1, _MSG_CMSG_CLOEXEC)
            except BlockingIOError:
                return
            except OSError:
                data, handles = b"", []
            if not data:
                self._died()
                return
            self._answered(marshal.loads(data), handles[0] if handles else None)

    def _answered(self, fields: dict[str, Any], handle: int | None) -> None:
        pending = self._pending.pop(fields["order"], None)
        if "killed" in fields:
            if pending is not None:
                # Its shepherd died before it could answer: another one does it, unless it was done.
                self._in_background(self._repeat([pending]))
            return
        if pending is None or "failed" in fields:
            if handle is not None:
                os.close(handle)
            if pending is not None:
                self._answer(pending, _failure(pending.order.key, fields))
            return
        line = None if handle is None else ShepherdLine(socket.socket(fileno=handle), self._idle.put)
        self._answer(pending, self._family(pending, fields, line))

    def _reuse(self, line: ShepherdLine, number: int, data: bytes, pending: _Pending) -> None:
        """Give an order to an idle shepherd."""
        self._reused[number] = pending
        line.order(data, lambda fields: self._line_answered(line, number, fields))

    def _line_answered(self, line: ShepherdLine, number: int, fields: dict[str, Any] | None) -> None:
        pending = self._reused.pop(number, None)
        if pending is None:
            line.close()
        elif fields is None:
            # Killed, or just exited: another one does it, unless it was done.
            self._in_background(self._repeat([pending]))
        elif "failed" in fields:
            # That was its last order.
            line.close()
            self._answer(pending, _failure(pending.order.key, fields))
        else:
            self._answer(
                pending, self.family_type(pending.order.record, StartRecord.of(fields, pending.order.key), line)
            )

    def _family(self, pending: _Pending, fields: dict[str, Any], line: ShepherdLine | None) -> Family:
        order = pending.order
        return self.family_type(order.record, StartRecord.of(fields, order.key), line)

    def _answer(self, pending: _Pending, found: Family | NotStarted) -> None:
        if pending.abandoned or pending.answer.done():
            self._discard(found)
        if not pending.answer.done():
            pending.answer.set_result(found)

    def _discard(self, found: Family | NotStarted) -> None:
        if isinstance(found, Family) and self._leaving:
            found.forget()
        elif isinstance(found, Family):
            self._in_background(_kill(found))

    def _in_background(self, work: Any) -> None:
        task: asyncio.Task[None] = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _kill(family: Family) -> None:
    with contextlib.suppress(OSError):
        await family.kill()


def _failure(key: str, fields: dict[str, Any]) -> NotStarted:
    return NotStarted(key=key, stage=fields["failed"], errno=fields["errno"], detail=fields["detail"])


def _group_name(directory: Path) -> str:
    return f"roost-{hashlib.blake2b(os.fsencode(directory.resolve()), digest_size=6).hexdigest()}"


def _group_of(key: str) -> str:
    """A name for the control group of a run: readable, and a single path component."""
    plain = "".join(each if each.isalnum() or each in "._-" else "_" for each in key)[:64]
    return f"{plain}-{hashlib.blake2b(key.encode(), digest_size=4).hexdigest()}"
