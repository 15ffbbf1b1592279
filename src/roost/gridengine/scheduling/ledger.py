"""What is offered and what is booked: on the whole cell, on hosts and on queue instances.

An object is `global`, a host or an instance, by name. Booking knows no limits; `Ledger.available` says what is left,
which is below zero where a capacity was lowered under jobs that run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from roost.gridengine.complex import Complex, Type, value_number
from roost.gridengine.host import GLOBAL
from roost.gridengine.instances import QueueInstance
from roost.gridengine.pairs import Pair
from roost.gridengine.queue import QueueSettings
from roost.gridengine.scheduling.loads import Loads, host_of
from roost.gridengine.scheduling.snapshot import Grant, Request, Snapshot
from roost.gridengine.values import Quantity

Value = float | str
SLOTS: Final = "slots"
#: attributes of queues that jobs can ask for as complexes, beside limits and `complex_values`
_ATTRIBUTES: Final = (SLOTS, "seq_no", "rerun", "tmpdir", "calendar", "min_cpu_interval")
_LIMITS: Final = tuple(
    f"{hardness}_{name}" for hardness in "sh" for name in ("rt", "cpu", "fsize", "data", "stack", "core", "rss", "vmem")
)


class Need(NamedTuple):
    """An amount of a consumable."""

    name: str
    amount: float
    #: once for the job, and not for each slot
    once: bool


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
    """The exclusive resources that a job asks to have for itself."""
    return frozenset(
        name
        for name, text in request.hard
        if name in complexes and complexes[name].is_exclusive and value_number(complexes[name].type, text) == 1.0
    )


class Ledger:
    """Capacities and bookings of all objects."""

    def __init__(self, snapshot: Snapshot, loads: Loads) -> None:
        self._complexes = snapshot.cell.complexes
        self._loads = loads
        self._settings: dict[int, dict[str, Value]] = {}
        #: by object and complex
        self.configured: dict[str, Mapping[str, Value]] = {
            name: self._numbers(host.complex_values) for name, host in snapshot.cell.hosts.items()
        }
        for instance in snapshot.instances:
            self.configured[instance.name] = self._of_instance(instance)
            self.configured.setdefault(instance.host, {})
        self.configured.setdefault(GLOBAL, {})
        self._used: dict[str, dict[str, float]] = {}
        #: tasks on an object, and how many of them have it for themselves, by exclusive resource
        self.tasks: dict[str, int] = {}
        self.exclusive: dict[str, dict[str, int]] = {}
        for task in snapshot.running:
            self.book(
                task.grants, needs_of(task.request, self._complexes), exclusive_names(task.request, self._complexes)
            )

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

    def book(self, grants: tuple[Grant, ...], needs: tuple[Need, ...], exclusive: frozenset[str]) -> None:
        """Count a task on its instances, their hosts and the cell; what it takes once, on the master's."""
        objects: dict[str, int] = {GLOBAL: 0}
        for instance, slots in grants:
            for place in (instance, host_of(instance), GLOBAL):
                objects[place] = objects.get(place, 0) + slots
        first = (grants[0].instance, host_of(grants[0].instance), GLOBAL)
        for place, slots in objects.items():
            used = self._used.setdefault(place, {})
            for name, wanted, once in needs:
                if not once:
                    used[name] = used.get(name, 0.0) + wanted * slots
                elif place in first:
                    used[name] = used.get(name, 0.0) + wanted
            self.tasks[place] = self.tasks.get(place, 0) + 1
            for name in exclusive:
                held = self.exclusive.setdefault(place, {})
                held[name] = held.get(name, 0) + 1

    def used(self, place: str, name: str) -> float:
        """What is booked."""
        return self._used.get(place, {}).get(name, 0.0)

    def available(self, place: str, name: str) -> float | None:
        """What is left of a consumable, also by the load value of that name; None if there is no capacity."""
        capacity = self.configured[place].get(name)
        if not isinstance(capacity, float):
            return None
        used = self._used.get(place)
        left = capacity - used.get(name, 0.0) if used else capacity
        if name not in self._loads.names:
            return left
        load = self._loads.value(place, name)
        return min(left, load) if isinstance(load, float) else left

    def fixed(self, place: str, name: str) -> tuple[Value, str] | None:
        """A value that is not booked, and the letter of its source: f configured, l a load value."""
        value = self.configured[place].get(name)
        if value is not None:
            return value, "f"
        value = self._loads.value(place, name)
        return None if value is None else (value, "l")


def is_true(definition: Complex, value: Value) -> bool:
    """Whether an exclusive resource is there."""
    return definition.type is Type.BOOL and value == 1.0
