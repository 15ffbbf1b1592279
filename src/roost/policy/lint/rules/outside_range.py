"""A limit outside the attribute's range.

What: An attribute is compared with a number that it never reaches: ClockMin runs from 0 to 1439, ClockDay from 0
(Sunday) to 6.

Why: The comparison has the same outcome at all times. ``ClockDay == 7`` was meant to be Sunday and never is.

Example::

    START = ClockDay == 6 || ClockDay == 7

Instead::

    START = ClockDay == 6 || ClockDay == 0
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.classad.syntax import Node, Op
from roost.policy.lint.abstract import INF
from roost.policy.lint.findings import Severity
from roost.policy.lint.mapping import is_template
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries, reference


@expression_rule("RST304", Severity.WARNING, "C2", "D1")
def check(expression: Expression) -> Iterator[Hit]:
    for node, _ in binaries(expression, Op.LT, Op.LE, Op.GT, Op.GE, Op.EQ):
        for side, other in ((node.left, node.right), (node.right, node.left)):
            found, value, limit = reference(side), expression.alone.of(side), expression.alone.of(other)
            if found is None or limit.single is None or (value.low, value.high) == (-INF, INF):
                continue
            result = expression.alone.of(node)
            if result.can_be_true or not result.can_be_false or _is_of_template(expression, node):
                continue
            high = f"to {value.high:g}" if value.high < INF else "up"
            yield Hit(
                message=f"{expression.text(node)} is never TRUE: {found[1]} is a number from {value.low:g} {high}",
                remedy="Correct the limit, or the unit that it is written in.",
                node=node,
            )


def _is_of_template(expression: Expression, node: Node) -> bool:
    """Whether a comparison is a template's: its limit is a checked argument, such as the hour 0 or 24."""
    written = expression.mapped.written(*node.span)
    return written is not None and is_template(written[0].span.file)
