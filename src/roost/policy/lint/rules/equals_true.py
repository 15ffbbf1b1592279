"""== TRUE on an attribute that may be missing.

What: An attribute that an ad may lack is compared with TRUE or FALSE by ``==`` or ``!=``.

Why: Where it is missing the outcome is UNDEFINED, which is neither. Under ``!``, or in a test, it takes neither branch;
``X != True`` is not TRUE for the ads without X that it was written for. Joined by ``&&`` and ``||`` to a condition
that is only asked whether it is TRUE, ``X == True`` happens to do the same as ``X =?= True``: that is a note.

Fix: ``==`` becomes ``=?=``, ``!=`` becomes ``=!=``, if the attribute is known to be a truth value where it is there:
for the number 1, ``== True`` is TRUE and ``=?= True`` is not.

Example::

    START = TARGET.IsSuspendableJob != True

Instead::

    START = TARGET.IsSuspendableJob =!= True
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Binary, Node, Op, Paren
from roost.policy.lint.abstract import Types
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries, is_boolean, lack, operator_fix, reference
from roost.policy.model import ValueKind


@expression_rule("RST105", Severity.WARNING, "A11", "B5", fixes=True)
def check(expression: Expression) -> Iterator[Hit]:
    for node, _ in binaries(expression, Op.EQ, Op.NE):
        for side, other in ((node.left, node.right), (node.right, node.left)):
            found = reference(side)
            if found is None or not is_boolean(other) or not expression.inferred.of(side).can_be_undefined:
                continue
            if expression.alone.of(side).without(Types.UNDEFINED).only(Types.NUMBER | Types.STRING):
                continue
            new = "=?=" if node.op is Op.EQ else "=!="
            yield Hit(
                message=f"{expression.text(node)} is UNDEFINED where {found[1]} is {lack(expression, side)}",
                remedy=f"Write {new}: it is TRUE or FALSE whatever the ad has.",
                node=node,
                severity=Severity.NOTE if _harmless(expression, node, other) else None,
                fix=operator_fix(expression, node, new, f"write {new}")
                if expression.inferred.of(side).without(Types.UNDEFINED).only(Types.BOOLEAN)
                else None,
            )


def _harmless(expression: Expression, node: Binary, other: Node) -> bool:
    """Whether UNDEFINED does the same as FALSE: only && and || stand between it and a question whether it is TRUE."""
    asks_for_true = (node.op is Op.EQ) is expression.alone.of(other).can_be_true
    if not asks_for_true or expression.policy is None or expression.policy.kind is not ValueKind.BOOLEAN:
        return False
    parents = {id(child): parent for child, parent in expression.nodes}
    parent = parents[id(node)]
    while isinstance(parent, Paren) or (isinstance(parent, Binary) and parent.op in (Op.AND, Op.OR)):
        parent = parents[id(parent)]
    return parent is None
