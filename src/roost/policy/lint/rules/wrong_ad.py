"""An attribute asked of the wrong ad.

What: MY or TARGET stands before an attribute that only the other ad has: ``TARGET.KeyboardIdle`` in an expression of a
machine asks the job for it.

Why: The ad that is asked does not have the attribute, so that it is UNDEFINED in every case, and the condition never
holds. In expressions of a machine MY is the slot and TARGET the job; in those of a job it is the other way round.

Example::

    START = TARGET.KeyboardIdle > 900 && MY.RequestMemory < 4096

Instead::

    START = MY.KeyboardIdle > 900 && TARGET.RequestMemory < 4096
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.scope import row_of
from roost.policy.lint.shapes import references
from roost.policy.model import AdKind

_CALLED = {AdKind.MACHINE: "slots", AdKind.JOB: "jobs"}


@expression_rule("RST211", Severity.WARNING, "B18", "B23")
def check(expression: Expression) -> Iterator[Hit]:
    scope = expression.scope
    if {scope.my, scope.target} != {AdKind.MACHINE, AdKind.JOB}:
        return
    for node, where, name in references(expression):
        if where is None or scope.knows(name, where):
            continue
        other, asked = ("TARGET", scope.my) if where == "my" else ("MY", scope.target)
        owner = scope.target if where == "my" else scope.my
        if row_of(name, owner) is not None:
            yield Hit(
                message=f"{expression.text(node)} is UNDEFINED: {_CALLED[owner]} have {name}, {_CALLED[asked]} do not",
                remedy=f"Write {other}.{name}, unless your {_CALLED[asked]} get one of that name from elsewhere.",
                node=node,
            )
