"""&& and || without parentheses.

What: ``A && B || C`` written in one line of text, without parentheses.

Why: ``&&`` binds tighter, so it means ``(A && B) || C``. That may be what was meant; the next reader has to know it
by heart.

Example::

    START = KeyboardIdle > 900 && LoadAvg < 0.3 || TARGET.Owner == "coltrane"

Instead::

    START = (KeyboardIdle > 900 && LoadAvg < 0.3) || TARGET.Owner == "coltrane"
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Binary, Op
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries


@expression_rule("RST119", Severity.NOTE, "A12")
def check(expression: Expression) -> Iterator[Hit]:
    for node, parent in binaries(expression, Op.OR):
        if isinstance(parent, Binary) and parent.op is Op.OR:
            continue
        sides = [node.left, node.right]
        while isinstance(sides[0], Binary) and sides[0].op is Op.OR:
            sides[:1] = [sides[0].left, sides[0].right]
        mixed = next((one for one in sides if isinstance(one, Binary) and one.op is Op.AND), None)
        run = None if mixed is None else expression.mapped.run_at(mixed.span[0])
        # Where a macro brought one of the operators in, its own rule speaks.
        if mixed is not None and run is expression.mapped.run_at(max(node.span[1] - 1, 0)):
            yield Hit(
                message=f"{expression.text(mixed)} stands next to || without parentheses",
                remedy="Put the && part in parentheses.",
                node=mixed,
            )
