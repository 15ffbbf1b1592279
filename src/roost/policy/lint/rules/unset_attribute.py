"""A published attribute that is never set.

What: STARTD_ATTRS or a list like it names something that the configuration does not define.

Why: The attribute is not in the ad, and every expression that asks for it gets UNDEFINED.

Example::

    STARTD_ATTRS = IsDesktop HasLicense
    IsDesktop = True
    START = HasLicense || KeyboardIdle > 900

Instead::

    STARTD_ATTRS = IsDesktop HasLicense
    IsDesktop = True
    HasLicense = False
    START = HasLicense || KeyboardIdle > 900
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Binary, Call, Op
from roost.classad.values import fold
from roost.config import Definition
from roost.config.knobs import BY_NAME, DEFAULTS
from roost.policy.lint.pool import PUBLISHING, Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.shapes import references
from roost.policy.lint.spelling import nearest


@pool_rule("RST524", Severity.WARNING, "E9")
def check(pool: Pool) -> Iterator[Hit]:
    defined = set(pool.config.chains)
    bases = {key.partition("_")[2] for key in defined if key.startswith(("slot", "vm"))}
    bases |= {key.split("_", 3)[-1] for key in defined if key.startswith("slot_type_")}
    spellings = [chain[0].name for chain in pool.config.chains.values()]
    for name in PUBLISHING:
        definition = pool.last(name)
        if definition is None:
            continue
        for member in pool.members(name):
            key = member.lower()
            known = key in defined or key in bases or key in DEFAULTS or f"startd.{key}" in defined
            if not known and key.isidentifier() and key not in BY_NAME:
                near = nearest(member, spellings)
                yield _hit(pool, definition, member, near, missed=near is not None or _missed(pool, key))


def _missed(pool: Pool, key: str) -> bool:
    """Whether an expression asks for the attribute without allowing for its being missing."""
    for expression in pool.expressions:
        if key not in expression.names:
            continue
        parents = {id(node): parent for node, parent in expression.nodes}
        for node, _, name in references(expression):
            parent = parents.get(id(node))
            guarded = isinstance(parent, Call) or (isinstance(parent, Binary) and parent.op in (Op.IS, Op.ISNT))
            if fold(name) == key and not guarded:
                return True
    return False


def _hit(pool: Pool, definition: Definition, member: str, near: str | None, *, missed: bool) -> Hit:
    return Hit(
        message=f"{definition.name} lists {member}, which is not set",
        remedy=f"Did you mean {near}?" if near else f"Set {member}, if only to False, or take it off the list.",
        place=pool.place(definition),
        knob=definition.name,
        # Another file may set it for some machines.
        severity=None if missed else Severity.NOTE,
    )
