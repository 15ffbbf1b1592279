"""Soft and hard kills: signals, times, who is told, and which cause counts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.model import starter_events as ev
from roost.model.effects import Notice
from roost.model.starter import Cause, Ending, OrderedBy, StarterReason, StarterTimer
from roost.model.starter_effects import (
    ContinueProcesses,
    KillProcesses,
    ReportEviction,
    SignalJob,
    SuspendProcesses,
    Warn,
)
from roost.starter.endings import EVICTED, cause_of, weightier
from roost.starter.signals import NAMES, signal_named
from roost.starter.vacate_time import vacate_time_s
from tests.starter.kit import HELD, PREEMPTED, REMOVED, Hand, job, policy
from tests.starter.situations import HARD, SOFT


def soft(cause: Cause = PREEMPTED, **more: Any) -> ev.SoftKillOrdered:
    return ev.SoftKillOrdered(cause=cause, **more)


@pytest.mark.parametrize(
    ("attributes", "cause", "signal"),
    [
        ({}, PREEMPTED, "SIGTERM"),
        ({"KillSig": "SIGUSR1"}, PREEMPTED, "SIGUSR1"),
        ({"KillSig": "usr2"}, PREEMPTED, "SIGUSR2"),
        ({"KillSig": 2}, PREEMPTED, "SIGINT"),
        ({"KillSig": "3"}, PREEMPTED, "SIGQUIT"),
        ({"KillSig": "SIGUSR1", "RemoveKillSig": "SIGINT"}, PREEMPTED, "SIGUSR1"),
        ({"KillSig": "SIGUSR1", "RemoveKillSig": "SIGINT"}, REMOVED, "SIGINT"),
        ({"KillSig": "SIGUSR1", "HoldKillSig": "SIGHUP"}, HELD, "SIGHUP"),
        ({"KillSig": "SIGUSR1"}, HELD, "SIGUSR1"),
    ],
)
def test_the_soft_signal_is_the_one_that_the_job_asks_for(
    attributes: dict[str, Any], cause: Cause, signal: str
) -> None:
    hand = Hand(job=job(**attributes)).running().feed(soft(cause))
    assert hand.orders[0] == SignalJob(signal=signal)


def test_what_is_no_signal_becomes_the_default_and_is_told() -> None:
    hand = Hand(job=job(KillSig="SIGNAL")).running().feed(soft())
    assert hand.orders == [
        Warn(about="KillSig", text="SIGNAL is not a signal; the job is sent SIGTERM"),
        SignalJob(signal="SIGTERM"),
    ]


@given(st.integers(1, 31))
def test_a_signal_is_the_same_by_name_and_by_number(number: int) -> None:
    name = NAMES[number - 1]
    assert {signal_named(form) for form in (number, str(number), name, name[3:], name.lower())} == {name}


@pytest.mark.parametrize("value", [0, 32, -1, True, 2.0, "", "SIG", "SIGNAL", "99999"])
def test_what_is_no_signal(value: Any) -> None:
    assert signal_named(value) is None


def test_a_suspended_job_goes_on_before_a_soft_kill_and_not_before_a_hard_one() -> None:
    suspended = Hand().running().feed(ev.SuspendOrdered())
    assert suspended.orders == [SuspendProcesses()]
    assert suspended.feed(soft()).orders == [ContinueProcesses(), SignalJob(signal="SIGTERM")]
    assert Hand().running().feed(ev.SuspendOrdered(), HARD).orders == [KillProcesses()]


def test_a_signal_that_cannot_be_delivered_is_a_hard_kill() -> None:
    hand = Hand().running().feed(soft(), ev.SoftKillFailed(run=1))
    assert (hand.at, hand.orders) == ("Killing/Job", [KillProcesses()])


def test_a_hard_kill_is_repeated_until_the_job_is_gone() -> None:
    hand = Hand().running().feed(HARD)
    assert hand.timer(StarterTimer.KILLING) == hand.now + 30
    hand.wait(90)
    assert hand.history.count(KillProcesses()) == 4
    hand.ended(signal=9)
    assert (hand.at, hand.timer(StarterTimer.KILLING)) == ("Finishing/Cleanup", None)


def test_a_virtual_machine_has_its_own_killing_time() -> None:
    hand = Hand(job=job(JobUniverse=13)).running().feed(HARD)
    assert hand.timer(StarterTimer.KILLING) == hand.now + 60


# -- vacate times --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pledged", "wanted", "retirement", "expected"),
    [
        (600, None, 0, 600),
        (600, 60, 0, 60),
        (600, 600, 0, 600),
        (600, 1800, 0, 600),
        (600, 1800, 1000, 1000),
        (600, 1800, 5000, 1800),
        (600, "soon", 5000, 0),
        (600, 60.5, 5000, 0),
        (600, -5, 0, 0),
        (None, None, 0, None),
        (None, 60, 0, 60),
    ],
)
def test_the_smaller_time_counts_and_a_longer_one_as_far_as_there_is_retirement(
    pledged: float | None, wanted: Any, retirement: float, expected: float | None
) -> None:
    assert vacate_time_s(pledged, wanted=wanted, retirement_s=retirement) == expected


@given(pledged=st.integers(0, 10_000), wanted=st.integers(0, 10_000), retirement=st.integers(0, 10_000))
def test_no_job_gets_more_than_it_wants_nor_less_than_the_smaller_of_both(
    pledged: int, wanted: int, retirement: int
) -> None:
    got = vacate_time_s(pledged, wanted=wanted, retirement_s=retirement)
    assert got is not None
    assert min(pledged, wanted) <= got <= wanted
    assert got <= max(pledged, retirement)


def test_the_vacate_time_ends_in_a_hard_kill() -> None:
    hand = Hand(job=job(JobMaxVacateTime=60)).running().feed(soft()).wait(59)
    assert hand.at == "Vacating/Job"
    hand.wait(1)
    assert (hand.at, hand.taken[-1].reason) == ("Killing/Job", StarterReason.VACATE_TIME_OVER)


def test_the_old_name_of_the_vacate_time_counts_where_the_new_one_is_missing() -> None:
    hand = Hand(job=job(KillSigTimeout=20)).running().feed(soft())
    assert hand.timer(StarterTimer.VACATE) == hand.now + 20


def test_retirement_that_is_left_lengthens_the_vacate_time() -> None:
    launch = {"vacate_pledge_s": 600.0, "retirement_s": 2000.0}
    hand = Hand(job=job(JobMaxVacateTime=1800), launch=launch).running().wait(1000).feed(soft())
    assert hand.timer(StarterTimer.VACATE) == hand.now + 1000
    told = Hand(job=job(JobMaxVacateTime=1800), launch=launch).running().feed(soft(retirement_s=0))
    assert told.timer(StarterTimer.VACATE) == told.now + 600


def test_a_job_without_vacate_time_is_killed_in_the_same_step() -> None:
    hand = Hand(job=job(JobMaxVacateTime=0)).running().feed(soft())
    assert (hand.at, hand.orders) == ("Killing/Job", [SignalJob(signal="SIGTERM"), KillProcesses()])


def test_without_a_limit_of_the_machine_an_eviction_by_policy_runs_its_course() -> None:
    hand = Hand(policy=policy({"STARTER_EVICT": "ImageSize > 5"}), launch={"vacate_pledge_s": None}).running()
    assert hand.sample(6).wait(100_000).at == "Vacating/Job"


def test_a_second_soft_kill_sends_no_signal_and_can_only_shorten_the_time() -> None:
    hand = Hand(job=job(JobMaxVacateTime=1000), launch={"vacate_pledge_s": 100.0}).running()
    hand.feed(soft(retirement_s=1000)).wait(10)
    assert hand.timer(StarterTimer.VACATE) == hand.now + 990
    assert hand.feed(soft(retirement_s=0)).orders == []
    assert hand.timer(StarterTimer.VACATE) == hand.now + 100
    hand.feed(soft(retirement_s=5000))
    assert hand.timer(StarterTimer.VACATE) == hand.now + 100


# -- causes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "subcode", "hold", "ending"),
    [
        (21, 102, True, Ending.HOLD),
        (21, 102, False, Ending.EVICT),
        (999, 0, True, Ending.HOLD),
        (1000, 0, True, Ending.EVICT),
        (0, 0, True, Ending.EVICT),
        (-3, 0, True, Ending.EVICT),
        (21, -999, True, Ending.HOLD),
        (21, -1000, True, Ending.EVICT),
    ],
)
def test_a_hold_with_a_number_that_is_none_is_a_vacation(code: int, subcode: int, hold: bool, ending: Ending) -> None:
    cause = cause_of(Notice(code=code, subcode=subcode, text="because", hold=hold))
    assert cause == Cause(ending=ending, code=code, subcode=subcode, text="because", by=OrderedBy.STARTD)


def test_removal_counts_more_than_hold_and_hold_more_than_eviction() -> None:
    assert weightier(None, PREEMPTED) == PREEMPTED
    assert weightier(PREEMPTED, HELD) == HELD
    assert weightier(HELD, REMOVED) == REMOVED
    assert weightier(REMOVED, HELD) == REMOVED
    assert weightier(PREEMPTED, EVICTED) == PREEMPTED


def test_a_job_that_is_held_while_it_vacates_goes_on_hold() -> None:
    hand = Hand().running().feed(soft(), soft(HELD)).ended(0).feed(ev.SandboxRemoved())
    assert (hand.report.ending, hand.report.cause) == (Ending.HOLD, HELD)


def test_want_hold_of_the_startd_reaches_the_report_with_code_subcode_and_text() -> None:
    notice = Notice(code=21, subcode=7, text="uses too much", hold=True)
    hand = Hand().running().feed(soft(cause_of(notice))).ended(signal=15)
    assert hand.report.ending is Ending.HOLD
    assert hand.report.cause is not None
    assert (hand.report.cause.code, hand.report.cause.subcode, hand.report.cause.text) == (21, 7, "uses too much")


def test_the_startd_is_told_of_what_it_did_not_order_and_only_of_that() -> None:
    def told(hand: Hand) -> list[str]:
        return [effect.job_state for effect in hand.history if isinstance(effect, ReportEviction)]

    assert told(Hand().running().feed(SOFT, HARD)) == []
    assert told(Hand().running().feed(soft(HELD), ev.HardKillOrdered(cause=HELD))) == ["Vacating", "Killing"]
    assert told(Hand(policy=policy({"STARTER_EVICT": "true"})).running()) == ["Vacating"]
    by_both = Hand(policy=policy({"STARTER_EVICT": "true"})).running().feed(HARD)
    assert told(by_both) == ["Vacating", "Killing"]


# -- the starter's own policy ----------------------------------------------------------------------------------


def test_a_hard_eviction_kills_at_once() -> None:
    hand = Hand(policy=policy({"STARTER_EVICT": "NumPids > 100", "STARTER_WANT_VACATE": "false"})).running()
    hand.sample(1, process_count=101)
    assert (hand.at, hand.orders[0]) == ("Killing/Job", KillProcesses())


@pytest.mark.parametrize(
    ("expressions", "at"),
    [
        ({}, "Running/Job"),
        ({"STARTER_EVICT": "NoSuchThing"}, "Running/Job"),
        ({"STARTER_EVICT": "1 / 0"}, "Running/Job"),
        ({"STARTER_EVICT": '"yes"'}, "Running/Job"),
        ({"STARTER_EVICT": "1 +"}, "Running/Job"),
        ({"STARTER_EVICT": "0.5"}, "Vacating/Job"),
        ({"STARTER_EVICT": "true", "STARTER_WANT_VACATE": "NoSuchThing"}, "Vacating/Job"),
        ({"STARTER_EVICT": "true", "STARTER_WANT_VACATE": "error"}, "Vacating/Job"),
        ({"STARTER_EVICT": "true", "STARTER_WANT_VACATE": "0"}, "Killing/Job"),
        ({"STARTER_EVICT": "true", "STARTER_KILL": "NoSuchThing"}, "Vacating/Job"),
        ({"STARTER_EVICT": "true", "STARTER_KILL": "error"}, "Vacating/Job"),
        ({"STARTER_EVICT": "true", "STARTER_KILL": "true"}, "Killing/Job"),
    ],
)
def test_what_is_neither_true_nor_false_means_the_default(expressions: dict[str, str], at: str) -> None:
    assert Hand(policy=policy(expressions)).running().at == at


def test_a_value_of_no_use_is_told_once_and_undefined_not_at_all() -> None:
    hand = Hand(policy=policy({"STARTER_EVICT": '"yes"'})).running().sample(1).wait(60)
    warnings = [effect for effect in hand.history if isinstance(effect, Warn)]
    assert warnings == [Warn(about="STARTER_EVICT", text='its value is "yes", treated as FALSE')]
    quiet = Hand(policy=policy({"STARTER_EVICT": "ImageSize > 5"})).running()
    assert not any(isinstance(effect, Warn) for effect in quiet.history)


@pytest.mark.parametrize(
    ("universe", "evicted"), [(1, False), (4, False), (5, True), (10, True), (11, True), (12, True)]
)
def test_standard_and_pvm_jobs_are_exempt(universe: int, evicted: bool) -> None:
    hand = Hand(policy=policy({"STARTER_EVICT": "true"}), job=job(JobUniverse=universe)).running()
    assert (hand.at == "Vacating/Job") is evicted


def test_the_time_in_the_state_is_the_jobs_own() -> None:
    evict = 'JobState == "Suspended" && CurrentTime - EnteredCurrentState >= 600'
    hand = Hand(policy=policy({"STARTER_EVICT": evict})).running().wait(5000).feed(ev.SuspendOrdered())
    assert hand.wait(595).at == "Suspended/Job"
    assert hand.wait(5).at == "Vacating/Job"


def test_sizes_are_the_largest_so_far() -> None:
    hand = Hand(policy=policy({"STARTER_EVICT": "ImageSize > 100 && NumPids == 2"})).running()
    hand.sample(200, process_count=1).sample(50, process_count=2)
    assert hand.at == "Vacating/Job"


def test_the_starters_ad_goes_before_the_jobs_and_both_can_be_named() -> None:
    evict = "Memory == 512 && TARGET.Memory == 7 && RequestMemory == 9 && MY.ImageSize > TARGET.ImageSize"
    hand = Hand(policy=policy({"STARTER_EVICT": evict}), job=job(Memory=7, RequestMemory=9, ImageSize=10)).running()
    assert hand.sample(11).at == "Vacating/Job"


def test_a_constant_policy_needs_no_polling_and_another_is_polled() -> None:
    assert Hand().running().timer(StarterTimer.POLL) is None
    polled = Hand(policy=policy({"STARTER_EVICT": "JobDuration > 60"}, polling_interval_s=7.0)).running()
    assert polled.timer(StarterTimer.POLL) == polled.now + 7
    polled.wait(63)
    assert polled.at == "Vacating/Job"
    assert polled.timer(StarterTimer.POLL) is None


def test_a_new_policy_is_looked_at_when_it_is_there() -> None:
    hand = Hand().running()
    hand.policy = policy({"STARTER_EVICT": "JobDuration > 60"})
    hand.feed(ev.Reconfigured()).wait(65)
    assert hand.at == "Vacating/Job"
