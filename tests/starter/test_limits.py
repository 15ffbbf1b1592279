"""The limits of a queue instance: who is warned and killed when, and what the run's account of it is."""

from __future__ import annotations

from roost.model import starter_events as ev
from roost.model.queue_context import QueueContext
from roost.model.starter import ExitReport, StarterTimer
from roost.model.starter_effects import KillProcesses, SetStarterTimer, SignalJob
from roost.starter.persisted import persisted, restored
from roost.starter.resumption import resume
from tests.starter.kit import START, Hand, usage


def limited(**limits: float) -> Hand:
    """A job that runs since `START` in all.q with these limits."""
    hand = Hand(launch={"context": QueueContext(queue="all.q", host="a", limits=limits)})
    return hand.feed(ev.SandboxMade(), ev.JobStarted(run=1, pid=10))


def signals(hand: Hand) -> list[SignalJob]:
    return [each for each in hand.history if isinstance(each, SignalJob)]


def kills(hand: Hand) -> int:
    return sum(isinstance(each, KillProcesses) for each in hand.history)


def ended(hand: Hand, **how: int) -> ExitReport:
    hand.feed(ev.JobEnded(run=1, **how))
    return next(each.report for each in hand.history if type(each).__name__ == "ReportExit")  # type: ignore[union-attr]


def test_run_time_warns_then_kills_until_the_job_is_gone() -> None:
    hand = limited(s_rt=10, h_rt=20)
    deadlines = hand.state.deadlines
    assert (deadlines.soft_limit_at, deadlines.hard_limit_at) == (START + 10, START + 20)
    hand.now = START + 10
    hand.feed(ev.StarterTimerFired(timer=StarterTimer.SOFT_LIMIT))
    hand.feed(ev.StarterTimerFired(timer=StarterTimer.SOFT_LIMIT))
    assert signals(hand) == [SignalJob(signal="SIGUSR1", all=True)] and not kills(hand)
    # Suspended time counts as well.
    hand.feed(ev.SuspendOrdered())
    hand.now = START + 20
    hand.feed(ev.StarterTimerFired(timer=StarterTimer.HARD_LIMIT))
    hand.now = START + 100
    hand.feed(ev.StarterTimerFired(timer=StarterTimer.HARD_LIMIT))
    assert kills(hand) == 2
    report = ended(hand, signal=9)
    assert (report.ending, report.cause, report.exit_signal) == ("exit", None, 9)
    assert report.attributes["CellFailed"] == 37
    assert str(report.attributes["CellFailedReason"]).endswith(": h_rt=20 s of all.q@a")
    assert report.attributes["ExitReason"] == "killed for exceeding h_rt=20 s of all.q@a"


def test_use_of_all_processes_is_looked_at_when_the_job_is_measured() -> None:
    hand = limited(s_cpu=5, h_cpu=10, s_vmem=10 * 2**20)
    assert hand.state.deadlines.poll_at is not None
    hand.feed(ev.UsageSampled(run=1, usage=usage(user_cpu_s=4.0, system_cpu_s=0.5)))
    assert not signals(hand)
    for _ in range(2):
        hand.feed(ev.UsageSampled(run=1, usage=usage(20 * 2**10, user_cpu_s=4.0, system_cpu_s=2.0)))
    assert signals(hand) == [SignalJob(signal="SIGXCPU", all=True)] * 2
    hand.feed(ev.UsageSampled(run=1, usage=usage(user_cpu_s=9.0, system_cpu_s=2.0)))
    assert kills(hand) == 1
    assert ended(hand, signal=9).attributes["CellFailed"] == 37


def test_a_job_without_a_queue_instance_has_no_account_of_grid_engine() -> None:
    hand = Hand().feed(ev.SandboxMade(), ev.JobStarted(run=1, pid=10))
    assert "CellFailed" not in ended(hand, signal=9).attributes
    assert ended(limited(), signal=11).attributes["CellFailed"] == 100
    assert ended(limited(), exit_code=4).attributes["CellFailed"] == 0


def test_limits_go_on_after_a_restart() -> None:
    hand = limited(h_rt=20)
    state = restored(persisted(hand.state))
    assert state == hand.state
    again = resume(state, START + 5, hand.policy)
    assert SetStarterTimer(timer=StarterTimer.HARD_LIMIT, at=START + 20) in again.effects


def test_memory_counts_by_the_cpu_time_for_which_it_was_had_and_is_told_as_often_as_the_cell_wants() -> None:
    context = QueueContext(queue="all.q", host="a", report_s=40)
    hand = Hand(launch={"context": context}).feed(ev.SandboxMade(), ev.JobStarted(run=1, pid=10))
    for cpu_s, gib in ((2.0, 1), (5.0, 3), (6.0, 2)):
        sample = usage(user_cpu_s=cpu_s - 1, system_cpu_s=1.0, image_size_kib=gib * 2**20, process_count=1)
        hand.feed(ev.UsageSampled(run=1, usage=sample))
    assert hand.state.memory_used == 2.0 * 1 + 3.0 * 3 + 1.0 * 2
    hand.now = hand.state.deadlines.update_at or 0.0
    hand.feed(ev.StarterTimerFired(timer=StarterTimer.UPDATE))
    assert hand.state.deadlines.update_at == hand.now + 40
    assert restored(persisted(hand.state)).memory_used == 13.0
    # The last sample knows no size: the largest one counts.
    last = usage(user_cpu_s=6.0, system_cpu_s=1.0, image_size_kib=5, process_count=0)
    hand.feed(ev.UsageSampled(run=1, usage=last))
    assert ended(hand, exit_code=0).attributes["CellMemoryUsed"] == 16.0
