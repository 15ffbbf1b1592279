"""ClockMin compared with an hour.

What: ClockMin is compared with a number from 1 to 24.

Why: ClockMin counts the minutes since midnight: 17 is seventeen minutes past midnight, not five in the afternoon.

Example::

    START = ClockMin < 8 || ClockMin > 17

Instead::

    START = ClockMin < 8 * 60 || ClockMin > 17 * 60
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Op
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries, is_reference_to


@expression_rule("RST310", Severity.WARNING, "C2")
def check(expression: Expression) -> Iterator[Hit]:
    if "clockmin" not in expression.names:
        return
    for node, _ in binaries(expression, Op.LT, Op.LE, Op.GT, Op.GE, Op.EQ):
        for side, other in ((node.left, node.right), (node.right, node.left)):
            limit = expression.alone.of(other).single
            if is_reference_to(side, "ClockMin") and limit is not None and 1 <= limit <= 24:
                yield Hit(
                    message=f"ClockMin counts minutes: {limit:g} is {limit:g} minutes past midnight",
                    remedy=f"Write {limit:g} * 60.",
                    node=node,
                )
