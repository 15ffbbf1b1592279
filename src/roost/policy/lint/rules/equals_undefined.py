"""Comparison with UNDEFINED by == or !=.

What: ``X == UNDEFINED`` or ``X != UNDEFINED``.

Why: Whatever X is, the outcome is UNDEFINED: neither TRUE nor FALSE. Only ``=?=`` and ``=!=`` can ask whether
something is undefined.

Fix: ``==`` becomes ``=?=``, ``!=`` becomes ``=!=``.

Example::

    START = TARGET.NumJobStarts == UNDEFINED || TARGET.NumJobStarts < 3

Instead::

    START = TARGET.NumJobStarts =?= UNDEFINED || TARGET.NumJobStarts < 3
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Op
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries, is_undefined, operator_fix


@expression_rule("RST103", Severity.WARNING, "B3", fixes=True)
def check(expression: Expression) -> Iterator[Hit]:
    for node, _ in binaries(expression, Op.EQ, Op.NE):
        if is_undefined(node.left) or is_undefined(node.right):
            new = "=?=" if node.op is Op.EQ else "=!="
            yield Hit(
                message=f"{expression.text(node)} is always UNDEFINED",
                remedy=f"Write {new} to ask whether something is undefined.",
                node=node,
                fix=operator_fix(expression, node, new, f"write {new}"),
            )
