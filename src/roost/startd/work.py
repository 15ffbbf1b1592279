"""The working state of one step: the slot as changed so far, and the step's output.

A `Work` lives for one step and is the only mutable object in this room. It is passed to handlers, guards and entries;
only the values it gathered outlive the step.
"""

from __future__ import annotations

from typing import Any, Final

from roost.base.fast_records import record, replace
from roost.model.effects import Effect
from roost.model.events import Timer
from roost.model.reasons import Reason, Refusal, VacateReason
from roost.policy.decision import Decision
from roost.startd.policy_inputs import Inputs, SlotPolicy
from roost.startd.slot_state import SlotState
from roost.startd.states import Pair
from roost.startd.transitions import On


@record
class Taken:
    """A transition that happened."""

    number: str
    letter: str
    source: Pair
    target: Pair
    reason: Reason
    #: Epoch s.
    at: float
    #: The evaluations of its guards, the deciding one last; empty if no expression was evaluated.
    decisions: tuple[Decision, ...]
    #: For an order to leave: what it means for the job, or the claim.
    cause: VacateReason | None = None

    @property
    def decision(self) -> Decision | None:
        """The deciding evaluation."""
        return self.decisions[-1] if self.decisions else None


#: All timers, in the order in which they fire if several are due.
TIMERS: Final = tuple(Timer)


class Work:
    """A step in progress."""

    __slots__ = ("_inputs", "effects", "evaluating", "now", "policy", "raised", "refusal", "start", "state", "taken")

    def __init__(self, state: SlotState, policy: SlotPolicy, now: float) -> None:
        self.start = state
        self.state = state
        self.policy = policy
        self.now = now
        self.effects: list[Effect] = []
        self.taken: list[Taken] = []
        #: Triggers for the first row.
        self.raised: set[On] = set()
        #: Whether to evaluate the policy.
        self.evaluating = False
        #: Why the event was refused; None if it was not.
        self.refusal: Refusal | None = None
        self._inputs: Inputs | None = None

    @property
    def inputs(self) -> Inputs:
        """Evaluates expressions in the slot's current state."""
        if self._inputs is None or self._inputs.state is not self.state:
            self._inputs = Inputs(self.state, self.policy, self.now)
        return self._inputs

    def update(self, **changes: Any) -> None:
        """Change fields of the slot."""
        self.state = replace(self.state, **changes)

    def update_claim(self, **changes: Any) -> None:
        """Change fields of the current claim."""
        state = self.state
        self.state = replace(state, claim=replace(state.claim, **changes))

    def update_activation(self, **changes: Any) -> None:
        """Change fields of the running job."""
        activation = self.state.claim.activation
        assert activation is not None
        state = self.state
        self.state = replace(state, claim=replace(state.claim, activation=replace(activation, **changes)))

    def update_eviction(self, **changes: Any) -> None:
        """Change fields of the eviction."""
        state = self.state
        self.state = replace(state, eviction=replace(state.eviction, **changes))

    def order(self, effect: Effect) -> None:
        """Add an effect."""
        self.effects.append(effect)

    def refuse(self, refusal: Refusal) -> None:
        """Refuse the event."""
        self.refusal = refusal


def deadlines(state: SlotState) -> tuple[float | None, ...]:
    """`deadline` of each timer, in order."""
    return (
        state.match_until,
        state.claim.lease_until,
        state.vacate_until,
        state.kill_again_at,
        state.fetching.retry_at,
    )


def deadline(state: SlotState, timer: Timer) -> float | None:
    """When a timer of the slot fires, epoch s; None if it is not set."""
    return deadlines(state)[TIMERS.index(timer)]
