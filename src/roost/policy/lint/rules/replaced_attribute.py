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

from roost.base.diagnostics import Severity
from roost.classad.syntax import Node
from roost.classad.values import fold
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.scope import row_of
from roost.policy.lint.shapes import references, span_fix
from roost.policy.model import AdKind

#: Old names that are still understood everywhere.
_UNDERSTOOD = frozenset(("currenttime",))


@expression_rule("RST207", Severity.WARNING, "E12", fixes=True)
def check(expression: Expression) -> Iterator[Hit]:
    found = list(_old_names(expression))
    # Of two that are compared with each other, one that has no other name keeps the other's.
    unsafe = {new for _, _, new, is_same in found if not is_same}
    for node, name, new, is_same in found:
        start = node.span[1] - len(name)
        fixed = is_same and new not in unsafe
        yield Hit(
            message=f"{name} is an old name",
            remedy=f"Write {new}." if is_same else f"Write the test again with {new}, which is not in the same ad.",
            node=node,
            fix=span_fix(expression, start, node.span[1], new, f"write {new}") if fixed else None,
        )


def _old_names(expression: Expression) -> Iterator[tuple[Node, str, str, bool]]:
    """References by old names, with the new name, and whether that is an attribute of the same ad."""
    scope = expression.scope
    for node, where, name in references(expression):
        sides = {None: (scope.my, scope.target), "my": (scope.my,), "target": (scope.target,)}[where]
        rows = [(row, side) for side in sides if side is not AdKind.NONE and (row := row_of(name, side)) is not None]
        if not rows or fold(name) in _UNDERSTOOD:
            continue
        row, side = rows[0]
        new = row.replaced_by
        if new is None or any(fold(name) in scope.published.get(side, {}) for side in sides):
            continue
        # What takes its place may be an attribute of the other ad: then the whole test has to be written again.
        yield node, name, new, new.isidentifier() and row_of(new, side) is not None
