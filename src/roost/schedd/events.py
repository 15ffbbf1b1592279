"""Events of a queue: past facts, each a frozen value. Any may arrive twice, late or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeAlias

from roost.base.fast_records import field, record
from roost.classad import ClassAd
from roost.model.cell_accounting import TaskUse
from roost.model.cell_usage import UsageRules
from roost.schedd.changes import PutClaim
from roost.schedd.identifiers import JobId
from roost.schedd.job_source import JobSource


@record
class Submitted:
    """A user submits jobs: all of them are accepted, or none."""

    #: Without numbers yet.
    clusters: tuple[JobSource, ...]
    owner: str
    reply_to: str
    #: The id of the request, which appears in the logs of all daemons; "" for none.
    request: str = ""


class Action(StrEnum):
    """Actions of users on jobs."""

    HOLD = "hold"
    RELEASE = "release"
    REMOVE = "remove"
    #: Out of the queue at once, even if something of it still runs.
    REMOVE_AT_ONCE = "remove-x"
    SUSPEND = "suspend"
    CONTINUE = "continue"
    VACATE = "vacate"
    VACATE_FAST = "vacate-fast"
    EDIT = "edit"
    #: As `EDIT`, without an event log entry: for frequent changes.
    NOTE = "note"


@record
class Acted:
    """A user requests an action on jobs."""

    action: Action
    jobs: tuple[JobId, ...]
    user: str
    reply_to: str
    #: The user may act on other users' jobs.
    superuser: bool = False
    reason: str = ""
    #: For `EDIT` and `NOTE`: name to value or expression.
    attributes: ClassAd = field(default_factory=ClassAd)
    #: As of `Submitted`.
    request: str = ""
    #: Clusters that are chosen as a whole, where jobs are still to be made.
    factories: tuple[int, ...] = ()


@record
class InputSpooled:
    """All files of a job that was submitted with ``-spool`` have been copied to the queue."""

    job: JobId
    user: str
    reply_to: str
    #: The directory that has them, and its top-level entries.
    directory: str
    names: tuple[str, ...]
    #: When the first piece arrived, epoch s.
    begun: int
    #: As of `Submitted`.
    request: str = ""


@record
class GivenPart:
    """An additional slot of a match for a parallel job."""

    slot: str
    node: str
    claim_id: str
    slot_ad: ClassAd
    #: What it is granted in a Grid Engine cell.
    task: ClassAd


@record
class MatchGiven:
    """The negotiator assigns a slot to one of the jobs of an autocluster."""

    submitter: str
    autocluster: int
    slot: str
    node: str
    claim_id: str
    slot_ad: ClassAd
    #: What the job is granted in a Grid Engine cell; None from a negotiator without one.
    task: ClassAd | None = None
    #: Additional slots of a parallel job, which begins once it has all of them.
    parts: tuple[GivenPart, ...] = ()

    @property
    def slots(self) -> tuple[MatchGiven | GivenPart, ...]:
        """All slots of the match."""
        return (self, *self.parts)


@record
class MatchRefused:
    """The negotiator found no slot for an autocluster, and says why."""

    autocluster: int
    text: str


@record
class ClaimAnswered:
    """A machine has answered `AskForSlot`."""

    node: str
    asked_id: str
    accepted: bool
    refusal: str = ""
    #: The ad of the claimed slot, which may have been cut for the request.
    claim_id: str = ""
    slot: str = ""
    slot_ad: ClassAd | None = None


@record
class RunRefused:
    """A machine refuses to run a job on the claim."""

    claim_id: str
    run: str
    refusal: str


@record
class RunSkipped:
    """An ordered run is unnecessary: the job's output is newer than its input (skip_if_dataflow)."""

    claim_id: str
    run: str


@record
class RunBegan:
    """The job's program runs."""

    claim_id: str
    run: str
    at: float
    slot: str = ""


@record
class RunStoodStill:
    """All processes of the job have been stopped, or continued."""

    claim_id: str
    run: str
    at: float
    still: bool
    processes: int = 1


@record
class FilesMoved:
    """A stage of transferring the files of a job: "input-" or "output-" with "queued", "started" or "finished"."""

    claim_id: str
    run: str
    at: float
    stage: str


@record
class JobSaid:
    """A running job adds a line to its event log."""

    job: JobId
    run: str
    text: str


@record
class RunSaved:
    """The job's state has been saved."""

    claim_id: str
    run: str
    at: float
    #: Number of times in this run.
    checkpoints: int
    attributes: ClassAd


@record
class RunMeasured:
    """The usage of the job."""

    claim_id: str
    run: str
    at: float
    attributes: ClassAd


@record
class RunEnded:
    """A run has ended. The report is repeated until `Taken` arrives."""

    node: str
    claim_id: str
    run: str
    at: float
    #: "exit", "evict", "hold" or "remove".
    ending: str
    started: bool
    code: int = 0
    subcode: int = 0
    text: str = ""
    exit_code: int | None = None
    exit_signal: int | None = None
    core_dumped: bool = False
    output: str = "none"
    checkpoints: int = 0
    attributes: ClassAd = field(default_factory=ClassAd)
    #: The claim accepts no other job: it is not suitable for one.
    closing: bool = False
    #: Bytes of files that the run sent and received.
    bytes_sent: int = 0
    bytes_received: int = 0
    #: Usage of slave tasks of a parallel job; `attributes` are those of the job's own processes.
    tasks: tuple[TaskUse, ...] = ()
    #: The id of the request that ordered the end; "" for none.
    request: str = ""


@record
class ClaimLost:
    """A claim is over: the machine says so, or has been silent for too long."""

    claim_id: str
    reason: str
    code: int = 0
    #: The run whose end the machine has on record, and reports until that is acknowledged; "" for none.
    reported: str = ""


@record
class ClaimsHeard:
    """A machine's view of claims: id to the run on it, "" for none; and ids that it does not know."""

    node: str
    known: dict[str, str]
    unknown: tuple[str, ...] = ()
    #: Number of the question that this answers; 0 if it answers none.
    serial: int = 0
    #: The machine asks for a keepalive for those that it knows.
    renew: bool = False
    #: The state of the runs on claims: claim id to `RunStanding`. The state of a missing claim is unknown.
    standings: Mapping[str, str] = field(default_factory=dict)


@record
class LogRefused:
    """An event log cannot be opened, and retrying does not help until a user or an administrator fixes the cause."""

    path: str
    owner: str
    #: The resulting hold.
    code: int
    #: errno; 0 for none.
    subcode: int
    text: str


@record
class SignificantChanged:
    """Matching depends on these job attributes."""

    attributes: tuple[str, ...]
    #: Identifier of the pool policy in force, "" for none; None if it was not reported.
    policy: str | None = None


@record
class BusCameBack:
    """The connection to the bus was lost for a while, and messages of that time may be lost."""


@record
class ErrorsCleared:
    """Queue instances of the cell must accept jobs again after an error."""

    instances: tuple[str, ...]
    #: The user who ordered it.
    actor: str
    #: As of `Submitted`.
    request: str = ""


@record
class UsageCleared:
    """The usage of the cell must be cleared."""

    #: The user who ordered it.
    actor: str
    #: As of `Submitted`.
    request: str = ""


@record
class UsageRuled:
    """The cell sets how usage decays from now on."""

    rules: UsageRules


@record
class DayBegan:
    """It is midnight at the queue."""


@record
class Ticked:
    """Time has passed; whatever is due is done."""


@record
class WentOn:
    """There is time to continue the evaluation of job policies in progress."""


@record
class Started:
    """The queue has been read from disk, and starts."""

    #: The claims that it held.
    claims: tuple[PutClaim, ...] = ()


Event: TypeAlias = (
    Submitted
    | Acted
    | InputSpooled
    | MatchGiven
    | MatchRefused
    | ClaimAnswered
    | RunRefused
    | RunSkipped
    | RunBegan
    | RunStoodStill
    | RunMeasured
    | RunSaved
    | FilesMoved
    | JobSaid
    | RunEnded
    | ClaimLost
    | ClaimsHeard
    | LogRefused
    | SignificantChanged
    | BusCameBack
    | ErrorsCleared
    | UsageCleared
    | UsageRuled
    | DayBegan
    | Ticked
    | WentOn
    | Started
)
