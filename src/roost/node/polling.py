"""When sensors have been read: loads and idle times go to the slots, latches advance, policies are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roost.classad import ClassAd, Value
from roost.model import events as ev
from roost.model.slots import SlotId
from roost.node.plan import Reading
from roost.node.slots import Slot
from roost.policy.decision import StepWorld
from roost.startd.idleness import slot_idleness
from roost.startd.load import MachineLoad, apportion
from roost.startd.policy_inputs import Inputs
from roost.startd.slot_ad import Sensed, with_sensed
from roost.startd.slot_ad_neighbours import shown_to_neighbours
from roost.startd.timers import polling_needed

if TYPE_CHECKING:
    from roost.node.node import Node


class Polling:
    """The polls of one machine."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.load: MachineLoad | None = None
        self._updates = 0
        self._polled_at: float | None = None

    @property
    def interval_s(self) -> int:
        """Time to the next poll: short while somebody's job is there or the machine is being emptied."""
        node = self._node
        busy = polling_needed([slot.state for slot in node.slots]) or node.draining.order is not None
        return node.plan.polling_s if busy else min(node.plan.update_s, max(node.plan.polling_s, 60))

    def poll(self, reading: Reading, now: float) -> None:
        """All slots look at the world."""
        node = self._node
        since_s = node.plan.polling_s if self._polled_at is None else max(1.0, now - self._polled_at)
        self._polled_at = now
        self._updates += 1
        sensed = self._sensed(reading, now, since_s)
        neighbours = self._neighbours(now)
        facts = node.facts(now)
        for slot in list(node.slots):
            ad = self._ad(slot, sensed, reading, now)
            for name, value in neighbours.items():
                ad.put(name, value)
            node.tell(slot, ev.Polled(ad=ad, machine=facts), now)

    def _sensed(self, reading: Reading, now: float, since_s: float) -> Sensed:
        node = self._node
        system, cpus = reading.load.one_minute, node.plan.slots.resources.detected_cpus
        own: dict[SlotId, float] = {}
        for slot in node.slots:
            percent = reading.cpu_percent.get(slot.id, 0.0)
            slot.use = slot.use.sampled(percent, since_s=since_s, polling_interval_s=node.plan.polling_s)
            own[slot.id] = slot.use.load(cpus=cpus, system_load=system)
        states = {slot.id: str(slot.state.state) for slot in node.slots}
        self.load = apportion(system, own, states)
        started_at = node.plan.identity.started_at
        idle = {
            slot.id: slot_idleness(reading.idleness, slot.id, node.plan.connected, now=now, started_at=started_at)
            for slot in node.slots
        }
        return Sensed(
            now=now,
            zone_offset_s=reading.zone_offset_s,
            load=self.load,
            idleness=idle,
            updates=self._updates,
            monitor=reading.attributes,
        )

    def _ad(self, slot: Slot, sensed: Sensed, reading: Reading, now: float) -> ClassAd:
        ad = with_sensed(slot.fixed_ad, slot.id, sensed)
        my = Inputs(slot.state, slot.policy, now).my.copy()
        for name in ad:
            my.put(name, ad.cell(name.lower()))  # type: ignore[arg-type]
        world = StepWorld(slot.policy, slot.name, now)
        slot.latches, found = slot.latches.advanced(my, self._node.plan.latch_names, now=now, world=world)
        for name, value in found.items():
            ad.put(name, value)
        return ad

    def _neighbours(self, now: float) -> dict[str, Value]:
        node = self._node
        names = node.plan.neighbour_names
        if not names:
            return {}
        ads = {slot.id: Inputs(slot.state, slot.policy, now).my for slot in node.slots}
        policy = node.slots[0].policy
        return shown_to_neighbours(ads, names, StepWorld(policy, node.plan.identity.machine, now))
