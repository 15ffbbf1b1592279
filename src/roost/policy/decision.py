"""Evaluations that something was decided by, and what expressions see of the world while it is decided.

Daemons that act on policy evaluate it in steps: a step has one instant, and everything that it asks sees that instant.
Each evaluation is a `Decision`, which keeps what is needed to show later how it came out: the expression, both ads, and
the `StepWorld`.

Nothing here reads a clock: time() and CurrentTime are the instant handed in, random() is computed from it, from the
name of what is decided about and from a seed in the policy, so that an explanation made later sees the numbers that the
decision saw.

What it does not do: say what it means that an expression is neither TRUE nor FALSE. The caller that evaluates it knows
that.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Protocol

from roost.base.changed import maker
from roost.base.records import dataclass, field
from roost.classad import ClassAd, Expr, Trace, Value, parse_expression, trace, unparse_value
from roost.classad.world import World, zone_name

if TYPE_CHECKING:
    from roost.policy.explain import Explanation


class Surroundings(Protocol):
    """What a policy says of the world: the part of a daemon's policy that `StepWorld` reads."""

    @property
    def zone_offset_s(self) -> int:
        """Seconds east of UTC of the machine's zone."""

    @property
    def chance_seed(self) -> str:
        """What random() is computed from, beside instant and subject."""

    @property
    def lookups(self) -> World | None:
        """Home directories and user maps that expressions may ask for; None for neither."""


class StepWorld:
    """What expressions see of the world in one step."""

    __slots__ = ("_drawn", "instant", "policy", "subject")

    def __init__(self, policy: Surroundings, subject: str, instant: float) -> None:
        self.policy = policy
        #: What is decided about, for instance the name of a slot.
        self.subject = subject
        self.instant = instant
        self._drawn = 0

    def again(self) -> StepWorld:
        """The same world as it was before anything was drawn."""
        return StepWorld(self.policy, self.subject, self.instant) if self._drawn else self

    def now(self) -> float:
        """The instant of the step."""
        return self.instant

    def random(self) -> float:
        """A number that the seed, the subject, the instant and the count of numbers drawn before decide."""
        self._drawn += 1
        text = f"{self.policy.chance_seed}|{self.subject}|{self.instant!r}|{self._drawn}"
        return int.from_bytes(blake2b(text.encode(), digest_size=7).digest()) / 2**56

    def zone_offset(self, epoch: float) -> int:
        """The machine's zone."""
        return self.policy.zone_offset_s

    def zone_name(self) -> str:
        """What the distance of the machine's zone from UTC is called."""
        return zone_name(self.policy.zone_offset_s)

    def home_of(self, user: str) -> str | None:
        """As the policy's lookups say."""
        return None if self.policy.lookups is None else self.policy.lookups.home_of(user)

    def user_map(self, name: str) -> Mapping[str, str] | None:
        """As the policy's lookups say."""
        return None if self.policy.lookups is None else self.policy.lookups.user_map(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """An evaluation that something was decided by."""

    #: The attribute or the knob, variant included.
    name: str
    #: False where there is no such attribute.
    defined: bool = True
    value: Value
    #: None where the attribute is a plain value, or not there.
    formula: Expr | None = None
    #: What it means if it is neither TRUE nor FALSE.
    otherwise: bool = False
    my: ClassAd = field(repr=False, compare=False)
    target: ClassAd | None = field(repr=False, compare=False)
    world: StepWorld = field(repr=False, compare=False)

    @property
    def truth(self) -> bool | None:
        """TRUE, FALSE, or None for what is neither boolean nor number."""
        return truth_of(self.value)

    @property
    def holds(self) -> bool:
        """What the value means."""
        truth = truth_of(self.value)
        return self.otherwise if truth is None else truth

    @property
    def expression(self) -> Expr | None:
        """What was evaluated; None where there is no such attribute."""
        if self.formula is not None or not self.defined:
            return self.formula
        return parse_expression(unparse_value(self.value))

    def trace(self) -> Trace | None:
        """How the value came about, sub-expression by sub-expression; None where there is no expression."""
        expression = self.expression
        return None if expression is None else trace(expression, self.my, self.target, self.world.again())

    def explain(self) -> Explanation | None:
        """The clauses that decided; None where there is no expression."""
        expression = self.expression
        if expression is None:
            return None
        from roost.policy.explain import explain

        return explain(expression, self.my, self.target, world=self.world.again(), name=self.name)


#: A decision, made faster.
decision: Final = maker(Decision)


def truth_of(value: Value) -> bool | None:
    """TRUE, FALSE, or None for what is neither boolean nor number."""
    kind = value.__class__
    if kind is bool:
        return value  # type: ignore[return-value]
    return bool(value) if kind is int or kind is float or isinstance(value, bool | int | float) else None
