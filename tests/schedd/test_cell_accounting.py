"""Each run of a job in a cell has one record, however it ends and whatever is said twice."""

from __future__ import annotations

from roost.classad import ClassAd
from roost.model.cell_accounting import AccountingRecord
from roost.schedd import changes as ch
from roost.schedd import events as ev
from tests.schedd.kit import Driven, source
from tests.schedd.test_cell_usage import begun, queue_of_a_cell, said


def records(queue: Driven, event: ev.Event) -> list[AccountingRecord]:
    step = queue.feed(event)
    return [each.record for each in step.changes if isinstance(each, ch.AddAccounting)]


def test_a_run_that_ended_has_its_use_and_status_once() -> None:
    queue = queue_of_a_cell()
    job = begun(queue, queue.submit(source(1, CellJobName="x", CellAccount="a")), Category="-l h=a", Groups="g,h")
    used = ClassAd(ru_utime=3.5, ru_stime=0.5, ru_maxrss=7.0)
    more = ClassAd({**said(4.0, 1.5), "CellFailed": 100, "CellResourcesUsed": used, "ImageSize": 3})
    end = ev.RunEnded(
        node="a", claim_id=job.claim_id, run=job.run, at=queue.now + 9, ending="exit", started=True, exit_signal=11,
        attributes=more,
    )  # fmt: skip
    started = int(queue.now)
    (record,) = records(queue, end)
    assert record == AccountingRecord(
        queue="all.q", host="a", group="g", owner="ann", job_name="x", job=job.id.cluster, account="a",
        submitted=record.submitted, started=started, ended=started + 9, failed=100, exit_status=139, wallclock_s=9,
        resources={"ru_utime": 3.5, "ru_stime": 0.5, "ru_maxrss": 7.0}, project="p", department="d", slots=2,
        cpu_s=4.0, mem=1.5, maxvmem=3072.0, category="-l h=a",
    )  # fmt: skip
    assert records(queue, end) == []


def test_a_run_whose_program_was_not_started_has_no_times() -> None:
    queue = queue_of_a_cell()
    job = begun(queue, queue.submit(source(1)))
    queue.job(job.id.cluster).ad["JobCurrentStartExecutingDate"] = None
    end = ev.RunEnded(
        node="a", claim_id=job.claim_id, run=job.run, at=queue.now + 9, ending="hold", started=False,
        attributes=ClassAd(CellFailed=28),
    )  # fmt: skip
    (record,) = records(queue, end)
    assert (record.failed, record.started, record.ended, record.wallclock_s) == (28, 0, 0, 0)


def test_a_run_that_is_rescheduled_and_the_next_one_have_a_record_each() -> None:
    queue = queue_of_a_cell()
    cluster = queue.submit(source(1))
    job = begun(queue, cluster)
    end = ev.RunEnded(
        node="a", claim_id=job.claim_id, run=job.run, at=queue.now + 9, ending="evict", started=True, exit_signal=9,
        attributes=ClassAd({**said(1.0), "CellFailed": 25}),
    )  # fmt: skip
    (first,) = records(queue, end)
    assert (first.failed, first.exit_status, first.cpu_s) == (25, 0, 1.0)
    job = begun(queue, cluster)
    lost = ev.ClaimLost(claim_id=job.claim_id, reason="machine lost")
    (second,) = records(queue, lost)
    assert (second.failed, second.submitted, second.started, second.ended) == (25, 0, 0, 0)
    assert records(queue, lost) == []


def test_a_job_that_is_deleted_at_once_is_accounted_then() -> None:
    queue = queue_of_a_cell()
    job = begun(queue, queue.submit(source(1)))
    claim, run = job.claim_id, job.run
    queue.feed(ev.RunMeasured(claim_id=claim, run=run, at=queue.now, attributes=said(4.0, 1.0)))
    away = ev.Acted(action=ev.Action.REMOVE_AT_ONCE, jobs=(job.id,), user="ann", reply_to="", superuser=True)
    (record,) = records(queue, away)
    assert (record.failed, record.exit_status, record.cpu_s) == (100, 137, 4.0)
    late = ev.RunEnded(node="a", claim_id=claim, run=run, at=queue.now + 9, ending="remove", started=True)
    assert records(queue, late) == []
