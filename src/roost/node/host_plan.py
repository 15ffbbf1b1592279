"""The initial plan of a host: its slots, and what is needed to create dynamic slots from them.

A host that keeps accounts has a `Division`: its ledgers, and functions that make the ad of any slot in them. A host
with only static slots may do without: it is not divided further, and each slot is claimed whole.
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
    #: Attributes that do not change by themselves: sizes, names, WithinResourceLimits.
    ad: ClassAd
    cpus: int = 1
    kind: SlotKind = SlotKind.STATIC
    #: The policy of starters on it.
    starter: StarterPolicy = _STARTER


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """How a host is divided and can be divided further."""

    #: The initial accounts.
    slots: MachineSlots
    #: Makes the ad of any slot, without sensor readings.
    ad_of: Callable[[MachineSlots, SlotId], ClassAd]
    name_of: Callable[[SlotId], str]
    #: Makes the plan of a static or partitionable slot.
    plan_of: Callable[[MachineSlots, SlotId], SlotPlan]
    #: Slot number to its configured request policy.
    requests: Mapping[int, RequestPolicy] = field(default_factory=dict)
    #: Numbers of dynamic slots to whether they fetch work, where that differs from their parents.
    fetches: Mapping[tuple[int, int], bool] = field(default_factory=dict)

    def policy_of(self, slot: SlotId, policy: SlotPolicy) -> SlotPolicy:
        """The policy of a slot with that number: a dynamic slot may have its own hooks."""
        fetches = self.fetches.get((slot.number, slot.dynamic), policy.fetches_work)
        return policy if fetches is policy.fetches_work else replace(policy, fetches_work=fetches)

    def cut(self, slots: MachineSlots, slot: SlotId, parent: SlotPlan) -> SlotPlan:
        """The plan of a dynamic slot: its parent's, except for the size."""
        return replace(
            parent,
            policy=self.policy_of(slot, parent.policy),
            name=self.name_of(slot),
            id=slot,
            ad=self.ad_of(slots, slot),
            cpus=int(slots.size(slot).cpus),
            kind=SlotKind.DYNAMIC,
        )
