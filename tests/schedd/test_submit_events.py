"""The logs of a large cluster are told in parts that its jobs were submitted, whatever happens meanwhile."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable

import pytest

from roost.schedd import changes as ch
from roost.schedd import events as ev
from roost.schedd import submit_events as told
from roost.schedd.identifiers import JobId
from roost.schedd.queue import Queue
from tests.schedd.queue_world import SETTINGS, Disk, Source, source

NOW = 1_700_000_000.0
COUNT = 1000
_HEAD = re.compile(r"^(\d{3}) \((\d+)\.(\d+)\.000\)", re.MULTILINE)


class World:
    """A queue with a disk, which may die between two steps, and all that the logs were told."""

    def __init__(self) -> None:
        self.disk = Disk()
        self.queue = Queue(SETTINGS, NOW)
        self.events: list[tuple[str, str, JobId]] = []
        #: Most first events in one step.
        self.most = 0

    def step(self, event: ev.Event) -> None:
        step = self.queue.step(event, NOW)
        self.disk.keep(step.changes)
        before = len(self.events)
        for change in step.changes:
            if isinstance(change, ch.AppendLog):
                for number, cluster, proc in _HEAD.findall(change.text):
                    self.events.append((change.path, number, JobId(int(cluster), int(proc))))
        self.most = max(self.most, sum(number == "000" for _, number, _ in self.events[before:]))

    def submit(self, each: Source) -> int:
        self.step(ev.Submitted(clusters=(each,), owner="ann", reply_to=""))
        return self.queue.book.next_cluster - 1

    def act(self, action: ev.Action, jobs: Iterable[JobId]) -> None:
        self.step(ev.Acted(action=action, jobs=tuple(jobs), user="ann", reply_to=""))

    def die(self) -> None:
        self.queue = self.disk.load(NOW, self.queue.book.next_cluster)
        self.step(ev.Started(claims=()))

    def finish(self) -> None:
        while self.queue.goes_on:
            self.step(ev.WentOn())

    def of(self, job: JobId) -> list[str]:
        return [number for _, number, each in self.events if each == job]


def _jobs(cluster: int, *procs: int) -> list[JobId]:
    return [JobId(cluster, proc) for proc in procs]


def test_large_clusters_are_told_of_in_turns() -> None:
    world = World()
    first, second = world.submit(source(COUNT)), world.submit(source(COUNT, own={"UserLog": ("/a", "/b")}))
    assert world.queue.goes_on
    assert len(world.events) == 2 * told.JOBS_A_STEP
    world.step(ev.WentOn())
    world.step(ev.WentOn())
    assert {len(world.of(JobId(cluster, 2 * told.JOBS_A_STEP - 1))) for cluster in (first, second)} == {1}
    world.finish()
    assert world.most == told.JOBS_A_STEP
    expected = [("/log", "000", JobId(first, proc)) for proc in range(COUNT)]
    expected += [("/ab"[:1] + "ab"[proc % 2], "000", JobId(second, proc)) for proc in range(COUNT)]
    assert sorted(world.events) == sorted(expected)
    assert not any(world.disk.told.values())


@pytest.mark.parametrize("status", [1, 5])
def test_a_job_is_told_of_before_what_happens_to_it_first(status: int) -> None:
    world = World()
    cluster = world.submit(source(COUNT, JobStatus=status))
    begin = ["000"] if status == 1 else ["000", "012"]
    world.act(ev.Action.REMOVE, _jobs(cluster, *range(700, 900)))
    world.act(ev.Action.HOLD if status == 1 else ev.Action.RELEASE, _jobs(cluster, 999, 500))
    world.finish()
    assert all(world.of(JobId(cluster, proc)) == [*begin, "009"] for proc in range(700, 900))
    after = "012" if status == 1 else "013"
    assert all(world.of(JobId(cluster, proc)) == [*begin, after] for proc in (500, 999))
    others = (proc for proc in range(COUNT) if not 700 <= proc < 900 and proc not in (500, 999))
    assert all(world.of(JobId(cluster, proc)) == begin for proc in others)


def test_a_cluster_that_is_removed_meanwhile_is_told_of_once() -> None:
    world = World()
    cluster = world.submit(source(COUNT))
    world.act(ev.Action.REMOVE, _jobs(cluster, *range(COUNT)))
    world.finish()
    assert all(world.of(JobId(cluster, proc)) == ["000", "009"] for proc in range(COUNT))
    assert not world.disk.clusters and not world.disk.told


@pytest.mark.parametrize("seed", range(3))
def test_a_queue_that_dies_tells_of_each_job_once(seed: int) -> None:
    chance = random.Random(seed)
    world = World()
    clusters = [world.submit(source(COUNT)), world.submit(source(COUNT, JobStatus=5))]
    while world.queue.goes_on:
        if chance.random() < 0.4:
            world.die()
        if chance.random() < 0.4:
            action = chance.choice((ev.Action.HOLD, ev.Action.RELEASE, ev.Action.REMOVE))
            begin = chance.randrange(COUNT)
            world.act(action, _jobs(chance.choice(clusters), *range(begin, min(begin + 50, COUNT))))
        world.step(ev.WentOn())
    for cluster in clusters:
        for proc in range(COUNT):
            numbers = world.of(JobId(cluster, proc))
            assert numbers.count("000") == 1 and numbers[0] == "000"


def test_the_log_of_a_workflow_has_all_jobs_of_a_node_at_once() -> None:
    world = World()
    world.submit(source(COUNT, DAGManNodesLog="/nodes"))
    assert not world.queue.goes_on
    assert sorted(world.events)[:COUNT] == [("/log", "000", JobId(1, proc)) for proc in range(COUNT)]
