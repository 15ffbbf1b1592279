"""A published attribute that is never set.

What: STARTD_ATTRS or a list like it names something that the configuration does not define.

Why: The attribute is not in the ad, and every expression that asks for it gets UNDEFINED.

Example::

    STARTD_ATTRS = IsDesktop HasLicense
    IsDesktop = True

Instead::

    STARTD_ATTRS = IsDesktop HasLicense
    IsDesktop = True
    HasLicense = False
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.config import Definition
from roost.config.knobs import BY_NAME, DEFAULTS
from roost.policy.lint.findings import Severity
from roost.policy.lint.pool import PUBLISHING, Pool
from roost.policy.lint.registry import Hit, pool_rule
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
                yield _hit(pool, definition, member, nearest(member, spellings))


def _hit(pool: Pool, definition: Definition, member: str, near: str | None) -> Hit:
    return Hit(
        message=f"{definition.name} lists {member}, which is not set",
        remedy=f"Did you mean {near}?" if near else f"Set {member}, or take it off the list.",
        place=pool.place(definition),
        knob=definition.name,
    )
