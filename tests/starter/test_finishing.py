"""What comes after the job's program: saved states, epilog, exit hook, output, and the one report."""

from __future__ import annotations

from typing import Any

import pytest

from roost.classad import ClassAd
from roost.model import starter_events as ev
from roost.model.starter import Ending, HookPoint, Output, ScriptFailure, ScriptPoint, StarterTimer
from roost.model.starter_effects import (
    AbortWork,
    KillProcesses,
    Quit,
    RemoveSandbox,
    ReportCheckpoint,
    ReportExit,
    ReportUsage,
    RunHook,
    RunScript,
    SignalJob,
    StartJob,
    TransferOutput,
)
from tests.starter.kit import HELD, REMOVED, Hand, hook, job, policy, usage
from tests.starter.situations import ENDED, HARD, PREPARATION, SAVED, SOFT, after, full

EPILOG_DONE = ev.ScriptEnded(point=ScriptPoint.EPILOG)
EXIT_HOOK_DONE = ev.HookEnded(point=HookPoint.EXIT)


def moving(**attributes: Any) -> Hand:
    hand = Hand(job=job(ShouldTransferFiles="YES", **attributes))
    return hand.feed(ev.SandboxMade(), ev.InputTransferred(), ev.JobStarted(run=1, pid=1))


def test_hooks_are_told_of_this_run_and_not_of_the_one_before_it() -> None:
    before = {"ExitBySignal": False, "ExitCode": 0, "ExitReason": "evicted: by the epilog", "JobPid": 7}
    hooks = {"K": {point: hook() for point in (HookPoint.PREPARE, HookPoint.EXIT)}}
    told = policy(hooks=hooks, hook_keyword_forced="K")
    hand = Hand(job=job(VacateReasonCode=1007, Item="a", **before), policy=told)
    hand.feed(ev.SandboxMade())
    (prepare,) = [each for each in hand.orders if isinstance(each, RunHook)]
    assert dict(prepare.ad) == dict(job(Item="a"))
    hand.feed(ev.HookEnded(point=HookPoint.PREPARE), ev.JobStarted(run=1, pid=8)).ended(signal=9)
    (left,) = [each for each in hand.orders if isinstance(each, RunHook)]
    assert {name: left.ad.eval(name) for name in ("ExitBySignal", "ExitSignal", "ExitReason", "Item")} == {
        "ExitBySignal": True,
        "ExitSignal": 9,
        "ExitReason": "died on signal 9",
        "Item": "a",
    }
    assert not {"ExitCode", "VacateReasonCode", "JobPid"} & set(left.ad)


def test_hooks_are_told_nothing_of_an_end_before_there_is_one() -> None:
    told = policy(hooks={"K": {HookPoint.PREPARE: hook()}}, hook_keyword_forced="K")
    hand = Hand(job=job(ExitBySignal=False), policy=told)
    hand.feed(ev.SandboxMade())
    (prepare,) = [each for each in hand.orders if isinstance(each, RunHook)]
    assert "ExitBySignal" not in prepare.ad


def test_after_its_end_the_job_is_swept_up_reported_and_forgotten() -> None:
    hand = Hand().running().ended(3)
    assert hand.orders == [KillProcesses(), ReportExit(report=hand.report), RemoveSandbox()]
    hand.feed(ev.SandboxRemoved())
    assert (hand.at, hand.orders) == ("Done", [Quit()])
    assert (hand.report.ending, hand.report.exit_code, hand.report.exit_signal) == (Ending.EXIT, 3, None)


def test_the_report_has_the_exit_attributes() -> None:
    hand = Hand().running()
    hand.feed(ev.UsageSampled(run=1, usage=usage(777, user_cpu_s=2.5))).wait(90).ended(signal=11)
    assert dict(hand.report.attributes) == {
        "ImageSize": 777,
        "ResidentSetSize": 500,
        "MemoryUsage": 1,
        "RemoteUserCpu": 2.5,
        "RemoteSysCpu": 0.5,
        "CpusUsage": 3.0 / 90,
        "NumPids": 1,
        "JobStartDate": 1_000_000,
        "JobDuration": 90.0,
        "ExitReason": "died on signal 11",
        "ExitBySignal": True,
        "ExitSignal": 11,
        "JobCoreDumped": False,
    }


def test_stages_come_in_the_order_epilog_hook_output() -> None:
    hand = after(6, ENDED)()
    assert hand.orders == [KillProcesses(), RunScript(point=ScriptPoint.EPILOG, command="/site/epilog", job_status=0)]
    hand.feed(EPILOG_DONE)
    (ran,) = hand.orders
    assert isinstance(ran, RunHook)
    assert (ran.point, ran.arguments, ran.ad["ExitCode"], ran.ad["Cmd"]) == (HookPoint.EXIT, "exit", 0, "/bin/job")
    hand.feed(EXIT_HOOK_DONE)
    assert hand.orders == [TransferOutput(job_ad=hand.job, destination=Output.DELIVERED)]
    hand.feed(ev.OutputTransferred())
    assert hand.report.output is Output.DELIVERED


@pytest.mark.parametrize(
    ("events", "word"),
    [
        ([ENDED], "exit"),
        ([SOFT, ENDED], "evict"),
        ([HARD, ENDED], "evict"),
        ([ev.SoftKillOrdered(cause=HELD), ENDED], "hold"),
        ([ev.SoftKillOrdered(cause=REMOVED), ENDED], "remove"),
        ([SOFT, ev.SoftKillOrdered(cause=HELD), ENDED], "hold"),
    ],
)
def test_the_exit_hook_is_told_why(events: list[ev.StarterEvent], word: str) -> None:
    hand = after(6, *events, EPILOG_DONE)()
    told = [effect.arguments for effect in hand.history if isinstance(effect, RunHook) and effect.point == "JOB_EXIT"]
    assert told == [word]


def test_an_exit_hook_that_takes_too_long_is_stopped_and_output_goes_on() -> None:
    hand = after(6, ENDED, EPILOG_DONE)().wait(30)
    assert hand.at == "Finishing/Output"
    assert [type(order) for order in hand.orders] == [AbortWork, TransferOutput]
    assert hand.feed(EXIT_HOOK_DONE).at == "Finishing/Output"


@pytest.mark.parametrize(
    ("status", "ending"), [(99, Ending.EVICT), (100, Ending.HOLD), (1, Ending.EVICT), (None, Ending.EVICT)]
)
def test_a_failed_epilog_counts_though_the_job_ended_well(status: int | None, ending: Ending) -> None:
    hand = after(6, ENDED, ev.ScriptEnded(point=ScriptPoint.EPILOG, status=status), EXIT_HOOK_DONE)()
    hand.feed(ev.OutputTransferred())
    assert (hand.report.ending, hand.report.exit_code) == (ending, 0)
    assert hand.report.script_failures == (ScriptFailure(point=ScriptPoint.EPILOG, status=status),)


def test_a_job_that_is_removed_stays_removed_whatever_its_epilog_says() -> None:
    hand = after(6, ev.HardKillOrdered(cause=REMOVED), ENDED)()
    hand.feed(ev.ScriptEnded(point=ScriptPoint.EPILOG, status=100), EXIT_HOOK_DONE)
    assert hand.report.ending is Ending.REMOVE


def test_the_epilog_is_told_of_a_signal_as_a_shell_would() -> None:
    hand = full().feed(*PREPARATION).ended(signal=9)
    assert RunScript(point=ScriptPoint.EPILOG, command="/site/epilog", job_status=137) in hand.orders


# -- output ----------------------------------------------------------------------------------------------------

_EXIT, _EVICT, _HARD = [ev.JobEnded(run=1, exit_code=0)], [SOFT, ENDED], [HARD, ENDED]
_FAIL = [ev.JobEnded(run=1, exit_code=1)]


@pytest.mark.parametrize(
    ("when", "events", "due"),
    [
        ("ON_EXIT", _EXIT, Output.DELIVERED),
        ("ON_EXIT", _FAIL, Output.DELIVERED),
        ("ON_EXIT", _EVICT, Output.NONE),
        ("ON_EXIT_OR_EVICT", _EXIT, Output.DELIVERED),
        ("ON_EXIT_OR_EVICT", _EVICT, Output.KEPT),
        ("ON_EXIT_OR_EVICT", _HARD, Output.NONE),
        ("ON_EXIT_OR_EVICT", [ev.SoftKillOrdered(cause=HELD), ENDED], Output.KEPT),
        ("ON_EXIT_OR_EVICT", [ev.SoftKillOrdered(cause=REMOVED), ENDED], Output.NONE),
        ("ON_SUCCESS", _EXIT, Output.DELIVERED),
        ("ON_SUCCESS", _FAIL, Output.NONE),
    ],
)
def test_when_output_is_moved_and_where_to(when: str, events: list[ev.StarterEvent], due: Output) -> None:
    hand = moving(WhenToTransferOutput=when).feed(*events)
    moved = [effect.destination for effect in hand.history if isinstance(effect, TransferOutput)]
    assert moved == ([] if due is Output.NONE else [due])
    if moved:
        hand.feed(ev.OutputTransferred())
    assert hand.report.output is due


def test_success_is_what_the_job_says() -> None:
    hand = moving(WhenToTransferOutput="ON_SUCCESS", JobSuccessExitCode=1).ended(1)
    assert hand.at == "Finishing/Output"


def test_output_that_cannot_be_moved_holds_a_job_that_ended_by_itself() -> None:
    hand = moving().ended(0).feed(ev.OutputFailed(text="no such file", subcode=2))
    assert (hand.report.ending, hand.report.output) == (Ending.HOLD, Output.FAILED)
    assert hand.report.cause is not None
    assert (hand.report.cause.code, hand.report.cause.subcode) == (12, 2)


def test_output_of_an_evicted_job_that_cannot_be_moved_is_only_lost() -> None:
    hand = moving(WhenToTransferOutput="ON_EXIT_OR_EVICT").feed(SOFT, ENDED, ev.OutputFailed(text="timeout"))
    assert (hand.report.ending, hand.report.output) == (Ending.EVICT, Output.FAILED)
    assert hand.report.cause is not None
    assert hand.report.cause.text.endswith("its files could not be saved: timeout"), "its user is to hear of it"


def test_a_hard_kill_while_output_is_moved_makes_an_eviction_of_it() -> None:
    hand = moving().ended(0).feed(HARD)
    assert (hand.at, hand.report.ending, hand.report.output) == ("Finishing/Cleanup", Ending.EVICT, Output.ABANDONED)


def test_a_hard_kill_of_a_job_that_has_nothing_left_to_lose_changes_nothing() -> None:
    policy_ = policy(hooks={"A": {HookPoint.EXIT: hook(timeout_s=30.0)}}, hook_keyword_default="A")
    hand = Hand(policy=policy_).running().ended(0).feed(HARD)
    assert hand.at == "Finishing/ExitHook"
    hand.feed(EXIT_HOOK_DONE)
    assert hand.report.ending is Ending.EXIT


def test_after_a_hard_kill_by_order_everything_is_over_before_the_killing_time_is() -> None:
    hand = after(6, HARD)().wait(10).feed(ENDED)
    assert hand.at == "Finishing/Epilog"
    hand.wait(14)
    assert hand.at == "Finishing/Cleanup"
    assert hand.report.ending is Ending.EVICT


def test_a_soft_kill_after_the_end_of_the_job_means_nothing() -> None:
    hand = after(6, ENDED)()
    before = hand.state
    assert hand.feed(SOFT).state is before


def test_an_end_that_nobody_saw_sends_the_job_back() -> None:
    hand = Hand().running().ended()
    assert hand.report.ending is Ending.EVICT
    assert "ExitBySignal" not in hand.report.attributes


# -- saved states ------------------------------------------------------------------------------------------------


def test_a_job_that_ends_to_be_saved_is_saved_and_started_again() -> None:
    hand = after(6, SAVED)()
    assert hand.at == "Running/Checkpoint"
    hand.feed(ev.CheckpointTransferred(run=1))
    assert hand.orders[1:] == [StartJob(run=2, job_ad=hand.job)]
    hand.feed(ev.JobEnded(run=1, exit_code=0))
    assert hand.at == "Preparing/Start"
    hand.feed(ev.JobStarted(run=2, pid=99), ev.JobEnded(run=2, exit_code=0))
    hand.feed(EPILOG_DONE, EXIT_HOOK_DONE, ev.OutputTransferred())
    assert (hand.report.ending, hand.report.checkpoints) == (Ending.EXIT, 1)


def test_a_saved_job_that_needs_no_files_moved_is_started_again_at_once() -> None:
    hand = Hand(job=job(SuccessCheckpointExitCode=85)).running().ended(85)
    (told,) = [order for order in hand.orders if isinstance(order, ReportCheckpoint)]
    assert (hand.at, hand.orders) == ("Preparing/Start", [KillProcesses(), told, StartJob(run=2, job_ad=hand.job)])


def test_the_queue_hears_of_each_checkpoint_when_it_is_saved() -> None:
    hand = after(6, SAVED)()
    assert not [order for order in hand.orders if isinstance(order, ReportCheckpoint)]
    hand.feed(ev.CheckpointTransferred(run=1))
    (told,) = [order for order in hand.orders if isinstance(order, ReportCheckpoint)]
    assert told.checkpoints == 1


def test_a_state_that_cannot_be_saved_holds_the_job() -> None:
    hand = after(6, SAVED, ev.CheckpointFailed(run=1, text="no space", subcode=28))()
    assert hand.state.cause is not None
    assert (hand.state.cause.code, hand.state.cause.subcode, hand.state.cause.ending) == (36, 28, Ending.HOLD)


def test_a_job_that_saves_itself_when_it_is_evicted_is_saved_and_not_started_again() -> None:
    hand = after(6, SOFT, SAVED)()
    assert hand.at == "Vacating/Checkpoint"
    hand.feed(ev.CheckpointTransferred(run=1), EPILOG_DONE, EXIT_HOOK_DONE)
    assert hand.at == "Finishing/Output"
    assert (hand.state.checkpoints, hand.state.run) == (1, 1)


def test_after_a_hard_kill_nothing_is_saved() -> None:
    assert after(6, HARD, SAVED)().at == "Finishing/Epilog"


def test_a_job_that_stands_still_while_it_is_saved_is_started_again_when_it_may_go_on() -> None:
    hand = after(6, SAVED, ev.SuspendOrdered(), ev.CheckpointTransferred(run=1))()
    (told,) = hand.orders
    assert (hand.at, isinstance(told, ReportCheckpoint)) == ("Suspended/Unstarted", True)
    hand.feed(ev.ContinueOrdered())
    assert hand.orders == [StartJob(run=2, job_ad=hand.job)]


def test_only_a_job_that_wants_it_is_told_to_save_itself() -> None:
    asked = Hand(job=job(WantCheckpointSignal=True, CheckpointSig="SIGUSR2")).running()
    assert asked.feed(ev.CheckpointOrdered()).orders == [SignalJob(signal="SIGUSR2", saves=True)]
    assert Hand().running().feed(ev.CheckpointOrdered()).orders == []


# -- reports on the way --------------------------------------------------------------------------------------------


def test_use_is_reported_after_the_first_interval_and_then_after_each_other() -> None:
    update = policy(hooks={"A": {HookPoint.UPDATE: hook("/hooks/update")}}, hook_keyword_default="A")
    hand = Hand(policy=update).running().sample(5).wait(8)
    expected = ClassAd(
        {
            "ImageSize": 5,
            "ResidentSetSize": 500,
            "MemoryUsage": 1,
            "RemoteUserCpu": 1.0,
            "RemoteSysCpu": 0.5,
            "CpusUsage": 1.5 / 8,
            "NumPids": 1,
            "JobState": "Running",
            "JobStartDate": 1_000_000,
            "JobPid": 4711,
        }
    )
    report, ran = hand.orders
    assert report == ReportUsage(attributes=expected)
    assert isinstance(ran, RunHook)
    assert (ran.point, ran.awaited, ran.ad["Cmd"], ran.ad["JobState"]) == (
        HookPoint.UPDATE,
        False,
        "/bin/job",
        "Running",
    )
    assert hand.timer(StarterTimer.UPDATE) == hand.now + 300
    hand.wait(600)
    assert sum(isinstance(effect, ReportUsage) for effect in hand.history) == 3


def test_a_job_that_the_kernel_killed_for_its_memory_goes_on_hold_whatever_else_was_wanted() -> None:
    for before in ([], [SOFT]):
        hand = Hand().running()
        hand.feed(*before)
        hand.feed(ev.JobEnded(run=1, exit_code=0, out_of_memory="too large"))
        cause = hand.state.cause
        assert cause is not None
        assert (cause.ending, cause.code, cause.subcode, cause.text) == (Ending.HOLD, 34, 102, "too large")
