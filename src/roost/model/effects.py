"""What a slot's machine orders: values that a runtime or a simulation carries out, in the order in which they stand.

Nothing depends on an order being carried out at once. What comes of it comes back as an event: after
`ActivateStarter` a `StarterExited` some day, after `SetTimer` a `TimerFired`.
"""

from __future__ import annotations

from typing import TypeAlias

from roost.base.records import dataclass
from roost.classad import ClassAd
from roost.model.claims import ClaimKind, ClaimRequest
from roost.model.events import Timer
from roost.model.identifiers import ClaimId
from roost.model.reasons import Reason, Refusal, VacateReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """The notice to a job that has to go: the code, subcode and text of its end, and whether it goes on hold."""

    code: int
    text: str
    subcode: int = 0
    hold: bool = False


# -- the job -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivateStarter:
    """Spawn a starter for the job."""

    claim_id: ClaimId
    kind: ClaimKind
    job_ad: ClassAd


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspendJob:
    """Stop all processes of the job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinueJob:
    """Let all processes of the job go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftKill:
    """Tell the starter to end the job and give it time."""

    notice: Notice


@dataclass(frozen=True, slots=True, kw_only=True)
class HardKill:
    """Tell the starter to kill the job at once."""

    notice: Notice


@dataclass(frozen=True, slots=True, kw_only=True)
class KillFamily:
    """Kill every descendant of the starter, then the starter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointJob:
    """Ask the job to save its state."""


# -- messages -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SendClaimReply:
    """Answer a claim request. It stays open until then, which may be long for one that preempts."""

    reply_to: str
    accepted: bool
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SendActivationReply:
    """Answer an activation."""

    reply_to: str
    accepted: bool
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SendDeactivationReply:
    """Answer a deactivation; `start` tells whether the claim will take another job."""

    reply_to: str
    start: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SendAliveReply:
    """Answer a sign of life; without `known` the claim is gone."""

    reply_to: str
    known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TellSchedd:
    """Tell a queue that its claim is over."""

    schedd: str
    claim_id: ClaimId
    reason: Reason
    #: What it is to a job that had to go; None where none had.
    cause: VacateReason | None = None


# -- the machine ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SetTimer:
    """Fire `timer` at `at`, epoch s; an earlier setting of the same timer is void."""

    timer: Timer
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelTimer:
    """Do not fire `timer`."""

    timer: Timer


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishAd:
    """Send the slot's ad to the collector; several within a short time may become one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitSlot:
    """Cut a dynamic slot for the request; then a `ClaimMoved` comes back here, and the new slot gets the request."""

    claim_id: ClaimId
    request: ClaimRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteSlot:
    """Give the resources of this slot back to what it was cut from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBenchmarks:
    """Start the benchmarks, unless they run for another slot: one run serves all slots of the machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelBenchmarks:
    """Stop the benchmarks; no result is expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartBackfill:
    """Start the machine's backfill client unless it runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KillBackfill:
    """Kill the backfill client and all its descendants."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchWork:
    """Run the hook that fetches work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyFetch:
    """Run the hook that tells what became of fetched work."""

    accepted: bool
    job_ad: ClassAd
    #: None where it was rejected.
    claim_id: ClaimId | None = None
    #: Why it was rejected, "" where it was not.
    rejection: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictFetched:
    """Run the hook that tells that fetched work was evicted."""

    job_ad: ClassAd
    claim_id: ClaimId


@dataclass(frozen=True, slots=True, kw_only=True)
class CountBadput:
    """A job was lost to draining: add its time, times the slot's cores, to TotalMachineDrainingBadput."""

    run_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Warn:
    """Tell the administrator that an expression did not come out as anything usable."""

    expression: str
    text: str


Effect: TypeAlias = (
    ActivateStarter
    | SuspendJob
    | ContinueJob
    | SoftKill
    | HardKill
    | KillFamily
    | CheckpointJob
    | SendClaimReply
    | SendActivationReply
    | SendDeactivationReply
    | SendAliveReply
    | TellSchedd
    | SetTimer
    | CancelTimer
    | PublishAd
    | SplitSlot
    | DeleteSlot
    | RunBenchmarks
    | CancelBenchmarks
    | StartBackfill
    | KillBackfill
    | FetchWork
    | ReplyFetch
    | EvictFetched
    | CountBadput
    | Warn
)
