"""Multiplied by 0.

What: A condition or an attribute is multiplied by the number 0.

Why: The outcome is 0 whatever the condition says. Often the number was a place-holder in an example: "replace 0 by
the retirement time you want".

Example::

    MAXJOBRETIREMENTTIME = (IsDesktop =!= True) * 0

Instead::

    MAXJOBRETIREMENTTIME = (IsDesktop =!= True) * (2 * 3600)
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Op
from roost.config import Origin
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries


@expression_rule("RST123", Severity.WARNING, "A8")
def check(expression: Expression) -> Iterator[Hit]:
    for node, _ in binaries(expression, Op.MUL):
        left, right = expression.alone.of(node.left), expression.alone.of(node.right)
        zero = (left.constant and left.single == 0) or (right.constant and right.single == 0)
        # A template leaves the number to its argument, and 0 is what it means there.
        written = expression.mapped.run_at(node.span[0]).definition.origin is Origin.FILE
        if zero and written and not (left.constant and right.constant):
            yield Hit(
                message=f"{expression.text(node)} is always 0",
                remedy="Put the number that is meant in place of 0, or drop the term.",
                node=node,
            )
