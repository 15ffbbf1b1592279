"""Requests to an execute machine: its ads, its policy, its story, drains and evictions."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from roost.model.slot_transition import SlotTransition
from roost.wire.requests.verb import (
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
from roost.wire.structs import AdData, Between, Count, Matching, OneOf, Struct


def _schedules() -> tuple[object, ...]:
    from roost.model.events import DrainSchedule

    return tuple(DrainSchedule)


def _completions() -> tuple[object, ...]:
    from roost.startd.draining import OnCompletion

    return tuple(OnCompletion)


class Ads(Request[list[AdData]]):
    """Current ads of the machine's slots."""


class Draining(Struct):
    """A drain that has begun."""

    request_id: str


class Drain(Request[Draining]):
    """Drain the machine."""

    #: 0: retirement and vacate time are honoured; 10: vacate time only; 20: neither.
    schedule: Annotated[int, OneOf(_schedules)] = 0
    #: What the empty machine does: 0 nothing, 1 resume, 2 exit, 3 restart, 4 reconfigure.
    on_completion: Annotated[int, OneOf(_completions)] = 0
    #: An expression that must be true for every slot; None for none.
    check: str | None = None
    #: START during the drain; None for FALSE.
    start: str | None = None
    reason: str = ""


class CancelDrain(Request[None]):
    """End a drain."""

    #: Only this one; "" for any.
    request_id: str = ""


class Origin(Struct):
    """Where an expression of a policy was set."""

    file: str
    line: int
    #: The includes and templates that led there.
    via: str


class Origins(Request[dict[str, Origin]]):
    """Where the policy of a slot is set: attribute to place."""

    #: "" for the policy that all slots share.
    slot: str = ""


class Poll(Request[None]):
    """Evaluate the policy now."""


class Slots(Struct):
    """The slots that a request changed."""

    slots: tuple[str, ...]


class Reopen(Request[Slots]):
    """Open slots that were closed by a failed prolog or epilog."""

    #: "" for all of them.
    slot: str = ""


class Story(Request[list[SlotTransition]]):
    """What happened to a slot or a job, oldest first."""

    #: "" for all slots, and all jobs.
    slot: str = ""
    job: str = ""
    #: The last events only; 0 for all.
    limit: Count = 0


#: The name of a session.
SessionName: TypeAlias = Annotated[str, Matching(r"[0-9a-f]{32}", "the name of a session")]
#: Rows or columns of a terminal; 0 if not given.
Side: TypeAlias = Annotated[int, Between(0, 65535)]


class Printed(Struct):
    """Output of a job; `ended`: it is over, and there is no more output."""

    out: Bytes64 = ""
    err: Bytes64 = ""
    ended: bool = False
    #: Both None if the end was not observed.
    exit_code: int | None = None
    signal: int | None = None


class ReadStreams(Request[Printed]):
    """Ask for a job's output from these bytes on. The answer may be delayed by up to 2 s until there is output."""

    session: SessionName
    out: Annotated[int, Between(0, 2**62)] = 0
    err: Annotated[int, Between(0, 2**62)] = 0


class Took(Struct):
    """The byte from which on a job wants input; `closed`: it has received the end; `over`: it wants no more."""

    offset: int
    closed: bool = False
    over: bool = False


class WriteStreams(Request[Took]):
    """Input for a job from a byte on; `last`: there is no more. A repeated message has no further effect."""

    session: SessionName
    offset: Annotated[int, Between(0, 2**62)] = 0
    data: Bytes64 = ""
    last: bool = False
    rows: Side = 0
    columns: Side = 0


class KeepStreams(Request[None]):
    """Report that the user's command is still connected."""

    session: SessionName


class LeaveStreams(Request[None]):
    """The user has all output of a job, or wants no more: the job is ended if it runs."""

    session: SessionName


class ShellOpened(Struct):
    """A shell runs alongside a job."""

    slot: str
    #: The processes of the job, its program first.
    pids: tuple[int, ...] = ()


#: An argument of a command line, and the name of a shell or a terminal.
Word: TypeAlias = Annotated[str, Matching(r"(?s)[^\0]{0,100000}", "at most 100000 characters, none of them NUL")]
ShellName: TypeAlias = Annotated[str, Matching(r"[^\0]{0,1000}", "at most 1000 characters")]


class OpenShell(Request[ShellOpened]):
    """Run a program alongside a job that runs here; the other requests about streams apply to it."""

    job: Annotated[str, Matching(r"\d{1,9}\.\d{1,9}", "a job (12.0)")]
    session: SessionName
    #: GlobalJobId, which is unique among queues; "" for any.
    global_id: str = ""
    #: A line for the shell of the job's account; empty for an interactive shell.
    words: tuple[Word, ...] = ()
    #: The interactive shells to try, before /bin/sh.
    shells: tuple[ShellName, ...] = ()
    #: TERM; "" for none.
    term: ShellName = ""
    stdin: bool = True
    #: Size of its terminal; 0 for none.
    rows: Side = 0
    columns: Side = 0


class ReadFile(Request[FilePiece]):
    """A piece of the output of a job that runs here, or of a file in its scratch directory."""

    job: Annotated[str, Matching(r"\d{1,9}\.\d{1,9}", "a job (12.0)")]
    #: GlobalJobId, which is unique among queues; "" for any.
    global_id: str = ""
    stream: Stream = "out"
    #: A path in the scratch directory, instead of a stream; "" for the stream.
    file: Annotated[str, Matching(r"(?s)[^\0]{0,4096}", "a path of at most 4096 characters")] = ""
    #: The first byte; if negative, an offset from the end.
    offset: Annotated[int, Between(-(2**62), 2**62)] = 0
    limit: Annotated[int, Between(1, PIECE_BYTES_MAX)] = PIECE_BYTES_MAX


class UnderWay(StillToAnswer):
    """Whether this process of the machine's daemon has received a request, and has not answered it: no other process
    will.
    """


class StopMachine(Request[None]):
    """Stop the machine's daemon until `roost up` starts it again."""

    #: End the running jobs first; otherwise they continue, and the next daemon takes them over.
    kill_jobs: bool = False


class Vacate(Request[Slots]):
    """Evict the jobs of slots."""

    #: "" for all slots.
    slot: str = ""
    #: Without time for the jobs to end by themselves.
    fast: bool = False


#: Requests about the streams of a job: repeated, one after another, while the job runs.
OF_STREAMS: Final = frozenset(("read-streams", "write-streams", "keep-streams", "leave-streams"))

MACHINE: Final = table(
    Daemon.MACHINE,
    question("ads", Ads, "ads of the machine's slots"),
    Verb("cancel-drain", CancelDrain, Asker.ADMINISTRATOR_OR_CENTRAL, "end a drain"),
    Verb("drain", Drain, Asker.ADMINISTRATOR_OR_CENTRAL, "drain the machine"),
    Verb("keep-streams", KeepStreams, Asker.OWNER, "report that the command connected to a job is alive"),
    Verb("leave-streams", LeaveStreams, Asker.OWNER, "end the connection to a job"),
    Verb("open-shell", OpenShell, Asker.OWNER, "run a program next to a job"),
    question("origins", Origins, "where the policy of a slot is set"),
    Verb("poll", Poll, Asker.ADMINISTRATOR, "evaluate the policy now"),
    Verb(
        "read-file",
        ReadFile,
        Asker.OWNER,
        "read what a running job prints, or a file of its scratch directory",
        question=True,
    ),
    Verb("read-streams", ReadStreams, Asker.OWNER, "read what a job prints that the user is connected to"),
    Verb("reopen", Reopen, Asker.ADMINISTRATOR, "open slots that a failed prolog or epilog has closed"),
    Verb("stop", StopMachine, Asker.ADMINISTRATOR, "stop the machine's daemon"),
    question("story", Story, "what happened to a slot or job"),
    under_way(UnderWay),
    Verb("vacate", Vacate, Asker.ADMINISTRATOR, "evict the jobs of slots"),
    Verb("write-streams", WriteStreams, Asker.OWNER, "give input to a job that the user is connected to"),
)
