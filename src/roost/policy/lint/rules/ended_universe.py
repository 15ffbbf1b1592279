"""Jobs of a universe that no longer exists.

What: JobUniverse is compared with the number of the standard, PVM, MPI or Globus universe (1, 4, 6, 8).

Why: There are no such jobs. The condition is FALSE for every job, and what it was to protect is not.

Example::

    WANT_VACATE = TARGET.JobUniverse == 1

Instead::

    WANT_VACATE = TARGET.JobUniverse == 5
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from roost.base.diagnostics import Severity
from roost.classad.syntax import Literal, Op, strip
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries, is_reference_to

_ENDED: Final = {1: "standard", 2: "pipe", 3: "linda", 4: "PVM", 6: "PVM daemon", 8: "MPI"}


@expression_rule("RST206", Severity.WARNING, "C9", "A23", "E12")
def check(expression: Expression) -> Iterator[Hit]:
    for node, _ in binaries(expression, Op.EQ, Op.NE, Op.IS, Op.ISNT):
        for side, other in ((node.left, node.right), (node.right, node.left)):
            number = strip(other)
            if not is_reference_to(side, "JobUniverse") or not isinstance(number, Literal):
                continue
            name = _ENDED.get(number.value) if isinstance(number.value, int) else None
            if name is not None:
                yield Hit(
                    message=f"the {name} universe no longer exists",
                    remedy="Drop the term, or ask for a universe that exists: 5 vanilla, 7 scheduler, 9 grid, 10 java, "
                    "11 parallel, 12 local, 13 vm.",
                    node=node,
                )
