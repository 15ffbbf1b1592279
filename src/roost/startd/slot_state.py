"""All that a slot knows: the value that goes into each step and comes out of it.

Whatever affects the slot's next step is in here or in its policy; nothing is anywhere else. Deadlines are part of the
state, and the timers that a runtime keeps are only reminders of them.

What is not here: what the slot consists of (its ledger), and the numbers of its ad, which come with each poll.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from roost.base.records import dataclass, field
from roost.classad import ClassAd, Expr
from roost.model.claims import Claim
from roost.model.events import DrainSchedule, MachineFacts, ShutdownKind
from roost.model.identifiers import ClaimId, ClaimIdSource
from roost.model.reasons import Leaving, Reason, VacateReason
from roost.model.slots import SlotKind
from roost.startd.states import PAIRS, Activity, Pair, State

#: Each legal pair by itself, for making one takes longer than finding it.
_LEGAL: Final[Mapping[tuple[State, Activity], Pair]] = {pair: pair for pair in PAIRS}

#: Of a machine of which nothing is known yet.
NO_FACTS: Final = MachineFacts()


class Destination(StrEnum):
    """Where a slot goes once its backfill is gone."""

    OWNER = "Owner"
    MATCHED = "Matched"
    CLAIMED = "Claimed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Eviction:
    """Why and how the present claim has to go. All of it is forgotten when the claim's job ends."""

    #: The first cause that was not only a better match; None while there is none.
    cause: VacateReason | None = None
    #: Why the slot went to Preempting; None before.
    reason: Reason | None = None
    #: PREEMPT has been seen TRUE.
    preempt_seen: bool = False
    #: There is no way back to Busy.
    irrevocable: bool = False
    #: No retirement is granted, whatever the policy says.
    no_retirement: bool = False
    #: No time at all is granted.
    hard: bool = False
    #: The claim's holder ended it, or is taken for dead: it is not told.
    untold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspenders:
    """What of a Grid Engine cell suspends the job of the present claim."""

    #: `roost.model.cell_requests.Suspender`, each with what to say of it.
    causes: Mapping[str, str] = field(default_factory=dict)
    #: The machine's own policy does not suspend the job now: it goes on when the causes are gone.
    alone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotDraining:
    """A drain of the machine, as this slot knows it."""

    request_id: str
    schedule: DrainSchedule
    #: START while draining; None for one that takes no job.
    start: Expr | None = None
    reason: str = ""
    #: When the last original job of the machine must go, epoch s.
    shared_until: float
    #: The job that ran when it began had retirement left.
    had_retirement: bool = False
    #: Only jobs accepted since it began are left, and they have to go as well.
    originals_gone: bool = False
    #: When the last job has to be gone, killed if need be, epoch s; None for no such time.
    deadline_at: float | None = None

    @property
    def takes_until(self) -> float:
        """When jobs that begin during the drain have to go at the latest, epoch s; infinite for no such time."""
        return self.shared_until if self.deadline_at is None else min(self.shared_until, self.deadline_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetching:
    """Work fetched by a hook."""

    running: bool = False
    #: LastFetchWorkSpawned and LastFetchWorkCompleted, epoch s; None before the first.
    spawned_at: float | None = None
    completed_at: float | None = None
    #: When to try again, epoch s.
    retry_at: float | None = None
    #: Fetched jobs in a row that could not be started, and when the last of them failed, epoch s.
    failures: int = field(default=0, metadata={"added": True})
    failed_at: float = field(default=0.0, metadata={"added": True})
    #: What was wrong with the last call, or with the job that it brought; "" for nothing.
    problem: str = field(default="", metadata={"added": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmarks:
    """Results of the benchmarks."""

    #: LastBenchmark, epoch s; 0 before the first.
    last_at: int = 0
    mips: int | None = None
    kflops: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
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
    #: The present claim, or the id of the next one.
    claim: Claim
    #: The claim that may take over; only its id until it is requested. None unless Claimed or Preempting.
    preempting: Claim | None = None
    #: The claim that may take the place of `preempting`; None unless that is waiting.
    pre_preempting: Claim | None = None
    eviction: Eviction = Eviction()
    suspenders: Suspenders = field(default=Suspenders(), metadata={"added": True})
    destination: Destination | None = None
    draining: SlotDraining | None = None
    shutdown: ShutdownKind | None = None
    #: SlotBrokenReason: why the slot takes no job until an administrator has looked at it; None where it does.
    broken: str | None = None
    #: SlotLeavingReason: why the slot is to vanish once its job is gone; None where it stays.
    leaving: Leaving | None = None
    #: Deadlines, epoch s; that of the lease is in the claim.
    match_until: float | None = None
    vacate_until: float | None = None
    kill_again_at: float | None = None
    fetching: Fetching = Fetching()
    benchmarks: Benchmarks = Benchmarks()
    #: Seconds spent in each pair before the present stay, in the order of `PAIRS`.
    spent_s: tuple[float, ...] = (0.0,) * len(PAIRS)
    #: The slot's ad as last polled.
    ad: ClassAd = field(default_factory=ClassAd)
    machine: MachineFacts = NO_FACTS
    #: A dynamic slot that has been given back. Nothing happens to it any more.
    deleted: bool = False

    @property
    def pair(self) -> Pair:
        """State and activity."""
        return _LEGAL.get((self.state, self.activity)) or Pair(self.state, self.activity)

    @property
    def waiting(self) -> Claim | None:
        """The claim that waits to take over; None if none does."""
        return self.preempting if self.preempting is not None and self.preempting.request is not None else None

    @property
    def offered(self) -> ClaimId:
        """The id of the claim that the pool may give away next."""
        return (self.preempting or self.claim).id

    @property
    def in_retirement(self) -> bool:
        """Whether the present claim is to end as soon as its job's retirement is over."""
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
    """A slot as it begins: Owner/Idle, or Unclaimed/Idle for a dynamic one, which is made to be claimed at once.

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
