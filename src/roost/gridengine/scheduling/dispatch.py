"""The run itself: jobs by priority, each to the best instance that accepts it.

Instances are kept in one order for all jobs; a dispatch moves the instances of its host. An instance that refuses a job
refuses all of its kind for the rest of the run, because a run only consumes resources: refusals are cached, and a kind
that no instance accepts costs nothing more. If load adjustments could improve a host during the run, variable values
are checked again.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Generator, Iterator
from typing import Final

from roost.base import records
from roost.gridengine.objects.host import GLOBAL
from roost.gridengine.objects.parallel import ParallelEnvironment
from roost.gridengine.objects.scheduler import formula_terms
from roost.gridengine.scheduling.allocation import Allocation, Allocator, least
from roost.gridengine.scheduling.booked import inside, window_of
from roost.gridengine.scheduling.durations import Durations, closures
from roost.gridengine.scheduling.ledger import ALWAYS, SLOTS, BookedObject, Ledger, Window, exclusive_names, needs_of
from roost.gridengine.scheduling.loads import NO_LOAD, Loads, host_of, rises
from roost.gridengine.scheduling.matching import JobCategory, Matcher
from roost.gridengine.scheduling.patterns import environments
from roost.gridengine.scheduling.plan import Dispatch, Reservation, SchedulingPlan, Waiting
from roost.gridengine.scheduling.priority import priorities, turn
from roost.gridengine.scheduling.quotas import Quotas
from roost.gridengine.scheduling.reasons import Reason, ReasonCode
from roost.gridengine.scheduling.snapshot import Booked, CellSnapshot, Grant, PendingJob, Request
from roost.gridengine.scheduling.states import Overloads, States

#: what instances are ordered by, and their position among all of them
_Key = tuple[float, float, int]
_BY_SEQUENCE: Final = "seqno"


class InstanceOrder:
    """The instances that may accept jobs, best first."""

    def __init__(self, snapshot: CellSnapshot, loads: Loads, ledger: Ledger) -> None:
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

    def since(self, kind: JobCategory) -> Iterator[int]:
        """The instances that may accept a kind, best first; all earlier ones refused it, and can only move back."""
        found, refused, without_stock = self._sorted, kind.refused, kind.stock.refused
        for index in range(bisect_left(found, kind.start) if self._moves_back else 0, len(found)):
            position = found[index][2]
            if position not in without_stock and position not in refused:
                yield position

    def all(self) -> list[int]:
        """The instances that may accept jobs, best first."""
        return [key[2] for key in self._sorted]

    def everything(self) -> list[int]:
        """All instances, best first."""
        loads = {host: self._load(host) for host in dict.fromkeys(self._hosts)}
        keys = [self._key(position, loads[host]) for position, host in enumerate(self._hosts)]
        return [key[2] for key in sorted(keys)]

    def _key(self, position: int, load: float) -> _Key:
        sequence = self._sequence[position]
        return (sequence, load, position) if self._by_sequence else (load, sequence, position)

    def found(self, kind: JobCategory, position: int) -> None:
        """Record the first instance that accepts a kind."""
        kind.start = self._keys[position]

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
        """Insert instances of one host, new or moved, at their current places."""
        load = self._load(self._hosts[positions[0]])
        for position in positions:
            key = self._key(position, load)
            if self._keys.get(position) != key:
                self.remove(position)
                insort(self._sorted, key)
                self._keys[position] = key

    def remove(self, position: int) -> None:
        """Remove an instance."""
        key = self._keys.pop(position, None)
        if key is not None:
            del self._sorted[bisect_left(self._sorted, key)]


class Dispatcher:
    """One run, or the part of it for the jobs of an advance reservation.

    That part has its own ledgers and shares the rest with the run, `outer`.
    """

    def __init__(
        self,
        snapshot: CellSnapshot,
        outer: Dispatcher | None = None,
        within: tuple[Grant, ...] = (),
        *,
        timed: bool = False,
    ) -> None:
        self._snapshot, self._instances, self._outer = snapshot, snapshot.instances, outer
        self._names = [instance.name for instance in snapshot.instances]
        scheduler = snapshot.cell.scheduler
        self._loads: Loads = Loads(snapshot) if outer is None else outer._loads
        reserves = outer is None and (
            timed
            or bool(snapshot.reservations)
            or (scheduler.max_reservation > 0 and any(job.reserve for job in snapshot.pending))
        )
        self._durations = Durations(scheduler, snapshot.now) if reserves else None
        self._ledger = Ledger(snapshot, self._loads, reserves)
        self._quotas = Quotas(snapshot, self._loads, self._ledger, reserves)
        self._reservations_left = scheduler.max_reservation
        self._reservations: list[Reservation] = []
        #: why a request does not fit in its window; None if reasons are not collected
        self._reasons: list[Reason] | None = None
        self._environments = {
            name: BookedObject({SLOTS: float(one.slots)}, reserves)
            for name, one in snapshot.cell.parallel_environments.items()
        }
        #: by number
        self._booked = {one.number: one for one in snapshot.reservations}
        #: the parts of the run for advance reservations, by number
        self._parts: dict[int, Dispatcher] = {}
        for one in snapshot.reservations:
            self._book_reservation(one)
        for task in snapshot.running:
            if task.reservation in self._booked:
                # It uses what its reservation has booked.
                continue
            complexes = snapshot.cell.complexes
            needs, exclusive = needs_of(task.request, complexes), exclusive_names(task.request, complexes)
            window = self._durations.running(task) if self._durations else ALWAYS
            self._ledger.book(task.grants, needs, exclusive, window)
            self._quotas.book(self._quotas.terms(task.request, task.environment), task.grants, needs, window)
            self._book_environment(task.environment, task.grants, window)
        if reserves:
            self._book_closures()
        self._states: States = States(snapshot, self._loads, self._ledger) if outer is None else outer._states
        self._suspenders = () if outer is not None else self._states.suspenders(snapshot)
        self._matcher = Matcher(snapshot, self._loads, self._ledger, self._quotas)
        self._order = InstanceOrder(snapshot, self._loads, self._ledger)
        #: by request, with the parallel environment that it is tried in
        self._kinds: dict[tuple[Request, str], JobCategory] = {}
        self._masters: dict[tuple[Request, str], JobCategory] = {}
        self._dropped: dict[Reason, None] = {}
        self._dispatches: list[Dispatch] = []
        self._waiting: dict[int, Waiting] = {}
        #: whether no instance accepts jobs any longer, so that later jobs get no reasons
        self._is_over = False
        if outer is not None:
            self._dropped, self._dispatches, self._waiting = outer._dropped, outer._dispatches, outer._waiting
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
        self._seats = dict(snapshot.seats)
        if outer is not None:
            self._of_user, self._of_job, self._seats = outer._of_user, outer._of_job, outer._seats
        for task in snapshot.running if outer is None else ():
            self._count(task.job, task.request.user)
        self._allocator = Allocator(self._matcher, self._seats)
        #: For later times, when machines' slots that are in use now are free.
        self._later = Allocator(self._matcher, _capacities(snapshot))
        self._on_host: dict[str, list[int]] = {}
        granted = None if outer is None else {grant.instance for grant in within}
        for position, instance in enumerate(self._instances):
            if granted is None or instance.name in granted:
                self._on_host.setdefault(instance.host, []).append(position)
        for positions in self._on_host.values():
            self._keep_or_drop(positions)

    def _book_reservation(self, one: Booked) -> None:
        """Book the grants of an advance reservation; quotas do not count for it."""
        complexes, window = self._snapshot.cell.complexes, window_of(one)
        self._ledger.book(one.grants, needs_of(one.request, complexes), exclusive_names(one.request, complexes), window)
        self._book_environment(one.environment, one.grants, window)

    def _book_environment(self, name: str, grants: tuple[Grant, ...], window: Window) -> None:
        if name in self._environments:
            slots = float(sum([grant.slots for grant in grants]))
            self._environments[name].book({SLOTS: slots}, window=window)

    def _book_closures(self) -> None:
        """Book all slots of instances for the times in which their calendars close them."""
        calendars = self._snapshot.cell.calendars
        windows = {name: tuple(closures(calendar, self._snapshot)) for name, calendar in calendars.items()}
        for instance in self._instances:
            account = self._ledger.account(instance.name)
            for window in windows.get(instance.settings.calendar, ()):
                account.book({SLOTS: account.capacity.get(SLOTS, 0.0)}, window=window)

    def _count(self, job: int, user: str) -> None:
        self._of_user[user] = self._of_user.get(user, 0) + 1
        self._of_job[job] = self._of_job.get(job, 0) + 1

    def _keep_or_drop(self, positions: list[int]) -> None:
        kept = []
        overloads: Overloads = {}
        for position in positions:
            own = None if self._outer is None else self._ledger.account(self._names[position])
            why = self._states.why_dropped(position, overloads, own)
            if why is None and self._seats.get(self._instances[position].host, 1) < 1:
                why = Reason(ReasonCode.NO_SEAT, (self._names[position],))
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

    def steps(self) -> Generator[None, object, SchedulingPlan]:
        """Decide in steps of one job each."""
        found = priorities(self._snapshot)
        jobs = sorted(self._snapshot.pending, key=lambda job: turn(job, found))
        # Grid Engine ends a run without instances, unless reservations could use some that are full or closed by day.
        self._is_over = self._all_dropped and not self._any_later()
        for job in jobs:
            if job.reservation:
                self._run_reserved(job)
            else:
                self._run_job(job)
                self._is_over |= self._all_dropped
            yield
        over = self._instances and self._all_dropped and not self._any_later()
        dropped = (*self._dropped, *((Reason(ReasonCode.ALL_DROPPED),) if over else ()))
        letters = {name: self._states.letters(position) for position, name in enumerate(self._names)}
        return SchedulingPlan(
            dispatches=tuple(self._dispatches),
            reservations=tuple(self._reservations),
            suspensions=tuple(self._states.suspensions(self._snapshot, self._dispatches)),
            suspenders=self._suspenders,
            suspenders_after=(
                self._states.suspenders(self._snapshot, self._dispatches)
                if self._dispatches and self._states.may_suspend
                else self._suspenders
            ),
            priorities=found,
            dropped=dropped,
            waiting=self._waiting,
            states={name: states for name, states in letters.items() if states},
        )

    @property
    def _all_dropped(self) -> bool:
        return len(self._dropped) == len(self._instances)

    def _any_later(self) -> bool:
        """Whether jobs are considered for reservations only: an instance is full, or closed by its calendar."""
        if not self._snapshot.cell.scheduler.max_reservation:
            return False
        closed = {name for at, name in enumerate(self._names) if "D" in self._states.letters(at)}
        codes = [(one.code, one.values[0]) for one in self._dropped]
        return any(code is ReasonCode.FULL or (code is ReasonCode.DISABLED and name in closed) for code, name in codes)

    def _run_reserved(self, job: PendingJob) -> None:
        """Try a job of an advance reservation with the reservation's resources."""
        booked, now = self._booked.get(job.reservation), self._snapshot.now
        reason = None
        if booked is None or booked.end <= now:
            reason = Reason(ReasonCode.NO_RESERVATION, (job.reservation,))
        elif booked.start > now:
            reason = Reason(ReasonCode.TOO_EARLY)
        elif booked.blocked:
            reason = Reason(ReasonCode.RESERVATION_ERROR, (job.reservation,))
        else:
            part = self._parts.get(booked.number)
            if part is None:
                part = self._parts[booked.number] = Dispatcher(inside(self._snapshot, booked), self, booked.grants)
            part._run_job(job)
        if reason is not None:
            self._waiting[job.number] = Waiting((reason,))

    def _run_job(self, job: PendingJob) -> None:
        reason = self._not_yet(job)
        if reason is not None:
            self._waiting[job.number] = Waiting((reason,))
            return
        kinds = self._kinds_of(job.request)
        for started, task in enumerate(job.tasks):
            reason = self._limit(job, started)
            if reason is None and self._start(kinds, job.number, task):
                continue
            if reason is None and self._durations and job.reserve:
                self._reserve_tasks(job, job.tasks[started:], self._durations)
            self._waiting[job.number] = Waiting(
                self._reasons_of(job.request, kinds) if reason is None else (reason,), job.request.hard
            )
            return

    def _reserve_tasks(self, job: PendingJob, tasks: tuple[int, ...], durations: Durations) -> None:
        """Reserve resources for the next tasks of a job, each as a separate reservation, as many as may run at once."""
        most = min(job.concurrency or len(tasks), self._array_max or len(tasks), self._tasks_max)
        for task in tasks[: max(1, most - self._of_job.get(job.number, 0))]:
            if not self._reservations_left or not self._reserve(job, task, durations):
                return

    def _reserve(self, job: PendingJob, task: int, durations: Durations) -> bool:
        """Reserve resources for a task from the first time at which something ends and the task then fits, if any."""
        positions = [one for one in self._order.everything() if not self._states.is_closed(one)]
        for start in self._ledger.ends():
            window = durations.window(job.request, start)
            found = self._at(job.request, window, positions)
            if found is None:
                continue
            environment = self._book_amounts(found, window)
            self._reservations.append(Reservation(job.number, task, found.grants, environment, *window))
            self._reservations_left -= 1
            return True
        return False

    def _at(self, request: Request, window: Window, positions: list[int]) -> Allocation | None:
        """What a job would get in a later window."""
        matcher = self._matcher
        if not request.environment:
            kind = matcher.kind(request, window=window)
            refusal = matcher.cell_refusal(kind)
            if refusal is not None:
                self._refused(refusal)
                return None
            spots = [matcher.spots[one] for one in positions if one not in kind.refused]
            spot = next((one for one in spots if matcher.fits(kind, one)), None)
            if spot is None and self._reasons is not None:
                self._refused(*matcher.told(kind))
            return None if spot is None else Allocation(kind, (spot,), (Grant(spot.own.name, 1),), 0)
        for environment in environments(request.environment, self._snapshot.cell):
            kind = matcher.kind(request, environment, window)
            master = None
            if request.master_queues:
                queues = records.replace(request, queues=request.master_queues)
                master = matcher.kind(queues, environment, window)
            if matcher.cell_refusal(kind) is None:
                free = int(self._environments[environment.name].left_in(SLOTS, window))
                found = self._later.allocate(kind, master, positions, free)
                if isinstance(found, Allocation):
                    return found
                self._refused(found)
        return None

    def _refused(self, *reasons: Reason) -> None:
        if self._reasons is not None:
            self._reasons += reasons

    def allot(self, request: Request, window: Window, takes: Callable[[int], bool]) -> Allocation | tuple[Reason, ...]:
        """What an advance reservation would get in its window, from the instances that may be used; else the reasons.

        Closed, suspended and overloaded instances count: they may be available by then.
        """
        self._reasons = []
        positions = [one for one in self._order.everything() if takes(one)]
        return self._at(request, window, positions) or tuple(dict.fromkeys(self._reasons))

    def _now(self, request: Request) -> Window:
        """The window of a job that starts now."""
        return self._durations.window(request, self._snapshot.now) if self._durations else ALWAYS

    def _kinds_of(self, request: Request) -> list[JobCategory]:
        """The kind of a job, or for a parallel one, the kinds for each environment that it may get."""
        if not request.environment:
            kind = self._kinds.get((request, ""))
            if kind is None:
                kind = self._kinds[request, ""] = self._matcher.kind(request, window=self._now(request))
            return [kind]
        found = []
        for environment in environments(request.environment, self._snapshot.cell):
            key = request, environment.name
            if key not in self._kinds:
                self._kinds[key] = self._matcher.kind(request, environment, self._now(request))
                if request.master_queues:
                    queues = records.replace(request, queues=request.master_queues)
                    self._masters[key] = self._matcher.kind(queues, environment, self._now(request))
            found.append(self._kinds[key])
        return found

    def _reasons_of(self, request: Request, kinds: list[JobCategory]) -> tuple[Reason, ...]:
        if not kinds:
            return (Reason(ReasonCode.NO_PE, (request.environment,)),)
        if self._is_over and not all(kind.told or kind.nowhere for kind in kinds):
            # It is not considered; the reason is that all queues are dropped.
            return ()
        return self._matcher.told(kinds[0]) + tuple(one for kind in kinds[1:] for one in self._matcher.told(kind))

    def _not_yet(self, job: PendingJob) -> Reason | None:
        if job.error:
            return Reason(ReasonCode.ERROR)
        if job.held:
            return Reason(ReasonCode.HELD)
        if job.depends:
            return Reason(ReasonCode.DEPENDS)
        return Reason(ReasonCode.TOO_EARLY) if job.not_before > self._snapshot.now else None

    def _limit(self, job: PendingJob, started: int) -> Reason | None:
        """Why no further task of a job may start, regardless of free resources."""
        running = self._of_job.get(job.number, 0)
        is_array = job.tasks != (0,)
        limits = [limit for limit in (job.concurrency, self._array_max) if is_array and limit]
        if limits and running >= min(limits):
            return Reason(ReasonCode.TASK_LIMIT)
        if is_array and started >= self._tasks_max:
            return Reason(ReasonCode.PENDING_LIMIT, (self._tasks_max,))
        if self._users_max and self._of_user.get(job.request.user, 0) >= self._users_max:
            return Reason(ReasonCode.USER_LIMIT)
        return None

    def _start(self, kinds: list[JobCategory], job: int, task: int) -> bool:
        best: Allocation | None = None
        for kind in kinds:
            found = self._find(kind)
            if found is not None and (best is None or found.unmet < best.unmet):
                best = found
        if best is None:
            return False
        self._book(best, job, task)
        return True

    def _find(self, kind: JobCategory) -> Allocation | None:
        """The allocation of a kind now; if none, then none for the rest of the run."""
        if self._forgets:
            kind.forget()
        elif kind.exhausted:
            return None
        refusal = self._matcher.cell_refusal(kind)
        if refusal is not None:
            kind.nowhere = True
            kind.reasons.append(refusal)
            if kind.environment is not None:
                kind.reasons.append(Reason(ReasonCode.PE_OFFERS, (kind.environment.name, 0)))
        elif kind.environment is not None:
            found = self._parallel(kind, kind.environment)
            if isinstance(found, Allocation):
                return found
            kind.reasons.append(found)
        else:
            position = self._best(kind)
            if position is not None:
                spot = self._matcher.spots[position]
                return Allocation(kind, (spot,), (Grant(spot.own.name, 1),), 0)
        kind.exhausted = True
        return None

    def _parallel(self, kind: JobCategory, environment: ParallelEnvironment) -> Allocation | Reason:
        account = self._environments[environment.name]
        free = int(account.left_in(SLOTS, kind.window))
        if (fewest := least(kind.request.slots, environment.slots_a_host or 1)) is not None and fewest > free:
            kind.nowhere = True
            total = int(account.capacity[SLOTS])
            if fewest > total:
                kind.reasons.append(Reason(ReasonCode.PE_OFFERS, (environment.name, total)))
            return Reason(ReasonCode.PE_OFFERS, (environment.name, free))
        master = self._masters.get((kind.request, environment.name))
        if master is not None and self._forgets:
            master.forget()
        return self._allocator.allocate(kind, master, self._order.all(), free)

    def _best(self, kind: JobCategory) -> int | None:
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

    def _book_amounts(self, found: Allocation, window: Window) -> str:
        """Book an allocation, and return the name of its parallel environment."""
        kind, grants = found.kind, found.grants
        needs = kind.needs + kind.once
        environment = kind.environment.name if kind.environment else ""
        self._ledger.book(grants, needs, kind.exclusive, window)
        self._quotas.book(kind.terms, grants, needs, window)
        self._book_environment(environment, grants, window)
        return environment

    def _book(self, found: Allocation, job: int, task: int) -> None:
        environment = self._book_amounts(found, found.kind.window)
        self._loads.add(found.grants)
        self._count(job, found.kind.request.user)
        self._dispatches.append(Dispatch(job, task, found.grants, environment))
        self._states.start(found.grants[0].instance)
        for grant in found.grants if self._outer is not None else ():
            self._states.use(grant)
        for spot in found.spots:
            self._states.subordinate(spot.position)
        for instance, slots in found.grants:
            host = host_of(instance)
            if host in self._seats:
                self._seats[host] -= slots
        hosts = tuple(dict.fromkeys([spot.host.name for spot in found.spots]))
        for each in (self,) if self._outer is None else (self._outer, *self._outer._parts.values()):
            each._look_again(hosts)

    def _look_again(self, hosts: tuple[str, ...]) -> None:
        """Update which instances of some hosts accept jobs, and their places in the order."""
        for host in hosts:
            if host in self._on_host:
                self._keep_or_drop(self._on_host[host])


def _capacities(snapshot: CellSnapshot) -> dict[str, int]:
    """Host to the slots that its machine has when none of its tasks runs any more."""
    found = dict(snapshot.seats)
    for task in snapshot.running:
        for instance, slots in task.grants:
            if (host := host_of(instance)) in found:
                found[host] += slots
    return found
