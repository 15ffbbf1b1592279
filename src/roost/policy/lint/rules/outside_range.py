"""A limit outside the attribute's range.

What: An attribute is compared with a number that it never reaches: ClockMin runs from 0 to 1439, ClockDay from 0
(Sunday) to 6.

Why: The comparison has the same outcome at all times. ``ClockDay == 7`` was meant to be Sunday and never is, and
``ClockDay <= 7`` leaves nothing out.

Example::

    START = ClockDay == 6 || ClockDay == 7

Instead::

    START = ClockDay == 6 || ClockDay == 0
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Node, Op
from roost.policy.lint.abstract import INF, Abstract
from roost.policy.lint.mapping import is_template
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries, reference

#: Ranges with fewer numbers than this have no limits besides them that are only another way to write their ends.
_SHORT = 10


@expression_rule("RST304", Severity.WARNING, "C2", "D1")
def check(expression: Expression) -> Iterator[Hit]:
    for node, _ in binaries(expression, Op.LT, Op.LE, Op.GT, Op.GE, Op.EQ, Op.NE):
        for side, other in ((node.left, node.right), (node.right, node.left)):
            found, value, limit = reference(side), expression.alone.of(side), expression.alone.of(other)
            if found is None or limit.single is None or (value.low, value.high) == (-INF, INF):
                continue
            result = expression.alone.of(node)
            never = [
                word for word, can_be in (("TRUE", result.can_be_true), ("FALSE", result.can_be_false)) if not can_be
            ]
            if len(never) != 1 or (never == ["FALSE"] and not _is_beyond(node.op, limit.single, value)):
                continue
            if _is_of_template(expression, node):
                continue
            high = f"to {value.high:g}" if value.high < INF else "up"
            yield Hit(
                message=f"{expression.text(node)} is never {never[0]}: "
                f"{found[1]} is a number from {value.low:g} {high}",
                remedy="Correct the limit, or the unit that it is written in.",
                node=node,
            )


def _is_beyond(op: Op, limit: float, value: Abstract) -> bool:
    """Whether a limit lies so far outside a range that it cannot be a way to write the range's end.

    ``< 7``, a day that ends at 24 * 60, a size from 0 and ``> -1`` are such ways; ``<= 7`` for days is none.
    """
    slack = 1 if op in (Op.LT, Op.GT) or value.high - value.low >= _SHORT else 0
    return limit > value.high + slack or limit < value.low - slack


def _is_of_template(expression: Expression, node: Node) -> bool:
    """Whether a comparison is a template's: its limit is a checked argument, such as the hour 0 or 24."""
    written = expression.mapped.written(*node.span)
    return written is not None and is_template(written[0].span.file)
