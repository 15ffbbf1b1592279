"""Any order of events: what must never happen, and that it always comes to an end.

The machine is driven by a small world that carries out its orders: it knows which work is under way and which
start of the job is alive, and answers, fails, comes late or comes twice as it likes. Orders come at any time.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from roost.classad import ClassAd
from roost.model import starter_effects as ef
from roost.model import starter_events as ev
from roost.model.starter import Cause, Doing, Ending, HookPoint
from roost.starter.machine import Outcome, step
from roost.starter.persisted import persisted, restored
from roost.starter.policy_inputs import KILL
from roost.starter.resumption import resume
from roost.starter.states import PAIRS, State
from tests.starter.kit import HELD, PREEMPTED, REMOVED, Hand, job, usage
from tests.starter.situations import EVERY_HOOK, HOOKS, full_policy

POLICIES: Final[tuple[dict[str, str], ...]] = (
    {},
    {"STARTER_EVICT": "ImageSize > Memory * 1024"},
    {"STARTER_EVICT": "JobDuration > 60", "STARTER_KILL": "CurrentTime - EnteredCurrentState > 20"},
    {"STARTER_EVICT": "NumPids > 3", "STARTER_WANT_VACATE": "ImageSize < 1000"},
    {"STARTER_EVICT": 'JobState == "Suspended"', "STARTER_KILL": "true"},
)

CAUSES: Final = st.sampled_from((PREEMPTED, HELD, REMOVED))
WEIGHT: Final = {Ending.EVICT: 1, Ending.HOLD: 2, Ending.REMOVE: 3}


class StarterRun(RuleBasedStateMachine):
    @initialize(
        expressions=st.sampled_from(POLICIES),
        moves=st.sampled_from(("YES", "NO")),
        when=st.sampled_from(("ON_EXIT", "ON_EXIT_OR_EVICT", "ON_SUCCESS")),
        bare=st.booleans(),
        warned=st.booleans(),
        pledge=st.sampled_from((0.0, 40.0, 600.0)),
        ahead=st.sampled_from((0, 2, 4, 9, 9, 9)),
    )
    def launch(
        self, expressions: dict[str, str], moves: str, when: str, bare: bool, warned: bool, pledge: float, ahead: int
    ) -> None:
        policy = full_policy(expressions, hooks=EVERY_HOOK if warned else HOOKS)
        if bare:
            policy = replace(policy, prolog="", epilog="", hook_keyword_default="")
        given = job(
            ShouldTransferFiles=moves,
            WhenToTransferOutput=when,
            SuccessCheckpointExitCode=85,
            JobMaxVacateTime=30,
        )
        self.hand = Hand(policy=policy, job=given, launch={"vacate_pledge_s": pledge})
        #: Work that is waited for, and how it was ordered.
        self.work: ef.StarterEffect | None = self.hand.last.effects[0]
        #: Starts of the job: True while SIGKILL was not ordered for all that they started.
        self.loose: dict[int, bool] = {}
        self.started: set[int] = set()
        self.gone: set[int] = set()
        self.past: list[ev.StarterEvent] = []
        self.reports = 0
        self.over = False
        self.weight = 0
        for _ in range(ahead):
            self.all_goes_well()

    # -- the world ---------------------------------------------------------------------------------------

    def all_goes_well(self) -> None:
        if self.work is not None:
            self.answer(True)
        elif self.run is not None and self.run not in self.started:
            self.start_is_seen(1)

    def feed(self, event: ev.StarterEvent) -> None:
        hand = self.hand
        before, was_over = hand.state, self.over
        again = step(before, event, hand.now, hand.policy)
        hand.feed(event)
        assert hand.last.effects == again.effects
        assert hand.last.state == again.state
        if not isinstance(event, ev.StarterTimerFired):
            self.past.append(event)
        assert not (was_over and hand.last.effects)
        if hand.last.outcome is Outcome.IGNORED:
            assert hand.state is before
        for effect in hand.last.effects:
            self.carry_out(effect)

    def carry_out(self, effect: ef.StarterEffect) -> None:
        assert not self.over or isinstance(effect, ef.CancelStarterTimer), "an order after the end"
        match effect:
            case ef.RunHook(awaited=False):
                pass
            case (
                ef.MakeSandbox()
                | ef.RunHook()
                | ef.RunScript()
                | ef.TransferInput()
                | ef.TransferOutput()
                | ef.TransferCheckpoint()
                | ef.RemoveSandbox()
            ):
                assert self.work is None, "two pieces of work at once"
                self.work = effect
            case ef.AbortWork(doing=doing):
                assert self.work is not None
                assert doing in Doing
                self.work = None
            case ef.StartJob(run=run):
                assert not any(self.loose.values()), "started next to another"
                self.loose[run] = True
            case ef.KillProcesses():
                self.loose = dict.fromkeys(self.loose, False)
            case ef.SignalJob() | ef.SuspendProcesses() | ef.ContinueProcesses():
                assert self.hand.state.run not in self.gone, "an order about a job that is gone"
                assert self.hand.state.run > 0
            case ef.ReportExit():
                self.reports += 1
            case ef.Quit():
                self.over = True
            case _:
                pass

    @property
    def run(self) -> int | None:
        """The start that the job is alive in."""
        run = self.hand.state.run
        return run if run and run not in self.gone else None

    def answer(self, good: bool) -> None:
        work, self.work = self.work, None
        match work:
            case ef.MakeSandbox():
                self.feed(ev.SandboxMade() if good else ev.SandboxFailed(text="x"))
            case ef.RunHook(point=point):
                status = 0 if good else 300 if point is HookPoint.PREPARE else 1
                self.feed(ev.HookEnded(point=point, status=status, printed=ClassAd({"A": 1})))
            case ef.RunScript(point=point):
                self.feed(ev.ScriptEnded(point=point, status=0 if good else 1))
            case ef.TransferInput():
                self.feed(ev.InputTransferred() if good else ev.InputFailed(text="x"))
            case ef.TransferCheckpoint(run=run):
                self.feed(ev.CheckpointTransferred(run=run) if good else ev.CheckpointFailed(run=run, text="x"))
            case ef.TransferOutput():
                self.feed(ev.OutputTransferred() if good else ev.OutputFailed(text="x"))
            case ef.RemoveSandbox():
                self.feed(ev.SandboxRemoved(text="" if good else "busy"))
            case _:
                raise AssertionError(work)

    # -- what happens --------------------------------------------------------------------------------------

    @precondition(lambda self: self.work is not None)
    @rule(luck=st.integers(0, 9))
    def work_ends(self, luck: int) -> None:
        self.answer(luck != 0)

    @precondition(lambda self: self.run is not None and self.run not in self.started)
    @rule(luck=st.integers(0, 9))
    def start_is_seen(self, luck: int) -> None:
        run = self.run
        assert run is not None
        self.started.add(run)
        if luck:
            self.feed(ev.JobStarted(run=run, pid=100 + run))
        else:
            self.gone.add(run)
            self.loose[run] = False
            self.feed(ev.JobNotStarted(run=run, text="x", errno=2))

    @precondition(lambda self: self.run is not None)
    @rule(code=st.sampled_from((0, 1, 85, 85)), signal=st.sampled_from((None, None, 9, 15)))
    def job_ends(self, code: int, signal: int | None) -> None:
        run = self.run
        assert run is not None
        # Only the main process has ended: what it started may live on until it is killed.
        self.gone.add(run)
        self.feed(ev.JobEnded(run=run, exit_code=None if signal else code, signal=signal))

    @precondition(lambda self: self.run is not None)
    @rule(size=st.sampled_from((10, 10**6)), pids=st.integers(1, 5))
    def sample(self, size: int, pids: int) -> None:
        self.feed(ev.UsageSampled(run=self.hand.state.run, usage=usage(size, process_count=pids)))

    @rule(order=st.sampled_from((ev.SuspendOrdered(), ev.ContinueOrdered(), ev.CheckpointOrdered(), ev.Reconfigured())))
    def order_comes(self, order: ev.StarterEvent) -> None:
        self.feed(order)

    @rule(cause=CAUSES, luck=st.integers(0, 5))
    def kill_comes(self, cause: Cause, luck: int) -> None:
        if luck == 0:
            self.feed(ev.HardKillOrdered(cause=cause))
        elif luck < 3:
            self.feed(ev.SoftKillOrdered(cause=cause))

    @precondition(lambda self: self.run is not None)
    @rule()
    def signal_fails(self) -> None:
        self.feed(ev.SoftKillFailed(run=self.hand.state.run))

    @precondition(lambda self: self.past)
    @rule(pick=st.integers(0, 10**6))
    def the_past_comes_again(self, pick: int) -> None:
        self.feed(self.past[pick % len(self.past)])

    @rule(seconds=st.sampled_from((1, 5, 31, 400)))
    def time_passes(self, seconds: float) -> None:
        hand = self.hand
        until = hand.now + seconds
        while hand.timers:
            at, timer = min((at, str(timer)) for timer, at in hand.timers.items())
            if at > until:
                break
            hand.now = max(hand.now, at)
            name = next(each for each in hand.timers if str(each) == timer)
            del hand.timers[name]
            self.feed(ev.StarterTimerFired(timer=name))
        hand.now = until

    @rule()
    def the_starter_dies(self) -> None:
        """Work that was waited for is lost with it; the job goes on, and what has become of it is seen afterwards."""
        hand, was_over = self.hand, self.over
        self.work, self.over = None, False
        if was_over or self.hand.state.pair == PAIRS[-2]:
            self.reports = 0
        state = restored(json.loads(json.dumps(persisted(hand.state), allow_nan=False)))
        assert state == hand.state
        hand.go_on(resume(state, hand.now, hand.policy))
        for effect in hand.last.effects:
            if not (isinstance(effect, ef.StartJob) and effect.run in self.loose):
                self.carry_out(effect)
        self.reports = max(self.reports, int(was_over))

    # -- what must hold ------------------------------------------------------------------------------------

    @invariant()
    def the_pair_is_legal(self) -> None:
        assert self.hand.state.pair in PAIRS

    @invariant()
    def there_is_one_report_once_it_is_due(self) -> None:
        due = self.hand.state.pair in PAIRS[-2:]
        assert self.reports == int(due)

    @invariant()
    def a_soft_kill_becomes_hard_in_time(self) -> None:
        state, now = self.hand.state, self.hand.now
        if state.state is State.VACATING:
            assert state.deadlines.vacate_until is not None
            assert now < state.deadlines.vacate_until <= state.entered_state_at + 40
            if self.hand.policy.expressions[KILL].is_literal is False:
                assert now - state.entered_state_at <= 30 + 5

    @invariant()
    def a_hard_kill_is_under_way_until_the_job_is_gone(self) -> None:
        state = self.hand.state
        if state.state is State.KILLING:
            assert not any(self.loose.values())
            assert state.deadlines.kill_again_at is not None
            assert self.hand.now < state.deadlines.kill_again_at <= self.hand.now + 30

    @invariant()
    def nothing_of_the_job_outlives_it(self) -> None:
        if self.hand.state.state in (State.FINISHING, State.DONE):
            assert not any(self.loose.values())
            assert not self.hand.state.process

    @invariant()
    def what_is_waited_for_is_what_was_ordered(self) -> None:
        assert (self.hand.state.doing is None) is (self.work is None)

    @invariant()
    def causes_only_gain_weight(self) -> None:
        cause = self.hand.state.cause
        weight = 0 if cause is None else WEIGHT[cause.ending]
        assert weight >= self.weight
        self.weight = weight

    def teardown(self) -> None:
        if not hasattr(self, "hand"):
            return
        if not self.over:
            self.feed(ev.HardKillOrdered(cause=PREEMPTED))
        for _ in range(12):
            if self.work is not None:
                self.answer(True)
            elif self.run is not None:
                run = self.run
                self.gone.add(run)
                self.feed(ev.JobEnded(run=run, signal=9))
        assert self.over, f"no end: {self.hand.state.pair}"
        assert self.hand.state.state is State.DONE
        assert self.reports == 1
        assert not self.hand.timers


TestStarterRun = StarterRun.TestCase
TestStarterRun.settings = settings(max_examples=120, stateful_step_count=40, deadline=None)
