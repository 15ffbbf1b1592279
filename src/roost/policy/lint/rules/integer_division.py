"""Division of whole numbers.

What: Both sides of ``/`` are whole numbers, and the outcome is compared with a fraction, or both are constants whose
quotient is none.

Why: The fraction is cut off: ``5 / 2`` is 2, and ``MemoryUsage / Memory`` is 0 until all memory is used, so that it
never lies between 0.9 and 1.

Example::

    PREEMPT = MemoryUsage / Memory > 0.9

Instead::

    PREEMPT = MemoryUsage > 0.9 * Memory
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Binary, Literal, Node, Op, strip
from roost.policy.lint.abstract import Types
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries, is_comparison


@expression_rule("RST110", Severity.WARNING, "B10")
def check(expression: Expression) -> Iterator[Hit]:
    for node, _ in binaries(expression, Op.DIV):
        if _whole_constants(node.left, node.right):
            yield Hit(
                message=f"{expression.text(node)} loses its fraction: both sides are whole numbers",
                remedy="Write one of them with a decimal point.",
                node=node,
            )
    for comparison, _ in binaries(expression, Op.LT, Op.LE, Op.GT, Op.GE, Op.EQ, Op.NE):
        for side, other in ((comparison.left, comparison.right), (comparison.right, comparison.left)):
            quotient, limit = strip(side), expression.alone.of(other).single
            if limit is None or float(limit).is_integer() or not is_comparison(comparison):
                continue
            if isinstance(quotient, Binary) and quotient.op is Op.DIV and _whole(expression, quotient):
                yield Hit(
                    message=f"{expression.text(quotient)} is a whole number and is compared with {limit:g}",
                    remedy="Multiply instead of dividing, or make one side real(…).",
                    node=comparison,
                )


def _whole_constants(left: Node, right: Node) -> bool:
    a, b = strip(left), strip(right)
    values = [n.value for n in (a, b) if isinstance(n, Literal) and isinstance(n.value, int) and n.value is not True]
    return len(values) == 2 and values[1] != 0 and values[0] % values[1] != 0 and not isinstance(values[0], bool)


def _whole(expression: Expression, node: Binary) -> bool:
    sides = [expression.alone.of(side).without(Types.UNDEFINED | Types.ERROR) for side in (node.left, node.right)]
    return all(side.only(Types.INTEGER) for side in sides)
