"""The run itself: jobs by priority, each to the best instance that takes it.

Instances are kept in one order for all jobs; a dispatch moves the instances of its host. What refuses a job once
refuses all of its kind for the rest of the run, because a run only takes: it is remembered, and a kind that nothing
takes costs nothing more. Where adjustments could make a host better during the run, what is not fixed is looked at
again.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Final

from roost.gridengine.host import GLOBAL
from roost.gridengine.scheduler import formula_terms
from roost.gridengine.scheduling.ledger import Ledger, exclusive_names, needs_of
from roost.gridengine.scheduling.loads import NO_LOAD, Loads, rises
from roost.gridengine.scheduling.matching import Kind, Matcher
from roost.gridengine.scheduling.plan import Dispatch, Plan, Waiting
from roost.gridengine.scheduling.priority import priorities
from roost.gridengine.scheduling.quotas import Quotas
from roost.gridengine.scheduling.reasons import Code, Reason
from roost.gridengine.scheduling.snapshot import Grant, PendingJob, Request, Snapshot
from roost.gridengine.scheduling.states import Overloads, States

#: what instances are ordered by, and their position among all of them
_Key = tuple[float, float, int]
_BY_SEQUENCE: Final = "seqno"


class Order:
    """The instances that may take jobs, best first."""

    def __init__(self, snapshot: Snapshot, loads: Loads, ledger: Ledger) -> None:
        scheduler = snapshot.cell.scheduler
        self._loads, self._ledger = loads, ledger
        self._by_sequence = scheduler.queue_sort_method == _BY_SEQUENCE
        complexes = snapshot.cell.complexes
        self._terms = tuple(
            (name, weight, name in complexes and complexes[name].is_consumable)
            for name, weight in formula_terms(scheduler.load_formula)
        )
        self._hosts = [instance.host for instance in snapshot.instances]
        self._sequence = [float(instance.settings.seq_no) for instance in snapshot.instances]
        #: whether loads can only rise during the run
        self._moves_back = all(
            weight >= 0 and rises(definition) and not definition.is_consumable and loads.adjustments.get(name, 0.0) >= 0
            for name, weight, _ in self._terms
            if name and (definition := snapshot.cell.complexes.get(name)) is not None
        )
        self._keys: dict[int, _Key] = {}
        self._sorted: list[_Key] = []

    def since(self, kind: Kind) -> Iterator[int]:
        """The instances that may take a kind, best first; all that came before refused it, and can only move back."""
        found, refused, without_stock = self._sorted, kind.refused, kind.stock.refused
        for index in range(bisect_left(found, kind.start) if self._moves_back else 0, len(found)):
            position = found[index][2]
            if position not in without_stock and position not in refused:
                yield position

    def found(self, kind: Kind, position: int) -> None:
        """Remember the first instance that takes a kind."""
        kind.start = self._keys[position]

    def __len__(self) -> int:
        return len(self._sorted)

    def _load(self, host: str) -> float:
        total = 0.0
        for name, weight, is_booked in self._terms:
            if not name:
                total += weight
                continue
            value: float | str | None = self._ledger.available(host, name) if is_booked else None
            if value is None:
                value = self._loads.value(host, name)
            if not isinstance(value, float):
                return NO_LOAD
            total += weight * value
        return total

    def place(self, positions: list[int]) -> None:
        """Put instances of one host, new or moved, where they belong now."""
        load = self._load(self._hosts[positions[0]])
        for position in positions:
            sequence = self._sequence[position]
            key = (sequence, load, position) if self._by_sequence else (load, sequence, position)
            if self._keys.get(position) != key:
                self.remove(position)
                insort(self._sorted, key)
                self._keys[position] = key

    def remove(self, position: int) -> None:
        """Take an instance out."""
        key = self._keys.pop(position, None)
        if key is not None:
            del self._sorted[bisect_left(self._sorted, key)]


class Dispatcher:
    """One run."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot, self._instances = snapshot, snapshot.instances
        self._names = [instance.name for instance in snapshot.instances]
        scheduler = snapshot.cell.scheduler
        self._loads = Loads(snapshot)
        self._ledger = Ledger(snapshot, self._loads)
        self._quotas = Quotas(snapshot, self._loads, self._ledger)
        for task in snapshot.running:
            complexes = snapshot.cell.complexes
            needs, exclusive = needs_of(task.request, complexes), exclusive_names(task.request, complexes)
            self._ledger.book(task.grants, needs, exclusive)
            self._quotas.book(self._quotas.terms(task.request), task.grants, needs)
        self._states = States(snapshot, self._loads, self._ledger)
        self._matcher = Matcher(snapshot, self._loads, self._ledger, self._quotas)
        self._order = Order(snapshot, self._loads, self._ledger)
        self._kinds: dict[Request, Kind] = {}
        self._dropped: dict[Reason, None] = {}
        self._dispatches: list[Dispatch] = []
        self._waiting: dict[int, Waiting] = {}
        self._forgets = any(
            value < 0 or snapshot.cell.complexes[name].relation in ("==", "!=")
            for name, value in self._loads.adjustments.items()
            if name in snapshot.cell.complexes
        )
        self._users_max = scheduler.maxujobs
        self._tasks_max = scheduler.max_pending_tasks_per_job
        configuration = snapshot.cell.configurations.get(GLOBAL)
        self._array_max = int((configuration and configuration.get("max_aj_instances")) or 0)
        self._of_user: dict[str, int] = {}
        self._of_job: dict[int, int] = {}
        for task in snapshot.running:
            self._count(task.job, task.request.user)
        self._on_host: dict[str, list[int]] = {}
        for position, instance in enumerate(self._instances):
            self._on_host.setdefault(instance.host, []).append(position)
        for positions in self._on_host.values():
            self._keep_or_drop(positions)

    def _count(self, job: int, user: str) -> None:
        self._of_user[user] = self._of_user.get(user, 0) + 1
        self._of_job[job] = self._of_job.get(job, 0) + 1

    def _keep_or_drop(self, positions: list[int]) -> None:
        kept = []
        overloads: Overloads = {}
        for position in positions:
            why = self._states.why_dropped(position, overloads)
            if why is None:
                kept.append(position)
            else:
                self._dropped[why] = None
                self._order.remove(position)
        if kept and self._matcher.is_full(kept[0]):
            for position in kept:
                self._order.remove(position)
            kept.clear()
        positions[:] = kept
        if kept:
            self._order.place(kept)

    def plan(self) -> Plan:
        """Decide."""
        found = priorities(self._snapshot)
        jobs = sorted(self._snapshot.pending, key=lambda job: (-found[job.number].priority, job.submitted, job.number))
        for job in jobs:
            self._run_job(job)
        dropped = (*self._dropped, *(() if len(self._order) or not self._instances else (Reason(Code.ALL_DROPPED),)))
        letters = {name: self._states.letters(position) for position, name in enumerate(self._names)}
        return Plan(
            dispatches=tuple(self._dispatches),
            priorities=found,
            dropped=dropped,
            waiting=self._waiting,
            states={name: states for name, states in letters.items() if states},
        )

    def _run_job(self, job: PendingJob) -> None:
        reason = self._not_yet(job)
        if reason is not None:
            self._waiting[job.number] = Waiting((reason,))
            return
        kind = self._kinds.get(job.request)
        if kind is None:
            kind = self._kinds[job.request] = self._matcher.kind(job.request)
        for started, task in enumerate(job.tasks):
            reason = self._limit(job, started)
            if reason is None and self._start(kind, job.number, task):
                continue
            self._waiting[job.number] = Waiting(
                self._matcher.told(kind) if reason is None else (reason,), job.request.hard
            )
            return

    def _not_yet(self, job: PendingJob) -> Reason | None:
        if job.error:
            return Reason(Code.ERROR)
        if job.held:
            return Reason(Code.HELD)
        if job.depends:
            return Reason(Code.DEPENDS)
        return Reason(Code.TOO_EARLY) if job.not_before > self._snapshot.now else None

    def _limit(self, job: PendingJob, started: int) -> Reason | None:
        """Why no further task of a job may start, whatever is free."""
        running = self._of_job.get(job.number, 0)
        is_array = job.tasks != (0,)
        limits = [limit for limit in (job.concurrency, self._array_max) if is_array and limit]
        if limits and running >= min(limits):
            return Reason(Code.TASK_LIMIT)
        if is_array and started >= self._tasks_max:
            return Reason(Code.PENDING_LIMIT, (self._tasks_max,))
        if self._users_max and self._of_user.get(job.request.user, 0) >= self._users_max:
            return Reason(Code.USER_LIMIT)
        return None

    def _start(self, kind: Kind, job: int, task: int) -> bool:
        if self._forgets:
            kind.forget()
        elif kind.exhausted:
            return False
        refusal = self._matcher.cell_refusal(kind)
        if refusal is not None:
            kind.reasons.append(refusal)
            kind.exhausted = True
            return False
        position = self._best(kind)
        if position is None:
            kind.exhausted = True
            return False
        self._book(kind, job, task, position)
        return True

    def _best(self, kind: Kind) -> int | None:
        spots, fits = self._matcher.spots, self._matcher.fits
        best, fewest = None, 0
        asks_softly = bool(kind.soft or kind.request.soft_queues)
        for position in self._order.since(kind):
            if not fits(kind, spots[position]):
                continue
            unmet = self._matcher.unmet(kind, spots[position]) if asks_softly else 0
            if not unmet:
                if not asks_softly and not self._forgets:
                    self._order.found(kind, position)
                return position
            if best is None or unmet < fewest:
                best, fewest = position, unmet
        return best

    def _book(self, kind: Kind, job: int, task: int, position: int) -> None:
        name = self._names[position]
        grants = (Grant(name, 1),)
        self._ledger.book(grants, kind.needs, kind.exclusive)
        self._quotas.book(kind.terms, grants, kind.needs)
        self._loads.add(grants)
        self._count(job, kind.request.user)
        self._dispatches.append(Dispatch(job=job, task=task, grants=grants))
        self._states.subordinate(position)
        self._keep_or_drop(self._on_host[self._instances[position].host])
