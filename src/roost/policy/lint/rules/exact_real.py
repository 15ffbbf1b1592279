"""Equality of measured reals.

What: A load average, or a difference of two, is compared by ``==`` or ``!=``.

Why: Such numbers are hardly ever equal to anything, and differences come out as 0.30000000000000004. The test is
FALSE nearly always, or flickers.

Example::

    START = LoadAvg - CondorLoadAvg == 0.0

Instead::

    START = LoadAvg - CondorLoadAvg <= 0.3
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Node, Op, children, strip
from roost.classad.values import fold
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries, is_condition, reference

MEASURED = frozenset(("loadavg", "condorloadavg", "totalloadavg", "totalcondorloadavg", "cpususage"))


@expression_rule("RST112", Severity.WARNING, "B14")
def check(expression: Expression) -> Iterator[Hit]:
    for node, _ in binaries(expression, Op.EQ, Op.NE, Op.IS, Op.ISNT):
        other = expression.alone.of(node.right if _measured(node.left) else node.left)
        if (_measured(node.left) or _measured(node.right)) and other.single is not None:
            yield Hit(
                message=f"{expression.text(node)}: a load is hardly ever equal to a number",
                remedy="Use <= or >=, with some distance between the thresholds for starting and stopping.",
                node=node,
            )


def _measured(node: Node) -> bool:
    node = strip(node)
    found = reference(node)
    if found is not None:
        return fold(found[1]) in MEASURED
    return not is_condition(node) and any(_measured(child) for child in children(node))
