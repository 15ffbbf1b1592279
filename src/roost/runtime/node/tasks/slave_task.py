"""One slave task of a parallel job on this machine: its process, its output, its input, and its end.

Its streams are `processes.live_streams`: neither the end of this daemon nor that of the requesting one loses any
output. Files besides its shepherd's record describe the task and its end, for a later daemon.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Final

import msgspec

from roost.base.records import dataclass
from roost.model.cell_accounting import TaskUse
from roost.model.starter import Usage
from roost.runtime.files.whole_files import write_whole
from roost.runtime.processes.family import Family
from roost.runtime.processes.live_streams import LiveStreams
from roost.runtime.processes.spawn_order import ProcessEnd
from roost.wire.messages import TaskPrinted, TaskTook, WriteTask

#: Suffixes of file names: a task's description, the record of its shepherd, its end, and its streams.
TICKET: Final = ".task"
RECORD: Final = ".run"
END: Final = ".end"
STREAMS: Final = ".streams"
_GIB: Final = 2.0**30
_KIB: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """The description of a task."""

    #: The identifier chosen by the process that requested it.
    task: str
    #: Number on this host, from 1.
    number: int
    claim: str
    queue: str
    host: str

    @property
    def name(self) -> str:
        """Its name in accounting."""
        return f"{self.number}.{self.host}"

    @property
    def instance(self) -> str:
        """``queue@host``."""
        return f"{self.queue}@{self.host}"


class SlaveTask:
    """A task that was started, or is about to be."""

    def __init__(self, ticket: Ticket, directory: Path) -> None:
        """`directory` has the files about it."""
        self.ticket = ticket
        self.directory = directory
        self.streams = LiveStreams(self.path(STREAMS))
        self.family: Family | None = None
        self.use: TaskUse | None = None
        #: It has been ended by this machine.
        self.killed = False
        self.ended = asyncio.Event()
        self._began = 0.0
        self._cpu_s = self._percent_cpu_s = 0.0
        self._percent_at = asyncio.get_running_loop().time()
        self._mem = self._maxvmem = 0.0

    def path(self, suffix: str) -> Path:
        """One of the files about it."""
        return self.directory / f"{self.ticket.number}{suffix}"

    def keep(self) -> None:
        """Store its description. Raises OSError."""
        write_whole(self.path(TICKET), msgspec.json.encode(self.ticket))

    # -- its process ---------------------------------------------------------------------------------

    def has(self, family: Family, began: float) -> None:
        """Note that its process runs."""
        self.family, self._began = family, began

    async def watch(self) -> None:
        """Wait for its end, and store how it ended."""
        assert self.family is not None
        end = await self.family.wait()
        self.over(end)

    def over(self, end: ProcessEnd) -> None:
        """Note that it has ended."""
        self.use = self._used(end)
        with contextlib.suppress(OSError):
            write_whole(self.path(END), msgspec.json.encode(self.use))
        self.ended.set()
        self.streams.stir()

    def restore_end(self) -> bool:
        """Whether an earlier daemon has stored how it ended."""
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
            io=end.io_bytes / _GIB,
            maxvmem=max(self._maxvmem, float(end.max_resident_kib * _KIB)),
            resources=dict(end.resources),
        )

    async def kill(self) -> None:
        """End it; return whether it is over."""
        if not self.ended.is_set():
            self.killed = True
            if self.family is not None:
                await self.family.kill()

    async def sample(self) -> float:
        """Processor use since the last call, percent of one core."""
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

    async def take(self, message: WriteTask) -> TaskTook:
        """Give it input, as far as it has space."""
        if message.rows and message.columns:
            self.streams.resize(message.rows, message.columns)
        offset, closed = message.offset, False
        if message.data or message.last:
            offset, closed = await self.streams.taken(message.offset, message.data, self.ended, last=message.last)
        return TaskTook(offset=offset, closed=closed, over=self.ended.is_set())

    async def printed(self, out: int, err: int) -> TaskPrinted:
        """Its output from there on, as soon as there is some."""
        pieces = await self.streams.printed(out, err, self.ended)
        if pieces is not None:
            return TaskPrinted(out=pieces[0], err=pieces[1])
        use = self.use
        if use is None:
            return TaskPrinted(ended=True)
        return TaskPrinted(ended=True, exit_code=use.exit_code, signal=None if self.killed else use.signal)

    def close(self) -> None:
        """Stop supervising it; its process continues."""
        if self.family is not None and not self.family.is_ended:
            self.family.forget()


#: Shorter times say nothing about a process's usage, s.
_SHORT_S: Final = 0.01
