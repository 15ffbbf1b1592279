"""Jobs that go with another one that is removed (OtherJobRemoveRequirements), be they many."""

from __future__ import annotations

import pytest

from roost.schedd import commands
from roost.schedd import events as ev
from roost.schedd.identifiers import JobId
from roost.schedd.status import JobStatus
from tests.schedd.queue_world import World, source

WANTED = "DAGManJobId =?= 1"


def _world(nodes: int) -> tuple[World, JobId]:
    """A workflow's own job, its nodes in clusters of ten, and jobs that are not its."""
    world = World()
    first = JobId(world.submit(source(1, OtherJobRemoveRequirements=WANTED)), 0)
    for _ in range(nodes // 10):
        world.submit(source(10, DAGManJobId=first.cluster))
    world.submit(source(3, DAGManJobId=77))
    world.submit(source(3, DAGManJobId=first.cluster), owner="bob")
    return world, first


def _left(world: World) -> list[tuple[str, object]]:
    book = world.queue.book
    return [
        (book.clusters[each.cluster].owner, book.clusters[each.cluster].ad.get("DAGManJobId")) for each in book.ids()
    ]


def test_few_jobs_go_in_the_same_step() -> None:
    world, first = _world(20)
    world.act(ev.Action.REMOVE, first)
    assert not world.queue.goes_on
    assert _left(world) == [("ann", 77)] * 3 + [("bob", 1)] * 3


@pytest.mark.parametrize("dies", [False, True])
def test_many_jobs_go_in_slices_and_a_queue_that_dies_goes_on(dies: bool) -> None:
    world, first = _world(1000)
    world.act(ev.Action.REMOVE, first)
    steps = 0
    while world.queue.goes_on:
        before = len(_left(world))
        if dies and steps == 2:
            world.restart()
            assert world.queue.goes_on
        job = world.queue.book.find(first)
        assert job is not None and job.status is JobStatus.REMOVED, "it leaves after those that go with it"
        world.feed(ev.WentOn())
        assert before - len(_left(world)) <= commands.FOLLOWERS_A_STEP + 1
        steps += 1
    assert steps >= 1000 // commands.FOLLOWERS_A_STEP
    assert _left(world) == [("ann", 77)] * 3 + [("bob", 1)] * 3
    assert world.disk.ends[first] == 1


def test_one_that_runs_leaves_when_its_run_and_those_that_go_with_it_have_ended() -> None:
    world, first = _world(1000)
    world.match()
    for name in world.nodes:
        for _ in range(4):
            world.deliver_order(name)
            world.deliver_word(name)
    job = world.queue.book.find(first)
    assert job is not None and job.run
    world.act(ev.Action.REMOVE, first)
    for name in world.nodes:
        for _ in range(4):
            world.deliver_order(name)
            world.deliver_word(name)
    assert world.queue.goes_on and world.queue.book.find(first) is not None and not job.run
    while world.queue.goes_on:
        world.feed(ev.WentOn())
    assert world.queue.book.find(first) is None
    assert world.disk.ends[first] == 1
