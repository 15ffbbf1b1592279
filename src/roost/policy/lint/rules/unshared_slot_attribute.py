"""Another slot's attribute that is not shared.

What: ``slot2_State`` and the like, or a text put together as ``strcat("slot", …, "_State")``, where
STARTD_SLOT_ATTRS does not list the attribute.

Why: Slots know of each other only what STARTD_SLOT_ATTRS lists. Anything else is UNDEFINED, and the slot always sees
its neighbour as if it were idle.

Example::

    START = slot2_State =!= "Claimed"

Instead::

    STARTD_SLOT_ATTRS = $(STARTD_SLOT_ATTRS) State
    START = slot2_State =!= "Claimed"
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Node
from roost.classad.values import fold
from roost.policy.lint.pool import Expression, Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.shapes import calls, references, text_of
from roost.policy.model import AdKind

_MEMBER = re.compile(r"(?:slot|vm)\d+(?:_\d+)?_(\w+)\Z", re.IGNORECASE)


@pool_rule("RST208", Severity.WARNING, "D25")
def check(pool: Pool) -> Iterator[Hit]:
    lists = ("STARTD_SLOT_ATTRS", "STARTD_SLOT_EXPRS", "STARTD_VM_EXPRS")
    shared = {fold(member) for name in lists for member in pool.members(name)}
    for expression in pool.expressions:
        if expression.scope.my is not AdKind.MACHINE:
            continue
        for node, name in _of_others(expression):
            if fold(name) not in shared:
                yield Hit(
                    message=f"{name} of another slot is UNDEFINED here: STARTD_SLOT_ATTRS does not list it",
                    remedy=f"Write STARTD_SLOT_ATTRS = $(STARTD_SLOT_ATTRS) {name}.",
                    node=node,
                    expression=expression,
                )


def _of_others(expression: Expression) -> Iterator[tuple[Node, str]]:
    for node, _, name in references(expression):
        match = _MEMBER.match(name)
        if match is not None and fold(name) not in expression.scope.published.get(AdKind.MACHINE, {}):
            yield node, match.group(1)
    for node in calls(expression, "strcat"):
        first = text_of(node.args[0]) if node.args else None
        last = text_of(node.args[-1]) if node.args else None
        if first and last and re.fullmatch(r"slot|vm", first, re.IGNORECASE) and re.fullmatch(r"_\w+", last):
            yield node, last[1:]
