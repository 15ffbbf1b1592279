"""Draining whatever runs on a machine: who may stay how long, and that it comes to an end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import hypothesis.strategies as st
from hypothesis import given, settings

from roost.model import events as ev
from roost.model.effects import HardKill, SoftKill
from roost.startd import draining as dr
from roost.startd import states as at
from tests.startd.kit import job
from tests.startd.test_draining import Machine

VACATE_S: Final = 60
PASS_S: Final = 5


@dataclass(frozen=True)
class Plan:
    """One slot: a job's retirement and what it needs to end by itself or when told to; None for no job."""

    stay_s: int | None
    needs_s: int
    leaves_s: int
    ran_s: int


PLANS: Final = st.lists(
    st.builds(
        Plan,
        stay_s=st.one_of(st.none(), st.sampled_from((0, 30, 100, 400, 900))),
        needs_s=st.sampled_from((10, 200, 1_000, 10_000)),
        leaves_s=st.sampled_from((0, 20, 1_000)),
        ran_s=st.sampled_from((0, 50, 300)),
    ),
    min_size=1,
    max_size=4,
)


class Run:
    """A machine with jobs that run on while it is drained, each of which leaves as its plan says."""

    def __init__(self, plans: list[Plan]) -> None:
        self.machine = Machine(len(plans))
        self.plans = plans
        self.begun: dict[int, float] = {}
        self.softly: dict[int, float] = {}
        self.hard: dict[int, float] = {}
        self.gone: dict[int, float] = {}
        for index in sorted(range(len(plans)), key=lambda one: -plans[one].ran_s):
            plan, hand = plans[index], self.machine.hands[index]
            longest = max(one.ran_s for one in plans)
            hand.now = self.machine.now + longest - plan.ran_s
            hand.poll()
            if plan.stay_s is not None:
                hand.run(job(Stay=plan.stay_s))
                self.begun[index] = hand.now
        self.machine.now += max(plan.ran_s for plan in plans)
        self.start = self.machine.now

    def note(self) -> None:
        for index, hand in enumerate(self.machine.hands):
            if hand.ordered(SoftKill):
                self.softly.setdefault(index, hand.now)
            if hand.ordered(HardKill):
                self.hard.setdefault(index, hand.now)

    def go_on(self, seconds: int) -> None:
        """Passes; what jobs do comes between them."""
        until = self.machine.now + seconds
        while self.machine.now < until:
            for index, hand in enumerate(self.machine.hands):
                if hand.state.claim.activation is not None and self.is_leaving(index):
                    hand.now = self.machine.now
                    hand.gone()
                    self.gone[index] = hand.now
            self.machine.sweep(PASS_S)
            self.note()

    def is_leaving(self, index: int) -> bool:
        now, plan = self.machine.now, self.plans[index]
        return (
            index in self.hard
            or (index in self.softly and now >= self.softly[index] + plan.leaves_s)
            or now >= self.begun[index] + plan.needs_s
        )

    def retirement_end(self, index: int) -> float:
        stay_s = self.plans[index].stay_s
        assert stay_s is not None
        return max(self.start, self.begun[index] + stay_s)


@settings(max_examples=60)
@given(PLANS)
def test_gracefully_nobody_goes_before_his_time_and_nobody_stays_beyond_the_longest(plans: list[Plan]) -> None:
    run = Run(plans)
    assert run.machine.request().refusal is None
    run.note()
    run.go_on(1_200)
    ends = [run.retirement_end(index) for index in run.begun]
    for index, told in run.softly.items():
        assert told >= run.retirement_end(index) - VACATE_S
        assert told <= max(max(ends) - VACATE_S, run.start) + PASS_S
        others = [run.retirement_end(one) for one in run.begun if run.gone.get(one, told) >= told]
        if run.retirement_end(index) > run.start:
            assert told >= max(others) - VACATE_S - PASS_S, "whoever had retirement left waits for the longest"
    for index, killed in run.hard.items():
        assert killed >= min(run.softly[index] + VACATE_S, max(ends))
    assert set(run.machine.pairs) == {"Drained/Idle"}
    run.machine.cancel()
    assert set(run.machine.pairs) == {"Unclaimed/Idle"}


@settings(max_examples=40)
@given(PLANS, st.sampled_from((ev.DrainSchedule.QUICK, ev.DrainSchedule.FAST)))
def test_quickly_and_fast_nobody_has_retirement(plans: list[Plan], schedule: ev.DrainSchedule) -> None:
    run = Run(plans)
    run.machine.request(schedule=schedule, on_completion=dr.OnCompletion.RESUME)
    run.note()
    running = set(run.begun) - set(run.gone)
    assert set(run.softly if schedule is ev.DrainSchedule.QUICK else run.hard) == running
    run.go_on(VACATE_S + 3 * PASS_S)
    assert all(killed >= run.start + VACATE_S for killed in run.hard.values()) or schedule is ev.DrainSchedule.FAST
    assert set(run.machine.pairs) == {"Unclaimed/Idle"}
    assert run.machine.draining.order is None


@settings(max_examples=40)
@given(PLANS, st.sampled_from((ev.DrainSchedule.GRACEFUL, ev.DrainSchedule.QUICK)), st.sampled_from((0, 40, 300)))
def test_with_a_deadline_the_machine_is_empty_then(plans: list[Plan], schedule: ev.DrainSchedule, left_s: int) -> None:
    run = Run(plans)
    run.machine.request(schedule=schedule, deadline_at=run.start + left_s)
    run.note()
    run.go_on(left_s + 3 * PASS_S)
    assert all(killed <= run.start + left_s + PASS_S for killed in run.hard.values())
    assert set(run.machine.pairs) == {"Drained/Idle"}


@settings(max_examples=40)
@given(PLANS, st.sampled_from((0, 5, 100, 500)))
def test_what_was_only_retiring_for_the_drain_goes_on_when_it_is_cancelled(plans: list[Plan], after_s: int) -> None:
    run = Run(plans)
    run.machine.request()
    run.note()
    run.go_on(after_s)
    retiring = [index for index, hand in enumerate(run.machine.hands) if hand.pair == at.RETIRING]
    run.machine.cancel()
    for index, hand in enumerate(run.machine.hands):
        assert hand.state.draining is None
        if index in retiring:
            assert hand.pair == at.BUSY and not hand.state.eviction.irrevocable
        else:
            assert hand.pair in (at.UNCLAIMED, at.OWNER, at.VACATING, at.KILLING)
