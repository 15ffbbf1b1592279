"""KB against MB.

What: Sizes in different units are compared, added or subtracted. ImageSize, ResidentSetSize, Disk, DiskUsage,
VirtualMemory and RequestDisk count KB; Memory, RequestMemory, MemoryUsage and TotalMemory count MB.

Why: The limit is wrong by a factor of 1024: nearly every job is over it, or none ever.

Example::

    PREEMPT = TARGET.ImageSize > Memory

Instead::

    PREEMPT = TARGET.ImageSize > Memory * 1024
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Node, Op
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import alternatives, binaries

MIXING = (Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE, Op.ADD, Op.SUB)


@expression_rule("RST301", Severity.ERROR, "C1", "A16")
def check(expression: Expression) -> Iterator[Hit]:
    for node, _ in binaries(expression, *MIXING):
        mixed = ((a, b) for a in alternatives(node.left) for b in alternatives(node.right))
        hit = next((hit for a, b in mixed if (hit := _mixed(expression, a, b, node)) is not None), None)
        if hit is not None:
            yield hit


def _mixed(expression: Expression, a: Node, b: Node, node: Node) -> Hit | None:
    """What is wrong with comparing or adding two values, if they are sizes of different units."""
    left, right = expression.alone.of(a).unit, expression.alone.of(b).unit
    if left is None or right is None or left.dimension != "memory or disk" or left.dimension != right.dimension:
        return None
    if left.scale == right.scale:
        return None
    larger, smaller = (a, b) if left.scale > right.scale else (b, a)
    ratio = max(left.scale, right.scale) / min(left.scale, right.scale)
    return Hit(
        message=f"{expression.text(a)} counts {left}, {expression.text(b)} counts {right}",
        remedy=f"Bring both to one unit: multiply {expression.text(larger)} by {ratio:.0f}, or divide "
        f"{expression.text(smaller)} by it.",
        node=node,
    )
