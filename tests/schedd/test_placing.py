"""Jobs of large clusters are put into their groups in parts, with the same outcome as at once."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import pytest

from roost.classad import ClassAd, parse_expression
from roost.schedd import events as ev
from roost.schedd import placing
from roost.schedd.identifiers import JobId
from roost.schedd.jobs.idle import IdleGroup
from roost.schedd.queue import Queue
from roost.sim.queue.disk import Disk
from tests.schedd.kit import SETTINGS, Source, source

NOW = 1_700_000_000.0
SOURCES = (
    source(40, own={"JobPrio": (0, 3, 1)}),
    source(30),
    source(30, own={"RequestMemory": (10, 20), "JobPrio": (1, 2, 3)}, JobStatus=5),
    source(25, own={"AccountingGroup": ("a", "b")}),
    source(20, CronMinute="0"),
    source(20, own={"CronHour": ("1", "2", "x")}, IsNoopJob=False),
    source(1, own={"JobPrio": (7,)}),
)


class Twin:
    """A queue, with what it kept, whose steps put so many jobs into groups."""

    def __init__(self, jobs_a_step: int) -> None:
        self.jobs_a_step = jobs_a_step
        self.queue, self.disk = Queue(SETTINGS, NOW), Disk()

    def step(self, event: ev.Event, monkeypatch: pytest.MonkeyPatch, at: float) -> None:
        monkeypatch.setattr(placing, "JOBS_A_STEP", self.jobs_a_step)
        self.disk.keep(self.queue.step(event, at).changes)

    def die(self, monkeypatch: pytest.MonkeyPatch, at: float) -> None:
        self.queue = self.disk.load(SETTINGS, at, self.queue.book.next_cluster)
        self.step(ev.Started(claims=()), monkeypatch, at)

    def offered(self) -> dict[str, list[Any]]:
        """Groups in their order, with the jobs in theirs."""
        book = self.queue.book
        return {
            name: [
                (
                    group.prio,
                    group.cluster,
                    _of(book.autoclusters.sample(group.autocluster)),
                    group.count,
                    _drawn(group),
                )
                for group in groups
            ]
            for name, groups in book.waiting().items()
        }


def _of(ad: Any) -> tuple[object, ...]:
    return tuple(ad.eval(name) for name in ("RequestMemory", "AccountingGroup"))


def _drawn(group: IdleGroup) -> list[int]:
    """Its jobs in their order; it has none afterwards."""
    count = group.count
    return [proc for _ in range(count) if (proc := group.take()) is not None]


@pytest.mark.parametrize("seed", range(12))
def test_parts_come_to_the_same_as_the_whole(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance, at = random.Random(seed), NOW
    twins = Twin(3), Twin(10**9)
    submitted = 0
    for _ in range(40):
        at += chance.choice((0, 1, 1800))
        draw = chance.random()
        event: ev.Event
        if submitted < len(SOURCES) and draw < 0.4:
            event, submitted = _submitted(SOURCES[submitted]), submitted + 1
        elif submitted and draw < 0.8:
            cluster = chance.randrange(submitted) + 1
            begin = chance.randrange(40)
            actions = [ev.Action.HOLD, ev.Action.RELEASE, ev.Action.EDIT] * 2
            action = chance.choice([*actions, ev.Action.REMOVE])
            event = ev.Acted(
                action=action,
                jobs=tuple(JobId(cluster, proc) for proc in range(begin, begin + chance.randrange(12))),
                user="ann",
                reply_to="",
                attributes=ClassAd({"JobPrio": chance.randrange(5)}) if action is ev.Action.EDIT else ClassAd(),
            )
        elif draw < 0.9:
            event = ev.SignificantChanged(attributes=(chance.choice(("Foo", "Bar", "JobPrio")),), policy="")
        else:
            for twin in twins:
                twin.die(monkeypatch, at)
            continue
        for twin in twins:
            twin.step(event, monkeypatch, at)
        if chance.random() < 0.5:
            twins[0].step(ev.WentOn(), monkeypatch, at)
    for twin in twins:
        while twin.queue.goes_on:
            twin.step(ev.WentOn(), monkeypatch, at)
    assert not twins[0].queue.book.unplaced
    assert twins[0].offered() == twins[1].offered()
    assert twins[0].queue.counts() == twins[1].queue.counts()


def _submitted(each: Source) -> ev.Submitted:
    return ev.Submitted(clusters=(each,), owner="ann", reply_to="")


def test_no_job_is_offered_before_all_of_its_cluster_were_looked_at() -> None:
    queue = Queue(SETTINGS, NOW)
    queue.step(_submitted(source(3 * placing.JOBS_A_STEP, own={"JobPrio": tuple(range(30))})), NOW)
    queue.step(_submitted(source(5, own={"JobPrio": (1, 2)})), NOW)
    assert {group.cluster for groups in queue.book.waiting().values() for group in groups} == {2}
    while queue.goes_on:
        queue.step(ev.WentOn(), NOW)
    (groups,) = queue.book.waiting().values()
    assert [group.prio for group in groups][:2] == [29, 28]


#: A job with Requirements of its own costs more than any other.
KINDS = tuple(parse_expression(f'TARGET.Name != "{"x" * 1000}{number}"') for number in range(4000))


@pytest.mark.parametrize(
    "own",
    [{"JobPrio": (0, 1)}, {"CronMinute": ("0",)}, {"DAGManNodesLog": ("/nodes",)}, {"Requirements": KINDS}],
    ids=["priorities", "crontabs", "logs", "kinds"],
)
def test_no_step_for_a_large_cluster_takes_long(own: dict[str, tuple[Any, ...]]) -> None:
    """At once it were 0.4 s and more. What a step costs is counted in calls of functions, which no load changes."""
    queue, costs = Queue(SETTINGS, NOW), []
    event: ev.Event = _submitted(source(len(KINDS) if "Requirements" in own else 20_000, own=own))
    while True:
        costs.append(_calls(partial(queue.step, event, NOW)))
        if not queue.goes_on:
            break
        event = ev.WentOn()
    assert len(costs) > 4 and max(costs) < sum(costs) / 4, costs


def _calls(work: Callable[[], object]) -> int:
    """How many functions are called, those of C included."""
    count, before = 0, sys.getprofile()

    def note(frame: FrameType, what: str, function: object) -> None:
        nonlocal count
        count += what in ("call", "c_call")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
