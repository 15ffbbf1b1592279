"""The hooks of runs that end before their time: before the soft signal, and where a job could not be started."""

from __future__ import annotations

import json

import pytest

from roost.model import starter_events as ev
from roost.model.starter import HookPoint, ScriptPoint, StarterTimer
from roost.model.starter_effects import AbortWork, ContinueProcesses, KillProcesses, RunHook, SignalJob
from roost.starter.entries import VACATE_HOOK_SHARE
from roost.starter.persisted import persisted, restored
from roost.starter.resumption import resume
from tests.starter.kit import HELD, REMOVED, Hand, hook, job, policy
from tests.starter.situations import HARD, NOT_STARTED, PREPARATION, SOFT, every

DONE = ev.HookEnded(point=HookPoint.VACATE)


def warned(timeout_s: float | None = None, **attributes: object) -> Hand:
    """A job that runs, with a hook before its soft signal."""
    hooks = {"KW": {HookPoint.VACATE: hook("/hooks/vacate", timeout_s=timeout_s)}}
    return Hand(policy=policy(hooks=hooks, hook_keyword_default="KW"), job=job(**attributes)).running()


def the_hook(hand: Hand) -> RunHook:
    (found,) = [effect for effect in hand.orders if isinstance(effect, RunHook)]
    return found


def test_a_hook_is_told_before_the_soft_signal_why_and_by_when_and_the_signal_waits_for_it() -> None:
    hand = warned(JobMaxVacateTime=100).feed(SOFT)
    told = the_hook(hand)
    assert (told.point, told.arguments, told.awaited) == (HookPoint.VACATE, "evict", True)
    assert told.ad["VacateReason"] == "PREEMPT expression evaluated to True"
    assert (told.ad["VacateTimeLeft"], told.ad["VacateUntil"]) == (100, int(hand.now) + 100)
    assert told.ad["JobState"] == "Vacating"
    assert not any(isinstance(effect, SignalJob) for effect in hand.history)
    hand.now += 10
    hand.feed(DONE)
    assert hand.orders == [SignalJob(signal="SIGTERM")]
    assert hand.timer(StarterTimer.VACATE) == hand.now + 90
    assert hand.timer(StarterTimer.HOOK) is None


@pytest.mark.parametrize(("timeout_s", "limit_s"), [(None, 100 * VACATE_HOOK_SHARE), (20.0, 20.0)])
def test_a_hook_that_takes_too_long_is_stopped_and_the_job_has_the_rest(
    timeout_s: float | None, limit_s: float
) -> None:
    hand = warned(timeout_s, JobMaxVacateTime=100).feed(SOFT).wait(limit_s - 1)
    assert hand.at == "Vacating/VacateHook"
    hand.wait(1)
    assert hand.at == "Vacating/Job"
    assert [type(effect) for effect in hand.orders] == [AbortWork, SignalJob]
    hand.wait(100 - limit_s)
    assert hand.at == "Killing/Job"


def test_a_suspended_job_goes_on_before_its_hook_runs() -> None:
    hand = warned().feed(ev.SuspendOrdered(), SOFT)
    assert [type(effect) for effect in hand.orders[:2]] == [ContinueProcesses, RunHook]


def test_a_job_that_is_given_less_time_has_its_signal_all_the_same() -> None:
    hooks = {"KW": {HookPoint.VACATE: hook("/hooks/vacate", timeout_s=300.0)}}
    hand = Hand(
        policy=policy(hooks=hooks, hook_keyword_default="KW"),
        job=job(JobMaxVacateTime=600),
        launch={"vacate_pledge_s": 50.0},
    ).running()
    hand.feed(ev.SoftKillOrdered(cause=HELD, retirement_s=600.0))
    assert hand.timer(StarterTimer.VACATE) == hand.now + 600
    hand.feed(ev.SoftKillOrdered(cause=HELD, retirement_s=0.0))
    assert hand.timer(StarterTimer.VACATE) == hand.now + 50
    hand.wait(50 * VACATE_HOOK_SHARE)
    assert hand.at == "Vacating/Job"
    assert SignalJob(signal="SIGTERM") in hand.orders


@pytest.mark.parametrize(("cause", "word"), [(HELD, "hold"), (REMOVED, "remove")])
def test_the_hook_is_told_what_becomes_of_the_job(cause: object, word: str) -> None:
    hand = warned().feed(ev.SoftKillOrdered(cause=cause))  # type: ignore[arg-type]
    assert the_hook(hand).arguments == word


def test_a_hard_kill_waits_for_no_hook() -> None:
    hand = warned().feed(SOFT, HARD)
    assert hand.at == "Killing/Job"
    assert [type(effect) for effect in hand.orders] == [AbortWork, KillProcesses]
    assert warned().feed(HARD).at == "Killing/Job"


def test_a_job_that_ends_while_its_hook_runs_gets_no_signal() -> None:
    hand = warned().feed(SOFT).ended(code=0)
    assert hand.at == "Finishing/Cleanup"
    assert not any(isinstance(effect, SignalJob) for effect in hand.history)


def test_a_starter_that_comes_back_runs_the_hook_again_within_the_same_time() -> None:
    hand = warned(JobMaxVacateTime=100).feed(SOFT)
    hand.now += 30
    hand.go_on(resume(restored(json.loads(json.dumps(persisted(hand.state)))), hand.now, hand.policy))
    assert [type(effect) for effect in hand.orders] == [RunHook, ContinueProcesses]
    assert hand.timers == {
        StarterTimer.HOOK: hand.now + 20,
        StarterTimer.VACATE: hand.now + 70,
        StarterTimer.UPDATE: hand.timers[StarterTimer.UPDATE],
    }


def test_whoever_sent_a_job_that_can_not_be_started_is_told_why() -> None:
    hand = every().feed(*PREPARATION[:5], NOT_STARTED)
    hand.feed(ev.ScriptEnded(point=ScriptPoint.EPILOG))
    told = the_hook(hand)
    assert (told.point, told.arguments) == (HookPoint.FAILURE, "hold")
    assert told.ad["HoldReason"] == "The job could not be started: exec format error"
    assert (told.ad["HoldReasonCode"], told.ad["HoldReasonSubCode"]) == (6, 8)
    hand.feed(ev.HookEnded(point=HookPoint.FAILURE))
    assert the_hook(hand).point is HookPoint.EXIT, "what was set up is taken down all the same"


def test_a_sandbox_that_can_not_be_made_is_told_too() -> None:
    hand = every().feed(ev.SandboxFailed(text="disk full"))
    told = the_hook(hand)
    assert (told.point, told.arguments, told.ad["VacateReasonCode"]) == (HookPoint.FAILURE, "evict", 1024)


def test_a_run_that_somebody_ended_before_it_began_is_no_failure() -> None:
    hand = every().feed(ev.SandboxMade(), SOFT)
    assert the_hook(hand).point is HookPoint.EXIT


def test_a_prepare_hook_that_takes_too_long_keeps_the_job_from_running() -> None:
    hooks = {"KW": {HookPoint.PREPARE: hook(timeout_s=60.0)}}
    hand = Hand(policy=policy(hooks=hooks, hook_keyword_default="KW")).feed(ev.SandboxMade()).wait(60)
    assert isinstance(hand.orders[0], AbortWork)
    cause = hand.report.cause
    assert cause is not None and (cause.ending, cause.code, cause.text) == (
        "hold",
        19,
        "Hook PREPARE_JOB could not be run: it took too long",
    )
