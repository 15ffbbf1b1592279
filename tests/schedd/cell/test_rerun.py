"""Jobs of a cell whose machines are lost: who is run again, when, and who is over."""

from __future__ import annotations

import pytest

from roost.classad import ClassAd
from roost.model.codes import VacateCode
from roost.schedd import effects as ef
from roost.schedd import events as ev
from roost.schedd.cell.rerun import FOREVER_S, lease_s, reruns
from roost.schedd.identifiers import JobId
from roost.schedd.status import JobStatus
from tests.schedd.cell.test_accounting import records
from tests.schedd.cell.test_usage import begun, queue_of_a_cell
from tests.schedd.kit import Driven, source


def job_of(**task: object) -> ClassAd:
    given = {name: task.pop(name) for name in ("CellRerun", "CellInteractive") if name in task}
    return ClassAd({"CellJobName": "x", "JobLeaseDuration": 2400, "CellTask": ClassAd(task), **given})


@pytest.mark.parametrize(
    ("ad", "again", "lease"),
    [
        (job_of(), False, FOREVER_S),
        (job_of(Rerun=True), True, FOREVER_S),
        (job_of(Rerun=True, RescheduleAfter=360.0), True, 360),
        (job_of(RescheduleAfter=360.0), False, FOREVER_S),
        (job_of(CellRerun="y", RescheduleAfter=360.0), True, 360),
        (job_of(CellRerun="n", Rerun=True, RescheduleAfter=360.0), False, FOREVER_S),
        (job_of(CellRerun="y", CellInteractive="login", RescheduleAfter=360.0), False, FOREVER_S),
        # A job of another command.
        (ClassAd({"JobLeaseDuration": 1200, "CellTask": ClassAd(Instance="all.q@a")}), True, 1200),
    ],
)
def test_who_is_run_again_and_how_long_machines_may_be_silent(ad: ClassAd, again: bool, lease: int) -> None:
    assert (reruns(ad), lease_s(ad)) == (again, lease)


def test_slave_hosts_may_be_silent_for_ever() -> None:
    assert lease_s(job_of(Rerun=True, RescheduleAfter=360.0), is_part=True) == FOREVER_S


def lost(queue: Driven, cluster: int, code: int = 0) -> ev.ClaimLost:
    return ev.ClaimLost(claim_id=queue.job(cluster).claim_id, reason="the machine has restarted", code=code)


def test_a_machine_that_has_lost_a_job_ends_it_unless_it_may_run_again() -> None:
    queue = queue_of_a_cell()
    once = queue.submit(source(1, CellJobName="once"))
    begun(queue, once)
    (record,) = records(queue, lost(queue, once))
    assert (record.failed, record.started) == (19, 0)
    assert queue.queue.book.clusters.get(once) is None

    again = queue.submit(source(1, CellJobName="again", CellRerun="y"))
    begun(queue, again)
    (record,) = records(queue, lost(queue, again))
    assert (record.failed, queue.job(again).status) == (19, JobStatus.IDLE)


def test_what_an_owner_takes_away_runs_again_unless_the_user_forbade_it() -> None:
    queue = queue_of_a_cell()
    for rerun, waits in (("", True), ("n", False)):
        cluster = queue.submit(source(1, CellJobName="x", **({"CellRerun": rerun} if rerun else {})))
        job = begun(queue, cluster)
        end = ev.RunEnded(
            node="a", claim_id=job.claim_id, run=job.run, at=queue.now + 9, ending="evict", started=True,
            exit_signal=9, code=int(VacateCode.STARTD_PREEMPT_EXPRESSION), text="PREEMPT",
        )  # fmt: skip
        (record,) = records(queue, end)
        assert (record.failed, record.exit_status) == ((25, 0) if waits else (100, 137))
        assert (cluster in queue.queue.book.clusters) is waits
        if waits:
            queue.act(ev.Action.REMOVE, JobId(cluster, 0))


def test_a_job_whose_epilog_failed_is_run_again_whatever_its_user_said() -> None:
    queue = queue_of_a_cell()
    for failed in (15, 14):
        cluster = queue.submit(source(1, CellJobName="x", CellRerun="n"))
        job = begun(queue, cluster)
        told = ClassAd({"CellFailed": failed, "CellErrorReason": "exit_status of epilog = 1"})
        end = ev.RunEnded(
            node="a", claim_id=job.claim_id, run=job.run, at=queue.now + 9, ending="evict", started=True, exit_code=0,
            code=int(VacateCode.STARTER_ERROR), text="The epilog exited with status 1", attributes=told,
        )  # fmt: skip
        (record,) = records(queue, end)
        assert (record.failed, record.exit_status) == (failed, 0)
        assert queue.job(cluster).status is JobStatus.IDLE
        queue.act(ev.Action.REMOVE, JobId(cluster, 0))


def test_a_silent_machine_keeps_its_job_until_the_cell_says_so() -> None:
    for more, code in (({"RescheduleAfter": 360.0, "Rerun": True}, 25), ({}, None)):
        queue = queue_of_a_cell()
        cluster = queue.submit(source(1, CellJobName="x"))
        begun(queue, cluster, **more)
        found = []
        for _ in range(100):
            queue.now += 30
            found += records(queue, ev.Ticked())
        assert [each.failed for each in found] == ([] if code is None else [code])
        assert queue.job(cluster).status is (JobStatus.RUNNING if code is None else JobStatus.IDLE)


def test_a_job_on_a_silent_machine_is_rescheduled_at_once_by_command() -> None:
    queue = queue_of_a_cell()
    cluster = queue.submit(source(1, CellJobName="x"))
    job = begun(queue, cluster)
    claim = job.claim_id
    queue.now += 3_000
    queue.act(ev.Action.VACATE_FAST, JobId(cluster, 0))
    assert queue.job(cluster).status is JobStatus.IDLE
    assert [each.claim_id for each in queue.ordered if isinstance(each, ef.GiveBack)] == [claim]


def test_a_running_job_that_is_held_waits_on_hold_once_it_has_left_its_machine() -> None:
    queue = queue_of_a_cell()
    cluster = queue.submit(source(1, CellJobName="x", CellRerun="y", CellHolds="u", HoldReasonCode=1, JobStatus=5))
    queue.act(ev.Action.RELEASE, JobId(cluster, 0), CellHolds="u")
    begun(queue, cluster)
    queue.act(ev.Action.HOLD, JobId(cluster, 0), CellHolds="u")
    assert queue.job(cluster).status is JobStatus.RUNNING
    queue.feed(lost(queue, cluster))
    assert queue.job(cluster).status is JobStatus.HELD
    queue.act(ev.Action.RELEASE, JobId(cluster, 0), CellHolds="u")
    assert queue.job(cluster).status is JobStatus.IDLE
