"""Checkpointing interfaces: what a job is asked for, when it migrates, and what its queue is told."""

from __future__ import annotations

from roost.classad import ClassAd
from roost.model import starter_events as ev
from roost.model.queue_context import CheckpointContext, QueueContext
from roost.model.starter import Cause, Ending, ExitReport, Method, OrderedBy, ScriptPoint, StarterTimer
from roost.model.starter_effects import ReportCheckpoint, ReportEviction, ReportExit, RunScript
from roost.starter.persisted import persisted, restored
from roost.starter.queue_environment import queue_environment
from roost.starter.resumption import resume
from roost.starter.states import State
from tests.starter.kit import REMOVED, START, Hand
from tests.starter.test_methods import acts, after

EVICTED = Cause(ending=Ending.EVICT, code=1001, text="PREEMPT", by=OrderedBy.STARTD)
COMMANDS = {"command": "/bin/save", "migrate": "/bin/move", "restart": "/bin/again", "clean": "/bin/clean"}


def running(interface: str = "userdefined", when: str = "mx", interval_s: float | None = 5.0, **fields: str) -> Hand:
    """A job with an interface that runs since `START`."""
    checkpoint = CheckpointContext(
        name="ck", interface=interface, when=when, interval_s=interval_s, **{"signal": "SIGUSR1", **fields}
    )
    ad = ClassAd(ClusterId=1, ProcId=0, Owner="ann", JobUniverse=5, ShouldTransferFiles="NO", CellJobName="sim")
    context = QueueContext(queue="all.q", host="a", checkpoint=checkpoint)
    hand = Hand(launch={"context": context, "job_ad": ad})
    return hand.feed(ev.SandboxMade(), ev.JobStarted(run=1, pid=10))


def due(hand: Hand) -> list[str]:
    at = hand.state.deadlines.checkpoint_at
    assert at is not None
    hand.now = at
    return after(hand, ev.StarterTimerFired(timer=StarterTimer.CHECKPOINT))


def report_of(hand: Hand) -> ExitReport:
    return next(each.report for each in hand.history if isinstance(each, ReportExit))


def scripts(hand: Hand) -> list[str]:
    return [str(each.point) for each in hand.history if isinstance(each, RunScript)]


def test_jobs_that_save_themselves_get_the_signal_each_interval_and_are_ended_to_migrate() -> None:
    hand = running(**COMMANDS)
    assert (due(hand), due(hand), hand.now) == (["SIGUSR1 to all"], ["SIGUSR1 to all"], START + 10)
    assert after(hand, ev.SuspendOrdered()) == ["KillProcesses"]
    assert hand.state.state is State.VACATING and hand.state.deadlines.vacate_until == START + 610
    assert any(isinstance(each, ReportEviction) for each in hand.history)
    hand.feed(ev.JobEnded(run=1, signal=9))
    report = report_of(hand)
    assert (report.ending, report.attributes["CellFailed"]) == (Ending.EVICT, 24)
    assert "CellCheckpointed" not in report.attributes and scripts(hand) == []


def test_commands_save_and_move_a_job_and_it_waits_again_however_it_ends() -> None:
    hand = running("application-level", **COMMANDS)
    assert due(hand) == ["ckpt_command /bin/save"]
    # Not twice at once.
    assert due(hand) == []
    hand.feed(ev.MethodEnded(method=Method.CHECKPOINT, text="it exited with status 1"))
    assert hand.state.saved_pid == 10
    saved = next(each for each in hand.history if isinstance(each, ReportCheckpoint))
    assert saved.attributes["CellCheckpointed"] == 10
    assert after(hand, ev.SuspendOrdered(), ev.SuspendOrdered()) == ["migr_command /bin/move"]
    assert due(hand) == ["ckpt_command /bin/save"]
    hand.feed(ev.JobEnded(run=1, exit_code=0))
    assert (report_of(hand).ending, report_of(hand).attributes["CellFailed"]) == (Ending.EVICT, 24)
    assert scripts(hand) == []


def test_a_job_that_does_not_leave_is_killed_after_the_vacate_time() -> None:
    hand = running("hibernator", **COMMANDS).feed(ev.SuspendOrdered())
    assert hand.state.deadlines.vacate_until == START + 600
    hand.now = START + 600
    assert after(hand, ev.StarterTimerFired(timer=StarterTimer.VACATE)) == ["KillProcesses"]
    hand.feed(ev.JobEnded(run=1, signal=9))
    assert report_of(hand).attributes["CellFailed"] == 24


def test_what_was_saved_is_cleaned_away_once_the_job_does_not_come_again() -> None:
    hand = running("application-level", **COMMANDS).feed(ev.JobEnded(run=1, exit_code=0))
    assert scripts(hand) == [ScriptPoint.CLEAN]
    hand.feed(ev.ScriptEnded(point=ScriptPoint.CLEAN, status=3))
    assert report_of(hand).script_failures == () and report_of(hand).attributes["CellFailed"] == 0
    hand = running("application-level", **COMMANDS).feed(ev.SoftKillOrdered(cause=REMOVED))
    assert scripts(hand.feed(ev.JobEnded(run=1, signal=9))) == [ScriptPoint.CLEAN]
    hand = running("application-level", **COMMANDS).feed(ev.SoftKillOrdered(cause=EVICTED))
    assert scripts(hand.feed(ev.JobEnded(run=1, signal=9))) == []


def test_letters_decide_when_a_job_migrates() -> None:
    hand = running("application-level", when="m", **COMMANDS)
    assert after(hand, ev.SuspendOrdered()) == ["SuspendProcesses"]
    # A job that stands still is not asked for a checkpoint.
    assert due(hand) == []
    assert after(hand, ev.ContinueOrdered(), ev.SoftKillOrdered(cause=EVICTED)) == [
        "ContinueProcesses",
        "KillProcesses",
    ]
    hand = running("application-level", when="s", interval_s=None, **COMMANDS)
    assert hand.state.deadlines.checkpoint_at is None
    assert after(hand, ev.SoftKillOrdered(cause=EVICTED)) == ["migr_command /bin/move"]
    # It is not sent away if it is not to come again.
    hand = running("application-level", when="s", **COMMANDS)
    assert after(hand, ev.SoftKillOrdered(cause=REMOVED)) == ["KillProcesses"]


def test_an_order_to_suspend_before_the_start_has_the_job_migrate_at_once() -> None:
    hand = running()
    ad, context = hand.state.job_ad, hand.state.launch.context
    early = Hand(launch={"context": context, "job_ad": ad}).feed(ev.SandboxMade(), ev.SuspendOrdered())
    assert after(early, ev.JobStarted(run=1, pid=10)) == ["KillProcesses"]
    assert early.state.state is State.VACATING


def test_a_restart_of_the_daemon_goes_on_with_a_migration() -> None:
    hand = running("application-level", **COMMANDS).feed(ev.SuspendOrdered())
    again = resume(restored(persisted(hand.state)), START + 1, hand.policy)
    assert "migr_command /bin/move" in acts(again.effects)
    assert again.state.deadlines == hand.state.deadlines


def test_the_job_is_told_of_its_interface_and_whether_it_was_saved() -> None:
    state = running("application-level", **COMMANDS).state
    assert state.launch.context is not None
    names = ("job_id", "job_name", "stdin_path", "stdout_path", "stderr_path")
    values = dict.fromkeys(names, "")

    def told(context: QueueContext, **attributes: int) -> tuple[str, ...]:
        environment = queue_environment(ClassAd(attributes), context, values)
        return tuple(environment[name] for name in ("RESTARTED", "SGE_CKPT_ENV", "SGE_CKPT_DIR"))

    assert told(state.launch.context) == ("0", "ck", "/tmp")
    assert told(state.launch.context, NumJobStarts=1)[0] == "1"
    assert told(state.launch.context, NumJobStarts=1, CellCheckpointed=10)[0] == "2"
    itself = running().state.launch.context
    assert itself is not None and told(itself, NumJobStarts=1, CellCheckpointed=10)[0] == "1"
