"""Chained comparisons.

What: ``1 < X < 5``.

Why: The first comparison gives TRUE or FALSE, which the second compares as 1 or 0: the whole is TRUE for every X.

Example::

    START = 480 <= ClockMin < 1020

Instead::

    START = 480 <= ClockMin && ClockMin < 1020
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Op
from roost.policy.lint.abstract import Types
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries, is_comparison


@expression_rule("RST109", Severity.WARNING, "B9")
def check(expression: Expression) -> Iterator[Hit]:
    for node, _ in binaries(expression, Op.LT, Op.LE, Op.GT, Op.GE, Op.EQ, Op.NE):
        if not is_comparison(node.left):
            continue
        other = expression.alone.of(node.right)
        if other.types & Types.BOOLEAN or not other.types & (Types.NUMBER | Types.STRING):
            continue
        yield Hit(
            message=f"{expression.text(node)} compares the outcome of {expression.text(node.left)}, which is 1 or 0",
            remedy="Write two comparisons with && between.",
            node=node,
        )
