"""A size limit in the wrong unit.

What: Memory, RequestMemory and the like (MB) compared with a number above four million, or Disk, ImageSize and the
like (KB) with a number below 1000.

Why: Four million MB are four thousand GB: the number was meant in KB or bytes. Less than 1000 KB are not a MB: the
number was meant in MB or GB.

Example::

    START = TARGET.RequestDisk < 500

Instead::

    START = TARGET.RequestDisk < 500 * 1024
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Op
from roost.policy.lint.abstract import KIB, MIB
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries, reference

#: 4 TB in MB; a machine with more memory is none that a policy would ask for by mistake.
_MB_MAX = 4 * 1024 * 1024
_KB_MIN = 1000


@expression_rule("RST309", Severity.WARNING, "C1")
def check(expression: Expression) -> Iterator[Hit]:
    for node, _ in binaries(expression, Op.LT, Op.LE, Op.GT, Op.GE):
        for side, other in ((node.left, node.right), (node.right, node.left)):
            unit, limit = expression.alone.of(side).unit, expression.alone.of(other)
            if reference(side) is None or not limit.constant or limit.single is None:
                continue
            text = expression.text(side)
            if unit == MIB and limit.single > _MB_MAX:
                yield Hit(
                    message=f"{text} counts MB: {limit.single:g} MB are {limit.single / 1024 / 1024:.3g} TB",
                    remedy="Write the limit in MB.",
                    node=node,
                )
            elif unit == KIB and 1 < limit.single < _KB_MIN:
                yield Hit(
                    message=f"{text} counts KB: {limit.single:g} KB are less than a MB",
                    remedy="Write the limit in KB: MB * 1024, GB * 1024 * 1024.",
                    node=node,
                )
