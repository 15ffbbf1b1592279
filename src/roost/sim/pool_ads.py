"""What a simulated slot shows the pool."""

from __future__ import annotations

from roost.classad import ClassAd
from roost.sim.host import Slot
from roost.startd.attributes import overlay, requirements


def pool_ad(slot: Slot, now: float) -> ClassAd:
    """The ad of a slot as of its last poll.

    Cells are taken as they are: nobody sees the ad, and nobody asks for spellings.
    """
    state = slot.state
    my = overlay(state, slot.plan.policy, now)
    ad = ClassAd()
    under = {} if my.chained is None else my.chained.cells
    ad.cells = {**slot.plan.ad.cells, **under, **my.cells, "name": slot.plan.name, "requirements": requirements(state)}
    return ad
