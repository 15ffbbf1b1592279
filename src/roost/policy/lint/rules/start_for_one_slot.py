"""A policy for one slot that closes the others.

What: START can be TRUE only where SlotID is a certain number.

Why: It was meant to reserve that slot for some jobs. As written, every other slot of the machine refuses all jobs and
stays with its owner.

Example::

    START = (MY.SlotID == 1) && (TARGET.InteractiveJob =?= True)

Instead::

    START = (MY.SlotID =!= 1) || (TARGET.InteractiveJob =?= True)
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Binary, Literal, Op, strip
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.shapes import conjuncts, is_reference_to


@pool_rule("RST402", Severity.WARNING, "A10")
def check(pool: Pool) -> Iterator[Hit]:
    start = pool.expression("START")
    if start is None or start.tree is None or pool.number("NUM_SLOTS") == 1:
        return
    for part in conjuncts(start.tree):
        if not isinstance(part, Binary) or part.op not in (Op.EQ, Op.IS):
            continue
        for side, other in ((part.left, part.right), (part.right, part.left)):
            number = strip(other)
            if is_reference_to(side, "SlotID") and isinstance(number, Literal):
                yield Hit(
                    message=f"no slot but number {number.value} ever accepts a job",
                    remedy=f"To reserve that slot write SlotID =!= {number.value} || (the rest).",
                    expression=start,
                    node=part,
                )
