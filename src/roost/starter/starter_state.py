"""The complete state of a starter: the input and the output of each step.

Whatever affects the next step is here or in the policy. Deadlines are part of the state; the timers of a runtime are
only reminders.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from roost.base.fast_records import field, record
from roost.classad import ClassAd
from roost.model.queue_context import QueueContext
from roost.model.starter import Cause, Doing, Method, Output, ScriptFailure, ScriptPoint, Usage
from roost.starter.states import PAIRS, Pair, Stage, State

#: Each legal pair, interned: looking one up is faster than making one.
_LEGAL: Final[Mapping[tuple[State, Stage], Pair]] = {(pair.state, pair.stage): pair for pair in PAIRS}


@record
class Launch:
    """The arguments with which a starter begins. The ads are shared and never changed."""

    job_ad: ClassAd
    #: ``slot1@host``; "" without a startd.
    slot: str = ""
    #: The constant attributes of the slot: Memory (MB), Cpus, SlotID, …; see `starter_ad.static_shares`.
    shares: ClassAd = field(default_factory=ClassAd)
    #: MachineMaxVacateTime as it was when the job was accepted, s; None where the machine sets no limit.
    vacate_pledge_s: float | None = 600.0
    #: Retirement granted to the job, counted from its start, s.
    retirement_s: float = 0.0
    #: The job came from a queue, so files are transferred; a job that a hook fetched brings its own.
    from_queue: bool = True
    #: What the job's Grid Engine queue instance gives it; None without a cell.
    context: QueueContext | None = field(default=None, metadata={"added": True})


@record
class ProgramEnd:
    """How the job's program ended; both None if its end was not observed."""

    code: int | None = None
    signal: int | None = None
    core_dumped: bool = False
    #: Its usage, by the field names of getrusage(2); empty if unknown.
    resources: Mapping[str, float] = field(default_factory=dict, metadata={"added": True})


@record
class Deadlines:
    """Times of timed events, epoch s; None if not set."""

    poll_at: float | None = None
    update_at: float | None = None
    #: When a soft kill becomes a hard one.
    vacate_until: float | None = None
    #: When a hard kill is repeated.
    kill_again_at: float | None = None
    #: When the running hook times out.
    hook_until: float | None = None
    #: When the work after the job times out.
    finish_until: float | None = None
    #: When a deferred job starts; kept until its program runs.
    deferred_until: float | None = None
    #: When the run time of a soft and of a hard limit of the queue instance is exceeded.
    soft_limit_at: float | None = field(default=None, metadata={"added": True})
    hard_limit_at: float | None = field(default=None, metadata={"added": True})
    #: When what the job was notified of happens, or the method that ends it is repeated.
    method_at: float | None = field(default=None, metadata={"added": True})
    #: When the job is asked for a checkpoint.
    checkpoint_at: float | None = field(default=None, metadata={"added": True})


@record
class StarterState:
    """A starter between two steps."""

    launch: Launch
    #: The job's ad with changes by hooks: this is what is started, and what expressions see.
    job_ad: ClassAd
    #: Prefix of its hooks in capitals; "" for none.
    hook_keyword: str = ""
    state: State = State.PREPARING
    stage: Stage = Stage.SANDBOX
    #: EnteredCurrentState, epoch s.
    entered_state_at: float
    #: The work in progress.
    doing: Doing | None = None
    deadlines: Deadlines = Deadlines()

    #: Run number of the last `StartJob`; 0 before the first.
    run: int = 0
    #: The start was ordered, and the end has not been observed.
    process: bool = False
    pid: int | None = None
    #: JobStartDate: when the job's program was first observed running, epoch s; None before.
    started_at: float | None = None
    #: When the program began to run, or to run again; None while it does not run or is suspended.
    running_since: float | None = None
    #: Run time of earlier periods, s.
    run_s: float = 0.0
    #: The processes were stopped and not continued.
    frozen: bool = False
    #: The startd has ordered the job suspended.
    suspend_wanted: bool = False
    #: The last sample, with maximum sizes; None before the first.
    usage: Usage | None = None
    #: Virtual memory times CPU time, summed over samples, GiB s: `mem` of Grid Engine.
    memory_used: float = field(default=0.0, metadata={"added": True})
    checkpoints: int = 0
    end: ProgramEnd | None = None

    #: Why the job has to go; None while it has not.
    cause: Cause | None = None
    #: The job was killed hard.
    killed: bool = False
    #: A hard kill was ordered externally: there is no time for output.
    hard: bool = False
    #: Closing hooks are owed: a hook ran before the job, or the job was started.
    hooked: bool = False
    prolog_begun: bool = False
    script_failures: tuple[ScriptFailure, ...] = ()
    output: Output = Output.NONE
    #: Expressions about which the administrator was warned.
    warned: tuple[str, ...] = ()
    #: The hard limit of the queue instance for which the job is killed, "" for none; and the soft limits already
    #: signalled.
    limit: str = field(default="", metadata={"added": True})
    soft_limits: tuple[str, ...] = field(default=(), metadata={"added": True})
    #: The queue instance's script that was ordered last; None for none.
    script: ScriptPoint | None = field(default=None, metadata={"added": True})
    #: The script that closes a parallel environment after its jobs is owed.
    environment_begun: bool = field(default=False, metadata={"added": True})
    #: The job's output holds what a prolog printed, so it is not truncated when the program starts.
    printed: bool = field(default=False, metadata={"added": True})
    #: Methods of the queue instance that were ordered and have not ended.
    methods: tuple[Method, ...] = field(default=(), metadata={"added": True})
    #: What the job was notified of that has not happened yet; None for nothing.
    notice: Method | None = field(default=None, metadata={"added": True})
    #: The job is being ended by its queue instance's method.
    terminating: bool = field(default=False, metadata={"added": True})
    #: The job is migrating through its checkpointing interface.
    migrating: bool = field(default=False, metadata={"added": True})
    #: The process that the interface's commands have saved in this run; None for none.
    saved_pid: int | None = field(default=None, metadata={"added": True})
    #: Why the queue instance could not start the job; "" if it could.
    queue_error: str = field(default="", metadata={"added": True})

    @property
    def pair(self) -> Pair:
        """State and stage."""
        return _LEGAL.get((self.state, self.stage)) or Pair(self.state, self.stage)

    @property
    def universe(self) -> int:
        """JobUniverse; 5 if the ad does not say."""
        value = self.job_ad.cell("jobuniverse")
        return value if isinstance(value, int) and not isinstance(value, bool) else 5

    def run_time_s(self, now: float) -> float:
        """Time for which the program ran and was not suspended."""
        return self.run_s + (0.0 if self.running_since is None else max(0.0, now - self.running_since))

    def duration_s(self, now: float) -> float:
        """JobDuration: time since the program started, suspensions included."""
        return 0.0 if self.started_at is None else max(0.0, now - self.started_at)
