"""One slave task of a parallel job on this machine: its process, what it prints, what it reads, and how it ended.

What it prints goes to two files in a directory of the job's user, and is read from there as often as it is asked for:
so neither the end of this daemon nor that of the one that asks loses any of it. Its input comes through a named pipe.
Files beside its shepherd's record say what it is and how it ended, for a daemon that comes later.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from pathlib import Path
from typing import Final

import msgspec

from roost.base.records import dataclass
from roost.model.cell_accounting import TaskUse
from roost.model.starter import Usage
from roost.runtime.files.deputy.hands import Hands
from roost.runtime.files.whole_files import write_whole
from roost.runtime.processes.family import Family
from roost.runtime.processes.spawn_order import ProcessEnd
from roost.wire.messages import TaskPrinted, TaskTook, WriteTask

#: Most bytes of one answer, of each stream.
PIECE_BYTES_MAX: Final = 256 * 1024
#: How long an answer may wait for something to tell, and how often the files are looked at, s: less often while a task
#: prints nothing.
WAIT_S: Final = 2.0
LOOK_S: Final = 0.01
LOOK_S_MAX: Final = 0.1
#: What names end with: what a task is, the record of its shepherd, and how it ended.
TICKET: Final = ".task"
RECORD: Final = ".run"
END: Final = ".end"
_GIB: Final = 2.0**30
_KIB: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """What a task is."""

    #: As the process that asked for it names it.
    task: str
    #: Number on this host, from 1.
    number: int
    claim: str
    queue: str
    host: str

    @property
    def name(self) -> str:
        """As accounting names it."""
        return f"{self.number}.{self.host}"

    @property
    def instance(self) -> str:
        """``queue@host``."""
        return f"{self.queue}@{self.host}"


class SlaveTask:
    """A task that was started, or is about to be."""

    def __init__(self, ticket: Ticket, directory: Path, sandbox: Path) -> None:
        """`directory` has the files of the machine's about it, `sandbox` those of the job's user."""
        self.ticket = ticket
        self.directory = directory
        self.family: Family | None = None
        self.use: TaskUse | None = None
        #: It has been ended from here.
        self.killed = False
        self.ended = asyncio.Event()
        self._sandbox = sandbox
        self._streams: list[int | None] = [None, None]
        self._input: int | None = None
        self._taken = 0
        self._began = 0.0
        self._cpu_s = self._percent_cpu_s = 0.0
        self._percent_at = asyncio.get_running_loop().time()
        self._mem = self._maxvmem = 0.0

    def path(self, suffix: str) -> Path:
        """One of the files of the machine's about it."""
        return self.directory / f"{self.ticket.number}{suffix}"

    def stream(self, suffix: str) -> Path:
        """One of the files of the job's user."""
        return self._sandbox / f"{self.ticket.number}{suffix}"

    def keep(self) -> None:
        """Write down what it is. Raises OSError."""
        write_whole(self.path(TICKET), msgspec.json.encode(self.ticket))

    # -- its process ---------------------------------------------------------------------------------

    def has(self, family: Family, began: float) -> None:
        """Its process runs."""
        self.family, self._began = family, began

    async def watch(self) -> None:
        """Wait for its end, and write down how it was."""
        assert self.family is not None
        end = await self.family.wait()
        self.over(end)

    def over(self, end: ProcessEnd) -> None:
        """It has ended."""
        self.use = self._used(end)
        with contextlib.suppress(OSError):
            write_whole(self.path(END), msgspec.json.encode(self.use))
        self._close_input()
        self.ended.set()

    def restore_end(self) -> bool:
        """Whether an earlier daemon has written down how it ended."""
        try:
            self.use = msgspec.json.decode(self.path(END).read_bytes(), type=TaskUse)
        except (OSError, msgspec.DecodeError):
            return False
        self.ended.set()
        return True

    def _used(self, end: ProcessEnd) -> TaskUse:
        ticket, began = self.ticket, end.started_at or self._began
        return TaskUse(
            name=ticket.name,
            queue=ticket.queue,
            host=ticket.host,
            began=began,
            ended=max(began, end.ended_at or began),
            exit_code=end.exit_code,
            signal=end.signal,
            user_cpu_s=end.user_cpu_s,
            system_cpu_s=end.system_cpu_s,
            mem=self._mem,
            maxvmem=max(self._maxvmem, float(end.max_resident_kib * _KIB)),
            resources=dict(end.resources),
        )

    async def kill(self) -> None:
        """End it; whether it is over."""
        if not self.ended.is_set():
            self.killed = True
            if self.family is not None:
                await self.family.kill()

    async def sample(self) -> float:
        """Percent of one core that it has used since this was asked last."""
        usage: Usage | None = None if self.family is None or self.ended.is_set() else await self.family.usage()
        if usage is None:
            return 0.0
        cpu_s, size = usage.user_cpu_s + usage.system_cpu_s, usage.image_size_kib * _KIB
        self._mem += max(0.0, cpu_s - self._cpu_s) * size / _GIB
        self._maxvmem, self._cpu_s = max(self._maxvmem, float(size)), cpu_s
        now = asyncio.get_running_loop().time()
        passed_s, used_s = now - self._percent_at, max(0.0, cpu_s - self._percent_cpu_s)
        if passed_s <= _SHORT_S:
            return 0.0
        self._percent_at, self._percent_cpu_s = now, cpu_s
        return used_s / passed_s * 100

    # -- its streams ---------------------------------------------------------------------------------

    def make_input(self) -> Path:
        """Make the pipe that it reads from, and keep the end that is written to. Raises OSError."""
        path = self.stream(".in")
        os.mkfifo(path, 0o644)
        self._open_input(path)
        return path

    def _open_input(self, path: Path) -> None:
        # Its user owns the directory: what was put in the place of the pipe is not written to.
        pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        found = os.fstat(pipe)
        if not stat.S_ISFIFO(found.st_mode) or found.st_uid != os.geteuid():
            os.close(pipe)
            raise FileNotFoundError(f"{path} is no longer the pipe that was made there")
        self._input = pipe

    def take(self, message: WriteTask) -> TaskTook:
        """Give it input, as much as it has room for."""
        if self._input is None or self.ended.is_set():
            return TaskTook(offset=self._taken, over=True)
        data = message.data[max(0, self._taken - message.offset) :] if message.offset <= self._taken else b""
        if data:
            with contextlib.suppress(BlockingIOError):
                self._taken += os.write(self._input, data)
        if message.last and self._taken == message.offset + len(message.data):
            self._close_input()
        return TaskTook(offset=self._taken)

    def _close_input(self) -> None:
        pipe, self._input = self._input, None
        if pipe is not None:
            os.close(pipe)

    async def printed(self, out: int, err: int, hands: Hands) -> TaskPrinted:
        """What it has printed from there on, as soon as there is something."""
        pause_s, until = LOOK_S, asyncio.get_running_loop().time() + WAIT_S
        while True:
            # Looked at before the files: what it printed last is in them.
            use = self.use
            pieces = [self._read(number, at, hands) for number, at in enumerate((out, err))]
            if any(pieces):
                return TaskPrinted(out=pieces[0], err=pieces[1])
            if use is not None:
                return TaskPrinted(ended=True, exit_code=use.exit_code, signal=None if self.killed else use.signal)
            if asyncio.get_running_loop().time() >= until:
                return TaskPrinted()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.ended.wait(), pause_s)
            pause_s = min(LOOK_S_MAX, 2 * pause_s)

    def _read(self, number: int, at: int, hands: Hands) -> bytes:
        try:
            stream = self._streams[number]
            if stream is None:
                stream = self._streams[number] = hands.open(str(self.stream((".out", ".err")[number])))
            return os.pread(stream, PIECE_BYTES_MAX, at)
        except OSError:
            # It does not exist yet, or its user has removed it.
            return b""

    def close(self) -> None:
        """Let go of its files; its process goes on."""
        self._close_input()
        for stream in self._streams:
            if stream is not None:
                os.close(stream)
        self._streams = [None, None]
        if self.family is not None and not self.family.is_ended:
            self.family.forget()


#: Shorter times say nothing about what a process uses, s.
_SHORT_S: Final = 0.01
