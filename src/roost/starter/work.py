"""The working state of one step: the starter as changed so far, and the step's output.

A `Work` lives for one step and is the only mutable object in this room.
"""

from __future__ import annotations

from typing import Any

from roost.base.fast_records import record, replace
from roost.model.starter import StarterReason, StarterTimer
from roost.model.starter_effects import StarterEffect
from roost.policy.decision import Decision
from roost.starter.policy_inputs import StarterInputs, StarterPolicy
from roost.starter.starter_state import Deadlines, StarterState
from roost.starter.states import Pair
from roost.starter.transitions import On


@record
class StarterTaken:
    """A transition that happened."""

    number: int
    source: Pair
    target: Pair
    reason: StarterReason
    #: Epoch s.
    at: float
    #: The evaluations of its guards; empty if no expression was evaluated.
    decisions: tuple[Decision, ...]

    @property
    def decision(self) -> Decision | None:
        """The evaluation that the reason names: the first; a later one only chose the kind of kill."""
        return self.decisions[0] if self.decisions else None


class Work:
    """A step in progress."""

    __slots__ = (
        "_inputs",
        "asked",
        "effects",
        "evaluating",
        "now",
        "policy",
        "raised",
        "retirement_s",
        "start",
        "state",
        "taken",
    )

    def __init__(self, state: StarterState, policy: StarterPolicy, now: float) -> None:
        self.start = state
        self.state = state
        self.policy = policy
        self.now = now
        self.effects: list[StarterEffect] = []
        self.taken: list[StarterTaken] = []
        #: Triggers for the first row only.
        self.raised: set[On] = set()
        #: Whether to evaluate the policy.
        self.evaluating = False
        #: Retirement time left according to the order to end the job, s; None if the order does not say.
        self.retirement_s: float | None = None
        #: The expressions evaluated, with their last results.
        self.asked: dict[str, Decision] = {}
        self._inputs: StarterInputs | None = None

    @property
    def inputs(self) -> StarterInputs:
        """Evaluates expressions in the starter's current state."""
        if self._inputs is None or self._inputs.state is not self.state:
            self._inputs = StarterInputs(self.state, self.policy, self.now)
        return self._inputs

    def decide(self, name: str) -> Decision:
        """The value of one of the policy's expressions."""
        decision = self.asked[name] = self.inputs.decide(name)
        return decision

    def update(self, **changes: Any) -> None:
        """Change fields of the starter."""
        self.state = replace(self.state, **changes)

    def schedule(self, **deadlines: float | None) -> None:
        """Change deadlines."""
        state = self.state
        times = state.deadlines
        for name, at in deadlines.items():
            if getattr(times, name) != at:
                self.state = replace(state, deadlines=replace(times, **deadlines))
                return

    def order(self, effect: StarterEffect) -> None:
        """Add an effect."""
        self.effects.append(effect)

    def fire(self, trigger: On) -> None:
        """Raise a trigger."""
        self.raised.add(trigger)


def deadlines(of: Deadlines) -> list[tuple[StarterTimer, float | None]]:
    """`deadline` of each timer."""
    return [*zip(StarterTimer, times(of), strict=True)]


def times(of: Deadlines) -> tuple[float | None, ...]:
    """`deadline` of each timer, in order."""
    return (
        of.poll_at,
        of.update_at,
        of.vacate_until,
        of.kill_again_at,
        of.hook_until,
        of.finish_until,
        of.deferred_until,
        of.soft_limit_at,
        of.hard_limit_at,
        of.method_at,
        of.checkpoint_at,
    )


def deadline(deadlines: Deadlines, timer: StarterTimer) -> float | None:
    """When a timer fires, epoch s; None if it is not set."""
    match timer:
        case StarterTimer.POLL:
            return deadlines.poll_at
        case StarterTimer.UPDATE:
            return deadlines.update_at
        case StarterTimer.VACATE:
            return deadlines.vacate_until
        case StarterTimer.KILLING:
            return deadlines.kill_again_at
        case StarterTimer.HOOK:
            return deadlines.hook_until
        case StarterTimer.FINISH:
            return deadlines.finish_until
        case StarterTimer.DEFERRAL:
            return deadlines.deferred_until
        case StarterTimer.SOFT_LIMIT:
            return deadlines.soft_limit_at
        case StarterTimer.HARD_LIMIT:
            return deadlines.hard_limit_at
        case StarterTimer.METHOD:
            return deadlines.method_at
        case StarterTimer.CHECKPOINT:
            return deadlines.checkpoint_at
