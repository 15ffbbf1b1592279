"""What a queue can be asked: to take jobs, to act upon them, and which there are."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias, TypedDict, TypeVar

from roost.model.cell_requests import HELD, HOLDS
from roost.model.job_standing import Standing
from roost.wire.requests.cell import CELL
from roost.wire.requests.verb import (
    JOBS_PATTERN,
    PIECE_BYTES_MAX,
    AdData,
    Asker,
    Bytes64,
    Daemon,
    FilePiece,
    PlanData,
    Request,
    StillToAnswer,
    Stream,
    Verb,
    question,
    table,
    under_way,
)  # fmt: skip
from roost.wire.structs import Between, Count, Matching, Struct

_R_co = TypeVar("_R_co", covariant=True)

#: A job (12.0) or a cluster (12).
Jobs: TypeAlias = Annotated[str, Matching(JOBS_PATTERN, "a job (12.0) or a cluster (12)")]
#: `schedd.events.Action`.
Action: TypeAlias = Literal[
    "hold", "release", "remove", "remove-x", "suspend", "continue", "vacate", "vacate-fast", "edit", "note"
]


class ChosenFields(TypedDict, total=False):
    """The fields by which jobs are chosen, for those who pass them on."""

    jobs: tuple[str, ...]
    owners: tuple[str, ...]
    constraint: str | None


class ShownFields(TypedDict, total=False):
    """The fields that say what is shown of jobs, for those who pass them on."""

    projection: tuple[str, ...]
    raw: bool
    texts: tuple[str, ...]


class _Chosen(Request[_R_co]):
    """A request about jobs: all of those for which all fields hold."""

    #: Empty for any.
    jobs: tuple[Jobs, ...] = ()
    owners: tuple[str, ...] = ()
    #: An expression that is true of the jobs; None for any.
    constraint: str | None = None


class Submitted(Struct):
    """A cluster that was taken."""

    cluster: int
    jobs: int
    warnings: tuple[str, ...] = ()
    #: Of a job of `qsub`: its name and its tasks (``1-10:3``, "" without), which a verifier may have changed.
    name: str = ""
    tasks: str = ""


class Submit(Request[list[Submitted]]):
    """Submit jobs, which the asker owns."""

    #: Plans of clusters.
    clusters: tuple[PlanData, ...]


class ActedUpon(Struct):
    """What became of the jobs of an action."""

    #: Result to number of jobs.
    counts: dict[str, int]
    #: Job to why nothing was done.
    refused: dict[str, str]


#: Action to the attributes that it takes; edit and note take any.
_TAKES: Final = {"hold": ("HoldReasonSubCode", HELD), "release": (HELD,)}


class Act(_Chosen[ActedUpon]):
    """Do something to jobs."""

    action: Action
    #: Why, for the record.
    reason: str = ""
    #: Of "edit" and "note": what the jobs' ads are to say; of "hold": HoldReasonSubCode; of "hold" and "release":
    #: CellHolds, the holds of Grid Engine's that are set or taken away, letters of ``uos``.
    attributes: AdData | None = None

    def _problem(self) -> str:
        if self.action in ("edit", "note"):
            return ""
        given = self.attributes or {}
        wrong = set(given) - set(_TAKES.get(self.action, ()))
        if wrong:
            return f"{self.action} does not take the attribute {min(wrong)}"
        letters = given.get(HELD, "u")
        fits = isinstance(letters, str) and letters and set(letters) <= set(HOLDS) and len(set(letters)) == len(letters)
        return "" if fits else f"{HELD} has letters of {HOLDS}"


class Query(_Chosen[list[AdData]]):
    """Jobs and their ads."""

    #: Only these attributes; empty for whole ads.
    projection: tuple[str, ...] = ()
    #: Of the projection the expressions, not the values.
    raw: bool = False
    #: Of these attributes the value if it is a string, else the expression.
    texts: tuple[str, ...] = ()
    #: At most so many jobs; 0 for all.
    limit: Count = 0


class Clusters(Struct):
    """A row for each cluster: attributes of its ad, and how many of its jobs are in each state."""

    clusters: list[AdData]


class Overview(_Chosen[list[AdData] | Clusters]):
    """Jobs, or their clusters where there are more than `rows_max` jobs."""

    projection: tuple[str, ...] = ()
    #: -1 for clusters in any case.
    rows_max: Annotated[int, Between(-1, 2**31 - 1)] = 200


class History(Request[list[AdData]]):
    """Jobs that have left the queue, the last first."""

    jobs: tuple[Jobs, ...] = ()
    constraint: str | None = None
    projection: tuple[str, ...] = ()
    raw: bool = False
    texts: tuple[str, ...] = ()
    limit: Count = 0


class Totals(Struct):
    """A queue in figures."""

    name: str
    #: State to number of jobs.
    jobs: dict[str, int]
    claims: int
    #: Autocluster to why it got no slot.
    rejections: dict[str, str]


#: A job (12.0).
Job: TypeAlias = Annotated[str, Matching(r"\d{1,9}\.\d{1,9}", "a job (12.0)")]


class Spooled(Struct):
    """From which byte on the next piece of a file is wanted."""

    offset: Count = 0


class SpoolFile(Request[Spooled]):
    """Take a piece of a file that a job of ``-spool`` needs; a directory is one piece without data."""

    job: Job
    #: As `runtime.files.transfer` packs an item.
    item: str
    offset: Count = 0
    data: Bytes64 = ""
    last: bool = False


class EndSpooling(Request[Spooled]):
    """Let a job wait for a slot: the queue has all its files."""

    job: Job


class SpooledFiles(Request[str]):
    """Which files has the queue for a job of ``-spool`` that are new, or changed since it got them? Packed items."""

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


class Summary(Request[Totals]):
    """How many jobs there are in each state."""


class ReadOutput(Request[FilePiece]):
    """A piece of the file that a job's standard output or error goes to, for a job that does not run or has ended."""

    job: Annotated[str, Matching(r"\d{1,9}\.\d{1,9}", "a job (12.0)")]
    stream: Stream = "out"
    #: The first byte; of a negative number, so many before the end.
    offset: Annotated[int, Between(-(2**62), 2**62)] = 0
    limit: Annotated[int, Between(1, PIECE_BYTES_MAX)] = PIECE_BYTES_MAX


class UnderWay(StillToAnswer):
    """Whether this process of the queue has a request, and has not answered it: another one never will."""


class Autocluster(Request[Standing]):
    """Which jobs the matchmaker treats as one with a job, and what it said of them."""

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
    Verb("submit", Submit, Asker.USER, "submit jobs"),
    question("summary", Summary, "how many jobs there are in each state"),
    under_way(UnderWay),
    *CELL.values(),
)
