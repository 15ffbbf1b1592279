"""A run on this machine: what it is, where its files are, and what it needs of the machine's daemon.

`Runner` carries out the effects of its starter. Modules that only have to know of the run (the order of its program,
its hooks, its log) are given this part of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

from roost.base.records import dataclass
from roost.classad import ClassAd
from roost.config import Config
from roost.model import starter_events as sev
from roost.model.causes import causes_of
from roost.model.queue_context import QueueContext
from roost.model.starter import Usage
from roost.runtime.bus.client import Carrier
from roost.runtime.clock import Clock
from roost.runtime.files.file_workers import FileWorkers
from roost.runtime.home import Home
from roost.runtime.node.runs.docker import Docker
from roost.runtime.node.runs.files import Transfers
from roost.runtime.node.runs.job_tasks import JobTasks
from roost.runtime.node.runs.reused_sandboxes import Sandboxes
from roost.runtime.node.runs.scratch import Scratch
from roost.runtime.node.sessions import Sessions
from roost.runtime.processes.accounts import Account
from roost.runtime.processes.family import Family
from roost.runtime.processes.fork_server import ForkServer
from roost.runtime.processes.sandbox import Sandbox


class RunShells(Protocol):
    """The programs that users run alongside a job, by the name of its run (`shells.Shells`)."""

    async def with_shells(self, run: str, usage: Usage | None) -> Usage | None:
        """A usage with that of the shells added."""

    async def hold(self, run: str, *, still: bool) -> None:
        """Suspend or resume them."""

    async def hang_up(self, run: str) -> None:
        """Tell them that the job has to end."""

    async def kill(self, run: str) -> None:
        """Kill them."""

    async def closed(self, run: str) -> None:
        """Wait until they have ended."""

    def forget(self, run: str) -> None:
        """Forget them: the run is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The surroundings of a runner."""

    home: Home
    fork_server: ForkServer
    sandboxes: Sandboxes
    #: The directory in which its scratch directory is made, and all such directories.
    execute: Path
    scratch: Scratch
    #: Handles the files of users.
    file_workers: FileWorkers
    bus: Carrier
    #: The machine.
    name: str
    config: Config
    clock: Clock
    #: The record of the run; `problem` says why no program may be started, "" if it may; `done` is called when the run
    #: is finished.
    record: Path
    problem: Callable[[], str]
    done: Callable[[], None]
    #: Takes an event of the starter's core.
    tell: Callable[[sev.StarterEvent], None]
    #: Called with the reason when this machine cannot run a job, whichever it is.
    failed: Callable[[str], None]
    #: Called with number and pid when the job's program runs.
    began: Callable[[int, int], None]
    #: Called with the number of processes when all of them have been stopped.
    stopped: Callable[[int], None]
    #: Called with the stage of a file transfer.
    moved: Callable[[str], None]
    #: Called when work met an unforeseen failure: waiting for its end would never finish.
    lost: Callable[[], None]
    #: The current usage of a job's processes; None once there are none.
    measure: Callable[[Family], Awaitable[Usage | None]] = Family.usage
    #: The settings of the Grid Engine queue instance; None without a cell.
    context: QueueContext | None = None
    #: Whether jobs run as the daemon's own user, whichever user owns them.
    as_daemon: bool = False
    #: The jobs to which users are connected; None if there can be none.
    sessions: Sessions | None = None
    #: Programs that users run alongside their jobs; None if there can be none.
    shells: RunShells | None = None


class LocalRun(ABC):
    """A run on this machine."""

    def __init__(
        self, around: Surroundings, run: str, schedd: str, slot: str, slot_ad: ClassAd, job_ad: ClassAd
    ) -> None:
        self.around = around
        self.run = run
        self.schedd = schedd
        self.slot = slot
        self.slot_ad = slot_ad
        self.job_ad = job_ad
        self.record = around.record
        self.sandbox: Sandbox | None = None
        #: The TMPDIR of a job in a queue instance of a cell.
        self.tmpdir: Path | None = None
        #: Whether its files have been transferred here, so that it runs in its sandbox.
        self.moved = False
        self.transfers = Transfers(around.bus, around.name, schedd, run, around.moved)
        #: The slave tasks of a parallel job; None for a job that may not have any.
        self.tasks: JobTasks | None = None
        self.family: Family | None = None
        #: The container of a job of the docker universe.
        self.docker: Docker | None = None
        #: The account as which the job runs; None for the daemon's own.
        self.account: Account | None = None
        #: Whether a script has printed to the job's output, which the job then appends to.
        self.has_printed = False

    @property
    def in_log(self) -> str:
        """The run's name in the daemon's log: with the id of the request that submitted its job."""
        return f"{self.run}{causes_of(self.job_ad).bracketed()}"

    @abstractmethod
    def shells_closed(self) -> None:
        """Note that the last shell next to the job has ended."""
