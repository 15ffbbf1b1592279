"""Effects of a queue besides its changes: values that are carried out once those changes are committed.

Their step names the request that caused them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from roost.base.fast_records import field, record
from roost.classad import ClassAd
from roost.schedd.identifiers import JobId

if TYPE_CHECKING:
    from roost.schedd.claims.held_claims import HeldClaim


@record
class AskForSlot:
    """Request a slot from a machine."""

    node: str
    slot: str
    claim_id: str
    job_ad: ClassAd
    reply_to: str


@record
class GiveBack:
    """Release a claim."""

    node: str
    claim_id: str


@record
class StartRun:
    """Start the run of a job on a claim."""

    node: str
    claim_id: str
    run: str
    job_ad: ClassAd


@record
class EndRun:
    """End the run on a claim, because the queue wants it."""

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
        """The order to end the current run of a claim."""
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


@record
class StandStill:
    """Suspend or resume the run on a claim."""

    node: str
    claim_id: str
    run: str
    still: bool


@record
class Taken:
    """Acknowledge a machine's reports of ends of runs, so that they are not sent again."""

    node: str
    runs: tuple[str, ...]


@record
class SayAlive:
    """Send a keepalive for claims to a machine, and ask for its view of them."""

    node: str
    claim_ids: tuple[str, ...]
    #: Echoed in the answer.
    serial: int


@record
class AskAgain:
    """Messages may have been lost: ask a machine about all claims on it, so that it gives up any others.

    Claim id to run, "" for none.
    """

    node: str
    claims: dict[str, str]
    #: Echoed in the answer.
    serial: int


@record
class OfferJobs:
    """Idle jobs have changed: send the negotiator a new demand."""

    #: There are only fewer of them: this can wait for the next demand.
    later: bool = False
    #: Slots of claims that ended with this, each with the public part of its id: they are about to be free, too.
    left: tuple[tuple[str, str], ...] = ()


@record
class Decline:
    """Decline a slot that the negotiator assigned."""

    claim_id: str


@record
class Reply:
    """Answer a request."""

    to: str
    ok: bool = True
    code: str = ""
    text: str = ""
    remedy: str = ""
    data: Any = field(default=None)


@record
class ForgetFiles:
    """Remove the spooled files of a job, or of consecutive jobs of one cluster."""

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
