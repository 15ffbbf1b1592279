"""A limit on the steps that several evaluations may spend together, so that one request or one job cannot stop others.

    allowance = Allowance(steps=1_000_000, each=100_000)
    with allowance:
        value = ad.eval_expr(constraint)
    if allowance.exceeded:
        ...  # `value` is ERROR, and says nothing about the ad

Steps are counted, never time, so that the same expressions exceed the same allowance on every machine and in the lab.
An evaluation that needs more than is left, or more than `each`, is ERROR, and `exceeded` says so: ERROR alone could be
the value of the expression.

An allowance is in force for the thread, or the asyncio task, that entered it, and covers scalar and vector evaluation.
Steps spent in a nested allowance count for both.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from types import TracebackType
from typing import Final

from roost.classad.limits import EVALUATION_FUEL

#: Steps that a daemon allows for one evaluation of a user's expression: about 25 ms.
EXPRESSION_STEPS: Final = 50_000
#: Stands for any number of steps.
UNLIMITED: Final = 2**62


class Allowance:
    """Steps that all evaluations within it may spend together."""

    __slots__ = ("_began", "_token", "each", "exceeded", "left")

    def __init__(self, steps: int = EVALUATION_FUEL, each: int = EVALUATION_FUEL) -> None:
        #: Steps left. It may fall below 0 by the excess of the last evaluation.
        self.left = steps
        #: Most steps of one evaluation.
        self.each = each
        #: Whether an evaluation was stopped because its steps were spent.
        self.exceeded = False
        self._began = steps
        self._token: Token[Allowance | None] | None = None

    def __enter__(self) -> Allowance:
        self._began = self.left
        self._token = IN_FORCE.set(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._token is not None
        IN_FORCE.reset(self._token)
        outer = IN_FORCE.get()
        if outer is not None:
            outer.left -= self._began - self.left

    def for_one(self) -> int:
        """Steps that the next evaluation may spend; with none left, the allowance counts as exceeded."""
        if self.left <= 0:
            self.exceeded = True
            return 0
        return min(self.left, self.each)

    def charge(self, granted: int, left: int) -> None:
        """Account for an evaluation that was granted steps and has some left; fewer than 0 if it was stopped for
        that."""
        # Visiting an ad costs one step, too.
        self.left -= granted - left + 1
        if left < 0:
            self.exceeded = True


#: The allowance that evaluations spend; None if each has its own `EVALUATION_FUEL`.
IN_FORCE: Final[ContextVar[Allowance | None]] = ContextVar("roost_allowance", default=None)
