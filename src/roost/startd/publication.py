"""What a slot's state machine adds to the ad that the pool sees.

The slot's layout and the machine's sensors give the rest; `slot_ad` merges the two. The attributes are those of
`attributes.published`, and what takes an evaluation to know.
"""

from __future__ import annotations

import math

from roost.classad import ClassAd
from roost.startd.attributes import published
from roost.startd.policy_inputs import Inputs, SlotPolicy
from roost.startd.retirement import remaining_s
from roost.startd.slot_state import SlotState

#: Stands for a retirement without an end, s.
_FOREVER_S = 2**31 - 1


def slot_attributes(state: SlotState, policy: SlotPolicy, now: float) -> ClassAd:
    """State, claim, policy and Requirements of a slot, as a new ad."""
    ad = published(state, policy, now)
    if state.claim.activation is not None:
        ad.put("RetirementTimeRemaining", retirement_left(state, policy, now))
    if policy.fetches_work:
        delay = Inputs(state, policy, now).whole("FetchWorkDelay", state.claim.job_ad, otherwise=300)
        ad.put("NextFetchWorkDelay", delay)
    return ad


def retirement_left(state: SlotState, policy: SlotPolicy, now: float) -> int:
    """RetirementTimeRemaining of a slot's job, s."""
    seconds = remaining_s(Inputs(state, policy, now))
    return _FOREVER_S if math.isinf(seconds) else int(seconds)
