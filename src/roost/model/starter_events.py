"""Events of a starter: orders from startd or queue, results of its own effects, readings of its job.

The time is passed to the state machine along with the event. An order may arrive twice, late or not at all. A result
may arrive late, when it is no longer awaited, but never before its effect was ordered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from roost.base.fast_records import field, record
from roost.classad import ClassAd
from roost.model.starter import Cause, HookPoint, Method, ScriptPoint, StarterHold, StarterTimer, Usage

# -- orders ------------------------------------------------------------------------------------------------


@record
class SuspendOrdered:
    """The startd orders the job to be suspended."""


@record
class ContinueOrdered:
    """The startd orders the job to continue."""


@record
class SoftKillOrdered:
    """The job must end, with time to do so."""

    cause: Cause
    #: Remaining retirement, s; None if the sender does not say.
    retirement_s: float | None = None


@record
class HardKillOrdered:
    """The job must end at once."""

    cause: Cause


@record
class CheckpointOrdered:
    """The job must save its state now, if it can."""


@record
class Reconfigured:
    """The policy may have changed."""


# -- results of effects -------------------------------------------------------------------------


@record
class SandboxMade:
    """The scratch directory exists."""


@record
class SandboxFailed:
    """It could not be made."""

    text: str
    #: The hold that it leads to; None if another machine may succeed.
    code: StarterHold | None = None


@record
class HookEnded:
    """A hook has ended."""

    point: HookPoint
    #: Exit status; below 0 the number of the signal that killed it.
    status: int = 0
    #: The attributes that it printed.
    printed: ClassAd | None = None


@record
class HookNotRun:
    """A hook could not be started."""

    point: HookPoint
    text: str


@record
class ScriptEnded:
    """A prolog or epilog has ended, or could not be started (status None)."""

    point: ScriptPoint
    status: int | None = 0
    #: Whether a script that ran before the job may have written to the job's output, which is then kept.
    printed: bool = False


@record
class MethodEnded:
    """A method of the queue instance has ended."""

    method: Method
    #: The problem with its end, or why it could not be run; "" for none.
    text: str = ""


@record
class InputTransferred:
    """All input is in the sandbox."""


@record
class InputFailed:
    """Input could not be transferred."""

    text: str
    #: The hold that it leads to; None if another machine may succeed.
    code: StarterHold | None = StarterHold.TRANSFER_INPUT_ERROR
    subcode: int = 0


@record
class JobStarted:
    """The job's program was started."""

    #: Which `StartJob` it is about.
    run: int
    pid: int


@record
class JobNotStarted:
    """The job's program could not be started."""

    run: int
    text: str
    errno: int = 0
    #: The hold that it leads to; None if another machine may succeed.
    code: StarterHold | None = StarterHold.FAILED_TO_CREATE_PROCESS
    #: Whether the job's queue instance of a Grid Engine cell is at fault.
    by_queue: bool = False


@record
class JobEnded:
    """The job's main process has ended. Exactly one of code and signal is set, or neither if its end was not
    observed."""

    run: int
    exit_code: int | None = None
    signal: int | None = None
    core_dumped: bool = False
    #: What the program needed but was missing on this machine; "" if nothing is known to have been missing.
    missing: str = ""
    #: Why the kernel killed it for its use of memory; "" if it did not.
    out_of_memory: str = ""
    #: Its resource usage, by the names of getrusage(2); empty if unknown.
    resources: Mapping[str, float] = field(default_factory=dict)


@record
class SoftKillFailed:
    """The soft kill's signal could not be delivered."""

    run: int


@record
class UsageSampled:
    """The job was measured."""

    run: int
    usage: Usage


@record
class CheckpointTransferred:
    """The job's checkpoint has been transferred."""

    #: The start of the job that saved it.
    run: int


@record
class CheckpointFailed:
    """The job's checkpoint could not be transferred."""

    run: int
    text: str
    code: StarterHold = StarterHold.FAILED_TO_CHECKPOINT
    subcode: int = 0


@record
class OutputTransferred:
    """All output is at its destination."""


@record
class OutputFailed:
    """Output could not be transferred."""

    text: str
    code: StarterHold = StarterHold.TRANSFER_OUTPUT_ERROR
    subcode: int = 0


@record
class SandboxRemoved:
    """The scratch directory was removed, or had to be left, and `text` says why."""

    text: str = ""


@record
class StarterTimerFired:
    """A timer that the starter had set fired."""

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
