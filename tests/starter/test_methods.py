"""Methods of a queue instance, and the warning of `qsub -notify`: what is ordered, when, and after a restart."""

from __future__ import annotations

import pytest

from roost.classad import ClassAd
from roost.model import starter_events as ev
from roost.model.queue_context import QueueContext
from roost.model.starter import ExitReport, Method, StarterTimer
from roost.model.starter_effects import (
    ContinueProcesses,
    KillProcesses,
    ReportExit,
    RunMethod,
    SignalJob,
    StarterEffect,
    SuspendProcesses,
    Warn,
)
from roost.starter.methods import expanded_line, unusable_method
from roost.starter.persisted import persisted, restored
from roost.starter.resumption import resume
from roost.starter.states import State
from tests.starter.kit import REMOVED, START, Hand

ACTS = (RunMethod, SignalJob, KillProcesses, SuspendProcesses, ContinueProcesses)


def running(*, notify: bool = False, name: str | None = "sim", **methods: object) -> Hand:
    """A job that runs since `START` in all.q with these methods, submitted by `qsub` if it has a name."""
    context = QueueContext(queue="all.q", host="a", **methods)  # type: ignore[arg-type]
    ad = ClassAd(ClusterId=1, ProcId=0, Owner="ann", JobUniverse=5, ShouldTransferFiles="NO")
    if name is not None:
        ad["CellJobName"] = name
    if notify:
        ad["CellNotify"] = True
    hand = Hand(launch={"context": context, "job_ad": ad})
    return hand.feed(ev.SandboxMade(), ev.JobStarted(run=1, pid=10))


def acts(effects: list[StarterEffect] | tuple[StarterEffect, ...]) -> list[str]:
    """What is done to the job's processes, in words."""
    found = []
    for each in effects:
        match each:
            case RunMethod(method=method, command=command):
                found.append(f"{method} {command}")
            case SignalJob(signal=signal, all=all):
                found.append(f"{signal}{' to all' if all else ''}")
            case _ if isinstance(each, ACTS):
                found.append(type(each).__name__)
    return found


def after(hand: Hand, *events: ev.StarterEvent) -> list[str]:
    """What these events lead to."""
    before = len(hand.history)
    hand.feed(*events)
    return acts(hand.history[before:])


def due(hand: Hand) -> list[str]:
    """What happens when the timer of methods runs out."""
    at = hand.state.deadlines.method_at
    assert at is not None
    hand.now = at
    return after(hand, ev.StarterTimerFired(timer=StarterTimer.METHOD))


def test_without_methods_jobs_of_qsub_are_stopped_and_killed() -> None:
    hand = running()
    assert after(hand, ev.SuspendOrdered()) == ["SuspendProcesses"]
    assert after(hand, ev.ContinueOrdered()) == ["ContinueProcesses"]
    assert after(hand, ev.SuspendOrdered()) == ["SuspendProcesses"]
    assert after(hand, ev.SoftKillOrdered(cause=REMOVED)) == ["KillProcesses"]
    assert hand.state.state is State.VACATING
    # Other jobs have their KillSig.
    other = running(name=None)
    assert after(other, ev.SoftKillOrdered(cause=REMOVED)) == ["SIGTERM"]


def test_methods_take_the_place_of_the_signals_and_the_last_one_is_repeated_while_the_job_is_there() -> None:
    hand = running(suspend_method="SIGTSTP", resume_method="/bin/wake $job_pid", terminate_method="15")
    assert after(hand, ev.SuspendOrdered()) == ["suspend_method SIGTSTP"]
    assert hand.state.methods == (Method.SUSPEND,) and hand.state.state is State.SUSPENDED
    assert after(hand, ev.MethodEnded(method=Method.SUSPEND), ev.ContinueOrdered()) == [
        "resume_method /bin/wake $job_pid"
    ]
    assert after(hand, ev.MethodEnded(method=Method.RESUME, text="it exited with status 3")) == []
    assert Warn(about=Method.RESUME, text="it exited with status 3") in hand.history
    assert hand.state.state is State.RUNNING
    assert after(hand, ev.SoftKillOrdered(cause=REMOVED)) == ["terminate_method SIGTERM"]
    # Not while it has not ended.
    assert due(hand) == []
    hand.feed(ev.MethodEnded(method=Method.TERMINATE))
    assert due(hand) == ["terminate_method SIGTERM"]
    until = hand.state.deadlines.vacate_until
    assert until == START + 600
    hand.now = until
    assert after(hand, ev.StarterTimerFired(timer=StarterTimer.VACATE)) == ["KillProcesses"]
    assert hand.state.state is State.KILLING and hand.state.deadlines.method_at is None


def test_one_of_the_two_methods_makes_the_other_one_a_signal() -> None:
    hand = running(resume_method="/bin/wake")
    assert after(hand, ev.SuspendOrdered()) == ["suspend_method SIGSTOP"]
    hand = running(suspend_method="/bin/lull")
    assert after(hand, ev.SuspendOrdered(), ev.ContinueOrdered()) == [
        "suspend_method /bin/lull",
        "resume_method SIGCONT",
    ]


def test_a_suspended_job_goes_on_to_be_ended_by_a_method() -> None:
    hand = running(terminate_method="/bin/end")
    assert after(hand, ev.SuspendOrdered(), ev.SoftKillOrdered(cause=REMOVED)) == [
        "SuspendProcesses",
        "ContinueProcesses",
        "terminate_method /bin/end",
    ]
    # So is any job of such a queue.
    assert after(running(name=None, terminate_method="/bin/end"), ev.SoftKillOrdered(cause=REMOVED)) == [
        "terminate_method /bin/end"
    ]


def test_a_job_is_warned_before_it_is_suspended_and_ended() -> None:
    hand = running(notify=True, notify_s=4)
    assert after(hand, ev.SuspendOrdered()) == ["SIGUSR1 to all"]
    assert hand.state.deadlines.method_at == START + 4 and hand.state.notice is Method.SUSPEND
    # It goes on before its time has come.
    assert after(hand, ev.ContinueOrdered()) == ["ContinueProcesses"]
    assert hand.state.deadlines.method_at is None
    assert after(hand, ev.SuspendOrdered()) == ["SIGUSR1 to all"]
    assert due(hand) == ["SuspendProcesses"]
    assert after(hand, ev.SoftKillOrdered(cause=REMOVED)) == ["ContinueProcesses", "SIGUSR2 to all"]
    assert due(hand) == ["KillProcesses"]


def test_signals_of_the_warning_are_those_of_the_configuration() -> None:
    hand = running(notify=True, notify_suspend="SIGTSTP", notify_terminate="")
    assert after(hand, ev.SuspendOrdered()) == ["SIGTSTP to all"]
    assert after(hand, ev.SoftKillOrdered(cause=REMOVED)) == ["KillProcesses"]


def test_a_limit_ends_the_job_as_its_queue_does_and_then_kills_it() -> None:
    hand = running(notify=True, notify_s=4, limits={"h_rt": 20.0}, terminate_method="SIGTERM")
    hand.now = START + 20
    assert after(hand, ev.StarterTimerFired(timer=StarterTimer.HARD_LIMIT)) == ["SIGUSR2 to all"]
    # Nothing suspends it now.
    assert after(hand, ev.SuspendOrdered()) == []
    assert due(hand) == ["terminate_method SIGTERM"]
    hand.now = START + 20 + 600
    assert hand.state.deadlines.hard_limit_at == hand.now
    assert after(hand, ev.StarterTimerFired(timer=StarterTimer.HARD_LIMIT)) == ["KillProcesses"]
    hand.feed(ev.JobEnded(run=1, signal=9))
    report = next(each.report for each in hand.history if isinstance(each, ReportExit))
    assert isinstance(report, ExitReport) and report.attributes["CellFailed"] == 37


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([ev.SuspendOrdered()], ["suspend_method /bin/lull"]),
        ([ev.SuspendOrdered(), ev.MethodEnded(method=Method.SUSPEND)], []),
        ([ev.SoftKillOrdered(cause=REMOVED)], ["terminate_method /bin/end"]),
        ([ev.SoftKillOrdered(cause=REMOVED), ev.MethodEnded(method=Method.TERMINATE)], []),
    ],
)
def test_a_daemon_that_follows_runs_again_what_had_not_ended(
    events: list[ev.StarterEvent], expected: list[str]
) -> None:
    hand = running(suspend_method="/bin/lull", terminate_method="/bin/end").feed(*events)
    again = resume(restored(persisted(hand.state)), START + 1, hand.policy)
    assert acts(again.effects) == expected
    assert again.state.deadlines.method_at == hand.state.deadlines.method_at


def test_a_daemon_that_follows_leaves_a_warned_job_its_time() -> None:
    hand = running(notify=True, notify_s=4).feed(ev.SuspendOrdered())
    again = resume(restored(persisted(hand.state)), START + 1, hand.policy)
    assert acts(again.effects) == [] and again.state.deadlines.method_at == START + 4


def test_a_method_that_means_nothing_closes_the_queue_instance_before_the_job() -> None:
    context = QueueContext(queue="all.q", host="a", resume_method="root@/bin/wake")
    hand = Hand(launch={"context": context}).feed(ev.SandboxMade())
    reason = 'cannot convert resume_method "root@/bin/wake" into a valid signal number at this machine'
    assert hand.state.queue_error == reason and hand.state.state is State.FINISHING
    assert not unusable_method(
        QueueContext(queue="q", host="a", suspend_method="/bin/x $job_pid", terminate_method="sigterm")
    )
    for bad in ("TERM", "99", "/bin/x $ckpt_dir", "/bin/x $HOME"):
        assert unusable_method(QueueContext(queue="q", host="a", terminate_method=bad))


def test_values_stay_parts_of_their_words() -> None:
    values = {"job_name": "a b; rm 'x'", "job_id": "12"}
    assert expanded_line("/x $job_id $job_name $nothing", values) == "/x 12 'a b; rm '\"'\"'x'\"'\"'' $nothing"
