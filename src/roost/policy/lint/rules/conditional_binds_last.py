"""A test for UNDEFINED that takes in a whole comparison.

What: ``a - b > limit is UNDEFINED ? x : y``, or ``A == B =?= UNDEFINED``: ``is`` and ``=?=`` stand between a
comparison and UNDEFINED, and no parentheses say what is asked about.

Why: The comparison is done first, so the question is whether its outcome is undefined, not the attribute. With a
conditional behind it the values of its branches are taken as the answer: a number other than 0 counts as TRUE, and a
removal policy of that form has removed all jobs of a site.

Example::

    SYSTEM_PERIODIC_REMOVE = time() - QDate > MaxWait is UNDEFINED ? 86400 : MaxWait

Instead::

    SYSTEM_PERIODIC_REMOVE = (time() - QDate) > (MaxWait is UNDEFINED ? 86400 : MaxWait)
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Op
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries, is_comparison, is_undefined


@expression_rule("RST107", Severity.WARNING, "B7")
def check(expression: Expression) -> Iterator[Hit]:
    for node, _ in binaries(expression, Op.IS, Op.ISNT):
        if is_comparison(node.left) and is_undefined(node.right):
            yield Hit(
                message=f"{expression.text(node)} asks whether the comparison is undefined, not the attribute",
                remedy="Put in parentheses what is asked about, and the whole conditional if there is one.",
                node=node,
            )
