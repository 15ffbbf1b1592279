"""States of instances: which accept no jobs, why, and which suspend others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from roost.base.records import dataclass, field, replace
from roost.gridengine.instances import QueueInstance
from roost.gridengine.letters import CLOSED, DISABLED, SUSPENDED, of_instance
from roost.gridengine.objects.calendar import State
from roost.gridengine.objects.complex import Complex, value_number
from roost.gridengine.objects.host import GLOBAL
from roost.gridengine.objects.pairs import Pair
from roost.gridengine.scheduling.ledger import SLOTS, BookedObject, Ledger, Value
from roost.gridengine.scheduling.loads import UNADJUSTED, Loads
from roost.gridengine.scheduling.plan import Dispatch, Suspension
from roost.gridengine.scheduling.reasons import Reason, ReasonCode, amount
from roost.gridengine.scheduling.relation import related
from roost.gridengine.scheduling.snapshot import SLOTWISE, THRESHOLD, CellSnapshot, Grant
from roost.gridengine.scheduling.suspension import SlotWise, by_threshold
from roost.model.cell_requests import Suspender

#: A number that is not used for jobs.
_BEGINNING = 0


class _Threshold(NamedTuple):
    pair: Pair
    #: None if there is no such complex, or the limit is not one of its values
    definition: Complex | None
    limit: Value


#: thresholds that a host exceeds, by id
Overloads = dict[int, str | None]


@dataclass(slots=True, eq=False)
class _State:
    """The state of an instance."""

    instance: QueueInstance
    #: from the pool, the configuration, its calendar, and u
    letters: str
    #: why it is closed for the whole run
    closed: Reason | None
    account: BookedObject
    load: tuple[_Threshold, ...]
    #: whether load thresholds refer to values that the host reports, so that its instances agree
    by_host: bool
    #: the first suspend threshold that it exceeds, in words
    alarm: str | None
    #: positions of instances that it suspends, and the thresholds in slots
    subordinates: tuple[tuple[int, int], ...]
    #: positions of instances that have suspended it
    suspended_by: set[int] = field(default_factory=set)


def _take(own: dict[tuple[int, int], set[str]], found: Iterable[Suspension]) -> None:
    """Update what suspends each task itself."""
    for one in found:
        letters = own.get((one.job, one.task), set())
        if one.begins:
            letters.add(one.cause)
        else:
            letters.discard(one.cause)


class States:
    """The states of all instances during a run."""

    def __init__(self, snapshot: CellSnapshot, loads: Loads, ledger: Ledger) -> None:
        self._loads, self._ledger = loads, ledger
        self._complexes = snapshot.cell.complexes
        self._read: dict[tuple[Pair, ...], tuple[_Threshold, ...]] = {}
        self._slotwise = SlotWise(snapshot)
        #: by instance, slots of current advance reservations that none of their tasks uses
        self._unused: dict[str, int] = {}
        for one in snapshot.reservations:
            for grant in one.grants if one.start <= snapshot.now < one.end else ():
                self.use(grant, -1)
        active = {one.number for one in snapshot.reservations}
        for task in snapshot.running:
            for grant in task.grants if task.reservation in active else ():
                self.use(grant)
        #: tasks that run, by the instance of their master
        self._tasks: dict[str, int] = {}
        for task in snapshot.running:
            if not task.suspended:
                self.start(task.grants[0].instance)
        positions = {instance.name: position for position, instance in enumerate(snapshot.instances)}
        #: by position
        self._states = [self._state(snapshot, one, positions) for one in snapshot.instances]
        for position in range(len(self._states)):
            self.subordinate(position)
        self._break_circles(snapshot)

    def _state(self, snapshot: CellSnapshot, instance: QueueInstance, positions: dict[str, int]) -> _State:
        letters = self._first_letters(snapshot, instance)
        closing = CLOSED & set(letters)
        # Other causes of unavailability take precedence over being disabled.
        code = ReasonCode.NOT_AVAILABLE if closing - DISABLED else ReasonCode.DISABLED
        settings = instance.settings
        load = self._thresholds(settings.load_thresholds)
        alarm = self._first(instance, self._thresholds(settings.suspend_thresholds), adjusted=False)
        closed = Reason(code, (instance.name,)) if closing else None
        if closing and code is ReasonCode.DISABLED and (overload := self._first(instance, load)):
            # Grid Engine drops overloaded instances before disabled ones.
            closed = Reason(ReasonCode.OVERLOADED, (instance.name, overload))
        if closed is None and alarm is not None:
            closed = Reason(ReasonCode.SUSPEND_ALARM, (instance.name, alarm))
        return _State(
            instance=instance,
            alarm=alarm,
            letters=letters,
            closed=closed,
            account=self._ledger.account(instance.name),
            load=load,
            by_host=all(
                one.definition is not None
                and not one.definition.is_consumable
                and self._loads.reported(instance.host, one.pair.name) is not None
                for one in load
            ),
            subordinates=tuple(
                (positions[name], threshold or settings.slots)
                for queue, threshold in settings.subordinate_list.queues
                if (name := f"{queue}@{instance.host}") in positions
            ),
        )

    def _first_letters(self, snapshot: CellSnapshot, instance: QueueInstance) -> str:
        letters = snapshot.states.get(instance.name, "") + instance.states
        calendar = snapshot.cell.calendars.get(instance.settings.calendar)
        state = calendar.state_at(snapshot.local_time) if calendar else State.ON
        letters += {State.ON: "", State.OFF: "D", State.SUSPENDED: "C"}[state]
        return letters + ("u" if "u" not in letters and self._loads.unknown(instance.host) else "")

    def use(self, grant: Grant, sign: int = 1) -> None:
        """Count slots of an advance reservation as used by a task of it."""
        self._unused[grant.instance] = self._unused.get(grant.instance, 0) - sign * grant.slots

    def start(self, instance: str) -> None:
        """Count a task by its master's instance."""
        self._tasks[instance] = self._tasks.get(instance, 0) + 1

    def _preempted(self, state: _State) -> bool:
        return self._slotwise.acts and self._slotwise.preempted(state.instance.name, self._tasks)

    def suspensions(self, snapshot: CellSnapshot, dispatches: Sequence[Dispatch]) -> Iterator[Suspension]:
        """The tasks to suspend and resume."""
        still = self._still
        for state in self._states:
            if state.instance.name not in still:
                yield from by_threshold(snapshot, state.instance, state.alarm is not None)
        yield from self._slotwise.orders(snapshot.running, dispatches, snapshot.now, still)

    @property
    def may_suspend(self) -> bool:
        """Whether a task that starts may suspend others."""
        return self._slotwise.acts or any(state.subordinates for state in self._states)

    @property
    def _still(self) -> set[str]:
        """The instances that are suspended themselves."""
        return {state.instance.name for state in self._states if state.suspended_by or SUSPENDED & set(state.letters)}

    def suspenders(
        self, snapshot: CellSnapshot, dispatches: Sequence[Dispatch] = ()
    ) -> tuple[Mapping[Suspender, str], ...]:
        """The causes that must suspend each running task, after other tasks have resumed, and again after the
        dispatches have started."""
        own = {(task.job, task.task): set(task.suspended) for task in snapshot.running}
        _take(own, self.suspensions(snapshot, []))
        if dispatches:
            settled = [replace(task, suspended="".join(sorted(own[task.job, task.task]))) for task in snapshot.running]
            # Running and dispatched tasks of one job may have the same numbers.
            beginning = [each._replace(job=_BEGINNING) for each in dispatches]
            _take(own, self._slotwise.orders(settled, beginning, snapshot.now, self._still))
        states = {state.instance.name: state for state in self._states}
        return tuple(self._of_task(task.grants, states, own[task.job, task.task]) for task in snapshot.running)

    def _of_task(
        self, grants: Sequence[Grant], states: Mapping[str, _State], letters: set[str]
    ) -> Mapping[Suspender, str]:
        """What suspends a task: any of its instances if that is suspended, and what single tasks are suspended by."""
        found = dict(self._suspending(states.get(grants[0].instance), letters))
        for grant in grants[1:]:
            for cause, text in self._suspending(states.get(grant.instance), set()):
                found.setdefault(cause, text)
        return found

    def _suspending(self, state: _State | None, letters: set[str]) -> Iterator[tuple[Suspender, str]]:
        """What suspends a task of an instance; nothing if the instance no longer exists."""
        if state is None:
            return
        instance = state.instance
        if "s" in state.letters:
            yield Suspender.COMMAND, f"queue instance {instance.name} is suspended"
        if "C" in state.letters:
            yield Suspender.CALENDAR, f"calendar {instance.settings.calendar} suspends {instance.name}"
        if state.suspended_by:
            others = ", ".join(self._states[one].instance.name for one in sorted(state.suspended_by))
            yield Suspender.SUBORDINATION, f"{instance.name} is subordinated to {others}"
        if THRESHOLD in letters:
            now = f": {state.alarm}" if state.alarm else " before, and its jobs go on one after the other"
            yield Suspender.THRESHOLD, f"{instance.name} exceeded a suspend threshold{now}"
        if SLOTWISE in letters:
            yield Suspender.SLOTS, f"{instance.host} runs as many jobs as it may, and {instance.queue} is subordinated"

    def _break_circles(self, snapshot: CellSnapshot) -> None:
        """If instances with jobs suspend each other in a cycle, let the one that had jobs first continue.

        A run does not lead to that, but a change of the configuration can; all of them would otherwise be suspended
        forever.
        """
        above = {at: self._above(at) for at, state in enumerate(self._states) if state.suspended_by}
        circles = {at: {one for one in found if at in above.get(one, ())} for at, found in above.items()}
        if not any(circles.values()):
            return
        first: dict[str, float] = {}
        for task in snapshot.running:
            for grant in task.grants:
                first[grant.instance] = min(task.started, first.get(grant.instance, task.started))
        since = {at: (first.get(self._states[at].instance.name, snapshot.now), at) for at in circles}
        for at, circle in circles.items():
            if circle and since[at] <= min(since[one] for one in circle):
                self._states[at].suspended_by -= circle

    def _above(self, position: int) -> set[int]:
        """The instances that suspend one, directly or through others."""
        found: set[int] = set()
        waiting = [position]
        while waiting:
            more = self._states[waiting.pop()].suspended_by - found
            found |= more
            waiting += more
        return found

    def is_closed(self, position: int) -> bool:
        """Whether an instance accepts no jobs in the whole run, whichever jobs end."""
        return self._states[position].closed is not None

    def subordinate(self, position: int) -> None:
        """Suspend what an instance suspends with the slots it has booked now."""
        state = self._states[position]
        if state.subordinates:
            used = state.account.used_in(SLOTS, self._ledger.now) - self._unused.get(state.instance.name, 0)
            for other, threshold in state.subordinates:
                if used >= threshold and used > 0:
                    self._states[other].suspended_by.add(position)

    def letters(self, position: int) -> str:
        """The letters of an instance as `qstat -f` shows them."""
        state = self._states[position]
        found = state.letters + ("S" if state.suspended_by else "") + ("A" if state.alarm else "")
        found += "P" if self._preempted(state) else ""
        return of_instance(found + ("a" if self._first(state.instance, state.load, adjusted=False) else ""))

    def why_dropped(self, position: int, overloads: Overloads, own: BookedObject | None = None) -> Reason | None:
        """Why an instance accepts no jobs at all now; None if it may. Instances of a host share `overloads`.

        `own`: the part of the instance that belongs to the jobs in question, if they have a separate one.
        """
        state = self._states[position]
        not_available = Reason(ReasonCode.NOT_AVAILABLE, (state.instance.name,))
        if state.suspended_by:
            return not_available
        if state.closed is not None:
            return state.closed
        if self._preempted(state):
            return not_available
        account = state.account if own is None else own
        left = account.left.get(SLOTS)
        if left is not None and left < 1 and account.left_in(SLOTS, self._ledger.now) < 1:
            return Reason(ReasonCode.FULL, (state.instance.name,))
        key = id(state.load)
        overload = overloads[key] if state.by_host and key in overloads else self._first(state.instance, state.load)
        overloads[key] = overload
        return Reason(ReasonCode.OVERLOADED, (state.instance.name, overload)) if overload else None

    def _first(self, instance: QueueInstance, thresholds: tuple[_Threshold, ...], adjusted: bool = True) -> str | None:
        """The first threshold that an instance exceeds; None if there is none."""
        for threshold in thresholds:
            found = self._exceeded(instance, threshold, adjusted)
            if found:
                return found
        return None

    def alarms(self, instance: QueueInstance) -> Iterator[tuple[str, str]]:
        """All thresholds of an instance that exceeds one, as printed by `qstat -explain`, each after its letter."""
        settings = instance.settings
        for letter, kind, pairs, adjusted in (
            ("a", "load", settings.load_thresholds, True),
            ("A", "suspend", settings.suspend_thresholds, False),
        ):
            thresholds = self._thresholds(pairs)
            if self._first(instance, thresholds, adjusted) is None:
                continue
            for (name, text), definition, _ in thresholds:
                found = None if definition is None else self._measured(instance, definition, adjusted)
                if definition is None or found is None:
                    unknown = f'no value for "{name}" because execd is in unknown state'
                    known = f"no complex attribute for threshold {name}"
                    yield letter, f"error: {unknown if self._loads.unknown(instance.host) else known}"
                    continue
                value, place = found
                source = "h" if place == instance.host else "g" if place == GLOBAL else "q"
                source += "c" if definition.is_consumable else "f" if place == instance.name else "l"
                yield letter, f"alarm {source}:{name}={amount(definition, value)} {kind}-threshold={text}"

    def _thresholds(self, pairs: tuple[Pair, ...]) -> tuple[_Threshold, ...]:
        found = self._read.get(pairs)
        if found is None:
            found = self._read[pairs] = tuple(self._threshold(pair) for pair in pairs)
        return found

    def _threshold(self, pair: Pair) -> _Threshold:
        definition = self._complexes.get(pair.name)
        limit = value_number(definition.type, pair.text) if definition else None
        if definition is None or (limit is None and not definition.type.is_text):
            return _Threshold(pair, None, pair.text)
        return _Threshold(pair, definition, pair.text if limit is None else limit)

    def _exceeded(self, instance: QueueInstance, threshold: _Threshold, adjusted: bool) -> str | None:
        (name, text), definition, limit = threshold
        if definition is None:
            return f'no such complex attribute for threshold "{name}"'
        found = self._measured(instance, definition, adjusted)
        if found is None:
            return f'no value for complex attribute "{name}"'
        value, host = found
        alarm = related(definition, value, limit) if isinstance(limit, float) else not related(definition, limit, value)
        if not alarm:
            return None
        derivation = self._loads.derivation(host, name) if adjusted else UNADJUSTED
        return f"{name}={amount(definition, value)} ({derivation}) {definition.relation} {text}"

    def _measured(self, instance: QueueInstance, definition: Complex, adjusted: bool) -> tuple[Value, str] | None:
        """The value for a threshold, and where it was found: the host, the cell, or the instance."""
        if not definition.is_consumable:
            read = self._loads.value if adjusted else self._loads.reported
            for place in (instance.host, GLOBAL):
                load = read(place, definition.name)
                if load is not None:
                    return load, place
        places = (instance.host, GLOBAL, instance.name)
        if definition.is_consumable:
            left = [(self._ledger.available(place, definition.name), place) for place in places]
            return next(((value, place) for value, place in left if value is not None), None)
        configured = next((each for place in places if (each := self._ledger.fixed(place, definition.name))), None)
        return configured and (configured[0], instance.name)
