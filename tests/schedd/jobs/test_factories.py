"""Clusters whose jobs enter the queue a few at a time: max_materialize and max_idle."""

from __future__ import annotations

from dataclasses import replace

import pytest

from roost.schedd import events as ev
from roost.schedd import materialization as making
from roost.schedd.admission.limits import Limits
from roost.schedd.identifiers import JobId
from roost.schedd.jobs.book import Cluster, Job
from roost.schedd.jobs.factories import Factory, FactoryPause
from tests.schedd.kit import SETTINGS, Driven, source


def cluster_of(driven: Driven, number: int) -> Cluster:
    return driven.queue.book.clusters[number]


def statuses(driven: Driven, number: int) -> str:
    """The status of each job, a digit each; 0 for one that is not in the queue."""
    return "".join(str(int(status)) for status in cluster_of(driven, number).statuses)


def end(driven: Driven, job: Job) -> None:
    driven.feed(ev.RunEnded(node="a", claim_id=job.claim_id, run=job.run, at=driven.now, ending="exit",
                           started=True, exit_code=0))  # fmt: skip


def log_of(driven: Driven) -> list[str]:
    """What the users' logs were told, by number of event and job."""
    return [line[:17].rstrip(")") for line in driven.past.log.splitlines() if line[:3].isdigit() and line[4:5] == "("]


def test_max_materialize_limits_the_jobs_in_the_queue_whatever_their_status() -> None:
    driven = Driven()
    number = driven.submit(source(5, JobMaterializeLimit=2))
    assert statuses(driven, number) == "11000"
    assert [str(job) for job in driven.queue.book.ids()] == [f"{number}.0", f"{number}.1"]
    first, second = driven.start(), driven.start()
    # Both run, and none waits.
    assert statuses(driven, number) == "22000" and not driven.queue.book.waiting()
    end(driven, first)
    assert statuses(driven, number)[:3] in ("021", "022")
    driven.act(ev.Action.HOLD, JobId(number, 2))
    end(driven, second)
    driven.check()
    assert cluster_of(driven, number).present == 2
    assert cluster_of(driven, number).ad["JobMaterializeNextProcId"] == 4


def test_max_idle_limits_those_that_wait_or_are_held_and_the_next_follow_those_that_start() -> None:
    driven = Driven()
    number = driven.submit(source(6, JobMaterializeMaxIdle=2))
    assert statuses(driven, number) == "110000"
    driven.start()
    assert statuses(driven, number) == "211000"
    driven.act(ev.Action.HOLD, JobId(number, 1))
    # A held job counts, as in HTCondor.
    assert statuses(driven, number) == "251000"
    driven.act(ev.Action.REMOVE, JobId(number, 1))
    assert statuses(driven, number) == "201100"
    driven.check()


def test_the_log_tells_of_the_cluster_of_each_job_when_it_is_made_and_of_the_end() -> None:
    driven = Driven()
    number = driven.submit(source(2, JobMaterializeLimit=1))
    name = f"{number:03d}"
    assert log_of(driven) == [f"035 ({name}.-01.000", f"000 ({name}.000.000"]
    driven.act(ev.Action.REMOVE, JobId(number, 0))
    driven.act(ev.Action.REMOVE, JobId(number, 1))
    assert log_of(driven)[2:] == [
        f"009 ({name}.000.000", f"000 ({name}.001.000", f"009 ({name}.001.000", f"036 ({name}.-01.000",
    ]  # fmt: skip
    assert "Materialized 2 jobs from 2 items.\tComplete" in driven.past.log
    assert not driven.queue.book.clusters and not driven.disk.clusters and not driven.disk.factories


def test_what_is_held_makes_no_jobs_until_it_is_released_also_after_a_restart() -> None:
    driven = Driven()
    number = driven.submit(source(4, JobMaterializeLimit=1))
    driven.act_on_cluster(ev.Action.HOLD, number)
    assert statuses(driven, number) == "5000" and "Job Materialization Paused" in driven.past.log
    driven.act(ev.Action.REMOVE, JobId(number, 0))
    assert statuses(driven, number) == "0000"
    driven.restart()
    factory = cluster_of(driven, number).factory
    assert factory is not None and (factory.made, factory.pause) == (1, FactoryPause.HELD)
    assert factory.reason == "via roost hold (by user ann)"
    driven.act_on_cluster(ev.Action.RELEASE, number)
    assert statuses(driven, number) == "0100" and "Job Materialization Resumed" in driven.past.log
    driven.check()


@pytest.mark.parametrize("present", [0, 2])
def test_removing_the_cluster_removes_what_is_still_to_be_made(present: int) -> None:
    driven = Driven()
    number = driven.submit(source(40, JobMaterializeLimit=2))
    if not present:
        driven.act_on_cluster(ev.Action.HOLD, number)
        driven.act(ev.Action.REMOVE, JobId(number, 0), JobId(number, 1))
    driven.act_on_cluster(ev.Action.REMOVE, number)
    assert number not in driven.queue.book.clusters and not driven.disk.clusters
    assert "Materialized 2 jobs from 2 items.\tIncomplete" in driven.past.log
    assert len(driven.past.history) == 2
    driven.check()


def test_only_its_owner_holds_a_cluster() -> None:
    driven = Driven()
    number = driven.submit(source(4, JobMaterializeLimit=1))
    driven.act_on_cluster(ev.Action.HOLD, number, user="bob")
    driven.act_on_cluster(ev.Action.REMOVE, number, user="bob")
    assert statuses(driven, number) == "1000"
    factory = cluster_of(driven, number).factory
    assert factory is not None and factory.pause is FactoryPause.NONE


def test_an_edit_of_the_cluster_is_in_the_jobs_to_come_and_changes_its_limits() -> None:
    driven = Driven()
    own = {"Args": ("a", "b", "c", "d")}
    number = driven.submit(source(4, own=own, JobMaterializeLimit=1))
    driven.act_on_cluster(ev.Action.EDIT, number, Args="new", RequestMemory=99, JobMaterializeLimit=3)
    cluster = cluster_of(driven, number)
    assert statuses(driven, number) == "1110"
    for _ in range(2):
        assert [(cluster.ad_of(proc)["Args"], cluster.ad_of(proc)["RequestMemory"]) for proc in range(3)] == [
            ("new", 99)
        ] * 3
        driven.check()
        driven.restart()
        cluster = cluster_of(driven, number)
    # The log has what the job had before.
    assert 'Changing job attribute Args from "a" to "new"' in driven.past.log


def test_the_queues_limits_hold_back_the_jobs_and_not_the_submission() -> None:
    limits = Limits(jobs_per_owner_max=3)
    driven = Driven(replace(SETTINGS, limits=limits))
    number = driven.submit(source(10, JobMaterializeLimit=5))
    assert driven.reply.ok and statuses(driven, number) == "1110000000"
    other = driven.submit(source(1))
    assert not driven.reply.ok and other not in driven.queue.book.clusters
    driven.act(ev.Action.REMOVE, JobId(number, 0))
    assert statuses(driven, number) == "0111000000"
    # Room that another cluster leaves is seen at the next tick.
    bob = driven.submit(source(1), owner="bob")
    assert driven.reply.ok and bob in driven.queue.book.clusters
    driven.check()


def test_a_queue_without_late_materialization_refuses_clusters_and_makes_the_jobs_of_earlier_ones() -> None:
    driven = Driven()
    number = driven.submit(source(4, JobMaterializeLimit=2))
    driven.queue.claim_table.settings = replace(SETTINGS, late_materialization=False)
    for limits in ({"JobMaterializeLimit": 2}, {"JobMaterializeMaxIdle": 1}):
        driven.submit(source(4, **limits))
        assert not driven.reply.ok and driven.reply.remedy == "Submit without max_materialize and max_idle."
        assert driven.reply.text.startswith("Late materialization is not allowed by this SCHEDD")
    plain = driven.submit(source(4))
    assert driven.reply.ok and statuses(driven, plain) == "1111"
    driven.act(ev.Action.REMOVE, JobId(number, 0))
    assert statuses(driven, number) == "0110"
    driven.check()


def test_many_jobs_are_made_in_parts() -> None:
    driven = Driven()
    count = making.JOBS_A_STEP + 50
    number = driven.submit(source(count, JobMaterializeLimit=count))
    assert cluster_of(driven, number).made == making.JOBS_A_STEP and driven.queue.goes_on
    driven.feed(ev.WentOn())
    assert cluster_of(driven, number).made == count and not driven.queue.goes_on
    assert cluster_of(driven, number).ad["JobMaterializePaused"] == 2
    driven.check()


def test_jobs_submitted_on_hold_are_made_on_hold_and_noops_end_as_they_are_made() -> None:
    driven = Driven()
    number = driven.submit(source(3, JobMaterializeMaxIdle=1, JobStatus=5, HoldReasonCode=15))
    assert statuses(driven, number) == "500"
    driven.act_on_cluster(ev.Action.RELEASE, number)
    assert statuses(driven, number) == "100"
    driven.check()
    noops = driven.submit(source(3, JobMaterializeLimit=1, IsNoopJob=True, NoopJobExitCode=0))
    for _ in range(5):
        driven.feed(ev.WentOn())
    assert noops not in driven.queue.book.clusters
    assert len([job for job, _ in driven.past.history if job.cluster == noops]) == 3


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "not enough values"),
        ("3", "not enough values"),
        ("x 0 ", "invalid literal"),
        ("9 0 ", "9 jobs were made"),
        ("1 7 ", "7"),
    ],
)
def test_a_record_of_a_factory_that_makes_no_sense_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Factory.read(text, 5)
