"""The complete state of a slot: the input and the output of each step.

Whatever affects the slot's next step is here or in its policy. Deadlines are part of the state; the timers of a runtime
are only reminders.

It does not contain the slot's resources (its ledger) or the sensor values of its ad, which come with each poll.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from roost.base.fast_records import field, record
from roost.classad import ClassAd, Expr
from roost.model.claims import Claim
from roost.model.events import DrainSchedule, MachineFacts, ShutdownKind
from roost.model.identifiers import ClaimId, ClaimIdSource
from roost.model.reasons import Leaving, Reason, VacateReason
from roost.model.slots import SlotKind
from roost.startd.states import PAIRS, Activity, Pair, State

#: Each legal pair, interned: looking one up is faster than making one.
_LEGAL: Final[Mapping[tuple[State, Activity], Pair]] = {pair: pair for pair in PAIRS}

#: The facts of a machine of which nothing is known yet.
NO_FACTS: Final = MachineFacts()


class Destination(StrEnum):
    """Where a slot goes once its backfill has ended."""

    OWNER = "Owner"
    MATCHED = "Matched"
    CLAIMED = "Claimed"


@record
class Eviction:
    """Why and how the current claim has to leave. All of it is forgotten when the claim's job ends."""

    #: The first cause other than a better match; None while there is none.
    cause: VacateReason | None = None
    #: Why the slot went to Preempting; None before.
    reason: Reason | None = None
    #: PREEMPT has been seen TRUE.
    preempt_seen: bool = False
    #: The slot can no longer return to Busy.
    irrevocable: bool = False
    #: No retirement is granted, whatever the policy says.
    no_retirement: bool = False
    #: No time at all is granted.
    hard: bool = False
    #: The claim's holder ended it, or is presumed dead: it is not notified.
    untold: bool = False


@record
class Suspenders:
    """What in a Grid Engine cell suspends the job of the current claim."""

    #: `roost.model.cell_requests.Suspender`, each with its description.
    causes: Mapping[str, str] = field(default_factory=dict)
    #: The machine's own policy does not suspend the job now: it continues when the causes are gone.
    alone: bool = False


@record
class SlotDraining:
    """A drain of the machine, as this slot knows it."""

    request_id: str
    schedule: DrainSchedule
    #: START during the drain; None for a drain that accepts no jobs.
    start: Expr | None = None
    reason: str = ""
    #: When the last original job of the machine must leave, epoch s.
    shared_until: float
    #: The job that ran when the drain began had retirement left.
    had_retirement: bool = False
    #: Only jobs accepted since it began are left, and they must leave as well.
    originals_gone: bool = False
    #: When the last job must be gone, by a hard kill if necessary, epoch s; None for no deadline.
    deadline_at: float | None = None

    @property
    def takes_until(self) -> float:
        """When jobs that begin during the drain must leave at the latest, epoch s; infinite for no deadline."""
        return self.shared_until if self.deadline_at is None else min(self.shared_until, self.deadline_at)


@record
class Fetching:
    """Work fetched by a hook."""

    running: bool = False
    #: LastFetchWorkSpawned and LastFetchWorkCompleted, epoch s; None before the first.
    spawned_at: float | None = None
    completed_at: float | None = None
    #: When to fetch again, epoch s.
    retry_at: float | None = None
    #: Consecutive fetched jobs that could not be started, and when the last of them failed, epoch s.
    failures: int = field(default=0, metadata={"added": True})
    failed_at: float = field(default=0.0, metadata={"added": True})
    #: The problem with the last call, or with the job that it brought; "" for none.
    problem: str = field(default="", metadata={"added": True})


@record
class Benchmarks:
    """Results of the benchmarks."""

    #: LastBenchmark, epoch s; 0 before the first.
    last_at: int = 0
    mips: int | None = None
    kflops: int | None = None


@record
class SlotState:
    """A slot between two steps."""

    #: ``slot1@host``.
    name: str
    kind: SlotKind = SlotKind.STATIC
    state: State = State.OWNER
    activity: Activity = Activity.IDLE
    #: EnteredCurrentState and EnteredCurrentActivity, epoch s.
    entered_state_at: float
    entered_activity_at: float
    ids: ClaimIdSource
    #: The current claim, or the id of the next one.
    claim: Claim
    #: The claim that may preempt; only its id until it is requested. None unless Claimed or Preempting.
    preempting: Claim | None = None
    #: The claim that may replace `preempting`; None unless that is waiting.
    pre_preempting: Claim | None = None
    eviction: Eviction = Eviction()
    suspenders: Suspenders = field(default=Suspenders(), metadata={"added": True})
    destination: Destination | None = None
    draining: SlotDraining | None = None
    shutdown: ShutdownKind | None = None
    #: SlotBrokenReason: why the slot accepts no jobs until an administrator has checked it; None if it is not broken.
    broken: str | None = None
    #: SlotLeavingReason: why the slot is removed once its job is gone; None if it stays.
    leaving: Leaving | None = None
    #: Deadlines, epoch s; that of the lease is in the claim.
    match_until: float | None = None
    vacate_until: float | None = None
    kill_again_at: float | None = None
    fetching: Fetching = Fetching()
    benchmarks: Benchmarks = Benchmarks()
    #: Seconds spent in each pair before the current stay, in the order of `PAIRS`.
    spent_s: tuple[float, ...] = (0.0,) * len(PAIRS)
    #: The slot's ad as last polled.
    ad: ClassAd = field(default_factory=ClassAd)
    machine: MachineFacts = NO_FACTS
    #: A dynamic slot that has been deleted. Nothing happens to it any more.
    deleted: bool = False

    @property
    def pair(self) -> Pair:
        """State and activity."""
        return _LEGAL.get((self.state, self.activity)) or Pair(self.state, self.activity)

    @property
    def waiting(self) -> Claim | None:
        """The claim that waits to preempt; None if there is none."""
        return self.preempting if self.preempting is not None and self.preempting.request is not None else None

    @property
    def offered(self) -> ClaimId:
        """The id of the claim that the pool may assign next."""
        return (self.preempting or self.claim).id

    @property
    def in_retirement(self) -> bool:
        """Whether the current claim must end as soon as its job's retirement is over."""
        return self.waiting is not None or self.eviction.irrevocable or self.draining is not None


def new_slot(
    name: str,
    *,
    kind: SlotKind,
    ids: ClaimIdSource,
    now: float,
    ad: ClassAd,
    parent: SlotState | None = None,
) -> SlotState:
    """A new slot: Owner/Idle, or Unclaimed/Idle for a dynamic one, which is made to be claimed at once.

    `parent` is that of a dynamic slot, which shares its machine, its draining and its benchmarks.
    """
    claim_id, ids = ids.take()
    return SlotState(
        name=name,
        kind=kind,
        state=State.UNCLAIMED if kind is SlotKind.DYNAMIC else State.OWNER,
        entered_state_at=now,
        entered_activity_at=now,
        ids=ids,
        claim=Claim(id=claim_id),
        ad=ad,
        draining=None if parent is None else parent.draining,
        benchmarks=Benchmarks() if parent is None else parent.benchmarks,
        machine=NO_FACTS if parent is None else parent.machine,
    )
