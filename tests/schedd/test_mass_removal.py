"""Many waiting jobs are removed together with the same outcome as one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.schedd import changes as ch
from roost.schedd import commands
from roost.schedd import effects as ef
from roost.schedd import events as ev
from roost.schedd import mass_removal as together
from roost.schedd.identifiers import JobId
from roost.schedd.queue import Queue, Step
from roost.wire.ads import ad_data
from tests.schedd.kit import SETTINGS, source

NOW = 1_700_000_000.0
SOURCES = (
    source(40),
    source(30, JobStatus=5),
    source(20, own={"UserLog": ("/a", "/b")}),
    source(20, LeaveJobInQueue="=ProcId == 3"),
    source(25, own={"JobPrio": (0, 1, 2)}, LeaveJobInQueue=False),
    source(20, JobMaterializeLimit=5, JobAdInformationAttrs="Cmd"),
)


def _queue() -> Queue:
    queue = Queue(SETTINGS, NOW)
    for owner, each in zip(("ann", "ann", "ann", "bob", "ann", "ann"), SOURCES, strict=True):
        queue.step(ev.Submitted(clusters=(each,), owner=owner, reply_to=""), NOW)
    return queue


def _acted(action: ev.Action, jobs: list[JobId], user: str = "ann") -> ev.Acted:
    return ev.Acted(action=action, jobs=tuple(jobs), user=user, reply_to="r")


def _history(step: Step) -> Iterator[tuple[JobId, Any]]:
    for change in step.changes:
        if isinstance(change, ch.AddHistory):
            for job, ad in zip(change.jobs, change.ads(), strict=True):
                yield job, ad_data(ad)


def _outcome(queue: Queue, step: Step) -> dict[str, Any]:
    """All that a step led to, without regard to how many jobs a change is about."""
    logs: dict[str, list[str]] = {}
    for change in step.changes:
        if isinstance(change, ch.AppendLog):
            logs.setdefault(change.path, []).extend(change.text.split("...\n"))
    forgotten = [each for each in step.effects if isinstance(each, ef.ForgetFiles)]
    return {
        "history": dict(_history(step)),
        "logs": {path: sorted(texts) for path, texts in logs.items()},
        "gone": {each.cluster: each.gone for each in step.changes if isinstance(each, ch.PutGone)},
        "dropped": {each.cluster for each in step.changes if isinstance(each, ch.DropCluster)},
        "kept": {each.job for each in step.changes if isinstance(each, ch.PutJob)},
        "forgotten": {
            JobId(each.job.cluster, proc)
            for each in forgotten
            for proc in range(each.job.proc, (each.job.proc if each.last is None else each.last) + 1)
        },
        "reply": [each for each in step.effects if isinstance(each, ef.Reply)],
        "audit": sum(each.record.count for each in step.changes if isinstance(each, ch.AddAudit)),
        "statuses": {number: bytes(cluster.statuses) for number, cluster in queue.book.clusters.items()},
        "idle": {
            name: [(group.prio, group.count, group.first()) for group in groups]
            for name, groups in queue.book.waiting().items()
        },
    }


_JOBS = st.lists(
    st.tuples(st.integers(1, 7), st.integers(0, 45), st.integers(1, 45)).map(
        lambda run: [JobId(run[0], proc) for proc in range(run[1], run[1] + run[2])]
    ),
    max_size=5,
).map(lambda runs: list(dict.fromkeys(job for run in runs for job in run)))


@settings(max_examples=40, deadline=None)
@given(touched=_JOBS, removed=_JOBS, user=st.sampled_from(("ann", "bob", "root")))
def test_jobs_removed_together_end_as_if_removed_one_by_one(
    touched: list[JobId], removed: list[JobId], user: str
) -> None:
    outcomes = []
    for fewest in (2, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(together, "FEWEST", fewest)
            patch.setattr(commands, "FEWEST", fewest)
            queue = _queue()
            queue.step(_acted(ev.Action.HOLD, touched[::2]), NOW + 1)
            queue.step(_acted(ev.Action.REMOVE_AT_ONCE, touched[1::3]), NOW + 2)
            outcomes.append(_outcome(queue, queue.step(_acted(ev.Action.REMOVE, removed, user), NOW + 3)))
    assert outcomes[0] == outcomes[1]


def test_the_end_of_a_large_cluster_is_one_change() -> None:
    queue = Queue(SETTINGS, NOW)
    queue.step(ev.Submitted(clusters=(source(9000),), owner="ann", reply_to=""), NOW)
    step = queue.step(_acted(ev.Action.REMOVE, [JobId(1, proc) for proc in range(9000)]), NOW)
    assert [(each.job, each.last) for each in step.changes if isinstance(each, ch.AddHistory)] == [(JobId(1, 0), 8999)]
    assert not [each for each in step.changes if isinstance(each, ch.PutJob | ch.DropJob)]
    assert len(step.changes) <= 4 and not queue.book.clusters
