"""The slots of a running machine: a layout, its ledgers, and the dynamic slots cut from partitionable ones.

`MachineSlots` is a value. Static and partitionable slots are shares of the host's ledger, dynamic slots are shares of
their parent's, and a claim on a slot is a booking of what the slot has, held by one party. A claim therefore never
exceeds what exists, and when all claims have ended and their dynamic slots are gone, every ledger is full again.

A dynamic slot has all of its parent's swap, which is then not divided, unless its share is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import floor
from typing import Final, Self

from roost.base.records import dataclass, field, replace
from roost.classad import Expr
from roost.model.resources import CPUS, DISK, MEMORY, SWAP, AlreadyHeld, Amount, Amounts, Denied, NotOffered, Unknown
from roost.model.slots import MachineResources, SlotId, SlotKind, SlotShape, SlotSize
from roost.resources import Booking, Ledgers, Part
from roost.startd.layout.layout import Layout
from roost.startd.layout.units import meeting

#: Name of the machine's own ledger.
HOST: Final = "host"
#: Maximum number of dynamic slots of one partitionable slot.
DYNAMIC_SLOTS_MAX: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicRequest:
    """The resources to cut a dynamic slot with."""

    cpus: Amount = 1
    memory_mb: Amount
    disk_kb: Amount
    #: Swap space, KB; None for all that the parent has, or for a share in proportion to memory.
    swap_kb: Amount | None = None
    swap_in_proportion: bool = False
    custom: Mapping[str, Amount] = field(default_factory=dict)
    #: Custom resource to the condition that its units must meet.
    requires: Mapping[str, Expr] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicShape:
    """A dynamic slot."""

    id: SlotId
    request: DynamicRequest
    #: Custom resource to the identifiers of the slot's units.
    assigned: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineSlots:
    """All slots of a machine, and the holders of their claims."""

    resources: MachineResources
    #: Static and partitionable slots by number.
    fixed: Mapping[int, SlotShape]
    dynamic: Mapping[SlotId, DynamicShape] = field(default_factory=dict)
    ledgers: Ledgers

    @classmethod
    def of(cls, layout: Layout) -> Self:
        """A machine with that layout and no claims."""
        resources = layout.resources
        ledgers = Ledgers.rooted(HOST, _host_capacity(resources))
        for slot in layout.slots:
            grown = ledgers.divide(str(slot.id), parent=HOST, capacity=_slot_capacity(resources, slot))
            # A layout never assigns more than there is.
            assert isinstance(grown, Ledgers), str(grown)
            ledgers = grown
        return cls(resources=resources, fixed={slot.number: slot for slot in layout.slots}, ledgers=ledgers)

    # -- questions -----------------------------------------------------------------------------------

    @property
    def ids(self) -> tuple[SlotId, ...]:
        """All slots in order, each partitionable one followed by those cut from it."""
        return tuple(sorted((*(slot.id for slot in self.fixed.values()), *self.dynamic)))

    def __contains__(self, slot: object) -> bool:
        return isinstance(slot, SlotId) and (slot in self.dynamic if slot.is_dynamic else slot.number in self.fixed)

    def kind(self, slot: SlotId) -> SlotKind:
        """How a slot came to be."""
        return SlotKind.DYNAMIC if slot.is_dynamic else self.fixed[slot.number].kind

    def children(self, slot: SlotId) -> tuple[SlotId, ...]:
        """The dynamic slots cut from a slot, in order."""
        return tuple(sorted(one for one in self.dynamic if one.number == slot.number))

    def holder(self, slot: SlotId) -> str | None:
        """The holder of the claim on a slot; None while it is unclaimed."""
        booking = self.ledgers.bookings.get(str(slot))
        return None if booking is None else booking.party

    def size(self, slot: SlotId) -> SlotSize:
        """The resources a slot was made with; disk and swap are current."""
        capacity = self.ledgers.ledgers[str(slot)].capacity
        return self._size(slot, capacity)

    def left(self, slot: SlotId) -> SlotSize:
        """The resources a slot has to offer; for a partitionable slot, those that are not cut from it."""
        if self.kind(slot) is not SlotKind.PARTITIONABLE:
            return self.size(slot)
        ledger = self.ledgers.ledgers[str(slot)]
        return self._size(slot, Amounts({name: max(0, ledger.available(name) or 0) for name in ledger.capacity}))

    def _size(self, slot: SlotId, amounts: Amounts) -> SlotSize:
        swap_kb = amounts.get(SWAP)
        if swap_kb is None:
            swap_kb = self.ledgers.ledgers[str(slot.parent)].capacity[SWAP]
        return SlotSize(
            cpus=amounts[CPUS],
            memory_mb=amounts[MEMORY],
            disk_kb=amounts[disk_name(self.resources, self.fixed[slot.number])],
            swap_kb=swap_kb,
            custom={each.name: amounts.get(each.name, 0) for each in self.resources.custom},
        )

    def assigned(self, slot: SlotId) -> Mapping[str, tuple[str, ...]]:
        """Custom resource to the identifiers of a slot's units; for a partitionable slot, of the units still free."""
        if slot.is_dynamic:
            return self.dynamic[slot].assigned
        gone = {
            unit for child in self.children(slot) for units in self.dynamic[child].assigned.values() for unit in units
        }
        return {
            name: tuple(unit for unit in units if unit not in gone)
            for name, units in self.fixed[slot.number].assigned.items()
        }

    # -- claims --------------------------------------------------------------------------------------

    def claim(self, slot: SlotId, party: str) -> MachineSlots | Denied:
        """Give a party the claim on a whole static or dynamic slot. Denied while another party holds it."""
        if slot not in self:
            return Denied(obstacles=(Unknown(name=str(slot)),))
        if self.kind(slot) is SlotKind.PARTITIONABLE:
            return Denied(obstacles=(NotOffered(ledger=str(slot), use="a claim on a partitionable slot"),))
        size = self.size(slot)
        # Disk and swap are left out: their amounts change under the claim.
        part = Part(ledger=str(slot), amounts=Amounts({CPUS: size.cpus, MEMORY: size.memory_mb, **size.custom}))
        return self._with(self.ledgers.book(Booking(id=str(slot), party=party, parts=(part,))))

    def release(self, slot: SlotId) -> MachineSlots | Denied:
        """End the claim on a slot. A dynamic slot stays until it is deleted."""
        return self._with(self.ledgers.end(str(slot)))

    # -- dynamic slots -------------------------------------------------------------------------------

    def carve(self, parent: SlotId, request: DynamicRequest) -> tuple[MachineSlots, SlotId] | Denied:
        """Cut a dynamic slot from a partitionable one; it gets the smallest number that is free."""
        if parent.is_dynamic or parent not in self:
            return Denied(obstacles=(Unknown(name=str(parent)),))
        shape = self.fixed[parent.number]
        if shape.kind is not SlotKind.PARTITIONABLE or shape.broken is not None:
            return Denied(obstacles=(NotOffered(ledger=str(parent), use="dynamic slots"),))
        taken = {child.dynamic for child in self.children(parent)}
        if len(taken) >= DYNAMIC_SLOTS_MAX:
            return Denied(obstacles=(AlreadyHeld(booking=str(parent), by=f"{len(taken)} dynamic slots"),))
        number = next(number for number in range(1, len(taken) + 2) if number not in taken)
        units = self._units(parent, request)
        lacking = [name for name in request.requires if len(units.get(name, ())) < request.custom.get(name, 0)]
        if lacking:
            uses = ", ".join(f"{name} that meet {request.requires[name]}" for name in lacking)
            return Denied(obstacles=(NotOffered(ledger=str(parent), use=uses),))
        slot = DynamicShape(id=SlotId(parent.number, number), request=request, assigned=units)
        grown = self.ledgers.divide(str(slot.id), parent=str(parent), capacity=self._dynamic_capacity(slot))
        if isinstance(grown, Denied):
            return grown
        return replace(self, ledgers=grown, dynamic={**self.dynamic, slot.id: slot}), slot.id

    def with_dynamic(self, shapes: Iterable[DynamicShape]) -> tuple[MachineSlots, tuple[DynamicShape, ...]]:
        """The machine with its previous dynamic slots restored, and those for which it no longer has room.

        A slot keeps its number, size and units. There may not be enough room after the layout has changed.
        """
        machine, homeless = self, []
        for shape in shapes:
            again = machine._readmitted(shape)
            if again is None:
                homeless.append(shape)
            else:
                machine = again
        return machine, tuple(homeless)

    def _readmitted(self, slot: DynamicShape) -> MachineSlots | None:
        parent = self.fixed.get(slot.id.number)
        if parent is None or parent.kind is not SlotKind.PARTITIONABLE or slot.id in self.dynamic:
            return None
        free = self.assigned(parent.id)
        if any(not set(units) <= set(free.get(name, ())) for name, units in slot.assigned.items()):
            return None
        if not set(slot.request.custom) <= set(parent.custom):
            return None
        grown = self.ledgers.divide(str(slot.id), parent=str(parent.id), capacity=self._dynamic_capacity(slot))
        if isinstance(grown, Denied):
            return None
        return replace(self, ledgers=grown, dynamic={**self.dynamic, slot.id: slot})

    def delete(self, slot: SlotId) -> MachineSlots | Denied:
        """Give a dynamic slot back to its parent. Denied while it is claimed."""
        if slot not in self.dynamic:
            return Denied(obstacles=(Unknown(name=str(slot)),))
        shrunk = self.ledgers.without(str(slot))
        if isinstance(shrunk, Denied):
            return shrunk
        dynamic = {key: one for key, one in self.dynamic.items() if key != slot}
        return replace(self, ledgers=shrunk, dynamic=dynamic)

    def _units(self, parent: SlotId, request: DynamicRequest) -> Mapping[str, tuple[str, ...]]:
        described = {each.name: each for each in self.resources.custom}
        return {
            name: meeting(units, described[name], request.requires.get(name))[: floor(request.custom.get(name, 0))]
            for name, units in self.assigned(parent).items()
        }

    def _dynamic_capacity(self, slot: DynamicShape) -> Amounts:
        shape, request = self.fixed[slot.id.number], slot.request
        capacity = {
            CPUS: request.cpus,
            MEMORY: request.memory_mb,
            disk_name(self.resources, shape): request.disk_kb,
            **{name: amount for name, amount in request.custom.items() if amount},
        }
        if request.swap_kb is not None:
            capacity[SWAP] = request.swap_kb
        elif request.swap_in_proportion:
            swap_kb = floor(shape.swap_share * self.resources.swap_kb)
            capacity[SWAP] = floor(swap_kb * Fraction(request.memory_mb) / max(1, shape.memory_mb))
        return Amounts(capacity)

    # -- slots that come and go --------------------------------------------------------------------------

    def removed(self, slot: SlotId) -> MachineSlots | Denied:
        """The machine without a static or partitionable slot. Denied while it is claimed, or dynamic slots are cut from
        it.
        """
        if slot.is_dynamic or slot not in self:
            return Denied(obstacles=(Unknown(name=str(slot)),))
        shrunk = self.ledgers.without(str(slot))
        if isinstance(shrunk, Denied):
            return shrunk
        fixed = {number: shape for number, shape in self.fixed.items() if number != slot.number}
        return replace(self, ledgers=shrunk, fixed=fixed)

    def without_slots(self) -> MachineSlots:
        """The machine without slots."""
        return MachineSlots.of(Layout(resources=self.resources, slots=()))

    def added(self, shape: SlotShape) -> MachineSlots | Denied:
        """The machine with one more static or partitionable slot. Denied unless its number and its share are free."""
        if shape.number in self.fixed:
            return Denied(obstacles=(AlreadyHeld(booking=str(shape.id), by=str(shape.id)),))
        if shape.filesystem not in self.resources.disk_kb or not set(shape.custom) <= set(self.resources.names):
            return Denied(obstacles=(Unknown(name=str(shape.id)),))
        taken = {(name, unit) for each in self.fixed.values() for name, ids in each.assigned.items() for unit in ids}
        known = {(each.name, unit) for each in self.resources.custom for unit in each.ids}
        units = {(name, unit) for name, ids in shape.assigned.items() for unit in ids}
        if units & taken or not units <= known:
            return Denied(obstacles=(NotOffered(ledger=HOST, use=f"the units of {shape.id}"),))
        grown = self.ledgers.divide(str(shape.id), parent=HOST, capacity=_slot_capacity(self.resources, shape))
        if isinstance(grown, Denied):
            return grown
        return replace(self, ledgers=grown, fixed=dict(sorted({**self.fixed, shape.number: shape}.items())))

    def _with(self, outcome: Ledgers | Denied) -> MachineSlots | Denied:
        return outcome if isinstance(outcome, Denied) else replace(self, ledgers=outcome)

    # -- the invariants --------------------------------------------------------------------------------

    def problems(self) -> tuple[str, ...]:
        """Violations of the invariants; empty for every machine made by these methods."""
        return (*self.ledgers.problems(), *self._unit_problems())

    def _unit_problems(self) -> Iterator[str]:
        for each in self.resources.custom:
            held = [unit for slot in self.ids for unit in self.assigned(slot).get(each.name, ())]
            if len(held) != len(set(held)) or not set(held) <= set(each.ids):
                yield f"units of {each.name} are held as {held}"


def disk_name(resources: MachineResources, slot: SlotShape) -> str:
    """The name of the resource that accounts for a slot's disk space: each filesystem has its own."""
    return DISK if len(resources.disk_kb) == 1 else f"{DISK}@{slot.filesystem}"


def _host_capacity(resources: MachineResources) -> Amounts:
    single = len(resources.disk_kb) == 1
    return Amounts(
        {
            CPUS: resources.cpus,
            MEMORY: resources.memory_mb,
            SWAP: resources.swap_kb,
            **{(DISK if single else f"{DISK}@{name}"): free_kb for name, free_kb in resources.disk_kb.items()},
            **{each.name: each.total for each in resources.custom},
        }
    )


def _slot_capacity(resources: MachineResources, slot: SlotShape) -> Amounts:
    return Amounts(
        {
            CPUS: slot.cpus,
            MEMORY: slot.memory_mb,
            SWAP: floor(slot.swap_share * resources.swap_kb),
            disk_name(resources, slot): floor(slot.disk_share * resources.disk_kb[slot.filesystem]),
            **slot.custom,
        }
    )
