"""Requests to a queue: submitting jobs, acting on them, and listing them."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias, TypedDict, TypeVar

from roost.model.cell_requests import HELD, HOLDS
from roost.model.job_standing import JobStanding
from roost.wire.requests.cell import CELL
from roost.wire.requests.verb import (
    JOBS_PATTERN,
    PIECE_BYTES_MAX,
    Asker,
    Bytes64,
    Daemon,
    FilePiece,
    Request,
    StillToAnswer,
    Stream,
    Verb,
    question,
    table,
    under_way,
)  # fmt: skip
from roost.wire.structs import AdData, Between, Count, Matching, PlanData, Struct

_R_co = TypeVar("_R_co", covariant=True)

#: A job (12.0) or a cluster (12).
Jobs: TypeAlias = Annotated[str, Matching(JOBS_PATTERN, "a job (12.0) or a cluster (12)")]
#: `schedd.events.Action`.
Action: TypeAlias = Literal[
    "hold", "release", "remove", "remove-x", "suspend", "continue", "vacate", "vacate-fast", "edit", "note"
]


class ChosenFields(TypedDict, total=False):
    """The fields that select jobs, for callers that pass them on."""

    jobs: tuple[str, ...]
    owners: tuple[str, ...]
    constraint: str | None


class ShownFields(TypedDict, total=False):
    """The fields that select what is shown of jobs, for callers that pass them on."""

    projection: tuple[str, ...]
    raw: bool
    texts: tuple[str, ...]


class _Chosen(Request[_R_co]):
    """A request about jobs: those for which all fields hold."""

    #: Empty for any.
    jobs: tuple[Jobs, ...] = ()
    owners: tuple[str, ...] = ()
    #: An expression that must be true for the jobs; None for any.
    constraint: str | None = None


class Submitted(Struct):
    """A cluster that was accepted."""

    cluster: int
    jobs: int
    warnings: tuple[str, ...] = ()
    #: For a job of `qsub`: its name and its tasks (``1-10:3``, "" without), which a verifier may have changed.
    name: str = ""
    tasks: str = ""


class Submit(Request[list[Submitted]]):
    """Submit jobs, which the requester will own."""

    #: Plans of clusters.
    clusters: tuple[PlanData, ...]


class ActedUpon(Struct):
    """The result of an action on jobs."""

    #: Result to number of jobs.
    counts: dict[str, int]
    #: Job to the reason why it was not changed.
    refused: dict[str, str]


#: Action to the attributes that it accepts; edit and note accept any.
_TAKES: Final = {"hold": ("HoldReasonSubCode", HELD), "release": (HELD,)}


class Act(_Chosen[ActedUpon]):
    """Perform an action on jobs."""

    action: Action
    #: The reason, for the record.
    reason: str = ""
    #: For "edit" and "note": the new attributes of the jobs; for "hold": HoldReasonSubCode; for "hold" and "release":
    #: CellHolds, the Grid Engine holds that are set or removed, letters of ``uos``; "" with "release" ends the error
    #: state and leaves the holds.
    attributes: AdData | None = None

    def _problem(self) -> str:
        if self.action in ("edit", "note"):
            return ""
        given = self.attributes or {}
        wrong = set(given) - set(_TAKES.get(self.action, ()))
        if wrong:
            return f"{self.action} does not take the attribute {min(wrong)}"
        letters = given.get(HELD, "u")
        fits = isinstance(letters, str) and set(letters) <= set(HOLDS) and len(set(letters)) == len(letters)
        return "" if fits and (letters or self.action == "release") else f"{HELD} has letters of {HOLDS}"


class Query(_Chosen[list[AdData]]):
    """Jobs and their ads."""

    #: Only these attributes; empty for whole ads.
    projection: tuple[str, ...] = ()
    #: Return expressions rather than values for the projection.
    raw: bool = False
    #: Return the value of these attributes if it is a string, otherwise the expression.
    texts: tuple[str, ...] = ()
    #: Maximum number of jobs; 0 for all.
    limit: Count = 0
    #: Return clusters whose jobs enter the queue a few at a time, not jobs; the constraint is about their own ads.
    factories: bool = False


class ClusterRow(Struct):
    """A cluster, and the number of its selected jobs in each state."""

    cluster: int
    owner: str
    #: Epoch s.
    submitted_at: int
    #: Number of jobs that it has had.
    total: int
    #: Number of selected jobs that are in the queue.
    left: int
    #: The first and the last ProcId in the queue.
    first: int
    last: int
    #: State (Idle, Running, TransferringOutput) to number of selected jobs.
    counts: dict[str, int]
    #: Number of jobs that have not entered the queue yet.
    unmaterialized: int = 0
    #: Attributes of its ad: what it runs, its batch, and its place in a workflow; for a workflow, also its progress.
    attributes: AdData


class Clusters(Struct):
    """A row for each cluster."""

    clusters: list[ClusterRow]


class ActionProgress(Struct):
    """How far an action on many jobs has come: sent while it goes on, before the reply."""

    #: Number of jobs.
    done: int
    of: int


class Overview(_Chosen[list[AdData] | Clusters]):
    """Jobs, or their clusters if there are more than `rows_max` jobs."""

    projection: tuple[str, ...] = ()
    #: -1 for clusters in any case.
    rows_max: Annotated[int, Between(-1, 2**31 - 1)] = 200


class History(Request[list[AdData]]):
    """Jobs that have left the queue, newest first."""

    jobs: tuple[Jobs, ...] = ()
    constraint: str | None = None
    projection: tuple[str, ...] = ()
    raw: bool = False
    texts: tuple[str, ...] = ()
    limit: Count = 0


#: Upper bounds of the intervals in which times are counted, s; one more counts all that is longer.
DURATION_BOUNDS_S: Final = (0.1, 0.5, 1.0, 2.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3_600.0, 14_400.0, 86_400.0)


class Durations(Struct):
    """Times, counted by length."""

    #: One for each of `DURATION_BOUNDS_S`, and one for longer times.
    counts: list[int]
    sum_s: float = 0.0


class QueueFigures(Struct):
    """What a queue has seen since it started."""

    #: Epoch s.
    since: float
    #: From submission to the first start, and from a match to each start.
    submit_to_start: Durations
    match_to_start: Durations
    #: Transfers of files: how long they took, and how long they waited for their turn.
    input: Durations
    output: Durations
    input_wait: Durations
    output_wait: Durations
    #: How a run ended (exit, evict, hold, remove) to number.
    ended: dict[str, int]
    bytes_sent: int = 0
    bytes_received: int = 0


class Totals(Struct):
    """A queue in figures."""

    name: str
    #: State to number of jobs.
    jobs: dict[str, int]
    claims: int
    #: Autocluster to the reason why it got no slot.
    rejections: dict[str, str]
    figures: QueueFigures | None = None


#: A job (12.0).
Job: TypeAlias = Annotated[str, Matching(r"\d{1,9}\.\d{1,9}", "a job (12.0)")]


class Spooled(Struct):
    """The byte from which on the next piece of a file is wanted."""

    offset: Count = 0


class SpoolFile(Request[Spooled]):
    """Store a piece of a file that a job of ``-spool`` needs; a directory is one piece without data."""

    job: Job
    #: In the form of `runtime.files.transfer`.
    item: str
    offset: Count = 0
    data: Bytes64 = ""
    last: bool = False


class EndSpooling(Request[Spooled]):
    """Let a job wait for a slot: the queue has received all its files."""

    job: Job


class SpooledFiles(Request[str]):
    """List the queue's files of a job of ``-spool`` that are new, or changed since it received them. Packed items."""

    job: Job


class SpooledPart(Struct):
    """A piece of a file."""

    data: Bytes64 = ""
    last: bool = True


class ReadSpooled(Request[SpooledPart]):
    """Read a piece of such a file."""

    job: Job
    item: str
    offset: Count = 0


class StopQueue(Request[None]):
    """Stop the queue's daemon until `roost up` starts it again; allowed for administrators and managers of the cell.

    Running jobs continue.
    """


class Summary(Request[Totals]):
    """How many jobs there are in each state."""


class ReadOutput(Request[FilePiece]):
    """A piece of the file of a job's standard output or error, for a job that does not run or has ended."""

    job: Annotated[str, Matching(r"\d{1,9}\.\d{1,9}", "a job (12.0)")]
    stream: Stream = "out"
    #: The first byte; if negative, an offset from the end.
    offset: Annotated[int, Between(-(2**62), 2**62)] = 0
    limit: Annotated[int, Between(1, PIECE_BYTES_MAX)] = PIECE_BYTES_MAX


class UnderWay(StillToAnswer):
    """Whether this process of the queue has received a request, and has not answered it: no other process will."""


class Autocluster(Request[JobStanding]):
    """The jobs that the negotiator treats as equal to a job, and its last answer about them."""

    job: Job


QUEUE: Final[dict[str, Verb]] = table(
    Daemon.QUEUE,
    Verb("act", Act, Asker.OWNER, "hold, release, remove, suspend, continue, vacate or edit jobs"),
    question("autocluster", Autocluster, "which jobs the matchmaker treats as one with a job"),
    question("history", History, "jobs that have left the queue"),
    question("overview", Overview, "jobs, or clusters where there are many jobs"),
    question("query", Query, "jobs and their ads"),
    Verb("spool-file", SpoolFile, Asker.OWNER, "take a piece of a file that a job of -spool needs"),
    Verb("end-spooling", EndSpooling, Asker.OWNER, "let a job wait for a slot whose files were spooled"),
    Verb("spooled-files", SpooledFiles, Asker.OWNER, "which files the queue has for a job of -spool", question=True),
    Verb("read-spooled", ReadSpooled, Asker.OWNER, "read a piece of such a file", question=True),
    Verb("read-output", ReadOutput, Asker.OWNER, "read the file of a job's standard output or error", question=True),
    Verb("stop", StopQueue, Asker.USER, "stop the queue's daemon; administrators, and managers of the pool's cell"),
    Verb("submit", Submit, Asker.USER, "submit jobs"),
    question("summary", Summary, "how many jobs there are in each state"),
    under_way(UnderWay),
    *CELL.values(),
)
