"""! in front of a comparison.

What: ``!A == B``, without parentheses.

Why: ``!`` binds tighter than ``==``: it means ``(!A) == B``. With numbers and texts that is something else than
``A != B``, or ERROR.

Example::

    START = !TARGET.JobUniverse == 7

Instead::

    START = TARGET.JobUniverse != 7
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Op, Unary
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries


@expression_rule("RST108", Severity.WARNING, "B8")
def check(expression: Expression) -> Iterator[Hit]:
    for node, _ in binaries(expression, Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE, Op.IS, Op.ISNT):
        if isinstance(node.left, Unary) and node.left.op is Op.NOT:
            yield Hit(
                message=f"{expression.text(node)} negates only {expression.text(node.left.operand)}",
                remedy="Write !( … ) around the comparison, or turn the operator round.",
                node=node,
            )
