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

from roost.classad.syntax import Op
from roost.policy.lint.findings import Severity
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries

MIXING = (Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE, Op.ADD, Op.SUB)


@expression_rule("RST301", Severity.ERROR, "C1", "A16")
def check(expression: Expression) -> Iterator[Hit]:
    for node, _ in binaries(expression, *MIXING):
        left, right = expression.alone.of(node.left).unit, expression.alone.of(node.right).unit
        if left is None or right is None or left.dimension != "memory or disk" or left.dimension != right.dimension:
            continue
        if left.scale == right.scale:
            continue
        larger, smaller = (node.left, node.right) if left.scale > right.scale else (node.right, node.left)
        ratio = max(left.scale, right.scale) / min(left.scale, right.scale)
        yield Hit(
            message=f"{expression.text(node.left)} counts {left}, {expression.text(node.right)} counts {right}",
            remedy=f"Bring both to one unit: multiply {expression.text(larger)} by {ratio:.0f}, or divide "
            f"{expression.text(smaller)} by it.",
            node=node,
        )
