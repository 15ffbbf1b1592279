"""Machines and jobs of a pool that is there, as a simulation sees them."""

from __future__ import annotations

from typing import Any

import pytest

from roost.classad import ClassAd
from roost.config import MemoryHost
from roost.lab.compare import compare
from roost.lab.inputs.recorded_pool import WEEK_S, RecordedPool, recorded_jobs, recorded_machines
from roost.lab.machines import LabError
from roost.lab.report.course import INTERVALS, Course
from roost.lab.simulate import Request

#: A Wednesday, 12:00 UTC.
NOW = 1_700_049_600.0
HOUR_S = 3_600
DAY_S = 86_400


def _job(before_s: float, run_s: float = 600, **more: Any) -> ClassAd:
    return ClassAd(
        {
            "ClusterId": 7, "ProcId": 3, "Owner": "ann", "QDate": int(NOW - before_s), "JobUniverse": 5,
            "JobStatus": 4, "CommittedTime": int(run_s), "NumJobStarts": 1, "RemoteHost": "slot1@m", "Project": "x",
            **more,
        }
    )  # fmt: skip


def _slot(name: str, **more: Any) -> dict[str, Any]:
    return {"Machine": name, "DetectedCpus": 4, "DetectedMemory": 8000, "TotalDisk": 123_456_789, **more}


def test_a_job_comes_at_its_hour_and_weekday() -> None:
    jobs, notes = recorded_jobs([_job(HOUR_S), _job(4 * DAY_S), _job(8 * DAY_S)], NOW, 1)
    assert notes == []
    # Wednesday 11:00, and Saturday 12:00; the third was submitted before the week.
    assert [job.eval("SimSubmitTime") for job in jobs] == [2 * DAY_S + 11 * HOUR_S, 5 * DAY_S + 12 * HOUR_S]
    (east, *_), _ = recorded_jobs([_job(HOUR_S)], NOW, 1, zone_offset_s=2 * HOUR_S)
    assert east.eval("SimSubmitTime") == 2 * DAY_S + 13 * HOUR_S
    assert len(recorded_jobs([_job(8 * DAY_S)], NOW, 2)[0]) == 1


def test_a_job_is_what_was_submitted_and_runs_as_long_as_what_counted() -> None:
    ads = [
        _job(HOUR_S, 600, RemoteWallClockTime=5000.0, CommittedSuspensionTime=100, ExitCode=3, SimPlan=1),
        _job(HOUR_S, 0, RemoteWallClockTime=50.0, ShadowBday=int(NOW - 200), JobStatus=2),
    ]
    jobs, _ = recorded_jobs(ads, NOW, 1)
    assert [job.eval("SimRunTime") for job in jobs] == [500.0, 250.0]
    assert jobs[0].eval("Project") == "x"
    assert jobs[0].eval("SimExitCode") == 3
    for name in ("RemoteHost", "JobStatus", "QDate", "NumJobStarts", "SimPlan"):
        assert name not in jobs[0]


def test_what_cannot_be_simulated_is_counted() -> None:
    ads = [
        _job(HOUR_S, 0, NumJobStarts=0),
        _job(HOUR_S, JobUniverse=12),
        _job(HOUR_S, DeferralTime=1_700_000_000),
        _job(HOUR_S, DeferralTime=1_700_000_000),
    ]
    jobs, notes = recorded_jobs(ads, NOW, 1)
    assert jobs == []
    assert notes == [
        "skipped: 1 jobs of the scheduler and local universes",
        "skipped: 1 jobs that never ran",
        "skipped: 2 jobs that wait for an instant (deferral_time, cron_minute, …)",
    ]


def test_machines_that_are_alike_are_one_group() -> None:
    rows = [_slot("b", TotalDisk=123_999_999), _slot("a"), _slot("a"), _slot("c", DetectedCpus=64)]
    groups = recorded_machines(rows, "nobody")
    assert [(group.names, group.count, group.hardware.cpus) for group in groups] == [
        (("a", "b"), 2, 4),
        (("c",), 1, 64),
    ]
    assert {group.owners for group in groups} == {"nobody"}
    with pytest.raises(LabError, match="no machines"):
        recorded_machines([], "nobody")


def test_a_recorded_pool_is_compared_with_its_jobs_and_names() -> None:
    jobs, _ = recorded_jobs([_job(2 * DAY_S, 3600), _job(2 * DAY_S, 3600)], NOW, 1)
    pool = RecordedPool(groups=recorded_machines([_slot("desk")], "nobody"), jobs=tuple(jobs), notes=("a note",))
    host = MemoryHost(files={"old": "NUM_SLOTS = 2\n", "new": "START = false\n"})
    courses: list[Course] = []

    def observed() -> Any:
        courses.append(Course(WEEK_S))
        return courses[-1].take

    found = compare(
        Request(configs=("old",), recorded=pool),
        Request(configs=("old", "new"), recorded=pool),
        [1],
        host,
        observed=(observed, observed),
    )
    completed = next(each for each in found.differences if each.figure.name == "jobs_completed")
    assert (completed.old, completed.new) == (2, 0)
    assert "a note" in found.notes
    assert {place[1] for each in found.partings for place in each.places} <= {"slot1@desk", "slot2@desk"}
    old, new = (course.means() for course in courses)
    # Two jobs of an hour, in a week of intervals of an hour; with the trial both wait to the end.
    assert sum(old["running"]) == pytest.approx(2.0, abs=0.02)
    assert sum(new["running"]) == 0
    # From Monday 12:00 on.
    assert sum(new["waiting"]) == pytest.approx(2 * (INTERVALS - 12), abs=0.1)


def test_a_pool_without_jobs_has_nothing_to_simulate() -> None:
    pool = RecordedPool(groups=recorded_machines([_slot("desk")], "nobody"), jobs=())
    request = Request(configs=("old",), recorded=pool)
    with pytest.raises(LabError, match="nothing to simulate"):
        compare(request, request, [1], MemoryHost(files={"old": ""}))
