"""The policies of many jobs are looked at in parts, and one that takes too long holds its job."""

from __future__ import annotations

import pytest

from roost.classad import parse_expression
from roost.model.codes import HoldCode
from roost.schedd import changes as ch
from roost.schedd import events as ev
from roost.schedd.identifiers import JobId
from roost.schedd.job_policy import policy_round
from roost.schedd.queue import Queue
from roost.schedd.status import JobStatus
from tests.schedd.kit import SETTINGS, source

HOSTILE = 'regexp("(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!")'
#: Some 14,000 steps.
SLOW = 'regexp("(a+)+$", "aaaaaaaaaa!")'


def _queue(*clusters: tuple[str, int, dict[str, str]]) -> Queue:
    queue = Queue(SETTINGS, 0.0)
    for owner, count, attributes in clusters:
        queue.step(ev.Submitted(clusters=(source(count, **attributes),), owner=owner, reply_to=""), 1.0)
    while queue.goes_on:
        # The logs of large clusters are told of them.
        queue.step(ev.WentOn(), 1.0)
    return queue


def _round(queue: Queue, now: float) -> int:
    """Look at all policies; the number of steps that it took."""
    queue.step(ev.Ticked(), now)
    steps = 1
    while queue.goes_on:
        queue.step(ev.WentOn(), now)
        steps += 1
    return steps


@pytest.mark.parametrize("name", ["PeriodicHold", "PeriodicRemove", "PeriodicRelease", "PeriodicVacate"])
def test_a_policy_that_takes_too_many_steps_holds_its_job_and_says_so(name: str) -> None:
    queue = _queue(("ann", 2, {name: f"={HOSTILE}"}), ("bob", 1, {"PeriodicRemove": "=true"}))
    _round(queue, 100.0)
    if name in ("PeriodicRelease", "PeriodicVacate"):
        # These are for held and running jobs: a waiting one is not asked for them.
        assert queue.book.clusters[1].status(0) is JobStatus.IDLE
        return
    ad = queue.book.clusters[1].ad_of(1)
    assert (ad["JobStatus"], ad["HoldReasonCode"]) == (JobStatus.HELD, HoldCode.JOB_POLICY_UNDEFINED)
    assert name in str(ad["HoldReason"]) and "50000 evaluation steps" in str(ad["HoldReason"])
    assert 2 not in queue.book.clusters
    _round(queue, 200.0)
    assert queue.book.clusters[1].ad_of(1)["NumHolds"] == 1


def test_a_held_job_with_such_a_release_stays_held() -> None:
    queue = _queue(("ann", 1, {"PeriodicRelease": f"={HOSTILE}"}))
    queue.step(ev.Acted(action=ev.Action.HOLD, jobs=(JobId(1, 0),), user="ann", reply_to=""), 2.0)
    queue.book.clusters[1].job(0).ad["HoldReasonCode"] = 3
    _round(queue, 100.0)
    ad = queue.book.clusters[1].ad_of(0)
    assert (ad["JobStatus"], ad["HoldReasonCode"], ad["NumHolds"]) == (JobStatus.HELD, 3, 1)


def test_a_look_at_many_jobs_takes_many_steps_and_leaves_none_out() -> None:
    count = 3 * policy_round.JOBS_A_STEP + 7
    queue = _queue(("ann", count, {"PeriodicHold": "=ProcId % 2 == 1"}), ("bob", 3, {"PeriodicHold": "=true"}))
    assert _round(queue, 100.0) == 4
    assert queue.book.clusters[1].statuses == bytearray([JobStatus.IDLE, JobStatus.HELD] * count)[:count]
    assert queue.book.clusters[2].statuses == bytearray([JobStatus.HELD] * 3)


def test_steps_of_the_queue_stay_short_where_policies_are_expensive() -> None:
    queue = _queue(("ann", 40, {"PeriodicHold": f"={SLOW}"}))
    most = policy_round.STEPS_A_STEP // 14_000 + 1
    assert _round(queue, 100.0) >= 40 / most


def test_an_owner_with_expensive_policies_delays_its_own_jobs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_round, "STEPS_AN_OWNER", 60_000)
    queue = _queue(
        ("ann", 12, {"PeriodicHold": f"={SLOW} || Ripe =?= true"}),
        ("ann", 1, {"PeriodicHold": f"={SLOW}"}),
        ("bob", 3, {"PeriodicHold": "=true"}),
    )
    for proc in range(12):
        queue.book.clusters[1].job(proc).ad.put("Ripe", parse_expression("true"))
    held: list[int] = []
    for now in (100.0, 200.0, 300.0, 400.0):
        _round(queue, now)
        held.append(queue.book.clusters[1].statuses.count(int(JobStatus.HELD)))
        if now == 100.0:
            assert queue.book.clusters[3].statuses.count(int(JobStatus.HELD)) == 3
    # The rest follows in later rounds, from where the round before ended.
    assert held[0] < 12 and held == sorted(held) and held[-1] == 12


def test_jobs_that_stayed_in_the_queue_leave_in_parts() -> None:
    count = 2 * policy_round.JOBS_A_STEP
    queue = _queue(("ann", count, {"LeaveJobInQueue": "=time() < 50"}))
    jobs = tuple(JobId(1, proc) for proc in range(count))
    queue.step(ev.Acted(action=ev.Action.REMOVE, jobs=jobs, user="ann", reply_to=""), 2.0)
    assert queue.book.clusters[1].statuses.count(int(JobStatus.REMOVED)) == count
    left = []
    step = queue.step(ev.Ticked(), 100.0)
    while True:
        left.append(sum(isinstance(change, ch.AddHistory) for change in step.changes))
        if not queue.goes_on:
            break
        step = queue.step(ev.WentOn(), 100.0)
    assert sum(left) == count and max(left) <= policy_round.JOBS_A_STEP and not queue.book.clusters
