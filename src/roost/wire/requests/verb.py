"""What all requests have in common: who may make them, and the row of a daemon's table that says so."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar, get_args

from roost.wire.structs import Matching, Struct

R_co = TypeVar("R_co", covariant=True)

#: An ad as JSON (`ads.AdData`).
AdData: TypeAlias = dict[str, Any]
#: A plan of a cluster as JSON, as `schedd.submit.ClusterPlan.to_data` makes it. It has a version of its own, since the
#: queue keeps it on disk in this form, and `ClusterPlan.from_data` checks all of it.
PlanData: TypeAlias = dict[str, Any]


class Daemon(StrEnum):
    """A daemon that answers; the value is its role."""

    QUEUE = "schedd"
    MACHINE = "node"
    CENTRAL = "central"


class Asker(StrEnum):
    """Who may ask for something; the value is what the manual says."""

    #: Every user whom the message servers admit.
    USER = "every user"
    #: Every user, for what is the user's own; administrators for everything. The queue looks at each job.
    OWNER = "the job's owner, administrators"
    ADMINISTRATOR = "administrators"
    #: Administrators, and the central manager, which drains machines to defragment them.
    ADMINISTRATOR_OR_CENTRAL = "administrators, the central manager"


class Request(Struct, Generic[R_co]):
    """A request; its parameter is the type of the reply, which is a list where the answer comes in pieces."""

    #: The row of the request in the table of its daemon.
    _verb: ClassVar[Verb]


class StillToAnswer(Request[bool]):
    """Whether this process of a daemon has a request, and has not answered it: another one never will."""

    #: The subject on which the request is to be answered.
    reply: str


class Verb(NamedTuple):
    """Something that a daemon can be asked.

    What users may ask for is of HTCondor's level READ if it changes nothing, else of WRITE; the rest, of ADMINISTRATOR.
    """

    name: str
    request: type[Request[Any]]
    asker: Asker
    #: What it does, for the manual.
    about: str
    #: It changes nothing, so it may be asked again when no answer came.
    question: bool = False
    #: Whose request it is; the table says so.
    daemon: Daemon = Daemon.CENTRAL

    @property
    def reply(self) -> Any:
        """The type of the reply."""
        return get_args(self.request.__orig_bases__[0])[0]  # type: ignore[attr-defined]


def question(name: str, request: type[Request[Any]], about: str) -> Verb:
    """A request of every user that changes nothing."""
    return Verb(name, request, Asker.USER, about, question=True)


def under_way(request: type[StillToAnswer]) -> Verb:
    """The request that each daemon has, of a class of its own."""
    return question(
        "under-way", request, "whether a request is still to be answered, which a daemon that was restarted does not"
    )


def table(daemon: Daemon, *verbs: Verb) -> dict[str, Verb]:
    """The table of a daemon: name to row. Each request knows its row from now on."""
    rows = {each.name: each._replace(daemon=daemon) for each in verbs}
    for each in rows.values():
        each.request._verb = each
    return rows


def verb_of(request: Request[Any]) -> Verb:
    """The row of a request."""
    return request._verb


#: Bytes in base 64.
Bytes64: TypeAlias = Annotated[str, Matching(r"[A-Za-z0-9+/]{0,600000}={0,2}", "bytes in base 64")]
#: A job (12.0) or a cluster (12).
JOBS_PATTERN: Final = r"\d{1,9}(\.\d{1,9})?"
#: Standard output or standard error of a job.
Stream: TypeAlias = Literal["out", "err"]
#: Most bytes of a file in one answer.
PIECE_BYTES_MAX: Final = 256 * 1024


class FilePiece(Struct):
    """A piece of a file."""

    path: str
    #: Bytes that the file has now.
    size: int
    #: The number of the first of these bytes.
    offset: int
    data: Bytes64 = ""
