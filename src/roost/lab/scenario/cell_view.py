"""What a simulated pool with a cell shows, as `qstat` would: states of jobs and of queue instances, and reasons.

Jobs are read as the command reads them (`explain.cell_tasks`), and queue instances as the central manager answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from roost.classad import ClassAd, unparse_value
from roost.explain.cell_tasks import SHOWN, Task, grouped, held_back, suspended, tasks_of
from roost.gridengine.pool.cycle import CellRecord
from roost.gridengine.pool.view import InstanceRow, instance_rows
from roost.lab.scenario.values import CellJobExpectation, QueueExpectation
from roost.sim.machine.pool_ads import pool_ad
from roost.sim.queue.queue import NAME
from roost.sim.world import World


class CellView:
    """The view at one instant."""

    def __init__(self, world: World, names: Mapping[str, str], now: float) -> None:
        self._world = world
        #: The queue's name of a job to the scenario's.
        self._names = names
        self._now = now

    def tasks(self) -> dict[str, Task]:
        """All tasks in the queue, under the scenario's names."""
        queue = self._world.queue
        present = {name: ad for name in queue.ids if (ad := queue.ad_of(name)) is not None}
        slots = self._slots()
        found: dict[str, Task] = {}
        clusters = {queue.ids[name].cluster for name in present}
        for name, task in zip(present, tasks_of(_row(ad) for ad in present.values()), strict=True):
            if not task.runs and clusters.intersection(task.after):
                task = held_back(task)
            found[self._names[name]] = suspended(task, slots.get(str(task.ad.get("RemoteHost")), {}))
        return found

    def _slots(self) -> dict[str, Mapping[str, Any]]:
        """Slot names to ads."""
        slots = (slot for machine in self._world.machines if machine.alive for slot in machine.slots)
        return {slot.plan.name: pool_ad(slot, self._now) for slot in slots}

    @property
    def _record(self) -> CellRecord | None:
        """The record of the last run."""
        last = self._world.matcher.last
        return last.trail if last is not None and isinstance(last.trail, CellRecord) else None

    def reasons(self, job: str) -> tuple[str, ...]:
        """Why a job waits, by the queue's name."""
        queue, record = self._world.queue, self._record
        name = queue.ids.get(job)
        cluster = None if name is None else queue.core.book.clusters.get(name.cluster)
        if name is None or record is None or cluster is None or not cluster.is_idle(name.proc):
            return ()
        for group in cluster.groups.values():
            if group.count:
                return tuple(record.reasons((NAME, group.autocluster)))
        return ()

    def failed(self, job: str) -> int | None:
        """The code `failed` of the last run of a job, by the queue's name; None before its end."""
        ad = self._world.queue.any_ad_of(job)
        found = None if ad is None else ad.get("CellFailed")
        return found if isinstance(found, int) else None

    def instances(self) -> tuple[InstanceRow, ...]:
        """All queue instances."""
        world = self._world
        assert world.cell is not None
        return instance_rows(world.cell.active, world.matcher.snapshot(self._now), world.cell.suspensions)

    def lines(self) -> tuple[str, ...]:
        """The jobs in the queue, one line each: running ones, then waiting ones, each by priority."""
        tasks = self.tasks()
        called = {id(task): name for name, task in tasks.items()}
        known = () if self._record is None else self._record.priorities()
        priorities = {job: each.priority for _, job, each, _ in known}
        order = sorted(tasks.values(), key=lambda task: (-priorities.get(task.job, 0.0), *task.order))
        lines = [self._running(called[id(task)], task) for task in order if task.runs]
        for task, numbers in grouped([task for task in order if not task.runs and task.state != "z"]):
            name = called[id(task)].rpartition(".")[0] if task.tasks else called[id(task)]
            lines.append(" ".join(filter(None, (name, task.state, str(task.slots), numbers))))
        return tuple(lines)

    def _running(self, name: str, task: Task) -> str:
        places = ",".join(_granted(task))
        return f"{name} {task.state} {places} {task.slots}"


def _granted(task: Task) -> tuple[str, ...]:
    """The queue instances of a task, with their slots if there are several."""
    several = task.slots > 1
    return tuple(f"{instance}={slots}" if several else instance for instance, slots in task.grants.items())


def _row(ad: ClassAd) -> dict[str, Any]:
    """The row of a job in the queue."""
    found: dict[str, Any] = {}
    for name in SHOWN:
        if name in ad:
            value = ad.eval(name)
            found[name] = unparse_value(value) if isinstance(value, ClassAd) else value
    return found


def job_misses(view: CellView, job: str, name: str, wanted: CellJobExpectation) -> Iterator[tuple[str, str]]:
    """What was expected of a job and what was found; `name` is the queue's name."""
    task = view.tasks().get(job)
    state = "" if task is None else task.state
    if wanted.state is not None and wanted.state != state:
        yield f"job {job}: {wanted.state or 'gone'}", f"job {job}: {state or 'gone'}"
    queues = _granted(task) if task is not None and task.runs else ()
    if wanted.queues is not None and sorted(wanted.queues) != sorted(queues):
        yield (
            f"job {job} in {', '.join(wanted.queues) or 'no queue'}",
            f"job {job} in {', '.join(queues) or 'no queue'}",
        )
    holds = "" if task is None else task.holds
    if wanted.hold is not None and sorted(wanted.hold) != sorted(holds):
        yield f"job {job} held by {wanted.hold or 'nothing'}", f"job {job} held by {holds or 'nothing'}"
    if wanted.failed is not None and wanted.failed != (failed := view.failed(name)):
        yield f"job {job}: failed {wanted.failed}", f"job {job}: failed {'unknown' if failed is None else failed}"
    if wanted.reasons is not None:
        reasons = view.reasons(name)
        if not wanted.reasons and reasons:
            yield f"job {job}: no reasons", f"job {job}: {'; '.join(reasons)}"
        for each in wanted.reasons:
            if not any(each in reason for reason in reasons):
                yield f"job {job}: {each}", f"job {job}: {'; '.join(reasons) or 'no reasons'}"


def queue_misses(rows: tuple[InstanceRow, ...], wanted: QueueExpectation) -> Iterator[tuple[str, str]]:
    """What was expected of a queue instance and what was found."""
    row = next((row for row in rows if row.name == wanted.queue), None)
    if row is None:
        yield f"queue instance {wanted.queue}", "no such queue instance"
        return
    if wanted.state is not None and sorted(wanted.state) != sorted(row.states):
        why = f" ({'; '.join(row.reasons)})" if row.reasons else ""
        yield f"{row.name} in state {wanted.state or 'none'}", f"{row.name} in state {row.states or 'none'}{why}"
    if wanted.used is not None and wanted.used != row.used:
        yield f"{row.name}: {wanted.used} slots in use", f"{row.name}: {row.used} slots in use"
    for each in wanted.reasons or ():
        if not any(each in reason for reason in row.reasons):
            yield f"{row.name}: {each}", f"{row.name}: {'; '.join(row.reasons) or 'no reasons'}"
