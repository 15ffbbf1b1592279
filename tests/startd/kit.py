"""Slots in every pair, and a hand to drive one with: the way of writing a scenario as a script of events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from roost.base.records import replace
from roost.classad import ClassAd
from roost.model import events as ev
from roost.model.claims import ClaimKind, ClaimRequest
from roost.model.effects import Effect
from roost.model.identifiers import ClaimId, ClaimIdSource
from roost.model.slots import SlotKind
from roost.startd import states as at
from roost.startd.machine import SlotStep, step
from roost.startd.policy_inputs import SlotPolicy
from roost.startd.slot_state import SlotState, new_slot
from roost.startd.states import Pair

#: When scripts begin, epoch s.
START: Final = 1_000_000.0

#: A policy under which nothing happens by itself.
QUIET: Final[Mapping[str, str]] = {"IS_OWNER": "false", "RunBenchmarks": "false", "MachineMaxVacateTime": "600"}


def policy(expressions: Mapping[str, str] | None = None, **settings: Any) -> SlotPolicy:
    return SlotPolicy.of({**QUIET, **(expressions or {})}, **settings)


def job(**attributes: Any) -> ClassAd:
    """A job of alice's, with a lease that no script outlasts."""
    return ClassAd(
        {"JobUniverse": 5, "Owner": "alice", "ClusterId": 7, "ProcId": 0, "JobLeaseDuration": 10**9, **attributes}
    )


def source(block: int = 1) -> ClaimIdSource:
    return ClaimIdSource(address="<10.0.0.1:9618>", birth=1000, block=block, key=b"test")


#: An id that no slot has given out.
STRANGE: Final[ClaimId] = source(99).take()[0]


@dataclass
class Hand:
    """Feeds events to one slot, with a clock of its own, and remembers what the last step led to."""

    policy: SlotPolicy = field(default_factory=policy)
    kind: SlotKind = SlotKind.STATIC
    now: float = START
    sensors: dict[str, Any] = field(default_factory=dict)
    machine: ev.MachineFacts = field(default_factory=ev.MachineFacts)

    def __post_init__(self) -> None:
        ad = ClassAd(self.sensors)
        made = new_slot("slot1@host", kind=self.kind, ids=source(), now=self.now, ad=ad)
        self.state: SlotState = replace(made, machine=self.machine)
        self.last = SlotStep(state=self.state)
        self.seen: list[str] = []

    def feed(self, event: ev.Event) -> SlotStep:
        self.last = step(self.state, event, self.now, self.policy)
        self.state = self.last.state
        self.seen += self.numbers
        return self.last

    # -- reading ------------------------------------------------------------------------------

    @property
    def pair(self) -> Pair:
        return self.state.pair

    @property
    def numbers(self) -> list[str]:
        return [taken.number for taken in self.last.transitions]

    def ordered(self, kind: type[Effect]) -> list[Any]:
        return [effect for effect in self.last.effects if isinstance(effect, kind)]

    # -- events -------------------------------------------------------------------------------

    def poll(self, after: float = 0.0, **sensors: Any) -> SlotStep:
        self.now += after
        self.sensors |= sensors
        return self.feed(ev.Polled(ad=ClassAd(self.sensors), machine=self.machine))

    def poll_until(self, pair: Pair, *, every: float = 5.0, at_most: float = 10_000.0) -> float:
        """Poll until the slot is in `pair`; the time that took."""
        begin = self.now
        while self.pair != pair:
            assert self.now - begin < at_most, f"still {self.pair}"
            self.poll(every)
        return self.now - begin

    def fire(self, timer: ev.Timer, after: float = 0.0) -> SlotStep:
        self.now += after
        return self.feed(ev.TimerFired(timer=timer))

    def suspenders(self, *causes: str) -> SlotStep:
        """The cell suspends the job of the present claim for these causes, and for no others."""
        suspenders = {cause: f"{cause} of all.q@host" for cause in causes}
        return self.feed(ev.SuspendersChanged(claim=self.state.claim.id.public, suspenders=suspenders))

    def match(self) -> SlotStep:
        return self.feed(ev.MatchReceived(claim_id=self.state.claim.id))

    def request(self, ad: ClassAd | None = None, claim_id: ClaimId | None = None, **fields: Any) -> SlotStep:
        request = ClaimRequest(
            job_ad=job() if ad is None else ad, **{"schedd": "<10.0.0.2:9618>", "reply_to": "r1", **fields}
        )
        return self.feed(
            ev.ClaimRequested(claim_id=self.state.claim.id if claim_id is None else claim_id, request=request)
        )

    def preempt(self, ad: ClassAd | None = None, reply_to: str = "r2") -> SlotStep:
        seat = self.state.preempting if self.state.waiting is None else self.state.pre_preempting
        assert seat is not None
        return self.request(ad, seat.id, reply_to=reply_to, schedd="<10.0.0.3:9618>")

    def activate(self, ad: ClassAd | None = None) -> SlotStep:
        return self.feed(
            ev.ActivationRequested(claim_id=self.state.claim.id, job_ad=job() if ad is None else ad, reply_to="a1")
        )

    def run(self, ad: ClassAd | None = None) -> Hand:
        """A job runs on the slot."""
        self.request(ad)
        self.activate(ad)
        assert self.pair == at.BUSY, self.last
        return self

    def gone(self) -> SlotStep:
        return self.feed(ev.StarterExited())

    def drain(self, schedule: ev.DrainSchedule = ev.DrainSchedule.GRACEFUL, **fields: Any) -> SlotStep:
        return self.feed(ev.DrainRequested(request_id="1", schedule=schedule, **fields))


def in_pair(pair: Pair, rules: SlotPolicy | None = None, kind: SlotKind = SlotKind.STATIC) -> Hand:
    """A slot that came to `pair` by itself, under a policy under which it stays there."""
    hand = Hand(policy=policy(backfill=True) if rules is None else rules, kind=kind)
    _WAYS[pair](hand)
    hand.policy = policy(backfill=True, fetches_work=False) if rules is None else rules
    assert hand.pair == pair, (pair, hand.pair)
    return hand


def _owner(hand: Hand) -> None:
    hand.feed(ev.BackfillStarted())


def _unclaimed(hand: Hand) -> None:
    hand.poll(1)


def _with(hand: Hand, **expressions: str) -> None:
    hand.policy = policy(expressions, backfill=True)


def _benchmarking(hand: Hand) -> None:
    _with(hand, RunBenchmarks="true")
    hand.poll(1)


def _matched(hand: Hand) -> None:
    hand.poll(1)
    hand.match()


def _claimed(hand: Hand) -> None:
    hand.poll(1)
    hand.request()


def _busy(hand: Hand) -> None:
    _claimed(hand)
    hand.activate(job(MaxJobRetirementTime=10_000))


def _suspended(hand: Hand) -> None:
    _busy(hand)
    hand.feed(ev.SuspendRequested(claim_id=hand.state.claim.id))


def _retiring(hand: Hand) -> None:
    _with(hand, MAXJOBRETIREMENTTIME="10000")
    _busy(hand)
    hand.feed(ev.VacateRequested())


def _cleaning(hand: Hand) -> None:
    _busy(hand)
    hand.feed(ev.JobExited())


def _vacating(hand: Hand) -> None:
    _busy(hand)
    hand.feed(ev.VacateRequested())


def _killing(hand: Hand) -> None:
    _busy(hand)
    hand.feed(ev.VacateRequested(fast=True))


def _backfill(hand: Hand) -> None:
    _with(hand, START_BACKFILL="true")
    hand.poll(1)


def _backfill_busy(hand: Hand) -> None:
    _backfill(hand)
    hand.feed(ev.BackfillStarted())


def _backfill_killing(hand: Hand) -> None:
    _backfill_busy(hand)
    hand.match()


def _drained_retiring(hand: Hand) -> None:
    hand.poll(1)
    hand.drain()


def _drained(hand: Hand) -> None:
    _drained_retiring(hand)
    hand.machine = ev.MachineFacts(all_drained=True)
    hand.poll(1)


_WAYS: Final = {
    at.OWNER: _owner,
    at.UNCLAIMED: _unclaimed,
    at.BENCHMARKING: _benchmarking,
    at.MATCHED: _matched,
    at.CLAIMED: _claimed,
    at.BUSY: _busy,
    at.SUSPENDED: _suspended,
    at.RETIRING: _retiring,
    at.CLEANING: _cleaning,
    at.VACATING: _vacating,
    at.KILLING: _killing,
    at.BACKFILL: _backfill,
    at.BACKFILL_BUSY: _backfill_busy,
    at.BACKFILL_KILLING: _backfill_killing,
    at.DRAINED_RETIRING: _drained_retiring,
    at.DRAINED: _drained,
}

__all__ = ["QUIET", "START", "STRANGE", "ClaimKind", "Hand", "in_pair", "job", "policy", "source"]
