"""Conditions of which one always holds.

What: A comparison behind ``||`` cannot be FALSE where what stands before it is not TRUE.

Why: The whole is never FALSE. Mostly ``&&`` was meant, or one of the limits is turned round.

Example::

    START = ClockMin < 1080 || ClockMin > 480

Instead::

    START = ClockMin < 480 || ClockMin > 1080
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Binary, Node, Op
from roost.policy.lint.abstract import Types
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries, is_comparison


@expression_rule("RST308", Severity.WARNING, "D1", "C2")
def check(expression: Expression) -> Iterator[Hit]:
    if expression.inferred.too_deep:
        return
    for node, _ in binaries(expression, Op.OR):
        if _is_left_over(expression, node.right):
            yield Hit(
                message=f"{expression.text(node.right)} is never FALSE where {expression.text(node.left)} is not TRUE",
                remedy="Write && if both are needed; otherwise correct one of the two.",
                node=node.right,
            )


def _is_left_over(expression: Expression, part: Node) -> bool:
    """Whether a comparison can be FALSE, but not here; where nothing is known of what is compared, it is not said."""
    if not isinstance(part, Binary) or not (is_comparison(part) or part.op is Op.IS):
        return False
    here = expression.inferred.of(part)
    return expression.alone.of(part).can_be_false and not here.can_be_false and bool(here.types & Types.TRUE)
