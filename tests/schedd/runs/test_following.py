"""Jobs that go with another one that is removed (OtherJobRemoveRequirements), be they many."""

from __future__ import annotations

import pytest

from roost.schedd import commands
from roost.schedd import events as ev
from roost.schedd.identifiers import JobId
from roost.schedd.status import JobStatus
from tests.schedd.kit import Driven, source

WANTED = "DAGManJobId =?= 1"


def _submitted(nodes: int) -> tuple[Driven, JobId]:
    """A workflow's own job, its nodes in clusters of ten, and jobs that are not its."""
    driven = Driven()
    first = JobId(driven.submit(source(1, OtherJobRemoveRequirements=WANTED)), 0)
    for _ in range(nodes // 10):
        driven.submit(source(10, DAGManJobId=first.cluster))
    driven.submit(source(3, DAGManJobId=77))
    driven.submit(source(3, DAGManJobId=first.cluster), owner="bob")
    return driven, first


def _left(driven: Driven) -> list[tuple[str, object]]:
    book = driven.queue.book
    return [
        (book.clusters[each.cluster].owner, book.clusters[each.cluster].ad.get("DAGManJobId")) for each in book.ids()
    ]


def test_few_jobs_go_in_the_same_step() -> None:
    driven, first = _submitted(20)
    driven.act(ev.Action.REMOVE, first)
    assert not driven.queue.goes_on
    assert _left(driven) == [("ann", 77)] * 3 + [("bob", 1)] * 3


@pytest.mark.parametrize("dies", [False, True])
def test_many_jobs_go_in_slices_and_a_queue_that_dies_goes_on(dies: bool) -> None:
    driven, first = _submitted(1000)
    driven.act(ev.Action.REMOVE, first)
    steps = 0
    while driven.queue.goes_on:
        before = len(_left(driven))
        if dies and steps == 2:
            driven.restart()
            assert driven.queue.goes_on
        job = driven.queue.book.find(first)
        assert job is not None and job.status is JobStatus.REMOVED, "it leaves after those that go with it"
        driven.feed(ev.WentOn())
        assert before - len(_left(driven)) <= commands.FOLLOWERS_A_STEP + 1
        steps += 1
    assert steps >= 1000 // commands.FOLLOWERS_A_STEP
    assert _left(driven) == [("ann", 77)] * 3 + [("bob", 1)] * 3
    assert driven.past.ends[first] == 1


def test_one_that_runs_leaves_when_its_run_and_those_that_go_with_it_have_ended() -> None:
    driven, first = _submitted(1000)
    job = driven.start()
    assert job.id == first
    driven.act(ev.Action.REMOVE, first)
    driven.end(job, "evict")
    assert driven.queue.goes_on and driven.queue.book.find(first) is not None and not job.run
    while driven.queue.goes_on:
        driven.feed(ev.WentOn())
    assert driven.queue.book.find(first) is None
    assert driven.past.ends[first] == 1
