"""A misspelt knob.

What: A name that nothing reads differs by a letter or two from one that something does.

Why: Configuration may define any name, so nobody complains: the setting has no effect, and the default holds.

Example::

    MAXJOBRETIRMENTTIME = 3600

Instead::

    MAXJOBRETIREMENTTIME = 3600
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.config import Code
from roost.config.knobs import BY_NAME, SUBSYSTEMS, find
from roost.config.references import names_in
from roost.policy.lint.findings import Severity
from roost.policy.lint.forwarded import forwarded
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.spelling import nearest

#: Names that a configuration uses as macros of its own are compared only with these.
_POLICY = tuple(row.name for row in BY_NAME.values() if row.type.value == "expression" and len(row.name) >= 7)


@pool_rule("RST509", Severity.WARNING, "E10")
def check(pool: Pool) -> Iterator[Hit]:
    said = set()
    for diagnostic, hit in forwarded(pool, Code.NEAR_MISS):
        said.add((diagnostic.name or "").lower())
        yield hit
    used: set[str] = set()
    for chain in pool.config.chains.values():
        for definition in chain:
            if "$" in definition.text:
                used |= names_in(definition.text)
    published = {expression.base for expression in pool.expressions if expression.attribute}
    for key, chain in pool.user_definitions():
        base = key.rpartition(".")[2]
        if key in said or base in SUBSYSTEMS or base in used or base in published or find(key) is not None:
            continue
        near = nearest(base, _POLICY)
        if near is not None and near.lower() != base:
            yield Hit(
                message=f"nothing reads {chain[-1].name}",
                remedy=f"Did you mean {near}?",
                place=pool.place(chain[-1]),
                knob=chain[-1].name,
            )
