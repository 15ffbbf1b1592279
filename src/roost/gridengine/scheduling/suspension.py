"""Suspending and resuming of tasks: by suspend thresholds, and slot-wise by tasks of superordinate queues.

Suspend thresholds
    While an instance exceeds one, `nsuspend` of its tasks are suspended each `suspend_interval`, the last started
    first; while it does not, as many are resumed, the first started first. The first suspension happens at once.
    Nothing happens while the instance itself is suspended. If one of the two attributes is 0, or there are no
    thresholds, tasks that an earlier configuration suspended are resumed.

Slot-wise subordination
    With ``subordinate_list slots=4(mid.q:1:sr,low.q:2:sr)`` in a queue, no more than four tasks run on a host in this
    queue and those below it. If there are more, one task after the other of the queues below is suspended: from the
    deepest level first, within it from the queue with the highest sequence number, and of its tasks the shortest (sr)
    or longest (lr) running one. When there is room again, they resume in reverse order. Tasks count, not their slots. A
    task belongs to the instance of its master.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from roost.base.records import dataclass
from roost.gridengine.instances import QueueInstance
from roost.gridengine.scheduling.loads import host_of
from roost.gridengine.scheduling.plan import Dispatch, Suspension
from roost.gridengine.scheduling.snapshot import SLOTWISE, THRESHOLD, CellSnapshot, RunningTask

_SHORTEST = "sr"


@dataclass(slots=True, eq=False)
class _Task:
    job: int
    task: int
    started: float
    #: letters of what suspends it
    suspended: str


class _Below(NamedTuple):
    """A queue below another, on one host."""

    instance: str
    depth: int
    sequence: int
    action: str


def by_threshold(snapshot: CellSnapshot, instance: QueueInstance, exceeded: bool) -> Iterator[Suspension]:
    """The tasks that the suspend thresholds of an instance suspend or resume; the instance itself is not suspended."""
    settings = instance.settings
    interval = settings.suspend_interval.number
    tasks = [task for task in snapshot.running if task.grants[0].instance == instance.name]
    if not settings.suspend_thresholds or not interval or not settings.nsuspend:
        # Tasks that an earlier configuration suspended.
        for task in tasks:
            if THRESHOLD in task.suspended:
                yield Suspension(task.job, task.task, THRESHOLD, False)
        return
    last = snapshot.threshold_times.get(instance.name)
    if last is not None and snapshot.now - last < interval:
        return
    found = [task for task in tasks if (THRESHOLD in task.suspended) != exceeded]
    # Grid Engine counts whole seconds; among tasks that started in the same second any one will do.
    found.sort(key=lambda task: (int(-task.started if exceeded else task.started), task.job, task.task))
    for task in found[: settings.nsuspend]:
        yield Suspension(task.job, task.task, THRESHOLD, exceeded)


class SlotWise:
    """Slot-wise subordination on all hosts."""

    def __init__(self, snapshot: CellSnapshot) -> None:
        self._instances = {one.name: one for one in snapshot.instances}
        self._tops = [one.name for one in snapshot.instances if one.settings.subordinate_list.slots is not None]
        #: whether any queue has a slot-wise list
        self.acts = bool(self._tops)
        #: the queues below an instance, itself first
        self._below = {name: [_Below(name, 0, 0, _SHORTEST), *self._under(name, 1, {name})] for name in self._tops}
        self._above: dict[str, list[str]] = {}
        for top, below in self._below.items():
            for one in below:
                self._above.setdefault(one.instance, []).append(top)
        self._tasks: dict[str, list[_Task]] = {}

    def _under(self, name: str, depth: int, entered: set[str]) -> Iterator[_Below]:
        for one in self._instances[name].settings.subordinate_list.slotwise:
            other = f"{one.queue}@{host_of(name)}"
            if other in self._instances and other not in entered:
                entered.add(other)
                yield _Below(other, depth, one.seq_no, one.action)
                yield from self._under(other, depth + 1, entered)

    def _limit(self, top: str) -> int:
        """Maximum of running tasks in an instance and below it; never more than above it."""
        found = [self._instances[name].settings.subordinate_list.slots for name in self._above[top]]
        return min([slots for slots in found if slots is not None])

    def preempted(self, name: str, tasks: dict[str, int]) -> bool:
        """Whether tasks above an instance alone reach the maximum, so that a task started there could not run (P)."""
        for top in self._above.get(name, ()):
            if top != name:
                higher = {one for one in self._above[name] if one != name}
                if sum([tasks.get(one, 0) for one in higher]) >= self._limit(top):
                    return True
        return False

    def orders(
        self, running: Sequence[RunningTask], dispatches: Iterable[Dispatch], now: float, still: set[str]
    ) -> Iterator[Suspension]:
        """The tasks to suspend and resume once the dispatches have started; tasks in the instances `still` are not
        running."""
        self._tasks = {}
        for task in running:
            if SLOTWISE in task.suspended and task.grants[0].instance not in self._above:
                # Its queue is no longer in any list.
                yield Suspension(task.job, task.task, SLOTWISE, False)
        if not self.acts:
            return
        for task in running:
            letters = task.suspended + ("S" if task.grants[0].instance in still else "")
            self._add(task.grants[0].instance, _Task(task.job, task.task, task.started, letters))
        for each in dispatches:
            self._add(each.grants[0].instance, _Task(each.job, each.task, now, ""))
        tops = sorted(self._tops, key=lambda top: len(self._above[top]), reverse=True)
        for top in tops:
            yield from self._suspend(top)
        for top in reversed(tops):
            yield from self._resume(top)

    def _add(self, instance: str, task: _Task) -> None:
        self._tasks.setdefault(instance, []).append(task)

    def _running(self, top: str) -> int:
        tasks = [task for one in self._below[top] for task in self._tasks.get(one.instance, ())]
        return sum([not task.suspended for task in tasks])

    def _suspend(self, top: str) -> Iterator[Suspension]:
        for one in sorted(self._below[top][1:], key=lambda one: (-one.depth, -one.sequence)):
            tasks = [task for task in self._tasks.get(one.instance, ()) if not task.suspended]
            tasks.sort(key=lambda task: task.started, reverse=one.action == _SHORTEST)
            for task in tasks:
                if self._running(top) <= self._limit(top):
                    return
                task.suspended = SLOTWISE
                yield Suspension(task.job, task.task, SLOTWISE, True)

    def _resume(self, top: str) -> Iterator[Suspension]:
        for one in sorted(self._below[top][1:], key=lambda one: (one.depth, one.sequence)):
            tasks = [task for task in self._tasks.get(one.instance, ()) if task.suspended == SLOTWISE]
            tasks.sort(key=lambda task: task.started, reverse=one.action != _SHORTEST)
            for task in tasks:
                if any(self._running(each) >= self._limit(each) for each in self._above[one.instance]):
                    break
                task.suspended = ""
                yield Suspension(task.job, task.task, SLOTWISE, False)
