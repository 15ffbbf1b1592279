"""Time against size, seconds against minutes.

What: Two measured values are compared that count different things, or the same in different units: KeyboardIdle
(seconds) with ClockMin (minutes), a time with a memory size.

Why: The outcome says nothing. Often a name was mistaken for another.

Example::

    START = KeyboardIdle > ClockMin

Instead::

    START = KeyboardIdle > 900
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Op
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries


@expression_rule("RST303", Severity.WARNING, "C2")
def check(expression: Expression) -> Iterator[Hit]:
    for node, _ in binaries(expression, Op.LT, Op.LE, Op.GT, Op.GE, Op.EQ, Op.NE):
        left, right = expression.alone.of(node.left).unit, expression.alone.of(node.right).unit
        if left is None or right is None or not left.dimension or not right.dimension or left == right:
            continue
        if left.dimension == right.dimension == "memory or disk":
            continue
        if "date" in (left.dimension, right.dimension) and "time" in (left.dimension, right.dimension):
            continue
        yield Hit(
            message=f"{expression.text(node.left)} counts {left}, {expression.text(node.right)} counts {right}",
            remedy="Compare values that count the same thing in the same unit.",
            node=node,
        )
