"""Events of a slot: past facts, each a frozen value.

The time is not part of an event; it is passed to the state machine along with it. Every event may arrive twice, late or
not at all: the machine decides from its own state what it still means.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import TypeAlias

from roost.base.fast_records import record
from roost.classad import ClassAd, Expr
from roost.model.claims import ClaimRequest
from roost.model.identifiers import ClaimId
from roost.model.queue_context import QueueContext
from roost.model.reasons import Leaving


class ShutdownKind(IntEnum):
    """How a daemon shuts down; a larger value replaces a smaller one."""

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
    """The timers of a slot, each a deadline of its state."""

    MATCH = "match"
    LEASE = "lease"
    VACATE = "vacate"
    KILLING = "killing"
    FETCH = "fetch"


@record
class MachineFacts:
    """Facts about the machine that are passed to a slot."""

    #: While draining gracefully: time until the last original job must leave, s; None if nothing new is known.
    drain_remaining_s: float | None = None
    #: Whether every slot of the machine is in state Drained.
    all_drained: bool = False
    #: Whether the backfill client of the machine is running.
    backfill_running: bool = False


@record
class Polled:
    """The machine was polled. `ad` is the slot's ad with sensor readings; attributes that the state machine owns are
    ignored."""

    ad: ClassAd
    machine: MachineFacts = MachineFacts()


@record
class TimerFired:
    """A timer that the slot had set fired."""

    timer: Timer


# -- matching and claims ---------------------------------------------------------------------------


@record
class MatchReceived:
    """The negotiator has matched the slot to a submitter."""

    claim_id: ClaimId


@record
class ClaimRequested:
    """A queue requests the slot, or a part of it."""

    claim_id: ClaimId
    request: ClaimRequest


@record
class ClaimReleased:
    """The holder of a claim releases it, or no longer waits for it."""

    claim_id: ClaimId


@record
class ClaimMoved:
    """A partitionable slot's claim has become that of a dynamic slot."""

    claim_id: ClaimId


@record
class AliveReceived:
    """The holder of a claim sent a heartbeat."""

    claim_id: ClaimId
    reply_to: str = ""


# -- jobs --------------------------------------------------------------------------------------------


@record
class ActivationRequested:
    """The holder of a claim requests to run a job on it."""

    claim_id: ClaimId
    job_ad: ClassAd
    reply_to: str = ""
    #: The context from the queue instance of a Grid Engine cell, for the starter; None without a cell.
    context: QueueContext | None = None


@record
class DeactivationRequested:
    """The holder of a claim ends its job, and keeps the claim."""

    claim_id: ClaimId
    forcible: bool = False
    reply_to: str = ""


@record
class SuspendRequested:
    """The job must be suspended until a command continues it."""

    claim_id: ClaimId


@record
class ContinueRequested:
    """The suspended job must continue."""

    claim_id: ClaimId


@record
class SuspendersChanged:
    """The causes in the pool's Grid Engine cell that now suspend the job of a claim; none continues it."""

    #: PublicClaimId.
    claim: str
    #: `roost.model.cell_requests.Suspender`, each with a description.
    suspenders: Mapping[str, str]


@record
class JobUpdated:
    """The starter sent new figures of its job (ImageSize, cpu times, …)."""

    attributes: ClassAd


@record
class JobExited:
    """The starter sent its final update; it is still there."""

    #: The job's program was started.
    started: bool = True


@record
class StarterEvicted:
    """The starter evicts its job by its own expressions."""

    #: "Vacating" or "Killing".
    job_state: str


@record
class StarterExited:
    """The starter is gone, with all of its job, or could not be spawned."""

    spawned: bool = True


@record
class StarterUnreachable:
    """An order could not be delivered to the starter."""


# -- orders of the administrator ------------------------------------------------------------------


@record
class VacateRequested:
    """A command ends the claim."""

    fast: bool = False


@record
class CheckpointRequested:
    """A command asks the job to save its state."""


@record
class ShutdownRequested:
    """The daemon shuts down."""

    kind: ShutdownKind


@record
class SlotBroken:
    """A part of the slot does not work; it accepts no jobs until an administrator has checked it."""

    text: str


@record
class SlotMended:
    """An administrator has checked the slot."""


@record
class SlotLeaves:
    """The machine is changing its layout, and this slot is not part of the new one: it accepts no more jobs."""

    reason: Leaving


@record
class SlotStays:
    """The machine keeps this slot after all."""


@record
class SlotRemoved:
    """A leaving slot is free and has no dynamic slots left."""


@record
class DrainRequested:
    """The machine must be drained; its own checks have passed."""

    request_id: str
    schedule: DrainSchedule
    #: START while draining; None for one that accepts no jobs.
    start: Expr | None = None
    reason: str = ""
    #: Time until the last original job must leave, s.
    drain_remaining_s: float = 0.0
    #: When the last job must be gone, killed if necessary, epoch s; None for no limit.
    deadline_at: float | None = None


@record
class DrainOriginalsGone:
    """All jobs that ran when the drain began are gone; those accepted since must leave, too."""


@record
class DrainCancelled:
    """The drain is over: cancelled, or finished and resumed."""


# -- work of the machine's own ---------------------------------------------------------------------


@record
class BenchmarksFinished:
    """All benchmarks are done, or none could be started. Every slot of the machine gets this event, whichever ran
    them."""

    mips: int | None = None
    kflops: int | None = None


@record
class BackfillStarted:
    """The backfill client of the machine runs."""


@record
class BackfillExited:
    """The backfill client and all its descendants are gone."""


@record
class FetchedWorkOffered:
    """The hook that fetches work has ended. There is no job if it had none or did not print an ad."""

    job_ad: ClassAd | None = None
    #: Why its result counts as no work; "" if it had no work, or returned a job.
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
