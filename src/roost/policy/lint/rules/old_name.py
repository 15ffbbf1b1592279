"""A knob by its old name.

What: A knob whose name has changed, or which no longer has an effect.

Why: Some old names are still read, some are not, and where both names are set it is hard to say which wins.

Fix: the present name takes its place, if nothing else sets that.

Example::

    NUM_VIRTUAL_MACHINES = 4
    VIRTUAL_MACHINES_CONNECTED_TO_KEYBOARD = 1

Instead::

    NUM_SLOTS = 4
    SLOTS_CONNECTED_TO_KEYBOARD = 1
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Code, Origin
from roost.config.knobs import replacement
from roost.policy.lint.findings import Edit, Fix
from roost.policy.lint.forwarded import forwarded
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.rules.dead_redefinition import reachable


@pool_rule("RST510", Severity.WARNING, "E12", fixes=True)
def check(pool: Pool) -> Iterator[Hit]:
    used = reachable(pool)
    for diagnostic, hit in forwarded(pool, Code.DEPRECATED_NAME):
        name = diagnostic.name or ""
        if not diagnostic.suggestion and name.lower() in used:
            # A macro of that name which the configuration itself uses does what it always did.
            continue
        yield Hit(
            message=hit.message,
            remedy=f"Write {diagnostic.suggestion}." if diagnostic.suggestion else "Remove it.",
            place=hit.place,
            knob=hit.knob,
            fix=None if name.lower() in used else _renamed(pool, name),
        )


def _renamed(pool: Pool, name: str) -> Fix | None:
    new = replacement(name)
    chain = pool.config.definitions(name)
    if not new or "." in name or len(chain) != 1 or pool.config.definitions(new):
        return None
    definition = chain[0]
    if definition.origin is not Origin.FILE or name.lower() in definition.written.lower():
        return None
    span = definition.span
    edit = Edit(file=span.file, line=span.line, column=span.column, old=definition.name, new=new)
    return Fix(title=f"rename to {new}", edits=(edit,))
