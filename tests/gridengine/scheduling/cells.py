"""Small cells, jobs and snapshots for tests of the scheduling run."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from roost.gridengine.cell import Cell, read_cell
from roost.gridengine.instances import resolve
from roost.gridengine.objects.pairs import Pair
from roost.gridengine.scheduling import (
    CellSnapshot,
    Grant,
    HostReport,
    PendingJob,
    Request,
    RunningTask,
    SchedulingPlan,
    run,
)
from roost.gridengine.scheduling.reasons import Reason
from tests.gridengine import dumps
from tests.gridengine.sample import edited

NOW = 1_800_000_000.0
LOCAL = datetime.datetime(2027, 1, 15, 12, 0)  # a Friday


def cell(
    edits: str = "", complexes: str = "", queues: Iterable[str] = (), files: Mapping[str, str] | None = None
) -> Cell:
    """The plain cell of three hosts after edits, with more complexes, further queues like all.q, and other files."""
    found = dumps.files("plain")
    lines = found["centry"].splitlines()
    lines[-1:-1] = [line.strip() for line in complexes.strip().splitlines()]
    found["centry"] = "\n".join(lines) + "\n"
    for queue in queues:
        found[f"cqueues/{queue}"] = found["cqueues/all.q"].replace("all.q", queue)
    return read_cell(edited(found | dict(files or {}), edits))


def environment(name: str, rule: str = "$pe_slots", **values: str) -> str:
    """The text of a parallel environment: that of `make` with other values."""
    given = {"pe_name": name, "allocation_rule": rule, "slots": "999", **values}
    lines = dumps.files("plain")["pe/make"].splitlines()
    return "".join(f"{key} {given.get(key, text)}\n" for key, _, text in (line.partition(" ") for line in lines))


def request(*hard: str, user: str = "alice", **more: Any) -> Request:
    return Request(user=user, hard=pairs(*hard), **more)


def pairs(*texts: str) -> tuple[Pair, ...]:
    return tuple(Pair(*text.split("=", 1)) for text in texts)


def job(number: int, *hard: str, user: str = "alice", **more: Any) -> PendingJob:
    """A job that was submitted `number` seconds ago less than the first."""
    own = {name: more.pop(name) for name in tuple(more) if name in PendingJob.__dataclass_fields__}
    return PendingJob(number=number, submitted=NOW - 1000 + number, request=request(*hard, user=user, **more), **own)


def running(
    number: int, instance: str, *hard: str, age: float = 100.0, user: str = "alice", task: int = 0
) -> RunningTask:
    return RunningTask(
        job=number,
        task=task,
        request=request(*hard, user=user),
        grants=(Grant(instance, 1),),
        submitted=NOW - age,
        started=NOW - age,
    )


def snapshot(
    cell: Cell, *jobs: PendingJob, loads: Mapping[str, Mapping[str, str]] | None = None, **more: Any
) -> CellSnapshot:
    """Hosts report two processors and no load, unless told otherwise."""
    plain = {"np_load_avg": "0", "num_proc": "2", "arch": "lx-amd64"}
    reports = {
        host: HostReport(time=NOW, values=plain | dict((loads or {}).get(host, {})))
        for host in cell.hosts
        if host != "global"
    }
    return CellSnapshot(
        cell=cell, instances=resolve(cell), reports=reports, now=NOW, local_time=LOCAL, pending=jobs, **more
    )


def plan(cell: Cell, *jobs: PendingJob, **more: Any) -> SchedulingPlan:
    return run(snapshot(cell, *jobs, **more))


def places(found: SchedulingPlan) -> dict[int, list[str]]:
    """Instances by job, in the order of the dispatches."""
    result: dict[int, list[str]] = {}
    for one in found.dispatches:
        result.setdefault(one.job, []).extend(grant.instance for grant in one.grants)
    return result


def texts(reasons: Iterable[Reason]) -> tuple[str, ...]:
    """Reasons that do not depend on requests, in words."""
    return tuple(one.sentence() for one in reasons)


def told(found: SchedulingPlan, job: int) -> tuple[str, ...]:
    """Why a job waits, in words, without what is true for all jobs."""
    return found.scheduling_info(job)[len(found.dropped) :]
