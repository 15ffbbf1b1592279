"""The logs of a large cluster are told in parts that its jobs were submitted, whatever happens meanwhile."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable

import pytest

from roost.schedd import changes as ch
from roost.schedd import events as ev
from roost.schedd import submissions as told
from roost.schedd.identifiers import JobId
from roost.schedd.queue import Queue
from roost.sim.queue.disk import Disk
from tests.schedd.kit import SETTINGS, Source, source

NOW = 1_700_000_000.0
COUNT = 1000
_HEAD = re.compile(r"^(\d{3}) \((\d+)\.(\d+)\.000\)", re.MULTILINE)


class Logged:
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
        self.queue = self.disk.load(SETTINGS, NOW, self.queue.book.next_cluster)
        self.step(ev.Started(claims=()))

    def finish(self) -> None:
        while self.queue.goes_on:
            self.step(ev.WentOn())

    def of(self, job: JobId) -> list[str]:
        return [number for _, number, each in self.events if each == job]


def _jobs(cluster: int, *procs: int) -> list[JobId]:
    return [JobId(cluster, proc) for proc in procs]


def test_large_clusters_are_told_of_in_turns() -> None:
    logged = Logged()
    first, second = logged.submit(source(COUNT)), logged.submit(source(COUNT, own={"UserLog": ("/a", "/b")}))
    assert logged.queue.goes_on
    assert len(logged.events) == 2 * told.JOBS_A_STEP
    logged.step(ev.WentOn())
    logged.step(ev.WentOn())
    assert {len(logged.of(JobId(cluster, 2 * told.JOBS_A_STEP - 1))) for cluster in (first, second)} == {1}
    logged.finish()
    assert logged.most == told.JOBS_A_STEP
    expected = [("/log", "000", JobId(first, proc)) for proc in range(COUNT)]
    expected += [("/ab"[:1] + "ab"[proc % 2], "000", JobId(second, proc)) for proc in range(COUNT)]
    assert sorted(logged.events) == sorted(expected)
    assert not any(logged.disk.told.values())


@pytest.mark.parametrize("status", [1, 5])
def test_a_job_is_told_of_before_what_happens_to_it_first(status: int) -> None:
    logged = Logged()
    cluster = logged.submit(source(COUNT, JobStatus=status))
    begin = ["000"] if status == 1 else ["000", "012"]
    logged.act(ev.Action.REMOVE, _jobs(cluster, *range(700, 900)))
    logged.act(ev.Action.HOLD if status == 1 else ev.Action.RELEASE, _jobs(cluster, 999, 500))
    logged.finish()
    assert all(logged.of(JobId(cluster, proc)) == [*begin, "009"] for proc in range(700, 900))
    after = "012" if status == 1 else "013"
    assert all(logged.of(JobId(cluster, proc)) == [*begin, after] for proc in (500, 999))
    others = (proc for proc in range(COUNT) if not 700 <= proc < 900 and proc not in (500, 999))
    assert all(logged.of(JobId(cluster, proc)) == begin for proc in others)


def test_a_cluster_that_is_removed_meanwhile_is_told_of_once() -> None:
    logged = Logged()
    cluster = logged.submit(source(COUNT))
    logged.act(ev.Action.REMOVE, _jobs(cluster, *range(COUNT)))
    logged.finish()
    assert all(logged.of(JobId(cluster, proc)) == ["000", "009"] for proc in range(COUNT))
    assert not logged.disk.clusters and not logged.disk.told


@pytest.mark.parametrize("seed", range(3))
def test_a_queue_that_dies_tells_of_each_job_once(seed: int) -> None:
    chance = random.Random(seed)
    logged = Logged()
    clusters = [logged.submit(source(COUNT)), logged.submit(source(COUNT, JobStatus=5))]
    while logged.queue.goes_on:
        if chance.random() < 0.4:
            logged.die()
        if chance.random() < 0.4:
            action = chance.choice((ev.Action.HOLD, ev.Action.RELEASE, ev.Action.REMOVE))
            begin = chance.randrange(COUNT)
            logged.act(action, _jobs(chance.choice(clusters), *range(begin, min(begin + 50, COUNT))))
        logged.step(ev.WentOn())
    for cluster in clusters:
        for proc in range(COUNT):
            numbers = logged.of(JobId(cluster, proc))
            assert numbers.count("000") == 1 and numbers[0] == "000"


def test_no_job_of_a_workflow_is_offered_before_its_log_has_all_jobs_of_the_node() -> None:
    logged = Logged()
    logged.submit(source(COUNT, DAGManNodesLog="/nodes"))
    while logged.queue.goes_on:
        assert not logged.queue.book.waiting()
        if len(logged.events) > COUNT:
            logged.die()
            assert not logged.queue.book.waiting()
        logged.step(ev.WentOn())
    assert logged.most == 2 * told.JOBS_A_STEP
    assert sorted(logged.events)[:COUNT] == [("/log", "000", JobId(1, proc)) for proc in range(COUNT)]
    assert [path for path, _, _ in logged.events].count("/nodes") == COUNT
    ((group,),) = logged.queue.book.waiting().values()
    assert group.count == COUNT
