"""What one step works with: the starter as it has become so far, and all that is to come out of the step.

A `Work` lives for one step and is the only thing in this room that changes.
"""

from __future__ import annotations

from typing import Any, Final

from roost.base.changed import changed, changer, maker
from roost.base.records import dataclass
from roost.model.starter import StarterReason, StarterTimer
from roost.model.starter_effects import StarterEffect
from roost.policy.decision import Decision
from roost.starter.policy_inputs import Inputs, StarterPolicy
from roost.starter.starter_state import Deadlines, StarterState
from roost.starter.states import Pair
from roost.starter.transitions import On


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A transition that happened."""

    number: int
    source: Pair
    target: Pair
    reason: StarterReason
    #: Epoch s.
    at: float
    #: The evaluations that its guards consisted of; empty where no expression was asked.
    decisions: tuple[Decision, ...]

    @property
    def decision(self) -> Decision | None:
        """The evaluation that the reason names: the first; one after it only chose the kind of kill."""
        return self.decisions[0] if self.decisions else None


#: A transition that happened, made faster.
transition: Final = maker(Taken)


_with_deadlines: Final = changer(StarterState, "deadlines")


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
        self.taken: list[Taken] = []
        #: Triggers for the first row.
        self.raised: set[On] = set()
        #: Whether the policy is evaluated.
        self.evaluating = False
        #: Retirement that the job has left according to the order to end it, s; None where the order does not say.
        self.retirement_s: float | None = None
        #: What expressions were asked for, and how they came out last.
        self.asked: dict[str, Decision] = {}
        self._inputs: Inputs | None = None

    @property
    def inputs(self) -> Inputs:
        """Evaluates expressions in the starter as it is now."""
        if self._inputs is None or self._inputs.state is not self.state:
            self._inputs = Inputs(self.state, self.policy, self.now)
        return self._inputs

    def decide(self, name: str) -> Decision:
        """The value of one of the policy's expressions."""
        decision = self.asked[name] = self.inputs.decide(name)
        return decision

    def update(self, **changes: Any) -> None:
        """Change fields of the starter."""
        self.state = changed(self.state, changes)

    def schedule(self, **deadlines: float | None) -> None:
        """Change deadlines."""
        state = self.state
        times = state.deadlines
        for name, at in deadlines.items():
            if getattr(times, name) != at:
                self.state = _with_deadlines(state, changed(times, deadlines))
                return

    def order(self, effect: StarterEffect) -> None:
        """Add an effect."""
        self.effects.append(effect)

    def fire(self, trigger: On) -> None:
        """Let rows with that trigger be tried."""
        self.raised.add(trigger)


def deadlines(of: Deadlines) -> list[tuple[StarterTimer, float | None]]:
    """`deadline` of every timer."""
    return [*zip(StarterTimer, times(of), strict=True)]


def times(of: Deadlines) -> tuple[float | None, ...]:
    """`deadline` of every timer, in their order."""
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
    """When a timer runs out, epoch s; None if it is not set."""
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
