"""What can happen to a starter: orders from startd or queue, results of its own orders, readings of its job.

The time at which it happened goes with an event to the machine. An order may come twice, late or not at all. A result
may come late, when it is no longer waited for, but never before its order was given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from roost.base.records import dataclass, field
from roost.classad import ClassAd
from roost.model.starter import Cause, HookPoint, Method, ScriptPoint, StarterHold, StarterTimer, Usage

# -- orders ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspendOrdered:
    """The startd wants the job to stand still."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinueOrdered:
    """The startd wants the job to go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftKillOrdered:
    """The job is to end, and has time for it."""

    cause: Cause
    #: Retirement it has left, s; None where the sender does not say.
    retirement_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HardKillOrdered:
    """The job is to end at once."""

    cause: Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointOrdered:
    """The job is to save its state now, if it can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconfigured:
    """The policy may have changed."""


# -- what became of orders -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxMade:
    """The scratch directory is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxFailed:
    """It could not be made."""

    text: str
    #: The hold that it leads to; None where another machine may do better.
    code: StarterHold | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEnded:
    """A hook has ended."""

    point: HookPoint
    #: Exit status; below 0 the number of the signal that killed it.
    status: int = 0
    #: The attributes that it printed.
    printed: ClassAd | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookNotRun:
    """A hook could not be started."""

    point: HookPoint
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptEnded:
    """Prolog or epilog has ended, or could not be started: status None."""

    point: ScriptPoint
    status: int | None = 0
    #: What ran before the job could print to the job's output, which is kept.
    printed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodEnded:
    """A method of the queue instance has ended."""

    method: Method
    #: What is wrong with how it ended, or that it could not be run; "" for nothing.
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputTransferred:
    """All input is in the sandbox."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFailed:
    """Input could not be moved."""

    text: str
    #: The hold that it leads to; None where another machine may do better.
    code: StarterHold | None = StarterHold.TRANSFER_INPUT_ERROR
    subcode: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStarted:
    """The job's program runs."""

    #: Which `StartJob` it is about.
    run: int
    pid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobNotStarted:
    """The job's program could not be started."""

    run: int
    text: str
    errno: int = 0
    #: The hold that it leads to; None where another machine may do better.
    code: StarterHold | None = StarterHold.FAILED_TO_CREATE_PROCESS
    #: The job's queue instance of a Grid Engine cell is at fault.
    by_queue: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnded:
    """The job's main process has ended. Exactly one of code and signal is set, or neither if its end was not seen."""

    run: int
    exit_code: int | None = None
    signal: int | None = None
    core_dumped: bool = False
    #: What on this machine the program could not do without; "" where nothing is known to have been missing.
    missing: str = ""
    #: Why the kernel killed it for its use of memory; "" if it did not.
    out_of_memory: str = ""
    #: What it used, by the names of getrusage(2); empty where that is not known.
    resources: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftKillFailed:
    """The soft kill's signal could not be delivered."""

    run: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSampled:
    """The job was measured."""

    run: int
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointTransferred:
    """The state that the job saved is safe."""

    #: Of which start of the job.
    run: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointFailed:
    """The state that the job saved could not be moved."""

    run: int
    text: str
    code: StarterHold = StarterHold.FAILED_TO_CHECKPOINT
    subcode: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputTransferred:
    """All output is where it belongs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFailed:
    """Output could not be moved."""

    text: str
    code: StarterHold = StarterHold.TRANSFER_OUTPUT_ERROR
    subcode: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxRemoved:
    """Nothing is left of the scratch directory; or it had to be left, and `text` says why."""

    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StarterTimerFired:
    """A timer that the starter had set ran out."""

    timer: StarterTimer


StarterEvent: TypeAlias = (
    SuspendOrdered
    | ContinueOrdered
    | SoftKillOrdered
    | HardKillOrdered
    | CheckpointOrdered
    | Reconfigured
    | SandboxMade
    | SandboxFailed
    | HookEnded
    | HookNotRun
    | ScriptEnded
    | MethodEnded
    | InputTransferred
    | InputFailed
    | JobStarted
    | JobNotStarted
    | JobEnded
    | SoftKillFailed
    | UsageSampled
    | CheckpointTransferred
    | CheckpointFailed
    | OutputTransferred
    | OutputFailed
    | SandboxRemoved
    | StarterTimerFired
)
