"""What one step works with: the slot as it has become so far, and all that is to come out of the step.

A `Work` lives for one step. It is the only thing in this room that changes; handlers, guards and entries get it, and
nothing of it is left when the step is over but the values it gathered.
"""

from __future__ import annotations

from typing import Any, Final

from roost.base.changed import changed, changer, maker
from roost.base.records import dataclass
from roost.model.claims import Claim
from roost.model.effects import Effect
from roost.model.events import Timer
from roost.model.reasons import Reason, Refusal, VacateReason
from roost.policy.decision import Decision
from roost.startd.policy_inputs import Inputs, SlotPolicy
from roost.startd.slot_state import SlotState
from roost.startd.states import Pair
from roost.startd.transitions import On


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A transition that happened."""

    number: str
    letter: str
    source: Pair
    target: Pair
    reason: Reason
    #: Epoch s.
    at: float
    #: The evaluations that its guards consisted of, the deciding one last; empty where no expression was asked.
    decisions: tuple[Decision, ...]
    #: For an order to leave: what it is to the job, or the claim.
    cause: VacateReason | None = None

    @property
    def decision(self) -> Decision | None:
        """The deciding evaluation."""
        return self.decisions[-1] if self.decisions else None


#: All timers, in the order in which they run out where several have.
TIMERS: Final = tuple(Timer)


#: A transition that happened, made faster.
transition: Final = maker(Taken)


_with_claim: Final = changer(SlotState, "claim")
_with_eviction: Final = changer(SlotState, "eviction")
_with_activation: Final = changer(Claim, "activation")


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
        #: Whether the policy is evaluated.
        self.evaluating = False
        #: Why the event was refused; None if it was not.
        self.refusal: Refusal | None = None
        self._inputs: Inputs | None = None

    @property
    def inputs(self) -> Inputs:
        """Evaluates expressions in the slot as it is now."""
        if self._inputs is None or self._inputs.state is not self.state:
            self._inputs = Inputs(self.state, self.policy, self.now)
        return self._inputs

    def update(self, **changes: Any) -> None:
        """Change fields of the slot."""
        self.state = changed(self.state, changes)

    def update_claim(self, **changes: Any) -> None:
        """Change fields of the present claim."""
        state = self.state
        self.state = _with_claim(state, changed(state.claim, changes))

    def update_activation(self, **changes: Any) -> None:
        """Change fields of the running job."""
        activation = self.state.claim.activation
        assert activation is not None
        state = self.state
        self.state = _with_claim(state, _with_activation(state.claim, changed(activation, changes)))

    def update_eviction(self, **changes: Any) -> None:
        """Change fields of why and how the claim has to go."""
        state = self.state
        self.state = _with_eviction(state, changed(state.eviction, changes))

    def order(self, effect: Effect) -> None:
        """Add an effect."""
        self.effects.append(effect)

    def refuse(self, refusal: Refusal) -> None:
        """The event is refused."""
        self.refusal = refusal


def deadlines(state: SlotState) -> tuple[float | None, ...]:
    """`deadline` of every timer, in their order."""
    return (
        state.match_until,
        state.claim.lease_until,
        state.vacate_until,
        state.kill_again_at,
        state.fetching.retry_at,
    )


def deadline(state: SlotState, timer: Timer) -> float | None:
    """When a timer of the slot runs out, epoch s; None if it is not set."""
    return deadlines(state)[TIMERS.index(timer)]
