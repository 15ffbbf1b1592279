"""All that a starter knows: the value that goes into each step and comes out of it.

Whatever affects the next step is in here or in the policy. Deadlines are part of the state, and the timers that a
runtime keeps are only reminders of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from roost.base.records import dataclass, field
from roost.classad import ClassAd
from roost.model.queue_context import QueueContext
from roost.model.starter import Cause, Doing, Method, Output, ScriptFailure, ScriptPoint, Usage
from roost.starter.states import PAIRS, Pair, Stage, State

#: Each legal pair by itself, for making one takes longer than finding it.
_LEGAL: Final[Mapping[tuple[State, Stage], Pair]] = {(pair.state, pair.stage): pair for pair in PAIRS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What a starter is given when it begins. The ads are shared, never changed."""

    job_ad: ClassAd
    #: ``slot1@host``; "" without a startd.
    slot: str = ""
    #: What the slot has for good: Memory (MB), Cpus, SlotID, …; see `starter_ad.static_shares`.
    shares: ClassAd = field(default_factory=ClassAd)
    #: MachineMaxVacateTime as it was when the job was accepted, s; None where the machine sets no limit.
    vacate_pledge_s: float | None = 600.0
    #: Retirement granted to the job, counted from its start, s.
    retirement_s: float = 0.0
    #: A queue sent the job, so files are moved; a hook that fetched it brings its own.
    from_queue: bool = True
    #: What the job's queue instance of a Grid Engine cell gives it; None without a cell.
    context: QueueContext | None = field(default=None, metadata={"added": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramEnd:
    """How the job's program ended; both None if its end was not seen."""

    code: int | None = None
    signal: int | None = None
    core_dumped: bool = False
    #: What it used, by the names of getrusage(2); empty where that is not known.
    resources: Mapping[str, float] = field(default_factory=dict, metadata={"added": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """When something happens of itself, epoch s; None where nothing does."""

    poll_at: float | None = None
    update_at: float | None = None
    #: A soft kill becomes a hard one.
    vacate_until: float | None = None
    #: A hard kill is repeated.
    kill_again_at: float | None = None
    #: The hook that runs has had its time.
    hook_until: float | None = None
    #: What is done after the job has had its time.
    finish_until: float | None = None
    #: A job that waited for it starts; kept until its program runs.
    deferred_until: float | None = None
    #: The run time of a soft and of a hard limit of the queue instance is over.
    soft_limit_at: float | None = field(default=None, metadata={"added": True})
    hard_limit_at: float | None = field(default=None, metadata={"added": True})
    #: What the job was warned of happens, or the method that ends it is run again.
    method_at: float | None = field(default=None, metadata={"added": True})
    #: The job is asked for a checkpoint.
    checkpoint_at: float | None = field(default=None, metadata={"added": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class StarterState:
    """A starter between two steps."""

    launch: Launch
    #: The job's ad with what hooks changed: what is started, and what expressions see.
    job_ad: ClassAd
    #: Prefix of its hooks in capitals; "" for none.
    hook_keyword: str = ""
    state: State = State.PREPARING
    stage: Stage = Stage.SANDBOX
    #: EnteredCurrentState, epoch s.
    entered_state_at: float
    #: What is waited for.
    doing: Doing | None = None
    deadlines: Deadlines = Deadlines()

    #: Number of the last `StartJob`; 0 before the first.
    run: int = 0
    #: It was ordered, and its end has not been seen.
    process: bool = False
    pid: int | None = None
    #: JobStartDate: when the job's program was first seen running, epoch s; None before.
    started_at: float | None = None
    #: Since when the program runs; None while it does not, or is suspended.
    running_since: float | None = None
    #: Time run before, s.
    run_s: float = 0.0
    #: The processes were stopped and not continued.
    frozen: bool = False
    #: The startd wants the job to stand still.
    suspend_wanted: bool = False
    #: The last sample, sizes being the largest so far; None before the first.
    usage: Usage | None = None
    #: Virtual memory times CPU time between the samples, GiB s: `mem` of Grid Engine.
    memory_used: float = field(default=0.0, metadata={"added": True})
    checkpoints: int = 0
    end: ProgramEnd | None = None

    #: Why the job has to go; None while it has not.
    cause: Cause | None = None
    #: The job was killed hard.
    killed: bool = False
    #: A hard kill was ordered from outside: there is no time for output.
    hard: bool = False
    #: Hooks that take down what they set up are owed: a hook ran before the job, or the job was started.
    hooked: bool = False
    prolog_begun: bool = False
    script_failures: tuple[ScriptFailure, ...] = ()
    output: Output = Output.NONE
    #: Expressions about which the administrator was warned.
    warned: tuple[str, ...] = ()
    #: The hard limit of the queue instance for which the job is killed; "" for none. Soft limits that it was told of.
    limit: str = field(default="", metadata={"added": True})
    soft_limits: tuple[str, ...] = field(default=(), metadata={"added": True})
    #: The program of the queue instance that was ordered last; None for none.
    script: ScriptPoint | None = field(default=None, metadata={"added": True})
    #: The program that a parallel environment has after its jobs is owed.
    environment_begun: bool = field(default=False, metadata={"added": True})
    #: The job's output has what a prolog printed, and is not emptied when the program starts.
    printed: bool = field(default=False, metadata={"added": True})
    #: Methods of the queue instance that were ordered and have not ended.
    methods: tuple[Method, ...] = field(default=(), metadata={"added": True})
    #: What the job was warned of and has yet to happen; None for nothing.
    notice: Method | None = field(default=None, metadata={"added": True})
    #: The job is being ended as its queue instance ends jobs.
    terminating: bool = field(default=False, metadata={"added": True})
    #: The job is sent to another machine by its checkpointing interface.
    migrating: bool = field(default=False, metadata={"added": True})
    #: The process that commands of the interface have saved in this run; None for none.
    saved_pid: int | None = field(default=None, metadata={"added": True})
    #: Why the queue instance could not start the job; "" if it could.
    queue_error: str = field(default="", metadata={"added": True})

    @property
    def pair(self) -> Pair:
        """State and stage."""
        return _LEGAL.get((self.state, self.stage)) or Pair(self.state, self.stage)

    @property
    def universe(self) -> int:
        """JobUniverse; 5 where the ad does not say."""
        value = self.job_ad.cell("jobuniverse")
        return value if isinstance(value, int) and not isinstance(value, bool) else 5

    def run_time_s(self, now: float) -> float:
        """Time in which the program ran and was not suspended."""
        return self.run_s + (0.0 if self.running_since is None else max(0.0, now - self.running_since))

    def duration_s(self, now: float) -> float:
        """JobDuration: time since the program was started, suspensions included."""
        return 0.0 if self.started_at is None else max(0.0, now - self.started_at)
