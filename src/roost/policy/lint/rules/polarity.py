"""The two kinds of pool-wide expressions, confused.

What: NEGOTIATOR_PE_RESOURCE_EXPR and NEGOTIATOR_PE_JOB_EXPR forbid a match unless they are TRUE, and the expression is
UNDEFINED where an attribute that many ads lack is missing.

Why: The expressions whose names end in ``ONLY_EXPR`` discard what they are TRUE for, and keep the rest. The other two
permit only what they are TRUE for: UNDEFINED forbids. With an attribute that most jobs do not have, nothing runs.

Example::

    NEGOTIATOR_PE_JOB_EXPR = MY.CostCenter != "none"

Instead::

    NEGOTIATOR_PE_JOB_EXPR = (MY.CostCenter != "none") =!= False
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Node, Op
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries, conjuncts, is_boolean, reference, references


@expression_rule("RST210", Severity.WARNING, "A18")
def check(expression: Expression) -> Iterator[Hit]:
    permitting = ("negotiator_pe_resource_expr", "negotiator_pe_job_expr")
    if expression.base not in permitting or expression.tree is None:
        return
    plain = {id(node) for node, _ in binaries(expression, Op.EQ, Op.NE)}
    for part in conjuncts(expression.tree):
        missing = _missing(expression, part)
        if missing is not None and id(part) not in _said(expression, plain):
            yield Hit(
                message=f"nothing is permitted where {missing} is missing: {expression.text(part)} is UNDEFINED then",
                remedy="Write (…) =!= False to permit it there, or (…) =?= True to say that this is meant.",
                node=part,
            )


def _missing(expression: Expression, part: Node) -> str | None:
    if not expression.inferred.of(part).can_be_undefined:
        return None
    inside = (part.span[0], part.span[1])
    for node, where, name in references(expression):
        known = expression.scope.knows(name, where)
        if inside[0] <= node.span[0] and node.span[1] <= inside[1] and not known:
            return name
    return None


def _said(expression: Expression, plain: set[int]) -> set[int]:
    """Comparisons that RST105 reports."""
    return {
        id(node)
        for node, _ in binaries(expression, Op.EQ, Op.NE)
        if id(node) in plain
        and (
            (reference(node.left) is not None and is_boolean(node.right))
            or (reference(node.right) is not None and is_boolean(node.left))
        )
    }
