"""What the slots of one machine show each other.

For every slot and every name in STARTD_SLOT_ATTRS each slot's ad has ``slot<N>_name``: the *value* that the attribute
has in that slot. (HTCondor 8 copied the expression, which was then evaluated with the attributes of the reading slot;
for State, Activity and other constants the result is the same.) A pass evaluates slots by number, and takes their
neighbours' attributes again before each, so that slot 2 sees the new state of slot 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from roost.classad import UNDEFINED, ClassAd, Value, World
from roost.classad.ad import MISSING
from roost.classad.values import fold
from roost.model.slots import SlotId


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
