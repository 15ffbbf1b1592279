"""Evaluations that decide something, and the world that expressions see meanwhile.

Daemons evaluate policy in steps: a step has one instant, which all its evaluations see. Each evaluation is a
`Decision`, which keeps what is needed to explain it later: the expression, both ads, and the `StepWorld`.

Nothing here reads a clock: time() and CurrentTime are the instant passed in, and random() is computed from it, from the
subject of the decision and from a seed in the policy, so that a later explanation sees the same numbers as the
decision.

What it does not do: interpret an expression that is neither TRUE nor FALSE. The caller does that.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Protocol

from roost.base.fast_records import field, record
from roost.classad import ClassAd, Expr, Trace, Value, parse_expression, trace, unparse_value
from roost.classad.world import World, zone_name

if TYPE_CHECKING:
    from roost.policy.explain import Explanation


class Surroundings(Protocol):
    """The part of a daemon's policy that `StepWorld` reads."""

    @property
    def zone_offset_s(self) -> int:
        """Seconds east of UTC of the machine's zone."""

    @property
    def chance_seed(self) -> str:
        """The seed of random(), in addition to instant and subject."""

    @property
    def lookups(self) -> World | None:
        """Home directories and user maps available to expressions; None for neither."""


class StepWorld:
    """The world that expressions see in one step."""

    __slots__ = ("_drawn", "instant", "policy", "subject")

    def __init__(self, policy: Surroundings, subject: str, instant: float) -> None:
        self.policy = policy
        #: The subject of the decisions, for instance the name of a slot.
        self.subject = subject
        self.instant = instant
        self._drawn = 0

    def again(self) -> StepWorld:
        """The same world as before any random number was drawn."""
        return StepWorld(self.policy, self.subject, self.instant) if self._drawn else self

    def now(self) -> float:
        """The instant of the step."""
        return self.instant

    def random(self) -> float:
        """A number determined by the seed, the subject, the instant and the count of numbers drawn before."""
        self._drawn += 1
        text = f"{self.policy.chance_seed}|{self.subject}|{self.instant!r}|{self._drawn}"
        return int.from_bytes(blake2b(text.encode(), digest_size=7).digest()) / 2**56

    def zone_offset(self, epoch: float) -> int:
        """The machine's zone."""
        return self.policy.zone_offset_s

    def zone_name(self) -> str:
        """The name of the machine's offset from UTC."""
        return zone_name(self.policy.zone_offset_s)

    def home_of(self, user: str) -> str | None:
        """From the policy's lookups."""
        return None if self.policy.lookups is None else self.policy.lookups.home_of(user)

    def user_map(self, name: str) -> Mapping[str, str] | None:
        """From the policy's lookups."""
        return None if self.policy.lookups is None else self.policy.lookups.user_map(name)


@record
class Decision:
    """An evaluation that decided something."""

    #: The attribute or the knob, variant included.
    name: str
    #: False if there is no such attribute.
    defined: bool = True
    value: Value
    #: None if the attribute is a plain value or missing.
    formula: Expr | None = None
    #: The outcome if it is neither TRUE nor FALSE.
    otherwise: bool = False
    my: ClassAd = field(repr=False, compare=False)
    target: ClassAd | None = field(repr=False, compare=False)
    world: StepWorld = field(repr=False, compare=False)

    @property
    def truth(self) -> bool | None:
        """TRUE, FALSE, or None for a value that is neither boolean nor number."""
        return truth_of(self.value)

    @property
    def holds(self) -> bool:
        """The outcome of the evaluation."""
        truth = truth_of(self.value)
        return self.otherwise if truth is None else truth

    @property
    def expression(self) -> Expr | None:
        """The evaluated expression; None if there is no such attribute."""
        if self.formula is not None or not self.defined:
            return self.formula
        return parse_expression(unparse_value(self.value))

    def trace(self) -> Trace | None:
        """The trace of the value by sub-expression; None if there is no expression."""
        expression = self.expression
        return None if expression is None else trace(expression, self.my, self.target, self.world.again())

    def explain(self) -> Explanation | None:
        """The clauses that decided; None if there is no expression."""
        expression = self.expression
        if expression is None:
            return None
        from roost.policy.explain import explain

        return explain(expression, self.my, self.target, world=self.world.again(), name=self.name)


def truth_of(value: Value) -> bool | None:
    """TRUE, FALSE, or None for a value that is neither boolean nor number."""
    kind = value.__class__
    if kind is bool:
        return value  # type: ignore[return-value]
    return bool(value) if kind is int or kind is float or isinstance(value, bool | int | float) else None
