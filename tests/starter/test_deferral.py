"""A job that is to start at an instant: it waits, can be got rid of meanwhile, and is held where it comes too late."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.classad import parse_expression
from roost.model import starter_events as ev
from roost.model.starter import Ending, StarterHold, StarterTimer
from roost.model.starter_effects import ReportUsage, StartJob, SuspendProcesses
from roost.starter.persisted import persisted, restored
from roost.starter.resumption import resume
from tests.starter.kit import HELD, PREEMPTED, REMOVED, START, Hand, job

NOW = int(START)


def prepared(**attributes: Any) -> Hand:
    """A job with nothing to prepare, as its sandbox is there."""
    return Hand(job=job(**attributes)).feed(ev.SandboxMade())


def starts(hand: Hand) -> int:
    return sum(isinstance(effect, StartJob) for effect in hand.history)


def test_a_job_starts_at_its_time_and_not_before() -> None:
    hand = prepared(DeferralTime=NOW + 60)
    assert (hand.at, hand.timer(StarterTimer.DEFERRAL)) == ("Preparing/Deferral", START + 60)
    hand.wait(59.9)
    assert (hand.at, starts(hand)) == ("Preparing/Deferral", 0)
    hand.wait(0.2)
    assert (hand.at, starts(hand)) == ("Preparing/Start", 1)
    hand.feed(ev.JobStarted(run=1, pid=7))
    assert hand.at == "Running/Job"


def test_whoever_asks_sees_that_it_waits_and_at_once_that_it_runs() -> None:
    hand = prepared(DeferralTime=NOW + 60)
    told = [effect.attributes["JobState"] for effect in hand.history if isinstance(effect, ReportUsage)]
    assert told == ["Deferred"]
    hand.wait(60).feed(ev.JobStarted(run=1, pid=7)).wait(0)
    told = [effect.attributes["JobState"] for effect in hand.history if isinstance(effect, ReportUsage)]
    assert told == ["Deferred", "Running"]


def test_the_time_may_be_an_expression_over_the_job() -> None:
    hand = prepared(QDate=NOW - 10, DeferralTime=parse_expression("QDate + 60"))
    assert hand.timer(StarterTimer.DEFERRAL) == NOW + 50


@pytest.mark.parametrize(
    ("late_s", "window", "held"),
    [(0, {}, False), (1, {}, True), (1, {"DeferralWindow": 0}, True), (120, {"DeferralWindow": 120}, False),
     (121, {"DeferralWindow": 120}, True), (100, {"DeferralWindow": parse_expression("60 + 60")}, False)],
)  # fmt: skip
def test_a_job_that_comes_late_is_started_within_its_window_and_held_after_it(
    late_s: int, window: dict[str, Any], held: bool
) -> None:
    hand = prepared(DeferralTime=NOW - late_s, **window)
    assert starts(hand) == (0 if held else 1)
    if held:
        cause = hand.report.cause
        assert cause is not None
        assert (cause.ending, cause.code) == (Ending.HOLD, StarterHold.MISSED_DEFERRED_EXECUTION_TIME)
        assert f"by {late_s} s" in cause.text
        assert not hand.report.started


@pytest.mark.parametrize(
    ("attributes", "text"),
    [({"DeferralTime": "noon"}, 'DeferralTime is "noon"'), ({"DeferralTime": -1}, "DeferralTime is -1"),
     ({"DeferralTime": parse_expression("Nothing + 1")}, "DeferralTime is undefined"),
     ({"DeferralTime": NOW, "DeferralWindow": "long"}, 'DeferralWindow is "long"')],
)  # fmt: skip
def test_what_is_no_time_holds_the_job_and_is_named(attributes: dict[str, Any], text: str) -> None:
    hand = prepared(**attributes)
    cause = hand.report.cause
    assert cause is not None
    assert cause.code == 20
    assert text in cause.text


def test_a_job_that_waited_is_forgiven_a_starter_that_is_slow_but_not_a_machine_that_slept() -> None:
    slow, slept = prepared(DeferralTime=NOW + 60), prepared(DeferralTime=NOW + 60)
    for hand, late_s in ((slow, 9), (slept, 3600)):
        hand.now += 60 + late_s
        hand.feed(ev.StarterTimerFired(timer=StarterTimer.DEFERRAL))
    assert starts(slow) == 1
    assert (starts(slept), slept.report.ending) == (0, Ending.HOLD)


@pytest.mark.parametrize(("cause", "ending"), [(PREEMPTED, "evict"), (HELD, "hold"), (REMOVED, "remove")])
@pytest.mark.parametrize("order", [ev.SoftKillOrdered, ev.HardKillOrdered])
def test_a_job_that_waits_can_be_got_rid_of(cause: Any, ending: str, order: Any) -> None:
    hand = prepared(DeferralTime=NOW + 60).feed(order(cause=cause))
    assert (hand.at, hand.report.ending, starts(hand)) == ("Finishing/Cleanup", ending, 0)
    hand.wait(100).feed(ev.SandboxRemoved())
    assert (hand.at, hand.timers) == ("Done", {})


def test_a_job_that_is_suspended_while_it_waits_is_started_in_time_and_stopped_at_once() -> None:
    hand = prepared(DeferralTime=NOW + 60).feed(ev.SuspendOrdered())
    assert hand.at == "Preparing/Deferral"
    hand.wait(60).feed(ev.JobStarted(run=1, pid=7))
    assert hand.at == "Suspended/Job"
    assert SuspendProcesses() in hand.orders


def test_a_starter_that_dies_meanwhile_waits_for_the_same_instant() -> None:
    hand = prepared(DeferralTime=parse_expression("time() + 60"))
    until = hand.timer(StarterTimer.DEFERRAL)
    hand.now += 30
    state = restored(json.loads(json.dumps(persisted(hand.state))))
    hand.go_on(resume(state, hand.now, hand.policy))
    assert (hand.at, hand.timer(StarterTimer.DEFERRAL)) == ("Preparing/Deferral", until)
    hand.wait(31)
    assert starts(hand) == 1


def test_a_starter_that_was_dead_when_the_time_came_holds_the_job() -> None:
    hand = prepared(DeferralTime=NOW + 60)
    hand.now += 600
    hand.go_on(resume(hand.state, hand.now, hand.policy))
    assert (hand.report.ending, starts(hand)) == (Ending.HOLD, 0)


def test_a_job_that_is_started_again_after_saving_its_state_does_not_wait_again() -> None:
    hand = prepared(DeferralTime=NOW + 60, SuccessCheckpointExitCode=85).wait(60).feed(ev.JobStarted(run=1, pid=7))
    hand.wait(100).ended(85)
    assert (hand.at, starts(hand)) == ("Preparing/Start", 2)
