"""What a host is given: its slots as they are at first, and what is needed to cut others from them.

A host that keeps accounts has a `Division`: its ledgers, and the way to an ad for whatever slot they come to hold. One
of static slots may do without: nothing of it is divided while it runs, and each slot is taken whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from roost.base.records import dataclass, field, replace
from roost.classad import ClassAd
from roost.model.slots import SlotId, SlotKind
from roost.startd.layout.at_work import MachineSlots
from roost.startd.policy_inputs import SlotPolicy
from roost.startd.requests import RequestPolicy
from roost.starter.policy_inputs import StarterPolicy

_STARTER = StarterPolicy()


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotPlan:
    """One slot of a host."""

    name: str
    id: SlotId
    policy: SlotPolicy
    #: Attributes that don't change by themselves: sizes, names, WithinResourceLimits.
    ad: ClassAd
    cpus: int = 1
    kind: SlotKind = SlotKind.STATIC
    #: The policy of starters on it.
    starter: StarterPolicy = _STARTER


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """How a host is divided, and may be divided further."""

    #: The accounts at the beginning.
    slots: MachineSlots
    #: The ad of any slot, without what is sensed.
    ad_of: Callable[[MachineSlots, SlotId], ClassAd]
    name_of: Callable[[SlotId], str]
    #: The plan of a static or partitionable slot.
    plan_of: Callable[[MachineSlots, SlotId], SlotPlan]
    #: Number of a slot to what its configuration says of requests.
    requests: Mapping[int, RequestPolicy] = field(default_factory=dict)
    #: Numbers of dynamic slots that fetch work, or do not, otherwise than what they are cut from.
    fetches: Mapping[tuple[int, int], bool] = field(default_factory=dict)

    def policy_of(self, slot: SlotId, policy: SlotPolicy) -> SlotPolicy:
        """The policy of a slot with that number: a dynamic one may have hooks of its own."""
        fetches = self.fetches.get((slot.number, slot.dynamic), policy.fetches_work)
        return policy if fetches is policy.fetches_work else replace(policy, fetches_work=fetches)

    def cut(self, slots: MachineSlots, slot: SlotId, parent: SlotPlan) -> SlotPlan:
        """The plan of a dynamic slot: in all but its size it is its parent's."""
        return replace(
            parent,
            policy=self.policy_of(slot, parent.policy),
            name=self.name_of(slot),
            id=slot,
            ad=self.ad_of(slots, slot),
            cpus=int(slots.size(slot).cpus),
            kind=SlotKind.DYNAMIC,
        )
