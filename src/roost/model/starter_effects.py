"""Effects of a starter, which a runtime or a simulation carries out in order.

An effect on the job comes after its `StartJob`; if the process does not exist yet, the effect is kept until it does.
The result of an effect comes back as an event of `starter_events`.
"""

from __future__ import annotations

from typing import TypeAlias

from roost.base.fast_records import record
from roost.classad import ClassAd
from roost.model.starter import Cause, Doing, ExitReport, HookPoint, Method, Output, ScriptPoint, StarterTimer


@record
class MakeSandbox:
    """Make the scratch directory."""


@record
class RunHook:
    """Run a hook: as the job's user, except STARTER_FAILURE, because that user may not exist."""

    point: HookPoint
    path: str
    #: As configured, or the keyword that the hook gets.
    arguments: str
    #: Its standard input.
    ad: ClassAd
    #: Whether the starter waits for its result.
    awaited: bool
    #: Time limit if nothing waits for it, s; None until the run is over.
    timeout_s: float | None = None


@record
class RunScript:
    """Run a prolog or epilog, ``[user@]path arguments`` as configured."""

    point: ScriptPoint
    command: str
    #: How the job's program ended: its code, or 128 and the signal; None before its end.
    job_status: int | None = None


@record
class RunMethod:
    """Act on the job's processes as its queue instance is configured; the result is `MethodEnded`."""

    method: Method
    #: The signal for all processes of the job, or a command line for a shell run as the job's user.
    command: str
    #: Time limit, s.
    timeout_s: float


@record
class TransferInput:
    """Move the job's input into the sandbox."""

    job_ad: ClassAd


@record
class StartJob:
    """Start the job's program."""

    #: 1, 2, … within one starter; the job is restarted after it saved its state.
    run: int
    job_ad: ClassAd


@record
class SuspendProcesses:
    """Stop all processes of the job."""


@record
class ContinueProcesses:
    """Continue all processes of the job."""


@record
class SignalJob:
    """Send a signal to the main process of the job, or to all of them."""

    #: ``SIGTERM``.
    signal: str
    all: bool = False
    #: Whether the job saves its state and continues.
    saves: bool = False
    #: Whether the job counts as suspended from now on, because it will be stopped in a moment.
    suspends: bool = False


@record
class KillProcesses:
    """Send SIGKILL to every remaining process of the job, including descendants."""


@record
class TransferCheckpoint:
    """Transfer the job's checkpoint to the queue."""

    #: The start of the job that saved it.
    run: int
    job_ad: ClassAd


@record
class TransferOutput:
    """Transfer output to its destination, or to the queue for the next run."""

    job_ad: ClassAd
    destination: Output


@record
class AbortWork:
    """Stop the work that the starter waits for; its result no longer matters."""

    doing: Doing


@record
class RemoveSandbox:
    """Remove the scratch directory with all that is in it."""


@record
class ReportUsage:
    """Report the job's usage to startd and queue."""

    attributes: ClassAd


@record
class ReportCheckpoint:
    """Tell the queue that the job's state has been saved."""

    #: Number of checkpoints in this run.
    checkpoints: int
    attributes: ClassAd


@record
class ReportEviction:
    """Tell the startd that the starter is evicting the job on its own."""

    #: "Vacating" or "Killing".
    job_state: str
    cause: Cause


@record
class ReportExit:
    """Tell startd and queue how the run ended."""

    report: ExitReport


@record
class Warn:
    """Warn the administrator, and in the job's log if it concerns the job."""

    #: Name of an expression, an attribute or a hook.
    about: str
    text: str


@record
class SetStarterTimer:
    """Fire the timer at that time, epoch s; replaces an earlier setting."""

    timer: StarterTimer
    at: float


@record
class CancelStarterTimer:
    """Cancel the timer."""

    timer: StarterTimer


@record
class Quit:
    """End the starter: all work is done."""


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
    | SetStarterTimer
    | CancelStarterTimer
    | Quit
)
