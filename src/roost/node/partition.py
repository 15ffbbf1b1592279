"""The accounts of a machine: dynamic slots cut and given back, and who holds what.

`startd.requests` places a request, `startd.layout_machine` keeps the ledgers. A dynamic slot lives from the request
that it was cut for until nobody holds it. Whenever a slot is cut or goes, all ads that tell sizes are made anew.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from roost.classad import ClassAd
from roost.model import effects as ef
from roost.model import events as ev
from roost.model.claims import Claim, ClaimKind
from roost.model.reasons import Refusal
from roost.model.resources import Denied
from roost.model.slots import SlotId, SlotKind
from roost.node import orders as out
from roost.node.slots import Slot
from roost.policy.decision import StepWorld
from roost.startd.attributes import published
from roost.startd.layout_machine import MachineSlots
from roost.startd.requests import NotPlaced, place
from roost.startd.slot_state import SlotState, new_slot

if TYPE_CHECKING:
    from roost.node.node import Node

#: Blocks of claim ids from here on are those of dynamic slots.
_BLOCKS: Final = 1_000_000


class Partition:
    """The accounts of one machine."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.slots: MachineSlots = node.plan.slots
        self._block = _BLOCKS

    def cpus(self, slot: Slot) -> float:
        """The cores of a slot."""
        return float(self.slots.size(slot.id).cpus)

    # -- cutting -------------------------------------------------------------------------------------

    def split(self, parent: Slot, effect: ef.SplitSlot, now: float) -> None:
        """Cut a slot for a request, and hand it the claim."""
        node, request = self._node, effect.request
        policy = node.plan.settings[parent.id.number].requests
        world = StepWorld(parent.policy, parent.name, now)
        placed = place(
            self.slots,
            parent.id,
            request.job_ad,
            policy,
            ad_of=lambda slots, slot: self._whole_ad(slots, slot, parent, now),
            world=world,
        )
        if isinstance(placed, NotPlaced):
            self._refuse(parent, effect, str(placed), now)
            return
        self.slots = placed.machine
        child = self._made(placed.slot, parent, effect, now)
        self._insert(child)
        self._resize()
        node.tell(parent, ev.ClaimMoved(claim_id=effect.claim_id), now)
        accepted = replace(request, job_ad=placed.job)
        node.tell(child, ev.ClaimRequested(claim_id=effect.claim_id, request=accepted), now)

    def _refuse(self, parent: Slot, effect: ef.SplitSlot, why: str, now: float) -> None:
        request = effect.request
        if request.kind is ClaimKind.SCHEDD and request.reply_to:
            schedd, _, reply_to = request.reply_to.partition("|")
            self._node.orders.append(
                out.ClaimReply(
                    schedd=schedd,
                    reply_to=reply_to,
                    accepted=False,
                    refusal=f"{Refusal.REQUIREMENTS}: {why}",
                    claim_id=effect.claim_id.text,
                    slot=parent.name,
                )
            )
        self._node.tell(parent, ev.ClaimReleased(claim_id=effect.claim_id), now)

    def _made(self, slot: SlotId, parent: Slot, effect: ef.SplitSlot, now: float) -> Slot:
        node = self._node
        fixed = node.plan.fixed_ad(self.slots, slot)
        self._block += 1
        old = parent.state
        state = new_slot(
            node.plan.identity.name_of(slot),
            kind=SlotKind.DYNAMIC,
            ids=node.ids(self._block),
            now=now,
            ad=_over(old.ad, fixed),
            machine=old.machine,
            draining=old.draining,
            benchmarks=old.benchmarks,
        )
        made = Slot(slot, parent.policy, fixed, replace(state, claim=Claim(id=effect.claim_id)))
        made.latches = parent.latches
        return made

    def _whole_ad(self, slots: MachineSlots, slot: SlotId, parent: Slot, now: float) -> ClassAd:
        """The ad of a slot that may come to be, as a job that asks for it sees it."""
        old = parent.state
        state: SlotState = new_slot(
            self._node.plan.identity.name_of(slot),
            kind=slots.kind(slot),
            ids=old.ids,
            now=now,
            ad=_over(old.ad, self._node.plan.fixed_ad(slots, slot)),
            machine=old.machine,
            draining=old.draining,
            benchmarks=old.benchmarks,
        )
        ad = published(state, parent.policy, now)
        ad.chain_to(state.ad)
        return ad

    def delete(self, slot: Slot) -> None:
        """Give a dynamic slot back."""
        self._booked(self.slots.delete(slot.id), slot)
        self._node.slots.remove(slot)
        self._node.orders.append(out.Withdraw(name=slot.name))
        self._resize()

    def _insert(self, made: Slot) -> None:
        """Slots are in the order of their numbers, dynamic ones after their parent."""
        slots = self._node.slots
        place = next((index for index, each in enumerate(slots) if each.id > made.id), len(slots))
        slots.insert(place, made)

    def _resize(self) -> None:
        for slot in self._node.slots:
            slot.fixed_ad = self._node.plan.fixed_ad(self.slots, slot.id)
            slot.state = replace(slot.state, ad=_over(slot.state.ad, slot.fixed_ad))
            self._node.orders.append(out.Publish(slot=slot.id))

    # -- claims --------------------------------------------------------------------------------------

    def account(self, slot: Slot, before: SlotState) -> None:
        """A claim may have begun or ended."""
        old, new = _party(before), _party(slot.state)
        if old == new:
            return
        if old is not None:
            self._booked(self.slots.release(slot.id), slot)
        if new is not None:
            self._booked(self.slots.claim(slot.id, new), slot)

    def _booked(self, outcome: MachineSlots | Denied, slot: Slot) -> None:
        # The state machines hold one claim a slot; were the accounts to contradict that, going on would hide it.
        assert not isinstance(outcome, Denied), f"{slot.name}: {outcome}"
        self.slots = outcome


def _over(sensed: ClassAd, fixed: ClassAd) -> ClassAd:
    """What was sensed, over other sizes."""
    ad = sensed.copy()
    ad.update(fixed)
    return ad


def _party(state: SlotState) -> str | None:
    return None if state.claim.granted_at is None else state.claim.id.public
