"""The common part of all requests: who may make them, and the row of a daemon's table that says so."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar, get_args

from roost.wire.structs import Matching, Struct

R_co = TypeVar("R_co", covariant=True)


class Daemon(StrEnum):
    """A daemon that answers requests; the value is its role."""

    QUEUE = "schedd"
    MACHINE = "node"
    CENTRAL = "central"


class Asker(StrEnum):
    """Who may make a request; the value is the manual's wording."""

    #: Every user whom the message servers admit.
    USER = "every user"
    #: Every user, for the user's own jobs; administrators for all. The queue checks each job.
    OWNER = "the job's owner, administrators"
    ADMINISTRATOR = "administrators"
    #: Administrators, and the central manager, which drains machines for defragmentation.
    ADMINISTRATOR_OR_CENTRAL = "administrators, the central manager"


class Request(Struct, Generic[R_co]):
    """A request; its parameter is the type of the reply, a list if the answer comes in pieces."""

    #: The row of the request in the table of its daemon.
    _verb: ClassVar[Verb]


class StillToAnswer(Request[bool]):
    """Whether this process of a daemon has received a request, and has not answered it: no other process will."""

    #: The subject to which the answer is sent.
    reply: str


class Verb(NamedTuple):
    """A request that a daemon answers.

    Requests that users may make have HTCondor's level READ if they change nothing, and WRITE otherwise; the rest have
    ADMINISTRATOR.
    """

    name: str
    request: type[Request[Any]]
    asker: Asker
    #: Its description, for the manual.
    about: str
    #: It changes nothing, so it may be repeated if there was no answer.
    question: bool = False
    #: The daemon that answers it; set by its table.
    daemon: Daemon = Daemon.CENTRAL

    @property
    def reply(self) -> Any:
        """The type of the reply."""
        return get_args(self.request.__orig_bases__[0])[0]  # type: ignore[attr-defined]


def question(name: str, request: type[Request[Any]], about: str) -> Verb:
    """A request that every user may make and that changes nothing."""
    return Verb(name, request, Asker.USER, about, question=True)


def under_way(request: type[StillToAnswer]) -> Verb:
    """The request `under_way` of each daemon, which has a separate class."""
    return question(
        "under-way", request, "whether a request is still to be answered, which a daemon that was restarted does not"
    )


def table(daemon: Daemon, *verbs: Verb) -> dict[str, Verb]:
    """The table of a daemon: name to row. Each request refers to its row from now on."""
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
#: Maximum number of bytes of a file in one answer.
PIECE_BYTES_MAX: Final = 256 * 1024


class FilePiece(Struct):
    """A piece of a file."""

    path: str
    #: Current size of the file, bytes.
    size: int
    #: Offset of the first of these bytes.
    offset: int
    data: Bytes64 = ""
