"""A slot under any events in any order: what a runtime that carries out its orders would see."""

from __future__ import annotations

import json
from typing import Any, Final

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from roost.classad import ClassAd, parse_expression
from roost.model import events as ev
from roost.model.claims import ClaimRequest
from roost.model.effects import (
    ActivateStarter,
    CancelBenchmarks,
    CancelTimer,
    ContinueJob,
    DeleteSlot,
    FetchWork,
    HardKill,
    KillFamily,
    RunBenchmarks,
    SendClaimReply,
    SetTimer,
    SoftKill,
    SplitSlot,
    SuspendJob,
)
from roost.model.identifiers import ClaimId
from roost.model.slots import SlotKind
from roost.startd import states as at
from roost.startd.attributes import is_offered
from roost.startd.machine import Outcome
from roost.startd.persisted import persisted, restored
from roost.startd.policy_inputs import SlotPolicy
from roost.startd.publication import slot_attributes
from roost.startd.resumption import resume
from roost.startd.slot_state import new_slot
from roost.startd.states import PAIRS, State
from roost.startd.transitions import TRANSITIONS
from roost.startd.validation import violations
from roost.startd.work import deadline
from tests.startd.kit import START, STRANGE, Hand, job, source

TRUTHS: Final = ("true", "false", "undefined", "error", "KeyboardIdle < 60", "KeyboardIdle >= 60", "TARGET.Worth > 1")
#: Mostly such that jobs come and stay.
WILLING: Final = (*["true"] * 12, *TRUTHS)
UNWILLING: Final = (*["false"] * 12, *TRUTHS)
NUMBERS: Final = ("0", "-1", "30", "1000", "undefined", "TARGET.Worth * 100", '"text"')

POLICY: Final = st.fixed_dictionaries(
    {
        **{
            name: st.sampled_from(TRUTHS)
            for name in (
                "WANT_SUSPEND",
                "SUSPEND",
                "CONTINUE",
                "WANT_VACATE",
                "WANT_HOLD",
                "EVICT_BACKFILL",
                "PERIODIC_CHECKPOINT",
            )
        },
        "START": st.sampled_from(WILLING),
        "PREEMPT": st.sampled_from((*["false"] * 4, *TRUTHS)),
        "PREEMPT_VANILLA": st.sampled_from((*["undefined"] * 4, *TRUTHS)),
        "MAXJOBRETIREMENTTIME": st.sampled_from((*["10000"] * 4, *NUMBERS)),
        **{name: st.sampled_from(UNWILLING) for name in ("IS_OWNER", "RunBenchmarks", "START_BACKFILL", "KILL")},
        **{
            name: st.sampled_from(NUMBERS)
            for name in ("RANK", "MachineMaxVacateTime", "CLAIM_WORKLIFE", "FetchWorkDelay")
        },
    }
)

JOBS: Final = st.builds(
    lambda worth, universe, lease, retirement: job(
        Worth=worth, JobUniverse=universe, JobLeaseDuration=lease, MaxJobRetirementTime=retirement
    ),
    st.integers(0, 3),
    st.sampled_from((5, 13, 1)),
    st.sampled_from((0, 40, 10_000)),
    st.sampled_from((0, 100, 10_000)),
)

LISTED: Final = {(row.number, row.source, row.target, row.reason) for row in TRANSITIONS}


class AnySlot(RuleBasedStateMachine):
    """The slot, and a runtime that believes whatever it is ordered."""

    hand: Hand

    @initialize(expressions=POLICY, kind=st.sampled_from((*[SlotKind.STATIC] * 4, *SlotKind)), own=st.booleans())
    def begin(self, expressions: dict[str, str], kind: SlotKind, own: bool) -> None:
        self.hand = Hand(policy=SlotPolicy.of(expressions, backfill=own, fetches_work=own), kind=kind)
        self.own = own
        self.timers: dict[ev.Timer, float] = {}
        self.starter = False
        self.still = False
        self.killed = 0
        self.hook = False
        self.benchmarks = False
        self.deleted = False
        self.asked: set[str] = set()
        self.answered: set[str] = set()
        self.begun = self.hand.now
        #: The daemon has just been started again.
        self.reborn = False

    # -- carrying out -----------------------------------------------------------------------------

    def feed(self, event: ev.Event) -> None:
        before = self.hand.state
        step = self.hand.feed(event)
        if step.outcome is Outcome.IGNORED:
            assert step.state is before and not step.transitions
        here = before.pair
        for taken in step.transitions:
            assert taken.source == here and (taken.number, taken.source, taken.target, taken.reason) in LISTED
            here = taken.target
        assert here == step.state.pair
        for effect in step.effects:
            self.carry_out(effect)

    def carry_out(self, effect: Any) -> None:
        match effect:
            case SetTimer(timer=timer, at=when):
                self.timers[timer] = when
            case CancelTimer(timer=timer):
                assert timer in self.timers
                del self.timers[timer]
            case ActivateStarter():
                assert not self.starter
                self.starter, self.still, self.killed = True, False, 0
            case SuspendJob():
                assert self.starter and (self.reborn or not self.still)
                self.still = True
            case ContinueJob():
                assert self.starter and (self.reborn or self.still)
                self.still = False
            case SoftKill():
                assert self.starter and self.killed == int(self.reborn)
                self.killed = 1
            case HardKill():
                assert self.starter and (self.reborn or self.killed < 2)
                self.killed = 2
            case KillFamily():
                assert self.starter
            case SendClaimReply(reply_to=reply_to):
                assert reply_to in self.asked and reply_to not in self.answered
                self.answered.add(reply_to)
            case SplitSlot(request=request):
                if request.reply_to:
                    self.answered.add(request.reply_to)
            case FetchWork():
                assert not self.hook
                self.hook = True
            case RunBenchmarks():
                assert not self.benchmarks
                self.benchmarks = True
            case CancelBenchmarks():
                assert self.benchmarks
                self.benchmarks = False
            case DeleteSlot():
                assert not self.deleted
                self.deleted = True

    # -- events ---------------------------------------------------------------------------------------

    def any_id(self, which: int) -> ClaimId:
        state = self.hand.state
        found = [claim.id for claim in (state.claim, state.preempting, state.pre_preempting) if claim is not None]
        return found[which] if which < len(found) else STRANGE

    @rule(seconds=st.sampled_from((0, 1, 5, 30, 119, 600, 3000)), keyboard=st.sampled_from((0, 59, 60, 5000)))
    def poll(self, seconds: int, keyboard: int) -> None:
        self.hand.now += seconds
        self.hand.sensors = {"KeyboardIdle": keyboard, "Memory": 100}
        self.feed(ev.Polled(ad=ClassAd(self.hand.sensors), machine=self.hand.machine))

    @rule(timer=st.sampled_from(ev.Timer))
    def fire(self, timer: ev.Timer) -> None:
        self.feed(ev.TimerFired(timer=timer))

    @precondition(lambda self: self.timers)
    @rule()
    def first_timer(self) -> None:
        timer = min(self.timers, key=lambda each: (self.timers[each], each))
        self.hand.now = max(self.hand.now, self.timers[timer])
        self.feed(ev.TimerFired(timer=timer))

    @rule(which=st.integers(0, 3))
    def match(self, which: int) -> None:
        self.feed(ev.MatchReceived(claim_id=self.any_id(which)))

    @rule(which=st.integers(0, 3), ad=JOBS)
    def request(self, which: int, ad: ClassAd) -> None:
        reply_to = f"r{len(self.asked)}"
        self.asked.add(reply_to)
        request = ClaimRequest(job_ad=ad, schedd="s", reply_to=reply_to)
        self.feed(ev.ClaimRequested(claim_id=self.any_id(which), request=request))

    @rule(ad=JOBS)
    def run_a_job(self, ad: ClassAd) -> None:
        self.request(0, ad)
        self.feed(ev.ActivationRequested(claim_id=self.any_id(0), job_ad=ad, reply_to="x"))

    @rule(ad=JOBS)
    def ask_for_better(self, ad: ClassAd) -> None:
        self.request(1 if self.hand.state.waiting is None else 2, ad)

    @rule(which=st.sampled_from((0, 0, 1, 3)))
    def release(self, which: int) -> None:
        claim_id = self.any_id(which)
        self.feed(ev.ClaimReleased(claim_id=claim_id))

    @rule(which=st.sampled_from((0, 3)), ad=JOBS)
    def activate(self, which: int, ad: ClassAd) -> None:
        self.feed(ev.ActivationRequested(claim_id=self.any_id(which), job_ad=ad, reply_to="x"))

    @rule(forcible=st.booleans())
    def deactivate(self, forcible: bool) -> None:
        self.feed(ev.DeactivationRequested(claim_id=self.any_id(0), forcible=forcible, reply_to="x"))

    @rule(suspend=st.booleans())
    def suspend_or_continue(self, suspend: bool) -> None:
        kind = ev.SuspendRequested if suspend else ev.ContinueRequested
        self.feed(kind(claim_id=self.any_id(0)))

    @rule()
    def suspend_in_retirement(self) -> None:
        self.feed(ev.VacateRequested())
        self.feed(ev.SuspendRequested(claim_id=self.any_id(0)))

    @rule(which=st.sampled_from((0, 1)))
    def alive(self, which: int) -> None:
        self.feed(ev.AliveReceived(claim_id=self.any_id(which), reply_to="x"))

    @rule(kind=st.sampled_from((ev.JobExited, ev.StarterUnreachable, ev.CheckpointRequested, ev.DrainOriginalsGone)))
    def happens(self, kind: Any) -> None:
        self.feed(kind())

    @rule(state=st.sampled_from(("Vacating", "Killing")), size=st.integers(0, 9))
    def starter_reports(self, state: str, size: int) -> None:
        self.feed(ev.JobUpdated(attributes=ClassAd({"ImageSize": size})))
        self.feed(ev.StarterEvicted(job_state=state))

    @precondition(lambda self: self.starter)
    @rule(spawned=st.booleans())
    def starter_exits(self, spawned: bool) -> None:
        self.starter = False
        self.feed(ev.StarterExited(spawned=spawned))

    @rule(fast=st.booleans())
    def vacate(self, fast: bool) -> None:
        self.feed(ev.VacateRequested(fast=fast))

    @rule(
        schedule=st.sampled_from(ev.DrainSchedule),
        start=st.sampled_from((None, "true", "TARGET.Worth > 1")),
        deadline=st.sampled_from((None, None, 0.0, 40.0, 5000.0)),
    )
    def drain(self, schedule: ev.DrainSchedule, start: str | None, deadline: float | None) -> None:
        self.feed(
            ev.DrainRequested(
                request_id="1",
                schedule=schedule,
                start=None if start is None else parse_expression(start),
                drain_remaining_s=200.0,
                deadline_at=None if deadline is None else self.hand.now + deadline,
            )
        )

    @rule()
    def end_of_drain(self) -> None:
        self.feed(ev.DrainCancelled())

    @rule(drained=st.booleans())
    def other_slots(self, drained: bool) -> None:
        self.hand.machine = ev.MachineFacts(
            all_drained=drained and self.hand.state.state is State.DRAINED,
            backfill_running=self.hand.state.machine.backfill_running,
        )

    @precondition(lambda self: self.benchmarks)
    @rule()
    def benchmarks_end(self) -> None:
        self.benchmarks = False
        self.feed(ev.BenchmarksFinished(mips=7, kflops=3))

    @rule(running=st.booleans())
    def backfill(self, running: bool) -> None:
        self.hand.machine = ev.MachineFacts(backfill_running=running)
        self.feed(ev.BackfillStarted() if running else ev.BackfillExited())

    @precondition(lambda self: self.hook)
    @rule(ad=st.one_of(st.none(), JOBS))
    def hook_ends(self, ad: ClassAd | None) -> None:
        self.hook = False
        self.feed(ev.FetchedWorkOffered(job_ad=ad))

    @precondition(lambda self: self.hand.kind is SlotKind.PARTITIONABLE)
    @rule()
    def claim_moves(self) -> None:
        self.feed(ev.ClaimMoved(claim_id=self.any_id(0)))

    @rule(kind=st.sampled_from((ev.ShutdownKind.PEACEFUL, ev.ShutdownKind.GRACEFUL)), dice=st.integers(0, 15))
    def shutdown(self, kind: ev.ShutdownKind, dice: int) -> None:
        if dice == 0:
            self.feed(ev.ShutdownRequested(kind=kind))

    @rule(starter_too=st.booleans())
    def daemon_dies(self, starter_too: bool) -> None:
        """Everything but the starter goes with it; what it wrote down last is what it goes on from."""
        before = self.hand.state
        if self.deleted:
            return
        record = json.loads(json.dumps(persisted(before), allow_nan=False))
        self.hand.machine = ev.MachineFacts()
        self.starter = self.starter and not starter_too
        self.timers, self.hook, self.benchmarks, self.reborn = {}, False, False, True
        state = restored(record, ad=before.ad, machine=before.machine)
        found = resume(state, self.hand.now, self.hand.policy, starter_alive=self.starter)
        self.hand.state = found.state
        for effect in found.effects:
            self.carry_out(effect)
        self.reborn = False

    # -- what always holds ----------------------------------------------------------------------------

    @invariant()
    def the_record_gives_the_slot_back(self) -> None:
        state = self.hand.state
        record = json.loads(json.dumps(persisted(state), allow_nan=False))
        assert restored(record, ad=state.ad, machine=state.machine) == state

    @invariant()
    def nobody_is_given_time_beyond_the_deadline_of_a_drain(self) -> None:
        state = self.hand.state
        if state.draining is not None and state.draining.deadline_at is not None and state.vacate_until is not None:
            assert state.vacate_until <= max(self.hand.now, state.draining.deadline_at)

    @invariant()
    def the_state_is_sound(self) -> None:
        assert violations(self.hand.state) == []
        assert self.hand.state.pair in PAIRS

    @invariant()
    def the_timers_are_the_deadlines(self) -> None:
        state = self.hand.state
        deadlines = {timer: at for timer in ev.Timer if (at := deadline(state, timer)) is not None}
        assert self.timers == ({} if state.deleted else deadlines)

    @invariant()
    def the_runtime_and_the_slot_agree(self) -> None:
        state = self.hand.state
        assert self.starter == (state.claim.activation is not None)
        if self.starter and state.state is State.CLAIMED:
            assert self.still == (state.pair == at.SUSPENDED)
        assert self.hook == state.fetching.running
        assert self.benchmarks == (state.pair == at.BENCHMARKING)
        assert self.deleted == state.deleted

    @invariant()
    def every_request_is_open_or_answered_once(self) -> None:
        state = self.hand.state
        pending = {
            claim.request.reply_to
            for claim in (state.claim, state.preempting)
            if claim is not None and claim.request is not None and claim.granted_at is None
        } - {""}
        assert self.asked - self.answered == pending

    @invariant()
    def no_time_is_lost(self) -> None:
        state = self.hand.state
        stay = self.hand.now - state.entered_activity_at
        assert abs(sum(state.spent_s) + stay - (self.hand.now - self.begun)) < 1e-6

    @invariant()
    def the_ad_says_what_is(self) -> None:
        ad = slot_attributes(self.hand.state, self.hand.policy, self.hand.now)
        assert (ad.eval("State"), ad.eval("Activity")) == tuple(map(str, self.hand.state.pair))
        assert (ad["Requirements"] is False) == (not is_offered(self.hand.state))

    def teardown(self) -> None:
        """After a fast shutdown, once everything that was killed is gone, nobody waits for the slot any more."""
        if not hasattr(self, "hand"):
            return
        self.feed(ev.ShutdownRequested(kind=ev.ShutdownKind.FAST))
        if self.hook:
            self.hook = False
            self.feed(ev.FetchedWorkOffered())
        self.feed(ev.BackfillExited())
        if self.starter:
            self.starter = False
            self.feed(ev.StarterExited())
        assert self.hand.state.state in (State.OWNER, State.UNCLAIMED, State.DRAINED), self.hand.pair
        assert self.asked == self.answered
        self.the_state_is_sound()


TestAnySlot = AnySlot.TestCase
TestAnySlot.settings = settings(
    max_examples=60,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def test_a_new_slot_is_sound() -> None:
    for kind in SlotKind:
        state = new_slot("slot1@host", kind=kind, ids=source(), now=START, ad=ClassAd())
        assert violations(state) == []
