"""Changing the layout of a running machine: which slots stay, which leave, and which numbers new ones get.

`relayout` applies the current configuration to the resources that the machine divided at its start. A wanted slot that
already exists, with the same type and resources, keeps its number, whatever the order of types would give it now. If
fewer of a kind are wanted than exist, claimed slots are kept first, those with higher ranked claims before others, then
those with lower numbers. A new slot has the number of its place. If that number belongs to a slot that stays, or to a
held slot of another type that leaves room for it, the new slot gets the smallest free number.

A slot that is not wanted as it is leaves once its job is gone (`node.relayouts`), and a new slot appears when its share
is free. A layout that cannot be made is refused as a whole.

It does not change the resources to divide. If the configuration has other cores, memory or custom resources than the
machine was started with, its slots stay as they are until the machine is restarted.
"""

from __future__ import annotations

from collections.abc import Mapping

from roost.base.records import dataclass, replace
from roost.config import Config, ConfigError
from roost.model.resources import Denied
from roost.model.slots import HostReading, MachineResources, SlotShape
from roost.startd.layout.at_work import MachineSlots
from roost.startd.layout.layout import Layout, plan_layout
from roost.startd.layout.problems import LayoutRefused, of_value
from roost.startd.layout.resources import machine_resources


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentLayout:
    """The slots that a machine has."""

    resources: MachineResources
    #: Static and partitionable slots by number.
    slots: Mapping[int, SlotShape]
    #: Number of a slot that is held, or has dynamic slots, to the highest rank of the claims on it.
    held: Mapping[int, float]


def relayout(present: PresentLayout, config: Config, reading: HostReading) -> Layout | LayoutRefused:
    """The target layout of a machine, with the numbers of the slots that stay."""
    old = present.resources
    # Sensor readings are those of the start: only the configuration changes the layout.
    reading = replace(reading, cpus=old.detected_cpus, memory_mb=old.detected_memory_mb)
    try:
        fresh, _ = machine_resources(config, reading)
    except ConfigError as error:
        return LayoutRefused(problems=(of_value(error),))
    same = _divided(fresh) == _divided(old)
    layout = plan_layout(config, reading, old if same else None)
    if isinstance(layout, LayoutRefused):
        return layout
    slots = _numbered(present, layout.slots) if same else dict(present.slots)
    return replace(layout, resources=old, slots=tuple(slots[number] for number in sorted(slots)))


def _divided(resources: MachineResources) -> object:
    """The inputs of a layout."""
    custom = tuple((each.name, each.total, each.ids) for each in resources.custom)
    return resources.cpus, resources.memory_mb, frozenset(resources.disk_kb), custom


def _likeness(shape: SlotShape) -> object:
    """A key that is equal for interchangeable slots: everything but the number."""
    return (
        (shape.type_id, shape.kind, shape.cpus, shape.memory_mb, shape.disk_share, shape.swap_share),
        (shape.filesystem, tuple(sorted(shape.custom.items())), tuple(sorted(shape.assigned.items())), shape.broken),
    )


def _numbered(present: PresentLayout, wanted: tuple[SlotShape, ...]) -> dict[int, SlotShape]:
    """The wanted slots by their future numbers."""
    held = present.held
    alike: dict[object, list[int]] = {}
    for number in sorted(present.slots, key=lambda each: (each not in held, -held.get(each, 0.0), each)):
        alike.setdefault(_likeness(present.slots[number]), []).append(number)
    found: dict[int, SlotShape] = {}
    new: list[SlotShape] = []
    for shape in wanted:
        numbers = alike.get(_likeness(shape))
        if numbers:
            number = numbers.pop(0)
            found[number] = present.slots[number]
        else:
            new.append(shape)
    elsewhere: list[SlotShape] = []
    for shape in new:
        before = present.slots.get(shape.number)
        waits = before is not None and shape.number in held and before.type_id != shape.type_id
        if waits or shape.number in found:
            elsewhere.append(shape)
        else:
            found[shape.number] = shape
    room = _beside(present, found)
    for shape in elsewhere:
        taken = found.keys() | present.slots.keys() | {each.number for each in new}
        number = next(each for each in range(1, len(taken) + 2) if each not in taken)
        numbered = replace(shape, number=number)
        grown = room.added(numbered)
        if shape.number not in found and isinstance(grown, Denied):
            # It has to wait for leaving slots in any case.
            numbered = shape
        elif not isinstance(grown, Denied):
            room = grown
        found[numbered.number] = numbered
    return found


def _beside(present: PresentLayout, found: Mapping[int, SlotShape]) -> MachineSlots:
    """The machine while claimed slots of the old layout still exist: other slots fit next to them, or wait."""
    room = MachineSlots.of(Layout(resources=present.resources, slots=()))
    for shape in (*(present.slots[number] for number in sorted(present.held)), *found.values()):
        grown = room.added(shape)
        room = room if isinstance(grown, Denied) else grown
    return room
