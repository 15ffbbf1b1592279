"""An expression that is always ERROR.

What: Whatever the ads hold, a part of the expression is ERROR, for a reason that no other rule names.

Why: An ERROR that is evaluated decides the whole expression, unless something before it has. The policy does not work
at all, and nothing says so.

Example::

    START = -(KeyboardIdle > 900) == -1

Instead::

    START = KeyboardIdle > 900
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Binary, Call, Literal, Node, Op, Paren, Unary, children
from roost.policy.lint.abstract import Types
from roost.policy.lint.operators import binary, conjunction, disjunction, unary
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule


@expression_rule("RST122", Severity.ERROR, "B12")
def check(expression: Expression) -> Iterator[Hit]:
    for node, _ in expression.nodes:
        if isinstance(node, Literal | Paren | Call) or not _erring(expression, node):
            continue
        if any(_erring(expression, child) for child in children(node)) or _said_elsewhere(expression, node):
            continue
        yield Hit(
            message=f"{expression.text(node)} is always ERROR"
            + (" where it has a value at all" if expression.alone.of(node).can_be_undefined else ""),
            remedy="Look at the kinds of its operands: an operator is applied to something that it does not take.",
            node=node,
        )


def _erring(expression: Expression, node: Node) -> bool:
    """Whether a node is ERROR whatever its operands are, except for UNDEFINED where one of them is."""
    if not expression.alone.of(node).without(Types.UNDEFINED).only(Types.ERROR):
        return False
    sides = [expression.alone.of(side).without(Types.UNDEFINED | Types.ERROR) for side in children(node)]
    if not all(side.types for side in sides):
        return False
    match node:
        case Binary(op=op):
            combined = {Op.AND: conjunction, Op.OR: disjunction}.get(op)
            result = combined(*sides) if combined is not None else binary(op, sides[0], sides[1])
        case Unary(op=op):
            result = unary(op, sides[0])
        case _:
            return not expression.alone.of(node).can_be_undefined
    return result.only(Types.ERROR)


def _said_elsewhere(expression: Expression, node: Node) -> bool:
    """Whether RST101, RST102, RST111 or RST114 reports it."""
    if not isinstance(node, Binary) or node.op in (Op.AND, Op.OR):
        return False
    sides = [expression.alone.of(side).without(Types.UNDEFINED | Types.ERROR) for side in (node.left, node.right)]
    text = any(side.only(Types.STRING) for side in sides)
    bits = node.op in (Op.BIT_AND, Op.BIT_OR, Op.BIT_XOR) and any(side.only(Types.BOOLEAN) for side in sides)
    return text or bits or node.op in (Op.DIV, Op.MOD)
