"""The settings of a queue instance of a Grid Engine cell for a job that runs in it, resolved so that nodes need no
cell.

The queue resolves it (`roost.gridengine.pool.context`) and sends it with the order to start the job.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from roost.base.records import dataclass, field

#: The name of the one cell of a pool.
CELL: Final = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelContext:
    """The slots of a parallel job and its parallel environment."""

    #: The parallel environment.
    environment: str
    #: Slots on all hosts.
    slots: int
    hosts: int
    #: Queue instances.
    instances: int
    #: One line per queue instance, the master's first: host, slots, instance, processors.
    hostfile: str
    #: Commands of the environment before and after the job, as ``[user@]path arguments``; "" for none.
    start: str = ""
    stop: str = ""
    #: Whether slave tasks are started only by `qrsh -inherit`.
    controls_slaves: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointContext:
    """The checkpointing interface of a job."""

    name: str
    interface: str
    #: Lines for a shell; "" for none.
    command: str = ""
    migrate: str = ""
    restart: str = ""
    clean: str = ""
    directory: str = "/tmp"
    #: The signal that asks a job for a checkpoint; "" for none.
    signal: str = ""
    #: When: s at shutdown of the machine, m at each interval, x on suspension, r to reschedule if the machine is lost.
    when: str = ""
    #: Time between two checkpoints, s; None for no periodic ones.
    interval_s: float | None = None

    @property
    def has_commands(self) -> bool:
        """Whether the interface uses commands rather than only the signal."""
        return self.interface.casefold() not in ("userdefined", "transparent")

    @property
    def restarts_by_command(self) -> bool:
        """Whether `restart` runs instead of a job that was saved."""
        return self.has_commands and self.interface.casefold() != "application-level"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueContext:
    """The context of one job in one queue instance."""

    #: The cluster queue, and the host of the cell that the instance is on.
    queue: str
    host: str
    #: Slots on that host.
    slots: int = 1
    #: For a parallel job; None for any other.
    parallel: ParallelContext | None = None
    #: Name of a limit, such as ``h_rt``, to seconds or bytes; infinite limits are left out. Each is the stricter of
    #: queue and request; the limits of CPU time and virtual memory cover all slots together.
    limits: Mapping[str, float] = field(default_factory=dict)
    #: Maximum interval between reports of the job's usage, s; None for the machine's setting.
    report_s: float | None = None
    #: Nice value.
    priority: int = 0
    #: Directory in which the job's TMPDIR is created.
    tmpdir: str = "/tmp"
    #: Commands before and after the job, as ``[user@]path arguments``; "" for none.
    prolog: str = ""
    epilog: str = ""
    #: The value of `$processors` in them.
    processors: str = "UNDEFINED"
    #: Shell of jobs that name none, how a script is started, and the names of shells that are login shells.
    shell: str = "/bin/sh"
    shell_start_mode: str = "posix_compliant"
    login_shells: tuple[str, ...] = ()
    #: Absolute path of the program that is executed in place of a job's shell; "" for none.
    starter_method: str = ""
    #: Exit status 99 does not reschedule a job, and 100 does not put it in error state (`qmaster_params`).
    forbids_reschedule: bool = False
    forbids_error: bool = False
    #: For a job of `qsub -ckpt`; None for any other.
    checkpoint: CheckpointContext | None = field(default=None, metadata={"added": True})
    #: SGE_ROOT of the queue's machine.
    sge_root: str = field(default="", metadata={"added": True})
    #: How jobs are suspended, continued and ended: a command, the name or number of a signal, or "" for SIGSTOP,
    #: SIGCONT and SIGKILL.
    suspend_method: str = field(default="", metadata={"added": True})
    resume_method: str = field(default="", metadata={"added": True})
    terminate_method: str = field(default="", metadata={"added": True})
    #: How long before suspension or end a job of `qsub -notify` is warned, s, and the signals; "" for none.
    notify_s: float = field(default=60.0, metadata={"added": True})
    notify_suspend: str = field(default="SIGUSR1", metadata={"added": True})
    notify_terminate: str = field(default="SIGUSR2", metadata={"added": True})

    @property
    def instance(self) -> str:
        """``queue@host``."""
        return f"{self.queue}@{self.host}"
