"""What a starter orders: values that a runtime or a simulation carries out, in the order in which they stand.

An order about the job comes after the `StartJob` that it is about; one that comes before there is a process is kept
until there is. What comes of an order comes back as an event of `starter_events`.
"""

from __future__ import annotations

from typing import TypeAlias

from roost.base.records import dataclass
from roost.classad import ClassAd
from roost.model.starter import Cause, Doing, ExitReport, HookPoint, Method, Output, ScriptPoint, StarterTimer


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeSandbox:
    """Make the scratch directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHook:
    """Run a hook: as the job's user, but for STARTER_FAILURE, since that user may be what there is not."""

    point: HookPoint
    path: str
    #: As configured, or the word that the hook is told.
    arguments: str
    #: What it reads.
    ad: ClassAd
    #: Its result is waited for.
    awaited: bool
    #: How long it may take if nothing waits for it, s; None until the run is over.
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScript:
    """Run prolog or epilog, ``[user@]path arguments`` as configured."""

    point: ScriptPoint
    command: str
    #: How the job's program ended: its code, or 128 and the signal; None before its end.
    job_status: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMethod:
    """Act upon the job's processes as its queue instance wants it; the result is `MethodEnded`."""

    method: Method
    #: The signal that all processes of the job get; or a line for a shell that runs as the job's user.
    command: str
    #: How long it may take, s.
    timeout_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferInput:
    """Move the job's input into the sandbox."""

    job_ad: ClassAd


@dataclass(frozen=True, slots=True, kw_only=True)
class StartJob:
    """Start the job's program."""

    #: 1, 2, … in one starter; the job is started again after it saved its state.
    run: int
    job_ad: ClassAd


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspendProcesses:
    """Stop all processes of the job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinueProcesses:
    """Let all processes of the job go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalJob:
    """Send a signal to the main process of the job, or to all of them."""

    #: ``SIGTERM``.
    signal: str
    all: bool = False
    #: The job is to save its state, and goes on.
    saves: bool = False
    #: From now on the job counts as suspended: it will be stopped in a moment.
    suspends: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KillProcesses:
    """SIGKILL every process of the job that is left, descendants and all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferCheckpoint:
    """Move what the job saved to the queue."""

    #: In which start of the job.
    run: int
    job_ad: ClassAd


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferOutput:
    """Move output to where the user wants it, or to the queue for the next run."""

    job_ad: ClassAd
    destination: Output


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortWork:
    """Stop the work that the starter waits for; its result no longer matters."""

    doing: Doing


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveSandbox:
    """Remove the scratch directory with all that is in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportUsage:
    """Tell startd and queue how the job is doing."""

    attributes: ClassAd


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportCheckpoint:
    """Tell the queue that the job's state has been saved."""

    #: How often in this run.
    checkpoints: int
    attributes: ClassAd


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportEviction:
    """Tell the startd that the job is being got rid of though the startd did not order it."""

    #: "Vacating" or "Killing".
    job_state: str
    cause: Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportExit:
    """Tell startd and queue how the run ended."""

    report: ExitReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Warn:
    """Tell the administrator, and the job's log where it is about the job."""

    #: Name of an expression, an attribute or a hook.
    about: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetTimer:
    """Remind the starter at that time, epoch s; replaces the timer of that kind."""

    timer: StarterTimer
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelTimer:
    """The reminder is no longer needed."""

    timer: StarterTimer


@dataclass(frozen=True, slots=True, kw_only=True)
class Quit:
    """Nothing is left to be done: the starter ends."""


StarterEffect: TypeAlias = (
    MakeSandbox
    | RunHook
    | RunScript
    | RunMethod
    | TransferInput
    | StartJob
    | SuspendProcesses
    | ContinueProcesses
    | SignalJob
    | KillProcesses
    | TransferCheckpoint
    | TransferOutput
    | AbortWork
    | RemoveSandbox
    | ReportUsage
    | ReportCheckpoint
    | ReportEviction
    | ReportExit
    | Warn
    | SetTimer
    | CancelTimer
    | Quit
)
