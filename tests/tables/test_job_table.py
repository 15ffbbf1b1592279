"""The table of jobs: every trigger in every status, with and without a run, and nothing else changes a status."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from website.manual.job_states import blocks

import roost.schedd
from roost.classad import ClassAd
from roost.schedd.jobs.book import Book, Cluster, Job
from roost.schedd.jobs.job_transitions import TRANSITIONS, On
from roost.schedd.placing import place_some
from roost.schedd.status import ON_MACHINE, JobStatus
from roost.schedd.work import Work
from tests.schedd.kit import source

NOW: Final = 5000.0
#: Status and trigger to the status after it: where no run is on a machine, and where one is. What is not there is an
#: internal error.
GRID: Final = """
IDLE                 STARTED          RUNNING              RUNNING
IDLE                 AGAIN            IDLE                 -
IDLE                 COMPLETED        COMPLETED            -
IDLE                 HOLD_COMMAND     HELD                 HELD
IDLE                 HOLD_POLICY      HELD                 HELD
IDLE                 HOLD_QUEUE       HELD                 -
IDLE                 REMOVE_COMMAND   REMOVED              REMOVED
IDLE                 REMOVE_POLICY    REMOVED              REMOVED
RUNNING              SUSPENDED        -                    SUSPENDED
RUNNING              OUTPUT_BEGAN     -                    TRANSFERRING_OUTPUT
RUNNING              NOT_BEGUN        IDLE                 -
RUNNING              EVICTED          IDLE                 -
RUNNING              RUN_UNKNOWN      IDLE                 -
RUNNING              AGAIN            IDLE                 -
RUNNING              COMPLETED        COMPLETED            -
RUNNING              HOLD_COMMAND     HELD                 HELD
RUNNING              HOLD_POLICY      HELD                 HELD
RUNNING              HOLD_MACHINE     HELD                 -
RUNNING              REMOVE_COMMAND   REMOVED              REMOVED
RUNNING              REMOVE_POLICY    REMOVED              REMOVED
TRANSFERRING_OUTPUT  SUSPENDED        -                    SUSPENDED
TRANSFERRING_OUTPUT  OUTPUT_MOVED     -                    RUNNING
TRANSFERRING_OUTPUT  NOT_BEGUN        IDLE                 -
TRANSFERRING_OUTPUT  EVICTED          IDLE                 -
TRANSFERRING_OUTPUT  RUN_UNKNOWN      IDLE                 -
TRANSFERRING_OUTPUT  AGAIN            IDLE                 -
TRANSFERRING_OUTPUT  COMPLETED        COMPLETED            -
TRANSFERRING_OUTPUT  HOLD_COMMAND     HELD                 HELD
TRANSFERRING_OUTPUT  HOLD_POLICY      HELD                 HELD
TRANSFERRING_OUTPUT  HOLD_MACHINE     HELD                 -
TRANSFERRING_OUTPUT  REMOVE_COMMAND   REMOVED              REMOVED
TRANSFERRING_OUTPUT  REMOVE_POLICY    REMOVED              REMOVED
SUSPENDED            CONTINUED        -                    RUNNING
SUSPENDED            NOT_BEGUN        IDLE                 -
SUSPENDED            EVICTED          IDLE                 -
SUSPENDED            RUN_UNKNOWN      IDLE                 -
SUSPENDED            AGAIN            IDLE                 -
SUSPENDED            COMPLETED        COMPLETED            -
SUSPENDED            HOLD_COMMAND     HELD                 HELD
SUSPENDED            HOLD_POLICY      HELD                 HELD
SUSPENDED            HOLD_MACHINE     HELD                 -
SUSPENDED            REMOVE_COMMAND   REMOVED              REMOVED
SUSPENDED            REMOVE_POLICY    REMOVED              REMOVED
HELD                 RELEASE_COMMAND  IDLE                 -
HELD                 RELEASE_POLICY   IDLE                 -
HELD                 REMOVE_COMMAND   REMOVED              REMOVED
HELD                 REMOVE_POLICY    REMOVED              REMOVED
HELD                 RUN_OVER         -                    HELD
REMOVED              LEFT             GONE                 -
REMOVED              RUN_OVER         -                    REMOVED
COMPLETED            REMOVE_COMMAND   REMOVED              REMOVED
COMPLETED            REMOVE_POLICY    REMOVED              REMOVED
COMPLETED            LEFT             GONE                 -
"""


def parsed() -> Iterator[tuple[tuple[JobStatus, On, bool], JobStatus]]:
    for line in GRID.strip().splitlines():
        source_name, on, free, busy = line.split()
        for target, run in ((free, False), (busy, True)):
            if target != "-":
                yield (JobStatus[source_name], On[on], run), JobStatus[target]


LISTED: Final = dict(parsed())


def job_in(status: JobStatus, run: bool) -> tuple[Work, Job]:
    """A job that has come to a status at the time 1000."""
    book, plan = Book(), source(2)
    cluster = Cluster(1, plan.common, plan, count=2, owner="ann", submitted_at=1000)
    book.clusters[1] = cluster
    job = cluster.job(0)
    cluster.statuses[0] = status
    job.ad.update({"JobStatus": int(status), "EnteredCurrentStatus": 1000})
    book.index(cluster)
    job.run = "1.0#1@q" if run else ""
    place_some(Work(book, NOW))
    return Work(book, NOW), job


def taken(work: Work, job: Job, on: On) -> None:
    if on is On.LEFT:
        work.leave(job)
    else:
        work.move(job, on, taken=on is On.STARTED)


@pytest.mark.parametrize("status", JobStatus)
@pytest.mark.parametrize("run", [False, True], ids=["free", "run"])
def test_every_trigger_does_what_the_grid_says_and_nothing_else(status: JobStatus, run: bool) -> None:
    for on in On:
        work, job = job_in(status, run)
        before, target = ClassAd(dict(job.ad.items())), LISTED.get((status, on, run))
        if target is None:
            with pytest.raises(AssertionError, match=f"job 1.0 is {status.name}, run .*: no transition where"):
                taken(work, job, on)
            assert (job.status, ClassAd(dict(job.ad.items()))) == (status, before)
            work.finish()
            assert (work.changes, work.effects, work.transitions) == ([], [], [])
            continue
        taken(work, job, on)
        assert job.status is target, (status, on, run)
        ((moved, row),) = work.transitions
        assert (moved, row.source, row.target, row.on) == (job.id, status, target, (on,))


@pytest.mark.parametrize("key", LISTED, ids=lambda key: f"{key[0].name}-{key[1].name}-{key[2]}")
def test_a_transition_is_seen_in_the_ad_and_in_the_order_of_idle_jobs(key: tuple[JobStatus, On, bool]) -> None:
    (status, on, run), target = key, LISTED[key]
    work, job = job_in(status, run)
    taken(work, job, on)
    if target is JobStatus.GONE:
        assert [type(each).__name__ for each in work.changes] == ["AddHistory", "DropJob"]
        return
    changed = (int(NOW), int(status)) if target is not status else (1000, None)
    assert (job.ad["EnteredCurrentStatus"], job.ad.get("LastJobStatus")) == changed
    assert job.ad["JobStatus"] == int(target)
    assert job.cluster.is_idle(0) == (target is JobStatus.IDLE)


def test_the_grid_has_every_row_and_every_row_is_in_the_grid() -> None:
    assert {(row.source, on, row.target) for row in TRANSITIONS for on in row.on} == {
        (status, on, target) for (status, on, _), target in LISTED.items()
    }
    assert [row.number for row in TRANSITIONS] == sorted(row.number for row in TRANSITIONS)


def test_a_job_on_a_machine_has_a_run_until_it_leaves_by_a_row() -> None:
    for row in TRANSITIONS:
        if row.target is JobStatus.IDLE and row.source in (*ON_MACHINE, JobStatus.HELD):
            assert [str(guard) for guard in row.when] == ["no run of it is on a machine"]


#: Where statuses are set that are no transitions: what a queue is made from when it starts, records that follow it, and
#: jobs that enter the queue.
OF_RECORDS: Final = {"book.py", "queue.py", "job_queue_log.py", "materialization.py"}


def test_nothing_but_a_turn_changes_the_status_of_a_job() -> None:
    found = set()
    for path in Path(roost.schedd.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for target in node.targets if isinstance(node, ast.Assign) else []:
                place = target.value if isinstance(target, ast.Subscript) else target
                if isinstance(place, ast.Attribute) and place.attr == "statuses":
                    found.add(path.name)
    assert found == {"work.py", *OF_RECORDS}


def test_the_page_has_every_row_and_state() -> None:
    lines = [line for block in blocks()["concepts/job-states.md"].values() for line in block]
    for row in TRANSITIONS:
        number = [line for line in lines if line.startswith(f"| {row.number} |") and str(row.on[0]) in line]
        assert len(number) == 1, row
        assert row.source.name in number[0]
        assert f"| {row.target.name} |" in number[0]
    for status in JobStatus:
        assert any(line.startswith(f"| {int(status)} | {status.name} |") for line in lines)
