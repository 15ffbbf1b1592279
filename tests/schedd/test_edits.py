"""Edits of waiting jobs: each leaves every job in the place in which a new look at its ad puts it."""

from __future__ import annotations

import random

import pytest

from roost.classad import parse_expression
from roost.schedd import events as ev
from roost.schedd.identifiers import JobId
from roost.schedd.jobs.book import submitter_of
from roost.schedd.jobs.idle import IdleGroup
from tests.schedd.kit import Driven, source

COUNT = 30
#: Attributes and values: some count for matching, some by way of another, some count for nothing.
CHANGES = (
    ("JobPrio", (0, 1, 5)),
    ("RequestMemory", (1, 2, "=Size * 2")),
    ("Size", (3, 4, "=Deeper")),
    ("Deeper", (7, 8)),
    ("Requirements", ("=TARGET.Memory >= MY.RequestMemory", "=Wanted", True)),
    ("Wanted", (True, "=Size > 3")),
    ("AccountingGroup", ("group_a", "group_b")),
    ("Note", ("a", "b")),
)


def _places(driven: Driven) -> dict[JobId, IdleGroup]:
    """Idle job to the group that offers it."""
    book = driven.queue.book
    found: dict[JobId, IdleGroup] = {}
    for groups in book.waiting().values():
        for group in groups:
            cluster = book.clusters[group.cluster]
            idle = [cluster.job(proc) for proc in cluster.procs() if cluster.is_idle(proc)]
            mine = [job for job in idle if (cluster.fresh if job.group is None else job.group) is group]
            assert len(mine) == group.count
            found.update((job.id, group) for job in mine)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_an_edited_job_waits_where_a_new_look_puts_it(seed: int) -> None:
    chance = random.Random(seed)
    driven = Driven()
    number = driven.submit(source(COUNT, Requirements="=Wanted", Wanted=True, Size=3))
    for _ in range(25):
        name, values = chance.choice(CHANGES)
        value = chance.choice(values)
        cell = parse_expression(value[1:]) if isinstance(value, str) and value.startswith("=") else value
        begin = chance.randrange(COUNT)
        jobs = [JobId(number, proc) for proc in range(begin, min(COUNT, begin + chance.choice((1, 5, 30))))]
        driven.act(ev.Action.EDIT, *jobs, **{name: cell})
        if chance.random() < 0.3:
            driven.act(ev.Action.HOLD, *jobs[:2])
            driven.act(ev.Action.RELEASE, *jobs[:2])
        book = driven.queue.book
        places = _places(driven)
        assert len(places) == COUNT
        for job, group in places.items():
            ad = book.clusters[number].ad_of(job.proc)
            assert group.autocluster == book.autoclusters.of(ad)
            assert (group.submitter, group.prio) == (submitter_of(ad), ad.get("JobPrio"))
