"""What a simulated slot shows the pool."""

from __future__ import annotations

from roost.classad import ClassAd
from roost.node.host_slots import Slot
from roost.startd.attributes import overlay, requirements
from roost.startd.publication import retirement_left


def pool_ad(slot: Slot, now: float) -> ClassAd:
    """The ad of a slot as of its last poll.

    Cells are taken as they are: the ad is not shown, and its spellings are not used.
    """
    state = slot.state
    my = overlay(state, slot.plan.policy, now)
    ad = ClassAd()
    under = {} if my.chained is None else my.chained.cells
    ad.cells = {
        **slot.plan.ad.cells,
        **under,
        **my.cells,
        "name": slot.plan.name,
        "requirements": requirements(state, slot.plan.policy),
    }
    if state.claim.activation is not None:
        ad.cells["retirementtimeremaining"] = retirement_left(state, slot.plan.policy, now)
    return ad
