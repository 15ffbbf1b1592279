"""Whether a claim accepts another job: what its holder learns at the end of a job, before it tries.

Source: states.md §6 (deactivation), §9 (CLAIM_WORKLIFE).
"""

from __future__ import annotations

from roost.policy.decision import Decision
from roost.startd.policy_inputs import Inputs, whole
from roost.startd.states import RETIRING, State


def worklife(inputs: Inputs) -> tuple[bool, Decision | None]:
    """Whether a claim is older than CLAIM_WORKLIFE permits; no limit if that is absent, not a number, or below 0."""
    claim = inputs.state.claim
    if claim.jobs_begun == 0 or claim.granted_at is None:
        return False, None
    decision = inputs.decide("CLAIM_WORKLIFE")
    limit = whole(decision.value, -1)
    return 0 <= limit < inputs.now - claim.granted_at, decision


def takes_more(inputs: Inputs) -> bool:
    """Whether the claim continues after its current job."""
    state = inputs.state
    return (
        state.state is State.CLAIMED
        and state.pair != RETIRING
        and not state.in_retirement
        and state.shutdown is None
        and state.leaving is None
        and not worklife(inputs)[0]
    )


def is_closing(inputs: Inputs) -> bool:
    """Whether the claim ends with its job: it accepts no further job, or the owner is present, for whom an idle claim
    makes way.
    """
    return not takes_more(inputs) or inputs.decide("IsOwner", inputs.state.claim.job_ad).truth is True
