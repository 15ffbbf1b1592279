"""Effects of a slot's state machine, which a runtime or a simulation carries out in order.

No effect needs to be carried out at once. Its result comes back as an event: after `ActivateStarter`, eventually a
`StarterExited`; after `SetTimer`, a `TimerFired`.
"""

from __future__ import annotations

from typing import TypeAlias

from roost.base.fast_records import record
from roost.classad import ClassAd
from roost.model.claims import ClaimKind, ClaimRequest
from roost.model.events import Timer
from roost.model.identifiers import ClaimId
from roost.model.reasons import Reason, Refusal, VacateReason


@record
class Notice:
    """The notice to a job that must leave: the code, subcode and text of its end, and whether it goes on hold."""

    code: int
    text: str
    subcode: int = 0
    hold: bool = False


# -- the job -------------------------------------------------------------------------------------------


@record
class ActivateStarter:
    """Spawn a starter for the job."""

    claim_id: ClaimId
    kind: ClaimKind
    job_ad: ClassAd


@record
class SuspendJob:
    """Stop all processes of the job."""


@record
class ContinueJob:
    """Continue all processes of the job."""


@record
class SoftKill:
    """Tell the starter to end the job and give it time."""

    notice: Notice


@record
class HardKill:
    """Tell the starter to kill the job at once."""

    notice: Notice


@record
class KillFamily:
    """Kill every descendant of the starter, then the starter."""


@record
class CheckpointJob:
    """Ask the job to save its state."""


# -- messages -------------------------------------------------------------------------------------------


@record
class SendClaimReply:
    """Reply to a claim request. The request stays open until then, which may be long if it preempts."""

    reply_to: str
    accepted: bool
    refusal: Refusal | None = None


@record
class SendActivationReply:
    """Reply to an activation."""

    reply_to: str
    accepted: bool
    refusal: Refusal | None = None


@record
class SendDeactivationReply:
    """Reply to a deactivation; `start` says whether the claim accepts another job."""

    reply_to: str
    start: bool


@record
class SendAliveReply:
    """Reply to a heartbeat; without `known` the claim is gone."""

    reply_to: str
    known: bool


@record
class TellSchedd:
    """Tell a queue that its claim is over."""

    schedd: str
    claim_id: ClaimId
    reason: Reason
    #: Why a job had to leave; None if none had to.
    cause: VacateReason | None = None


# -- the machine ----------------------------------------------------------------------------------------


@record
class SetTimer:
    """Fire `timer` at `at`, epoch s; an earlier setting of the same timer is void."""

    timer: Timer
    at: float


@record
class CancelTimer:
    """Do not fire `timer`."""

    timer: Timer


@record
class PublishAd:
    """Send the slot's ad to the collector; several within a short time may be merged."""


@record
class SplitSlot:
    """Create a dynamic slot for the request; then this slot gets a `ClaimMoved`, and the new slot the request."""

    claim_id: ClaimId
    request: ClaimRequest


@record
class DeleteSlot:
    """Return the resources of this slot to its parent."""


@record
class RunBenchmarks:
    """Start the benchmarks, unless they run for another slot: one run serves all slots of the machine."""


@record
class CancelBenchmarks:
    """Stop the benchmarks; no result is expected."""


@record
class StartBackfill:
    """Start the machine's backfill client unless it runs."""


@record
class KillBackfill:
    """Kill the backfill client and all its descendants."""


@record
class FetchWork:
    """Run the hook that fetches work."""


@record
class ReplyFetch:
    """Run the hook that reports the outcome of fetched work."""

    accepted: bool
    job_ad: ClassAd
    #: None if it was rejected.
    claim_id: ClaimId | None = None
    #: Why it was rejected; "" if it was not.
    rejection: str = ""


@record
class EvictFetched:
    """Run the hook that reports the eviction of fetched work."""

    job_ad: ClassAd
    claim_id: ClaimId


@record
class CountBadput:
    """A job was lost to draining: add its time, times the slot's cores, to TotalMachineDrainingBadput."""

    run_s: float


@record
class WarnOfExpression:
    """Warn the administrator that an expression has no usable value."""

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
    | WarnOfExpression
)
