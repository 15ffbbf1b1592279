"""Division by something that can be 0.

What: The divisor is an attribute that can be 0, and nothing before it excludes that.

Why: Division by 0 is ERROR. A partitionable slot that is used up has no cores left, for instance. Behind ``&&`` and
``||`` an ERROR on the left decides the whole expression.

Example::

    START = (TARGET.RequestMemory / Cpus) < 4096

Instead::

    START = Cpus > 0 && (TARGET.RequestMemory / Cpus) < 4096
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Op
from roost.policy.lint.abstract import KIB, MIB, Abstract
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
        elif reference(node.right) is not None and low == 0 < high and not _never(expression.text(node.right), divisor):
            yield Hit(
                message=f"{expression.text(node)} is ERROR when {expression.text(node.right)} is 0",
                remedy=f"Put {expression.text(node.right)} > 0 && before it, or multiply instead of dividing.",
                node=node,
            )


def _never(text: str, value: Abstract) -> bool:
    """Whether it is 0 on no machine: what a machine has in all, and memory and disk of a slot that runs a job."""
    name = text.rpartition(".")[2].lower()
    return value.unit in (KIB, MIB) or name.startswith(("total", "detected"))
