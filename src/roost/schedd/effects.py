"""What a queue orders, beside keeping its changes: values that are carried out once those changes are on disk.

The step that they are of names the request that caused them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from roost.base.records import dataclass, field
from roost.classad import ClassAd
from roost.schedd.identifiers import JobId

if TYPE_CHECKING:
    from roost.schedd.claims.held_claims import HeldClaim


@dataclass(frozen=True, slots=True, kw_only=True)
class AskForSlot:
    """Ask a machine for a slot."""

    node: str
    slot: str
    claim_id: str
    job_ad: ClassAd
    reply_to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveBack:
    """Give a claim back."""

    node: str
    claim_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRun:
    """Have a job run on a claim."""

    node: str
    claim_id: str
    run: str
    job_ad: ClassAd


@dataclass(frozen=True, slots=True, kw_only=True)
class EndRun:
    """Have the run on a claim ended, because the queue wants it."""

    node: str
    claim_id: str
    run: str
    #: "hold", "remove" or "evict".
    ending: str
    code: int
    subcode: int = 0
    text: str = ""
    hard: bool = False

    @classmethod
    def of(cls, claim: HeldClaim, ending: str, code: int, text: str, *, subcode: int = 0, hard: bool = False) -> EndRun:
        """Have the run that a claim has now ended."""
        return cls(
            node=claim.node,
            claim_id=claim.id,
            run=claim.run,
            ending=ending,
            code=int(code),
            subcode=subcode,
            text=text,
            hard=hard,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StandStill:
    """Have the run on a claim stand still, or go on."""

    node: str
    claim_id: str
    run: str
    still: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Tell a machine that its reports of the ends of runs need not be sent again."""

    node: str
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SayAlive:
    """Tell a machine that the holder of its claims lives, and have it say what it knows of them."""

    node: str
    claim_ids: tuple[str, ...]
    #: Comes back with the answer.
    serial: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AskAgain:
    """Messages may have been lost: ask a machine what became of all claims on it, so that it gives up any other.

    Claim id to run, "" for none.
    """

    node: str
    claims: dict[str, str]
    #: Comes back with the answer.
    serial: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferJobs:
    """Idle jobs have changed: the matchmaker is to be told."""

    #: There are only fewer of them: that can wait for other news.
    later: bool = False
    #: Slots of claims that ended with this, each with the public part of its id: they are about to be
    #: free, too.
    left: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decline:
    """Tell the matchmaker that a slot it gave is not needed."""

    claim_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """Answer a request."""

    to: str
    ok: bool = True
    code: str = ""
    text: str = ""
    remedy: str = ""
    data: Any = field(default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetFiles:
    """Remove what the queue keeps of a job, or of neighbours of one cluster: its spooled files."""

    job: JobId
    #: Number of the last of several; None for one job.
    last: int | None = None


Effect: TypeAlias = (
    AskForSlot
    | GiveBack
    | StartRun
    | EndRun
    | StandStill
    | Taken
    | SayAlive
    | AskAgain
    | OfferJobs
    | Decline
    | Reply
    | ForgetFiles
)
