"""Changes a host from its current slots to the configured ones.

`startd.layout_change` computes the target. A slot that is not part of it as it is *leaves*: it accepts no more jobs,
and is deleted when it is unclaimed and has no dynamic slots. A wanted slot is created when its number and its share of
the host are free. No slot is created or deleted while the host is drained or shut down.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from roost.model import events as ev
from roost.model.reasons import Leaving
from roost.model.resources import Denied
from roost.model.slots import SlotId, SlotShape
from roost.startd.layout.change import PresentLayout
from roost.startd.slot_state import SlotState, new_slot
from roost.startd.states import State

if TYPE_CHECKING:
    from roost.node.dynamic_slots import DynamicSlots
    from roost.node.host import Host
    from roost.node.host_slots import HostSlot

_FREE = (State.OWNER, State.UNCLAIMED)


class Relayouts:
    """The changes of one host's layout."""

    __slots__ = ("_last", "dynamic_slots", "host", "wanted")

    def __init__(self, host: Host[Any], dynamic_slots: DynamicSlots) -> None:
        self.host = host
        self.dynamic_slots = dynamic_slots
        #: The static and partitionable slots that are wanted.
        self.wanted: Mapping[int, SlotShape] = dynamic_slots.slots.fixed
        #: The state of a deleted slot, for its sensor readings; None if none was deleted.
        self._last: SlotState | None = None

    @property
    def under_way(self) -> bool:
        """Whether the host's slots differ from the wanted ones."""
        fixed = self.dynamic_slots.slots.fixed
        return self.wanted is not fixed and self.wanted != fixed

    @property
    def coming(self) -> list[SlotId]:
        """The slots for which there is no room yet."""
        fixed = self.dynamic_slots.slots.fixed
        return [each.id for number, each in sorted(self.wanted.items()) if fixed.get(number) != each]

    @property
    def present(self) -> PresentLayout:
        """The existing slots."""
        slots = self.dynamic_slots.slots
        held: dict[int, float] = {}
        for each in self.host.slots:
            claim, number = each.state.claim, each.plan.id.number
            if claim.granted_at is not None or each.plan.id.is_dynamic:
                held[number] = max(claim.rank, held.get(number, claim.rank))
        return PresentLayout(resources=slots.resources, slots=slots.fixed, held=held)

    def begin(self, wanted: Iterable[SlotShape]) -> None:
        """Start changing to another layout."""
        self.wanted = {each.number: each for each in wanted}
        for slot in self.host.slots:
            reason = self.reason(slot.plan.id.number)
            if reason is not None:
                self.host.tell(slot, ev.SlotLeaves(reason=reason))
            elif slot.state.leaving is not None:
                self.host.tell(slot, ev.SlotStays())

    def reason(self, number: int) -> Leaving | None:
        """Why a slot and its dynamic slots leave; None if they stay."""
        here, wanted = self.dynamic_slots.slots.fixed[number], self.wanted.get(number)
        if wanted == here:
            return None
        return Leaving.CHANGED if wanted is not None and wanted.type_id == here.type_id else Leaving.SURPLUS

    def progress(self, now: float) -> None:
        """Delete leaving slots that are free, and create wanted ones that fit."""
        host = self.host
        if host.drains.draining.order is not None or any(each.state.shutdown is not None for each in host.slots):
            return
        for slot in list(host.slots):
            if self._may_go(slot):
                self._last = slot.state
                host.receive_within(slot, ev.SlotRemoved(), now)
        for number in sorted(self.wanted.keys() - self.dynamic_slots.slots.fixed.keys()):
            grown = self.dynamic_slots.slots.added(self.wanted[number])
            if not isinstance(grown, Denied):
                self.dynamic_slots.slots = grown
                self._come(SlotId(number), now)
        if self.wanted == self.dynamic_slots.slots.fixed:
            self.wanted = self.dynamic_slots.slots.fixed

    def _may_go(self, slot: HostSlot) -> bool:
        state = slot.state
        if state.leaving is None or slot.plan.id.is_dynamic or state.state not in _FREE or state.fetching.running:
            return False
        return not self.dynamic_slots.slots.children(slot.plan.id)

    def _come(self, slot: SlotId, now: float) -> None:
        """Create a slot. Its sensor readings are copied from another slot until the next poll."""
        dynamic_slots, host = self.dynamic_slots, self.host
        plan = dynamic_slots.division.plan_of(dynamic_slots.slots, slot)
        like = host.slots[0].state if host.slots else self._last
        state = new_slot(plan.name, kind=plan.kind, ids=dynamic_slots.fresh_ids(), now=now, ad=plan.ad)
        made = host.made(plan, state)
        dynamic_slots.enter(made, like)
        host.tell(made, ev.Polled(ad=made.state.ad, machine=made.state.machine))

    def start_with(self, shapes: Iterable[SlotShape], now: float) -> None:
        """Start with exactly these slots, if they fit: an earlier daemon left jobs in them."""
        dynamic_slots, host = self.dynamic_slots, self.host
        host.slots.clear()
        dynamic_slots.slots = dynamic_slots.slots.without_slots()
        for shape in shapes:
            grown = dynamic_slots.slots.added(shape)
            if not isinstance(grown, Denied):
                dynamic_slots.slots = grown
                self._come(shape.id, now)
        # The configured slots are wanted once the jobs are known again.
        self.wanted = dynamic_slots.slots.fixed
