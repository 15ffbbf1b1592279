"""What slots of one machine show each other, and what a partitionable slot tells of those cut from it.

For every slot and every name in STARTD_SLOT_ATTRS each slot's ad has ``slot<N>_name``: the *value* that the attribute
has in that slot. (HTCondor 8 copied the expression, which then saw the attributes of the slot that reads it; for State,
Activity and other constants it is the same.) In a pass slots are looked at by number, and their neighbours' attributes
are taken anew before each, so that slot 2 sees what slot 1 has just become.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from roost.classad import UNDEFINED, ClassAd, Expr, Value, World, unparse_value
from roost.classad.ad import MISSING
from roost.classad.values import fold
from roost.model.slots import SlotId

#: Attributes of dynamic slots that their parent lists as Child<name>.
ROLLED_UP: Final = (
    "Name",
    "DSlotID",
    "CurrentRank",
    "RemoteUser",
    "RemoteOwner",
    "AccountingGroup",
    "State",
    "Activity",
    "EnteredCurrentState",
    "RetirementTimeRemaining",
    "Cpus",
    "Memory",
    "Disk",
)
_SPELLED: Final = {"DSlotID": "ChildDSlotId"}


def shown_to_neighbours(ads: Mapping[SlotId, ClassAd], names: Sequence[str], world: World) -> dict[str, Value]:
    """The attributes that every slot's ad gets, from the complete ads of all slots.

    An attribute that a slot does not have is not shown.
    """
    return {
        f"{slot}_{name}": value
        for slot, ad in sorted(ads.items())
        for name in names
        if ad.cell(fold(name)) is not MISSING and (value := ad.eval(name, None, world)) is not UNDEFINED
    }


def rolled_up(children: Mapping[SlotId, ClassAd], custom: Sequence[str], world: World) -> dict[str, Expr | bool | int]:
    """What a partitionable slot tells of its dynamic slots, from their complete ads: one list for each attribute.

    The items are in the order of the slots; undefined stands for what a slot does not have.
    """
    ads = [ad for _, ad in sorted(children.items())]
    found: dict[str, Expr | bool | int] = {"PslotRollupInformation": True, "NumDynamicSlots": len(ads)}
    for name in (*ROLLED_UP, *custom):
        items = ", ".join(unparse_value(ad.eval(name, None, world)) for ad in ads)
        found[_SPELLED.get(name, f"Child{name}")] = Expr.parse(f"{{{items}}}")
    return found
