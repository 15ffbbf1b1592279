"""A text is compared with a number.

What: One side of a comparison is a text, the other a number or a truth value.

Why: The outcome is ERROR, not FALSE, and takes the whole expression with it unless something before it decides.

Example::

    START = TARGET.RequestMemory < "4096"

Instead::

    START = TARGET.RequestMemory < 4096
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Op
from roost.policy.lint.abstract import Types
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries, is_undefined, span_fix, text_of


@expression_rule("RST102", Severity.ERROR, "B2", fixes=True)
def check(expression: Expression) -> Iterator[Hit]:
    for node, _ in binaries(expression, Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE):
        for side, other in ((node.left, node.right), (node.right, node.left)):
            left = expression.alone.of(side).without(Types.UNDEFINED | Types.ERROR)
            right = expression.alone.of(other).without(Types.UNDEFINED | Types.ERROR)
            if not (left.only(Types.STRING) and right.only(Types.COUNTABLE)):
                continue
            text = text_of(side)
            if is_undefined(other) or (text is not None and text.lower() == "undefined"):
                continue
            quoted = text is not None and text.replace(".", "", 1).lstrip("-").isdigit()
            yield Hit(
                message=f"{expression.text(side)} is a text, {expression.text(other)} a number: "
                f"{expression.text(node)} is ERROR",
                remedy="Leave the quotation marks out." if quoted else "Compare things of the same kind.",
                node=node,
                fix=span_fix(expression, *side.span, text, "leave the quotation marks out")
                if quoted and text is not None and expression.is_own(*side.span)
                else None,
            )
            break
