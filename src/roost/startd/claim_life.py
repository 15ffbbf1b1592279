"""Whether a claim takes another job: what its holder is told when a job ends, before it tries.

Source: states.md §6 (deactivation), §9 (CLAIM_WORKLIFE).
"""

from __future__ import annotations

from roost.policy.decision import Decision
from roost.startd.policy_inputs import Inputs, whole
from roost.startd.states import RETIRING, State


def worklife(inputs: Inputs) -> tuple[bool, Decision | None]:
    """Whether a claim is older than CLAIM_WORKLIFE permits: no limit where that is absent, no number or below 0."""
    claim = inputs.state.claim
    if claim.jobs_begun == 0 or claim.granted_at is None:
        return False, None
    decision = inputs.decide("CLAIM_WORKLIFE")
    limit = whole(decision.value, -1)
    return 0 <= limit < inputs.now - claim.granted_at, decision


def takes_more(inputs: Inputs) -> bool:
    """Whether the claim goes on after its present job."""
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
    """Whether the claim ends with its job: it takes no more, or the owner whom an idle claim makes way for is there."""
    return not takes_more(inputs) or inputs.decide("IsOwner", inputs.state.claim.job_ad).truth is True
