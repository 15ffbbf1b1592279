"""The dynamic slots of a host: creates and deletes them, and tracks their holders.

`startd.requests` places a request, `startd.layout_machine` keeps the ledgers. A dynamic slot lives from the request
that it was created for until its claim ends. Whenever a slot is created or deleted, all ads with sizes are rebuilt.

A claim that the ledgers deny is a bug in this package: the slots' state machines never request one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from roost.base.records import replace
from roost.classad import ClassAd
from roost.model import effects as ef
from roost.model import events as ev
from roost.model.claims import Claim, ClaimKind
from roost.model.identifiers import ClaimIdSource
from roost.model.reasons import Refusal
from roost.model.resources import Denied
from roost.model.slots import SlotId, SlotKind
from roost.node.host_plan import Division
from roost.node.host_slots import HostSlot, OfferLeftovers
from roost.policy.decision import StepWorld
from roost.startd.attributes import published
from roost.startd.layout.at_work import DynamicShape, MachineSlots
from roost.startd.requests import NotPlaced, RequestPolicy, place
from roost.startd.slot_state import SlotState, new_slot
from roost.startd.states import State

if TYPE_CHECKING:
    from roost.node.host import Host

#: First block of claim ids for dynamic slots.
_BLOCKS: Final = 1_000_000
_NO_POLICY: Final = RequestPolicy()


class DynamicSlots:
    """The dynamic slots of one host, and its ledgers."""

    __slots__ = ("_block", "division", "host", "slots")

    def __init__(self, host: Host[Any], division: Division) -> None:
        self.host = host
        self.division = division
        self.slots: MachineSlots = division.slots
        self._block = _BLOCKS

    # -- cutting ---------------------------------------------------------------------------------------

    def split(self, parent: HostSlot, effect: ef.SplitSlot, now: float) -> None:
        """Create a slot for a request, and give it the claim."""
        request = effect.request
        policy = self.division.requests.get(parent.plan.id.number, _NO_POLICY)
        world = StepWorld(parent.plan.policy, parent.state.name, now)
        placed = place(
            self.slots,
            parent.plan.id,
            request.job_ad,
            policy,
            ad_of=lambda slots, slot: self._whole_ad(slots, slot, parent, now),
            world=world,
        )
        if isinstance(placed, NotPlaced):
            self._refuse(parent, effect)
            return
        self.slots = placed.machine
        child = self._made(placed.slot, parent, effect, now)
        self._insert(child)
        self._resize(placed.slot)
        self.host.tell(parent, ev.ClaimMoved(claim_id=effect.claim_id))
        accepted = replace(request, job_ad=placed.job)
        self.host.tell(child, ev.ClaimRequested(claim_id=effect.claim_id, request=accepted))
        if policy.leftovers and request.kind is ClaimKind.SCHEDD:
            self.host.later(lambda _: self._offer_leftovers(parent, request.job_ad))

    def _offer_leftovers(self, parent: HostSlot, job_ad: ClassAd) -> None:
        if parent.state.state is State.UNCLAIMED:
            self.host.out(parent, OfferLeftovers(claim_id=parent.state.claim.id, job_ad=job_ad))

    def _refuse(self, parent: HostSlot, effect: ef.SplitSlot) -> None:
        request = effect.request
        if request.kind is ClaimKind.FETCHED:
            self.host.out(parent, ef.EvictFetched(job_ad=request.job_ad, claim_id=effect.claim_id))
            return
        if request.reply_to:
            refusal = Refusal.REQUIREMENTS
            self.host.out(parent, ef.SendClaimReply(reply_to=request.reply_to, accepted=False, refusal=refusal))
        self.host.tell(parent, ev.ClaimReleased(claim_id=effect.claim_id))

    def _made(self, slot: SlotId, parent: HostSlot, effect: ef.SplitSlot, now: float) -> HostSlot:
        plan = self.division.cut(self.slots, slot, parent.plan)
        ids = self.fresh_ids()
        state = new_slot(
            plan.name,
            kind=SlotKind.DYNAMIC,
            ids=ids,
            now=now,
            ad=_over(parent.state.ad, plan.ad),
            parent=parent.state,
        )
        made: HostSlot = self.host.made(plan, replace(state, claim=Claim(id=effect.claim_id)))
        made.latches = parent.latches
        return made

    def _whole_ad(self, slots: MachineSlots, slot: SlotId, parent: HostSlot, now: float) -> ClassAd:
        """The ad of a possible slot, as the requesting job sees it."""
        old = parent.state
        state: SlotState = new_slot(
            self.division.name_of(slot),
            kind=slots.kind(slot),
            ids=old.ids,
            now=now,
            ad=_over(old.ad, self.division.ad_of(slots, slot)),
            parent=old,
        )
        ad = published(state, parent.plan.policy, now)
        ad.chain_to(state.ad)
        return ad

    def delete(self, slot: HostSlot) -> None:
        """Delete an unclaimed slot and return its resources."""
        slots, gone = self.slots, slot.plan.id
        self.slots = _booked(slots.delete(gone) if gone.is_dynamic else slots.removed(gone), slot)
        self.host.slots.remove(slot)
        self._resize(slot.plan.id)

    def fresh_ids(self) -> ClaimIdSource:
        """Claim ids that no slot has used."""
        self._block += 1
        return self.host.ids(self._block)

    def enter(self, made: HostSlot, like: SlotState | None) -> None:
        """Add a static or partitionable slot; `like` is a slot with sensor readings, None for none."""
        if like is not None:
            made.state = replace(
                made.state, ad=_over(like.ad, made.plan.ad), machine=like.machine, benchmarks=like.benchmarks
            )
        self._insert(made)
        self._resize(made.plan.id)

    def _insert(self, made: HostSlot) -> None:
        """Slots are ordered by number, dynamic ones after their parent."""
        slots = self.host.slots
        place = next((index for index, each in enumerate(slots) if each.plan.id > made.plan.id), len(slots))
        slots.insert(place, made)

    def _resize(self, changed: SlotId) -> None:
        for slot in self.host.slots:
            if slot.plan.id == changed:
                continue
            plan = replace(slot.plan, ad=self.division.ad_of(self.slots, slot.plan.id))
            slot.resized(plan)
            slot.state = replace(slot.state, ad=_over(slot.state.ad, plan.ad))

    # -- after a restart of the daemon ---------------------------------------------------------------------

    @property
    def next_block(self) -> int:
        """The first block of claim ids that no slot has used."""
        return self._block + 1

    def restore(self, shapes: Sequence[DynamicShape], next_block: int, now: float) -> None:
        """Recreate the earlier dynamic slots that still fit."""
        self._block = max(self._block, next_block - 1)
        self.slots, _ = self.slots.with_dynamic(shapes)
        for slot in self.slots.ids:
            if slot.is_dynamic:
                parent = next(each for each in self.host.slots if each.plan.id == slot.parent)
                plan = self.division.cut(self.slots, slot, parent.plan)
                state = new_slot(plan.name, kind=SlotKind.DYNAMIC, ids=parent.state.ids, now=now, ad=plan.ad)
                self._insert(self.host.made(plan, state))
        for each in self.host.slots:
            each.resized(replace(each.plan, ad=self.division.ad_of(self.slots, each.plan.id)))

    def hold(self, slot: HostSlot) -> None:
        """Restore the claim that a slot had when the daemon died."""
        party = _party(slot.state)
        if party is not None:
            self.slots = _booked(self.slots.claim(slot.plan.id, party), slot)

    # -- claims ------------------------------------------------------------------------------------------

    def account(self, slot: HostSlot, before: SlotState) -> None:
        """Update the ledgers after a step in which a claim may have begun or ended."""
        old, new = _party(before), _party(slot.state)
        if old == new:
            return
        if old is not None:
            self.slots = _booked(self.slots.release(slot.plan.id), slot)
        if new is not None:
            self.slots = _booked(self.slots.claim(slot.plan.id, new), slot)


def _booked(outcome: MachineSlots | Denied, slot: HostSlot) -> MachineSlots:
    assert not isinstance(outcome, Denied), f"{slot.plan.name}: {outcome}"
    return outcome


def _over(sensed: ClassAd, fixed: ClassAd) -> ClassAd:
    """Sensor readings merged over a new fixed ad."""
    ad = ClassAd()
    ad.cells = sensed.cells
    ad.own_spellings = sensed.own_spellings
    ad.chained = fixed
    return ad


def _party(state: SlotState) -> str | None:
    return None if state.claim.granted_at is None else state.claim.id.public
