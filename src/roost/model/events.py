"""What can happen to a slot: past facts, each a frozen value.

The time at which it happened is not part of an event; it goes with it to the machine. Every event may come twice, late
or not at all: the machine decides from its own state what it still means.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import TypeAlias

from roost.base.records import dataclass
from roost.classad import ClassAd, Expr
from roost.model.claims import ClaimRequest
from roost.model.identifiers import ClaimId
from roost.model.queue_context import QueueContext
from roost.model.reasons import Leaving


class ShutdownKind(IntEnum):
    """How a daemon goes down; a larger one replaces a smaller."""

    #: Jobs may run to their end, whatever retirement they have.
    PEACEFUL = 1
    GRACEFUL = 2
    FAST = 3


class DrainSchedule(IntEnum):
    """How fast a machine is drained; the numbers are those of the protocol."""

    #: Retirement and vacate time are honoured.
    GRACEFUL = 0
    #: Vacate time only.
    QUICK = 10
    #: Hard kill.
    FAST = 20


class Timer(StrEnum):
    """The timers of a slot. Each is one deadline of its state."""

    MATCH = "match"
    LEASE = "lease"
    VACATE = "vacate"
    KILLING = "killing"
    FETCH = "fetch"


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFacts:
    """What a slot is told of the machine around it."""

    #: While draining gracefully: time until the last original job must go, s; None where nothing new is known.
    drain_remaining_s: float | None = None
    #: Every slot of the machine is in state Drained.
    all_drained: bool = False
    #: The backfill client of the machine runs.
    backfill_running: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Polled:
    """The machine was looked at. `ad` is the slot's ad as sensed; what the state machine owns in it is skipped."""

    ad: ClassAd
    machine: MachineFacts = MachineFacts()


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerFired:
    """A timer that the slot had set ran out."""

    timer: Timer


# -- matching and claims ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchReceived:
    """The negotiator has promised the slot to a submitter."""

    claim_id: ClaimId


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRequested:
    """A queue asks for the slot, or for its place."""

    claim_id: ClaimId
    request: ClaimRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimReleased:
    """The holder of a claim gives it back, or does not wait for it any longer."""

    claim_id: ClaimId


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimMoved:
    """A partitionable slot's claim has become that of a dynamic slot."""

    claim_id: ClaimId


@dataclass(frozen=True, slots=True, kw_only=True)
class AliveReceived:
    """The holder of a claim is alive."""

    claim_id: ClaimId
    reply_to: str = ""


# -- jobs --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivationRequested:
    """The holder of a claim wants a job to run on it."""

    claim_id: ClaimId
    job_ad: ClassAd
    reply_to: str = ""
    #: What the queue instance of a Grid Engine cell gives the job; None without a cell. It is the starter's business.
    context: QueueContext | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeactivationRequested:
    """The holder of a claim wants its job to end, and keeps the claim."""

    claim_id: ClaimId
    forcible: bool = False
    reply_to: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspendRequested:
    """The job is to stand still until it is told to go on."""

    claim_id: ClaimId


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinueRequested:
    """The suspended job is to go on."""

    claim_id: ClaimId


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspendersChanged:
    """What of the pool's Grid Engine cell suspends the job of a claim from now on; nothing lets it go on."""

    #: PublicClaimId.
    claim: str
    #: `roost.model.cell_requests.Suspender`, each with what to say of it.
    suspenders: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobUpdated:
    """The starter sent new figures of its job (ImageSize, cpu times, …)."""

    attributes: ClassAd


@dataclass(frozen=True, slots=True, kw_only=True)
class JobExited:
    """The starter sent its final update; it is still there."""

    #: The job's program was started.
    started: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class StarterEvicted:
    """The starter gets rid of its job by its own expressions, and says so."""

    #: "Vacating" or "Killing".
    job_state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StarterExited:
    """The starter is gone, with all of its job, or could not be spawned."""

    spawned: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class StarterUnreachable:
    """An order could not be delivered to the starter."""


# -- orders of the administrator ------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class VacateRequested:
    """The claim is to end by command."""

    fast: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRequested:
    """The job is to save its state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutdownRequested:
    """The daemon goes down."""

    kind: ShutdownKind


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotBroken:
    """Something of the slot does not work; it takes no job until an administrator has checked it."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotMended:
    """An administrator has checked the slot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotLeaves:
    """The machine is laid out anew, without this slot as it is: it takes no further job."""

    reason: Leaving


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotStays:
    """The machine is to have this slot after all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotRemoved:
    """A leaving slot is free, and nothing is cut from it any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainRequested:
    """The machine is to be emptied; the machine's own checks have passed."""

    request_id: str
    schedule: DrainSchedule
    #: START while draining; None for one that takes no job.
    start: Expr | None = None
    reason: str = ""
    #: Time until the last original job must go, s.
    drain_remaining_s: float = 0.0
    #: When the last job has to be gone, killed if need be, epoch s; None for no such time.
    deadline_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainOriginalsGone:
    """All jobs that ran when the drain began are gone; those accepted since have to go too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainCancelled:
    """The drain is over: cancelled, or finished and resumed."""


# -- work of the machine's own ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarksFinished:
    """All benchmarks are done, or none could be started. Every slot of the machine is told, whichever ran them."""

    mips: int | None = None
    kflops: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillStarted:
    """The backfill client of the machine runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillExited:
    """The backfill client and all its descendants are gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedWorkOffered:
    """The hook that fetches work has ended. No job where it had none, or printed what is not an ad."""

    job_ad: ClassAd | None = None
    #: Why what it did counts as no work; "" where it had none, or has a job.
    problem: str = ""


Event: TypeAlias = (
    Polled
    | TimerFired
    | MatchReceived
    | ClaimRequested
    | ClaimReleased
    | ClaimMoved
    | AliveReceived
    | ActivationRequested
    | DeactivationRequested
    | SuspendRequested
    | ContinueRequested
    | SuspendersChanged
    | JobUpdated
    | JobExited
    | StarterEvicted
    | StarterExited
    | StarterUnreachable
    | VacateRequested
    | SlotBroken
    | SlotMended
    | SlotLeaves
    | SlotStays
    | SlotRemoved
    | CheckpointRequested
    | ShutdownRequested
    | DrainRequested
    | DrainOriginalsGone
    | DrainCancelled
    | BenchmarksFinished
    | BackfillStarted
    | BackfillExited
    | FetchedWorkOffered
)
