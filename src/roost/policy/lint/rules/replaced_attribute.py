"""An attribute by its old name.

What: An attribute that ads no longer have, because another took its place.

Why: It is UNDEFINED. Policies that were carried along for years often hold one.

Fix: the present name takes its place where that means the same.

Example::

    START = VirtualMachineID == 1 || KeyboardIdle > 900

Instead::

    START = SlotID == 1 || KeyboardIdle > 900
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.classad.values import fold
from roost.policy.lint.findings import Severity
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.scope import row_of
from roost.policy.lint.shapes import references, span_fix
from roost.policy.model import Side

#: Old names that are still understood everywhere.
_UNDERSTOOD = frozenset(("currenttime",))


@expression_rule("RST207", Severity.WARNING, "E12", fixes=True)
def check(expression: Expression) -> Iterator[Hit]:
    scope = expression.scope
    for node, where, name in references(expression):
        sides = {None: (scope.my, scope.target), "my": (scope.my,), "target": (scope.target,)}[where]
        rows = [row for side in sides if side is not Side.NONE and (row := row_of(name, side)) is not None]
        if not rows or fold(name) in _UNDERSTOOD:
            continue
        new = rows[0].replaced_by
        if new is None or any(fold(name) in scope.published.get(side, {}) for side in sides):
            continue
        start = node.span[1] - len(name)
        yield Hit(
            message=f"{name} is an old name",
            remedy=f"Write {new}.",
            node=node,
            fix=span_fix(expression, start, node.span[1], new, f"write {new}") if new.isidentifier() else None,
        )
