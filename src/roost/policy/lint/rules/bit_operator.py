"""& or | between conditions.

What: One ``&`` or ``|`` between two conditions.

Why: These operators join the bits of whole numbers. Of truth values they make ERROR.

Fix: ``&`` becomes ``&&``, ``|`` becomes ``||``, unless the conditions next to it would be grouped in another way then:
``|`` binds closer than ``&&``, and ``||`` does not.

Example::

    START = KeyboardIdle > 900 & LoadAvg < 0.3

Instead::

    START = KeyboardIdle > 900 && LoadAvg < 0.3
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Op, strip
from roost.policy.lint.abstract import Types
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries, is_condition, operator_fix


@expression_rule("RST114", Severity.ERROR, "B22", fixes=True)
def check(expression: Expression) -> Iterator[Hit]:
    bits = (Op.BIT_AND, Op.BIT_OR, Op.BIT_XOR)
    inside = {id(strip(side)) for node, _ in binaries(expression, *bits) for side in (node.left, node.right)}
    for node, _ in binaries(expression, *bits):
        sides = [expression.alone.of(side).without(Types.UNDEFINED | Types.ERROR) for side in (node.left, node.right)]
        if not any(side.only(Types.BOOLEAN) for side in sides):
            continue
        new = {Op.BIT_AND: "&&", Op.BIT_OR: "||"}.get(node.op)
        # Inside another one a condition would become an operand of bits.
        safe = is_condition(node.left) and is_condition(node.right) and id(node) not in inside
        yield Hit(
            message=f"{expression.text(node)} is ERROR: {node.op} joins bits, not conditions",
            remedy=f"Write {new}." if new else "Write != between conditions in parentheses.",
            node=node,
            fix=operator_fix(expression, node, new, f"write {new}") if safe and new else None,
        )
