"""Jobs that run by a crontab, in a queue: when they are planned, planned again, and held."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from roost.classad import ClassAd
from roost.model.codes import HoldCode
from roost.schedd import events as ev
from roost.schedd.identifiers import JobId
from roost.schedd.status import JobStatus
from tests.schedd.kit import Driven, source

#: 2023-11-14 22:13:20 UTC.
NOW = 1_700_000_000
NEXT_HOUR = NOW - NOW % 3600 + 3600
DEFERRED = (
    "=((time() + ScheddInterval) >= (DeferralTime - DeferralPrepTime)) && (time() < (DeferralTime + DeferralWindow))"
)


def hourly(count: int = 1, **more: Any) -> Any:
    given = {
        "CronMinute": "0",
        "DeferralWindow": 0,
        "DeferralPrepTime": 300,
        "ScheddInterval": 7,
        "OnExitRemove": False,
    }
    return source(count, **{**given, "OnExitRemove": False, "Requirements": DEFERRED, **more})


def ad(driven: Driven, number: int, proc: int = 0) -> ClassAd:
    return driven.queue.book.clusters[number].ad_of(proc)


def test_a_job_is_planned_as_it_is_submitted_and_the_queue_says_how_often_it_looks() -> None:
    driven = Driven()
    number = driven.submit(hourly(2))
    assert [ad(driven, number, proc)["DeferralTime"] for proc in (0, 1)] == [NEXT_HOUR, NEXT_HOUR]
    assert ad(driven, number)["ScheddInterval"] == 300
    driven.check()


def test_fields_that_set_jobs_apart_plan_each_by_its_own() -> None:
    driven = Driven()
    number = driven.submit(hourly(2, own={"CronMinute": ("0", "30")}))
    times = [ad(driven, number, proc)["DeferralTime"] for proc in (0, 1)]
    assert times == [NEXT_HOUR, NEXT_HOUR - 1800]


def test_the_hours_are_those_of_the_queues_time_zone() -> None:
    driven = Driven()
    driven.queue.claim_table.settings = replace(driven.queue.claim_table.settings, zone=ZoneInfo("Asia/Kolkata"))
    number = driven.submit(hourly())
    assert ad(driven, number)["DeferralTime"] == NEXT_HOUR - 1800


def test_a_job_runs_again_and_again_and_keeps_its_name() -> None:
    driven = Driven()
    number = driven.submit(hourly())
    for count in (1, 2, 3):
        at = ad(driven, number)["DeferralTime"]
        assert at == NEXT_HOUR + (count - 1) * 3600
        driven.now = at - 60.0
        job = driven.start()
        assert driven.queue.book.clusters[number].status(0) is JobStatus.RUNNING
        driven.now = at + 20.0
        driven.end(job)
        assert ad(driven, number)["NumJobCompletions"] == count
        assert driven.queue.book.clusters[number].status(0) is JobStatus.IDLE
    driven.check()


def test_a_job_that_ends_within_its_window_does_not_start_again_for_the_same_time() -> None:
    driven = Driven()
    number = driven.submit(hourly(DeferralWindow=600))
    driven.now = NEXT_HOUR - 60.0
    job = driven.start()
    driven.now = NEXT_HOUR + 5.0
    driven.end(job)
    assert ad(driven, number)["DeferralTime"] == NEXT_HOUR + 3600
    assert job.status is JobStatus.IDLE and not [
        claim for claim in driven.queue.claim_table.claims.values() if claim.run
    ]


@pytest.mark.parametrize("window_s", [0, 90])
def test_a_job_that_no_machine_took_in_time_waits_for_its_next_time(window_s: int) -> None:
    driven = Driven()
    number = driven.submit(hourly(DeferralWindow=window_s))
    driven.now = NEXT_HOUR + window_s - 1.0
    driven.feed(ev.Ticked())
    assert ad(driven, number)["DeferralTime"] == NEXT_HOUR
    driven.now = float(NEXT_HOUR + window_s)
    driven.feed(ev.Ticked())
    assert ad(driven, number)["DeferralTime"] == NEXT_HOUR + 3600
    driven.check()


def test_a_job_that_came_too_late_on_its_machine_waits_for_its_next_time_and_is_not_held() -> None:
    driven = Driven()
    number = driven.submit(hourly())
    driven.now = NEXT_HOUR - 60.0
    job = driven.start()
    driven.now = NEXT_HOUR + 60.0
    driven.end(job, "hold", started=False, code=20, text="missed")
    assert driven.queue.book.clusters[number].status(0) is JobStatus.IDLE
    assert (ad(driven, number)["DeferralTime"], ad(driven, number)["NumVacates"]) == (NEXT_HOUR + 3600, 1)


def test_a_crontab_that_makes_no_sense_holds_the_job_and_one_that_was_mended_runs() -> None:
    driven = Driven()
    number = driven.submit(hourly(2, own={"CronHour": ("*", "25")}))
    cluster = driven.queue.book.clusters[number]
    assert [cluster.status(proc) for proc in (0, 1)] == [JobStatus.IDLE, JobStatus.HELD]
    held = ad(driven, number, 1)
    assert held["HoldReasonCode"] == HoldCode.INVALID_CRON_SETTINGS
    assert held["HoldReason"] == "CronHour = 25: '25' is not in the range 0 to 23; edit the job and release it"
    job = JobId(number, 1)
    driven.act(ev.Action.RELEASE, job)
    assert cluster.status(1) is JobStatus.HELD
    driven.act(ev.Action.EDIT, job, CronHour="23")
    driven.act(ev.Action.RELEASE, job)
    assert (cluster.status(1), ad(driven, number, 1)["DeferralTime"]) == (JobStatus.IDLE, NEXT_HOUR)
    driven.check()


def test_an_edit_plans_a_job_anew_or_makes_it_one_that_runs_by_a_crontab() -> None:
    driven = Driven()
    number, plain = driven.submit(hourly()), driven.submit(source(1))
    driven.act(ev.Action.EDIT, JobId(number, 0), CronMinute="*/10")
    driven.act(ev.Action.EDIT, JobId(plain, 0), CronMinute=30)
    assert ad(driven, number)["DeferralTime"] == NEXT_HOUR - 2400
    assert ad(driven, plain)["DeferralTime"] == NEXT_HOUR - 1800
    driven.act(ev.Action.EDIT, JobId(plain, 0), CronMinute=True)
    assert ad(driven, plain)["HoldReason"].startswith("CronMinute = true is neither a string nor a number")
    driven.check()


def test_a_queue_that_was_away_plans_what_it_missed_anew() -> None:
    driven = Driven()
    number = driven.submit(hourly())
    driven.now = NEXT_HOUR + 7200.0
    driven.restart()
    assert ad(driven, number)["DeferralTime"] == NEXT_HOUR + 3 * 3600
    driven.now += 3600
    driven.feed(ev.Ticked())
    assert ad(driven, number)["DeferralTime"] == NEXT_HOUR + 4 * 3600
    driven.check()


def test_a_job_that_is_submitted_on_hold_is_planned_when_it_is_released() -> None:
    driven = Driven()
    number = driven.submit(hourly(JobStatus=5))
    assert "DeferralTime" not in ad(driven, number)
    driven.now += 3600
    driven.act(ev.Action.RELEASE, JobId(number, 0))
    assert ad(driven, number)["DeferralTime"] == NEXT_HOUR + 3600
