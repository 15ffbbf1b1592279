"""! in front of an attribute that may be missing.

What: ``!X``, where the ad may lack X.

Why: Where X is missing, ``!X`` is UNDEFINED, not TRUE. A START of that form refuses all the jobs that say nothing.

Fix: ``!X`` becomes ``X =!= True``, if X is known to be a truth value where it is there.

Example::

    START = !TARGET.IsShortTest

Instead::

    START = TARGET.IsShortTest =!= True
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Op, Unary
from roost.policy.lint.abstract import Types
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import is_comparison, lack, reference, span_fix


@expression_rule("RST118", Severity.WARNING, "B5", fixes=True)
def check(expression: Expression) -> Iterator[Hit]:
    for node, parent in expression.nodes:
        if not isinstance(node, Unary) or node.op is not Op.NOT or reference(node.operand) is None:
            continue
        operand = expression.inferred.of(node.operand)
        if not operand.can_be_undefined or (parent is not None and is_comparison(parent)):
            continue
        if operand.without(Types.UNDEFINED).only(Types.NUMBER | Types.STRING):
            continue
        text = expression.text(node.operand)
        yield Hit(
            message=f"!{text} is UNDEFINED where {text} is {lack(expression, node.operand)}",
            remedy=f"Write {text} =!= True.",
            node=node,
            fix=span_fix(expression, *node.span, f"({text} =!= True)", f"write {text} =!= True")
            if operand.without(Types.UNDEFINED).only(Types.BOOLEAN)
            else None,
        )
