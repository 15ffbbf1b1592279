"""A name that both ads have.

What: A name without MY or TARGET stands for an attribute that machines and jobs both have, with different meanings.

Why: The ad the expression belongs to comes first. ``Rank`` in START is the machine's Rank, whatever was meant.

Example::

    START = Rank > 10 || TARGET.RequestMemory < 4096

Instead::

    START = TARGET.Rank > 10 || TARGET.RequestMemory < 4096
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.values import fold
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import references
from roost.policy.model import AdKind

#: Attributes whose meaning in a job's ad is another than in a slot's.
_TWO_FACED = frozenset(("rank", "requirements", "name", "maxjobretirementtime", "myaddress"))


@expression_rule("RST205", Severity.NOTE, "B18")
def check(expression: Expression) -> Iterator[Hit]:
    sides = {expression.scope.my, expression.scope.target}
    if sides != {AdKind.MACHINE, AdKind.JOB}:
        return
    for node, where, name in references(expression):
        if where is None and fold(name) in _TWO_FACED:
            mine = "machine" if expression.scope.my is AdKind.MACHINE else "job"
            yield Hit(
                message=f"{name} means the {mine}'s attribute here; the other ad has one, too",
                remedy=f"Write MY.{name} or TARGET.{name}.",
                node=node,
            )
