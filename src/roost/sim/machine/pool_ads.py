"""The ad of a simulated slot in the pool."""

from __future__ import annotations

from roost.classad import ClassAd
from roost.classad.ad import key_of
from roost.node.host_slots import HostSlot
from roost.startd.attributes import overlay, requirements, spent
from roost.startd.publication import due


def pool_ad(slot: HostSlot, now: float) -> ClassAd:
    """The ad of a slot as of its last poll.

    Cells are taken as they are: the ad is not displayed, and its spellings are not used. The expected cost of draining
    the machine is left out: it is computed over all slots of the machine, and only defragmentation uses it.
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
    for name, value in (spent(state, now) | due(state, slot.plan.policy, now)).items():
        ad.cells[key_of(name)] = value
    if state.draining is not None and state.draining.start is None:
        del ad.cells["start"]
    return ad
