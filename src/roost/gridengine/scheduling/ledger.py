"""Capacities and bookings of the whole cell, of hosts and of queue instances.

An object is `global`, a host or an instance, by name, and has a `BookedObject`. Booking does not check limits; the rest
may be below zero if a capacity was lowered while jobs run.

With reservations, an account also records when each booking begins and ends. The rest is then computed for a time
window: the capacity less the most that is booked at any moment of it.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from roost.gridengine.instances import QueueInstance
from roost.gridengine.objects.complex import Complex, Type, value_number
from roost.gridengine.objects.host import GLOBAL
from roost.gridengine.objects.pairs import Pair
from roost.gridengine.objects.queue import QueueSettings
from roost.gridengine.objects.values import Quantity
from roost.gridengine.scheduling.loads import Loads, host_of
from roost.gridengine.scheduling.snapshot import CellSnapshot, Grant, Request

Value = float | str
SLOTS: Final = "slots"
#: attributes of queues that jobs can request as complexes, in addition to limits and `complex_values`
_ATTRIBUTES: Final = (SLOTS, "seq_no", "rerun", "tmpdir", "calendar", "min_cpu_interval")
_LIMITS: Final = tuple(
    f"{hardness}_{name}" for hardness in "sh" for name in ("rt", "cpu", "fsize", "data", "stack", "core", "rss", "vmem")
)


class Need(NamedTuple):
    """An amount of a consumable."""

    name: str
    amount: float
    #: once for the job rather than for each slot
    once: bool


class Window(NamedTuple):
    """The interval of a booking, seconds since the epoch; the end is exclusive."""

    start: float
    end: float


#: all time: for current bookings in a run without reservations
ALWAYS: Final = Window(-math.inf, math.inf)


def needs_of(request: Request, complexes: Mapping[str, Complex]) -> tuple[Need, ...]:
    """The consumables that a job takes, with defaults; exclusive ones are not amounts and left out."""
    asked = dict(request.hard)
    found = []
    for name, definition in complexes.items():
        if not definition.is_consumable or definition.is_exclusive:
            continue
        text = asked.get(name)
        wanted = definition.default_number if text is None else value_number(definition.type, text) or 0.0
        if wanted or text is not None:
            found.append(Need(name, wanted, definition.consumable == "JOB"))
    return tuple(found)


def exclusive_names(request: Request, complexes: Mapping[str, Complex]) -> frozenset[str]:
    """The exclusive resources that a job requests."""
    return frozenset(
        name
        for name, text in request.hard
        if name in complexes and complexes[name].is_exclusive and value_number(complexes[name].type, text) == 1.0
    )


class _Booking(NamedTuple):
    window: Window
    amounts: dict[str, float]
    exclusive: frozenset[str]


class _Profile:
    """Bookings over time: a level from each time to the next one."""

    __slots__ = ("_levels", "_times")

    def __init__(self) -> None:
        self._times, self._levels = [-math.inf], [0.0]

    def _cut(self, time: float) -> int:
        """Split the levels at a time, and return the index."""
        at = bisect_left(self._times, time)
        if at == len(self._times) or self._times[at] != time:
            self._times.insert(at, time)
            self._levels.insert(at, self._levels[at - 1])
        return at

    def add(self, window: Window, amount: float) -> None:
        """Book an amount for a window."""
        begin, end = self._cut(window.start), self._cut(window.end)
        self._levels[begin:end] = [level + amount for level in self._levels[begin:end]]

    def peak(self, window: Window) -> float:
        """The highest level in a window."""
        begin = bisect_right(self._times, window.start) - 1
        return max(self._levels[begin : max(bisect_left(self._times, window.end), begin + 1)])


class BookedObject:
    """The capacity and bookings of one object."""

    __slots__ = ("_bookings", "_profiles", "capacity", "exclusive", "left", "tasks")

    def __init__(self, capacity: Mapping[str, float], timed: bool) -> None:
        #: by complex
        self.capacity = capacity
        #: capacity minus all bookings, at any time
        self.left = dict(capacity)
        #: number of bookings, and of exclusive ones by resource
        self.tasks = 0
        self.exclusive: dict[str, int] = {}
        self._bookings: list[_Booking] | None = [] if timed else None
        #: by complex, for those queried in a window
        self._profiles: dict[str, _Profile] = {}

    def book(self, amounts: dict[str, float], exclusive: frozenset[str] = frozenset(), window: Window = ALWAYS) -> None:
        """Count a task, or a reservation of one."""
        left = self.left
        for name in left:
            if name in amounts:
                left[name] -= amounts[name]
        self.tasks += 1
        for name in exclusive:
            self.exclusive[name] = self.exclusive.get(name, 0) + 1
        if self._bookings is not None:
            self._bookings.append(_Booking(window, amounts, exclusive))
            for name, profile in self._profiles.items():
                if wanted := amounts.get(name):
                    profile.add(window, wanted)

    def used_in(self, name: str, window: Window) -> float:
        """The most that is booked at any moment of a window; 0 if the object does not have it."""
        return self.capacity[name] - self.left_in(name, window) if name in self.left else 0.0

    def left_in(self, name: str, window: Window) -> float:
        """The minimum left during a window of a resource that the object has."""
        if self._bookings is None:
            return self.left[name]
        return self.capacity[name] - self._peak(name, window)

    def has(self, name: str, wanted: float, window: Window) -> bool:
        """Whether an amount is left throughout a window, if the object has the resource."""
        return wanted <= self.left[name] or (self._bookings is not None and wanted <= self.left_in(name, window))

    def _peak(self, name: str, window: Window) -> float:
        profile = self._profiles.get(name)
        if profile is None:
            profile = self._profiles[name] = _Profile()
            for booking in self._bookings or ():
                if wanted := booking.amounts.get(name):
                    profile.add(booking.window, wanted)
        return profile.peak(window)

    def _overlapping(self, window: Window) -> Iterator[_Booking]:
        for booking in self._bookings or ():
            if booking.window.start < window.end and window.start < booking.window.end:
                yield booking

    def is_taken(self, window: Window) -> bool:
        """Whether anything is booked in a window."""
        return bool(self.tasks) if self._bookings is None else any(True for _ in self._overlapping(window))

    def is_exclusive(self, name: str, window: Window) -> bool:
        """Whether a booking in the window uses an exclusive resource."""
        if self._bookings is None:
            return self.exclusive.get(name, 0) > 0
        return any(name in booking.exclusive for booking in self._overlapping(window))

    def ends(self) -> Iterator[float]:
        """When bookings end."""
        return (booking.window.end for booking in self._bookings or ())


class Ledger:
    """The accounts of all objects."""

    def __init__(self, snapshot: CellSnapshot, loads: Loads, timed: bool = False) -> None:
        self._complexes = snapshot.cell.complexes
        self._loads, self._timed = loads, timed
        #: the current instant, distinguished from later ones
        self.now = Window(snapshot.now, math.nextafter(snapshot.now, math.inf)) if timed else ALWAYS
        self._amounts = amounts = frozenset(
            name for name, one in self._complexes.items() if one.is_consumable and not one.is_exclusive
        )
        self._settings: dict[int, dict[str, Value]] = {}
        #: by object and complex
        self.configured: dict[str, Mapping[str, Value]] = {
            name: self._numbers(host.complex_values) for name, host in snapshot.cell.hosts.items()
        }
        for instance in snapshot.instances:
            self.configured[instance.name] = self._of_instance(instance)
            self.configured.setdefault(instance.host, {})
        self.configured.setdefault(GLOBAL, {})
        #: by identity of the values, which instances with equal settings share
        self._capacities: dict[int, dict[str, float]] = {}
        self._accounts = {name: self._account(values) for name, values in self.configured.items()}
        #: names whose value is also limited by load values
        self.measured = frozenset(name for name in loads.names if name in amounts)

    def _account(self, values: Mapping[str, Value]) -> BookedObject:
        capacity = self._capacities.get(id(values))
        if capacity is None:
            capacity = self._capacities[id(values)] = {
                name: value for name, value in values.items() if isinstance(value, float) and name in self._amounts
            }
        return BookedObject(capacity, self._timed)

    def _numbers(self, pairs: Iterable[Pair]) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for name, text in pairs:
            definition = self._complexes.get(name)
            if definition is not None:
                value = value_number(definition.type, text)
                found[name] = text if value is None else value
        return found

    def _of_instance(self, instance: QueueInstance) -> Mapping[str, Value]:
        found = self._settings.get(id(instance.settings))
        if found is None:
            found = self._settings[id(instance.settings)] = self._of_settings(instance.settings)
        return found

    def _of_settings(self, settings: QueueSettings) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for name in (*_ATTRIBUTES, *_LIMITS):
            if name in self._complexes:
                value = getattr(settings, name)
                found[name] = (
                    float(value.number)
                    if isinstance(value, Quantity)
                    else value
                    if isinstance(value, str)
                    else float(value)
                )
        return found | self._numbers(settings.complex_values)

    def account(self, place: str) -> BookedObject:
        """The account of an object."""
        found = self._accounts.get(place)
        if found is None:
            found = self._accounts[place] = BookedObject({}, self._timed)
        return found

    def book(
        self,
        grants: tuple[Grant, ...],
        needs: tuple[Need, ...],
        exclusive: frozenset[str],
        window: Window = ALWAYS,
    ) -> None:
        """Book a task on its instances, their hosts and the cell; per-job amounts on the master's."""
        if len(grants) == 1 and grants[0].slots == 1:
            amounts = {name: wanted for name, wanted, _ in needs}
            for place in (grants[0].instance, host_of(grants[0].instance), GLOBAL):
                self.account(place).book(amounts, exclusive, window)
            return
        objects: dict[str, int] = {}
        for instance, slots in grants:
            for place in (instance, host_of(instance), GLOBAL):
                objects[place] = objects.get(place, 0) + slots
        first = (grants[0].instance, host_of(grants[0].instance), GLOBAL)
        for place, slots in objects.items():
            amounts = {
                name: wanted if once else wanted * slots for name, wanted, once in needs if not once or place in first
            }
            self.account(place).book(amounts, exclusive, window)

    def available(self, place: str, name: str, window: Window | None = None) -> float | None:
        """What is left of a consumable now or in a window, also by the load value of that name.

        None if there is no capacity.
        """
        found = self.offered(place, name, window)
        return None if found is None else found[0]

    def offered(self, place: str, name: str, window: Window | None = None) -> tuple[float, str] | None:
        """The same with the letter of its source: c for bookings, l for the load value, if that is lower."""
        account = self.account(place)
        if name not in account.capacity:
            return None
        left = account.left_in(name, window or self.now)
        if name not in self.measured:
            return left, "c"
        load = self._loads.value(place, name)
        return (load, "l") if isinstance(load, float) and load < left else (left, "c")

    def ends(self) -> list[float]:
        """The distinct end times of bookings, in order."""
        return sorted({end for end in self.account(GLOBAL).ends() if self.now.start < end < math.inf})

    def fixed(self, place: str, name: str) -> tuple[Value, str] | None:
        """A value that is not booked, and the letter of its source: f configured, l a load value."""
        value = self.configured[place].get(name)
        if value is not None:
            return value, "f"
        value = self._loads.value(place, name)
        return None if value is None else (value, "l")


def is_true(definition: Complex, value: Value) -> bool:
    """Whether an exclusive resource is offered."""
    return definition.type is Type.BOOL and value == 1.0
