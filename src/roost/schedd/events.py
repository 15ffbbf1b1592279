"""What can happen to a queue: past facts, each a frozen value. Any may come twice, late or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeAlias

from roost.base.records import dataclass, field
from roost.classad import ClassAd
from roost.model.cell_accounting import TaskUse
from roost.model.cell_usage import UsageRules
from roost.schedd.changes import PutClaim
from roost.schedd.identifiers import JobId
from roost.schedd.jobs.book import JobSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """A user hands in jobs: all of them are taken, or none."""

    #: Without numbers yet.
    clusters: tuple[JobSource, ...]
    owner: str
    reply_to: str
    #: The id of the request, by which the logs of all daemons name it; "" for none.
    request: str = ""


class Action(StrEnum):
    """What users do to jobs."""

    HOLD = "hold"
    RELEASE = "release"
    REMOVE = "remove"
    #: Out of the queue at once, whatever still runs.
    REMOVE_AT_ONCE = "remove-x"
    SUSPEND = "suspend"
    CONTINUE = "continue"
    VACATE = "vacate"
    VACATE_FAST = "vacate-fast"
    EDIT = "edit"
    #: As `EDIT`, without an entry in the event log: for what changes often.
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Acted:
    """A user wants something done to jobs."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSpooled:
    """All files that a job needs, which was submitted with ``-spool``, have been copied to the queue."""

    job: JobId
    user: str
    reply_to: str
    #: The directory that has them, and what is in its top level.
    directory: str
    names: tuple[str, ...]
    #: When the first piece came, epoch s.
    begun: int
    #: As of `Submitted`.
    request: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenPart:
    """A further slot of a match for a parallel job."""

    slot: str
    node: str
    claim_id: str
    slot_ad: ClassAd
    #: What it is of the job in a Grid Engine cell.
    task: ClassAd


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchGiven:
    """The matchmaker gives a slot to one of the jobs of an autocluster."""

    submitter: str
    autocluster: int
    slot: str
    node: str
    claim_id: str
    slot_ad: ClassAd
    #: What the job gets of a Grid Engine cell; None from a matchmaker that has none.
    task: ClassAd | None = None
    #: Further slots of a parallel job, which begins once it has all of them.
    parts: tuple[GivenPart, ...] = ()

    @property
    def slots(self) -> tuple[MatchGiven | GivenPart, ...]:
        """All slots of the match."""
        return (self, *self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchRefused:
    """The matchmaker had nothing for an autocluster, and says why."""

    autocluster: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimAnswered:
    """A machine has answered `AskForSlot`."""

    node: str
    asked_id: str
    accepted: bool
    refusal: str = ""
    #: Of the slot that was claimed, which may have been cut for the request.
    claim_id: str = ""
    slot: str = ""
    slot_ad: ClassAd | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRefused:
    """A machine will not run a job on the claim."""

    claim_id: str
    run: str
    refusal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSkipped:
    """A run was ordered, and is not needed: the job's output is newer than its input (skip_if_dataflow)."""

    claim_id: str
    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBegan:
    """The job's program runs."""

    claim_id: str
    run: str
    at: float
    slot: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStoodStill:
    """All processes of the job have been stopped, or go on again."""

    claim_id: str
    run: str
    at: float
    still: bool
    processes: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesMoved:
    """Files of the job are on their way, or have been moved: "input-started", "input-finished", "output-…"."""

    claim_id: str
    run: str
    at: float
    stage: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSaid:
    """A running job has a line for its event log."""

    job: JobId
    run: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSaved:
    """The job's state has been saved."""

    claim_id: str
    run: str
    at: float
    #: How often in this run.
    checkpoints: int
    attributes: ClassAd


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMeasured:
    """What the job uses."""

    claim_id: str
    run: str
    at: float
    attributes: ClassAd


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    """How a run ended. It is sent until `Taken` is heard."""

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
    #: The claim takes no other job: it is of no use for one.
    closing: bool = False
    #: Bytes of files that the run left, and that it got.
    bytes_sent: int = 0
    bytes_received: int = 0
    #: What slave tasks of a parallel job have used; `attributes` are those of the job's own processes.
    tasks: tuple[TaskUse, ...] = ()
    #: The id of the request that ordered the end; "" where none did.
    request: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimLost:
    """A claim is over: the machine says so, or has not been heard of for too long."""

    claim_id: str
    reason: str
    code: int = 0
    #: The machine has the end of this run on record, and reports it until it is heard; "" for none.
    reported: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsHeard:
    """What a machine knows of claims: id to the run on it, "" for none; and ids that it does not know."""

    node: str
    known: dict[str, str]
    unknown: tuple[str, ...] = ()
    #: Of the question that this answers; 0 if it answers none.
    serial: int = 0
    #: The machine asks for a sign of life for those that it knows.
    renew: bool = False
    #: How the runs on claims stand: claim id to `Standing`. A claim that is missing may stand in any way.
    standings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRefused:
    """An event log cannot be opened, and retrying does not help until a user or an administrator fixes the cause."""

    path: str
    owner: str
    #: The hold that it leads to.
    code: int
    #: errno; 0 for none.
    subcode: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SignificantChanged:
    """Matching depends on these job attributes."""

    attributes: tuple[str, ...]
    #: What tells the pool's policy in force from others, "" for none; None if it was not reported.
    policy: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BusCameBack:
    """The connection to all others was lost for a while, and what was said meanwhile may be lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorsCleared:
    """Queue instances of the cell are to take jobs again after an error."""

    instances: tuple[str, ...]
    #: The user who orders it.
    actor: str
    #: As of `Submitted`.
    request: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageCleared:
    """What was used of the cell is to be forgotten."""

    #: The user who orders it.
    actor: str
    #: As of `Submitted`.
    request: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRuled:
    """The cell says how usage decays from now on."""

    rules: UsageRules


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticked:
    """Time has passed; what is due is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WentOn:
    """There is time for more of the look at jobs' policies that is under way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The queue has been read from disk, and begins to work."""

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
    | Ticked
    | WentOn
    | Started
)
