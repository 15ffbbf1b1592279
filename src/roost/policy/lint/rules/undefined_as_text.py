"""Comparison with the text "undefined".

What: ``X == "undefined"``.

Why: It compares with a text of nine letters. Where X is undefined the outcome is UNDEFINED, where X is a number it is
ERROR.

Fix: the quotation marks go, and ``==`` becomes ``=?=``.

Example::

    START = TARGET.AccountingGroup == "undefined"

Instead::

    START = TARGET.AccountingGroup =?= UNDEFINED
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Binary, Node, Op
from roost.policy.lint.findings import Fix
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries, operator_span, text_of


@expression_rule("RST104", Severity.WARNING, "B4", fixes=True)
def check(expression: Expression) -> Iterator[Hit]:
    for node, _ in binaries(expression, Op.EQ, Op.NE, Op.IS, Op.ISNT):
        for side in (node.left, node.right):
            if (text_of(side) or "").lower() == "undefined":
                yield Hit(
                    message=f"{expression.text(node)} compares with a text, not with the value UNDEFINED",
                    remedy="Write =?= UNDEFINED, or =!= UNDEFINED, without quotation marks.",
                    node=node,
                    fix=_fix(expression, node, side),
                )


def _fix(expression: Expression, node: Binary, side: Node) -> Fix | None:
    new = "=?=" if node.op in (Op.EQ, Op.IS) else "=!="
    span = operator_span(expression, node)
    edits = [expression.edit(*side.span, "UNDEFINED"), None if span is None else expression.edit(*span, new)]
    made = tuple([edit for edit in edits if edit is not None])
    return Fix(title=f"write {new} UNDEFINED", edits=made) if len(made) == 2 else None
