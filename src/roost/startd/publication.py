"""The attributes that a slot's state machine adds to the ad that the pool sees.

The slot's layout and the machine's sensors provide the rest; `slot_ad` merges the two. The attributes are those of
`attributes.published`, and those that need an evaluation.
"""

from __future__ import annotations

import math

from roost.classad import ClassAd
from roost.startd.attributes import published
from roost.startd.own_work import paused_until
from roost.startd.policy_inputs import Inputs, SlotPolicy
from roost.startd.retirement import remaining_s
from roost.startd.slot_state import SlotState

#: Stands for an unlimited retirement, s.
_FOREVER_S = 2**31 - 1


def slot_attributes(state: SlotState, policy: SlotPolicy, now: float) -> ClassAd:
    """State, claim, policy and Requirements of a slot, as a new ad."""
    ad = published(state, policy, now)
    for name, value in due(state, policy, now).items():
        ad.put(name, value)
    return ad


def due(state: SlotState, policy: SlotPolicy, now: float) -> dict[str, int | str]:
    """The attributes that need an evaluation: how long the slot's job may still stay, and when work is fetched next."""
    found: dict[str, int | str] = {}
    if state.claim.activation is not None:
        found["RetirementTimeRemaining"] = retirement_left(state, policy, now)
    if policy.fetches_work:
        found["NextFetchWorkDelay"] = Inputs(state, policy, now).whole(
            "FetchWorkDelay", state.claim.job_ad, otherwise=300
        )
        if state.fetching.failures:
            found["FetchWorkFailures"] = state.fetching.failures
            found["FetchWorkPausedUntil"] = math.ceil(paused_until(state.fetching))
        if state.fetching.problem:
            found["FetchWorkProblem"] = state.fetching.problem
    return found


def retirement_left(state: SlotState, policy: SlotPolicy, now: float) -> int:
    """RetirementTimeRemaining of a slot's job, s."""
    seconds = remaining_s(Inputs(state, policy, now))
    return _FOREVER_S if math.isinf(seconds) else int(seconds)
