"""Division by something that can be 0.

What: The divisor is an attribute that can be 0, and nothing before it excludes that.

Why: Division by 0 is ERROR. Behind ``&&`` and ``||`` an ERROR on the left decides the whole expression.

Example::

    START = (TotalLoadAvg / TotalSlots) < 0.5

Instead::

    START = TotalSlots > 0 && (TotalLoadAvg / TotalSlots) < 0.5
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.classad.syntax import Op
from roost.policy.lint.abstract import KIB, MIB, Abstract
from roost.policy.lint.findings import Severity
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries, reference


@expression_rule("RST111", Severity.WARNING, "B11")
def check(expression: Expression) -> Iterator[Hit]:
    for node, _ in binaries(expression, Op.DIV, Op.MOD):
        divisor = expression.inferred.of(node.right)
        low, high = divisor.interval
        if divisor.single == 0:
            yield Hit(
                message=f"{expression.text(node)} divides by 0 and is ERROR", remedy="Correct the divisor.", node=node
            )
        elif reference(node.right) is not None and low == 0 < high and not _size(divisor):
            yield Hit(
                message=f"{expression.text(node)} is ERROR when {expression.text(node.right)} is 0",
                remedy=f"Put {expression.text(node.right)} > 0 && before it, or multiply instead of dividing.",
                node=node,
            )


def _size(value: Abstract) -> bool:
    """Whether it is an amount of memory or disk: a slot that runs a job has some."""
    return value.unit in (KIB, MIB)
