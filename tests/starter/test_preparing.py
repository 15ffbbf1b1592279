"""What comes before the job's program: sandbox, hooks, input, prolog; and each way in which it fails."""

from __future__ import annotations

import pytest

from roost.classad import ClassAd
from roost.model import starter_events as ev
from roost.model.starter import Ending, HookPoint, Output, ScriptFailure, ScriptPoint, StarterHold, StarterVacate
from roost.model.starter_effects import (
    AbortWork,
    MakeSandbox,
    RemoveSandbox,
    ReportExit,
    RunHook,
    RunScript,
    StartJob,
    TransferInput,
    Warn,
)
from roost.starter.hooks import hook_keyword
from tests.starter.kit import HELD, Hand, hook, job, policy, shares
from tests.starter.situations import HARD, PREPARATION, SOFT, full


def test_a_job_without_anything_to_prepare_is_started_as_soon_as_the_sandbox_is_there() -> None:
    hand = Hand()
    assert hand.orders == [MakeSandbox()]
    hand.feed(ev.SandboxMade())
    assert hand.orders == [StartJob(run=1, job_ad=hand.job)]
    hand.feed(ev.JobStarted(run=1, pid=7))
    assert hand.at == "Running/Job"


def test_stages_are_worked_on_one_after_another() -> None:
    hand = full()
    ordered = [type(effect).__name__ for event in PREPARATION for effect in hand.feed(event).orders]
    assert ordered == ["RunHook", "TransferInput", "RunHook", "RunScript", "StartJob"]
    points = [effect.point for effect in hand.history if isinstance(effect, RunHook | RunScript)]
    assert points == [HookPoint.PREPARE_EARLY, HookPoint.PREPARE, ScriptPoint.PROLOG]


def test_what_a_prepare_hook_prints_changes_the_job_that_is_started() -> None:
    hand = full().feed(*PREPARATION[:3])
    printed = ClassAd({"Cmd": "/bin/other", "HookStatusMessage": "took the other one"})
    hand.feed(ev.HookEnded(point=HookPoint.PREPARE, printed=printed))
    assert Warn(about=HookPoint.PREPARE, text="took the other one") in hand.orders
    hand.feed(*PREPARATION[4:5])
    (started,) = hand.orders
    assert isinstance(started, StartJob)
    assert started.job_ad["Cmd"] == "/bin/other"
    assert "HookStatusMessage" not in started.job_ad
    assert hand.job["Cmd"] == "/bin/job"


@pytest.mark.parametrize(
    ("status", "printed", "ending", "code", "subcode"),
    [
        (1, {}, Ending.HOLD, StarterHold.HOOK_PREPARE_JOB_FAILURE, 1),
        (255, {}, Ending.HOLD, StarterHold.HOOK_PREPARE_JOB_FAILURE, 255),
        (0, {"HookStatusCode": 299}, Ending.HOLD, StarterHold.HOOK_PREPARE_JOB_FAILURE, 299),
        (1, {"HookStatusCode": 300}, Ending.EVICT, StarterVacate.JOB_NOT_STARTED, 300),
        (-9, {"HookStatusCode": 0}, Ending.EVICT, StarterVacate.JOB_NOT_STARTED, -9),
        (3, {"HookStatusCode": -1}, Ending.HOLD, StarterHold.HOOK_PREPARE_JOB_FAILURE, 3),
    ],
)
def test_the_status_of_a_prepare_hook_decides_between_hold_and_another_try(
    status: int, printed: dict[str, int], ending: Ending, code: int, subcode: int
) -> None:
    hand = Hand(policy=policy(hooks={"A": {HookPoint.PREPARE: hook()}}, hook_keyword_default="a"))
    hand.feed(ev.SandboxMade(), ev.HookEnded(point=HookPoint.PREPARE, status=status, printed=ClassAd(printed)))
    assert hand.at == "Finishing/Cleanup"
    cause = hand.report.cause
    assert cause is not None
    assert (hand.report.ending, cause.code, cause.subcode) == (ending, code, subcode)
    assert not hand.report.started


def test_a_hook_status_of_zero_in_what_it_prints_overrides_a_bad_exit_status() -> None:
    hand = Hand(policy=policy(hooks={"A": {HookPoint.PREPARE: hook()}}, hook_keyword_default="a"))
    hand.feed(ev.SandboxMade())
    hand.feed(ev.HookEnded(point=HookPoint.PREPARE, status=9, printed=ClassAd({"HookStatusCode": 0})))
    assert hand.at == "Preparing/Start"


def test_a_prepare_hook_that_cannot_be_run_holds_the_job() -> None:
    hand = full().feed(*PREPARATION[:3], ev.HookNotRun(point=HookPoint.PREPARE, text="not executable"))
    assert hand.state.cause is not None
    assert (hand.state.cause.code, hand.state.cause.subcode) == (StarterHold.HOOK_PREPARE_JOB_FAILURE, 0)


@pytest.mark.parametrize(
    ("event", "ending", "code", "subcode"),
    [
        (ev.InputFailed(text="gone", subcode=2), Ending.HOLD, 13, 2),
        (ev.InputFailed(text="too much", code=StarterHold.INPUT_TOO_LARGE), Ending.HOLD, 32, 0),
        (ev.InputFailed(text="no room here", code=None), Ending.EVICT, 1024, 0),
    ],
)
def test_failed_input_holds_the_job(event: ev.InputFailed, ending: Ending, code: int, subcode: int) -> None:
    hand = Hand(job=job(ShouldTransferFiles="YES")).feed(ev.SandboxMade())
    assert hand.orders == [TransferInput(job_ad=hand.job)]
    hand.feed(event)
    cause = hand.report.cause
    assert cause is not None
    assert (cause.ending, cause.code, cause.subcode) == (ending, code, subcode)
    assert hand.report.output is Output.NONE


def test_a_sandbox_that_cannot_be_made_is_not_the_jobs_fault() -> None:
    hand = Hand().feed(ev.SandboxFailed(text="disk full"))
    assert hand.report.ending is Ending.EVICT
    assert hand.report.cause is not None
    assert hand.report.cause.code == StarterVacate.SCRATCH_DIRECTORY
    assert hand.orders == [ReportExit(report=hand.report), RemoveSandbox()]


def test_a_program_that_cannot_be_started_holds_the_job_with_the_error_number() -> None:
    hand = Hand().feed(ev.SandboxMade(), ev.JobNotStarted(run=1, text="exec format error", errno=8))
    cause = hand.report.cause
    assert cause is not None
    assert (cause.ending, cause.code, cause.subcode) == (Ending.HOLD, 6, 8)


@pytest.mark.parametrize(
    ("status", "ending", "code"),
    [
        (99, Ending.EVICT, StarterVacate.JOB_NOT_STARTED),
        (100, Ending.HOLD, StarterHold.PROLOG_FAILED),
        (1, Ending.EVICT, StarterVacate.JOB_NOT_STARTED),
        (-9, Ending.EVICT, StarterVacate.JOB_NOT_STARTED),
        (None, Ending.EVICT, StarterVacate.JOB_NOT_STARTED),
    ],
)
def test_a_failed_prolog_keeps_the_job_from_running_and_has_its_epilog(
    status: int | None, ending: Ending, code: int
) -> None:
    hand = full().feed(*PREPARATION[:4], ev.ScriptEnded(point=ScriptPoint.PROLOG, status=status))
    assert hand.orders == [RunScript(point=ScriptPoint.EPILOG, command="/site/epilog")]
    hand.feed(ev.ScriptEnded(point=ScriptPoint.EPILOG), ev.HookEnded(point=HookPoint.EXIT))
    assert hand.report.cause is not None
    assert (hand.report.ending, hand.report.cause.code, hand.report.started) == (ending, code, False)
    assert hand.report.script_failures == (ScriptFailure(point=ScriptPoint.PROLOG, status=status),)


@pytest.mark.parametrize("order", [SOFT, HARD])
def test_an_order_to_end_stops_the_preparation_and_takes_down_what_was_set_up(order: ev.StarterEvent) -> None:
    hand = full().feed(*PREPARATION[:2], order)
    first, second = hand.orders
    assert isinstance(first, AbortWork)
    assert isinstance(second, RunHook)
    assert (second.point, second.arguments) == (HookPoint.EXIT, "evict")


def test_an_order_to_suspend_is_kept_until_the_program_would_start() -> None:
    hand = full().feed(ev.SuspendOrdered(), *PREPARATION[:5])
    assert hand.at == "Suspended/Unstarted"
    assert not any(isinstance(effect, StartJob) for effect in hand.history)
    hand.feed(ev.ContinueOrdered())
    assert hand.at == "Preparing/Start"
    assert [type(effect) for effect in hand.orders] == [StartJob]


def test_an_order_to_suspend_that_is_taken_back_has_no_effect() -> None:
    assert full().feed(ev.SuspendOrdered(), ev.ContinueOrdered(), *PREPARATION).at == "Running/Job"


def test_an_order_before_the_program_is_seen_is_carried_out_after_its_start() -> None:
    hand = full().feed(*PREPARATION[:5], ev.SoftKillOrdered(cause=HELD))
    assert hand.at == "Vacating/Job"
    hand.feed(PREPARATION[5])
    assert (hand.at, hand.state.pid) == ("Vacating/Job", 4711)


def test_files_are_moved_if_needed_only() -> None:
    same = {"FileSystemDomain": "Example.org"}
    for wanted, domain, moved in (
        ("YES", same, True),
        ("NO", {}, False),
        ("IF_NEEDED", same, False),
        ("IF_NEEDED", {}, True),
    ):
        given = job(ShouldTransferFiles=wanted, FileSystemDomain="example.org")
        hand = Hand(job=given, launch={"shares": shares(**domain)}).feed(ev.SandboxMade())
        assert (hand.at == "Preparing/Input") is moved, (wanted, domain)


def test_a_fetched_job_has_no_files_moved() -> None:
    hand = Hand(job=job(ShouldTransferFiles="YES"), launch={"from_queue": False}).feed(ev.SandboxMade())
    assert hand.at == "Preparing/Start"


@pytest.mark.parametrize(
    ("forced", "wanted", "fallback", "expected"),
    [
        (None, None, None, ""),
        ("site", "db", "web", "SITE"),
        (None, "Db", "web", "DB"),
        (None, "unknown", "web", "WEB"),
        (None, "unknown", None, ""),
    ],
)
def test_whose_hooks_are_run(forced: str | None, wanted: str | None, fallback: str | None, expected: str) -> None:
    assert hook_keyword(forced=forced, wanted=wanted, fallback=fallback, known={"DB"}) == expected
