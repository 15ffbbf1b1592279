"""Slot types that take more than there is.

What: The shares of all slots of all types add up to more than the machine has: more than 100 % of a resource, or more
cores than NUM_CPUS.

Why: The slots cannot be made. The daemon makes fewer of them than configured, or ends, depending on
SLOT_CONFIG_FAILURE_MODE and version.

Example::

    NUM_CPUS = 16
    SLOT_TYPE_1 = cpus=4, memory=50%, auto
    NUM_SLOTS_TYPE_1 = 3

Instead::

    NUM_CPUS = 16
    SLOT_TYPE_1 = cpus=4, memory=25%, auto
    NUM_SLOTS_TYPE_1 = 3
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.slot_types import NAMES, slot_types

_SLACK = 1e-6
_TOTALS = {"cpus": "NUM_CPUS", "memory": "MEMORY"}


@pool_rule("RST601", Severity.ERROR, "E13")
def check(pool: Pool) -> Iterator[Hit]:
    types = [one for one in slot_types(pool) if one.count > 0 and one.definition is not None]
    totals = {"cpus": pool.number("NUM_CPUS"), "memory": pool.number("MEMORY")}
    assumed = {name for name, knob in _TOTALS.items() if pool.is_assumed(knob)}
    for name in NAMES:
        fraction = sum(one.count * share.fraction for one in types if (share := one.share(name)).fraction is not None)
        amount = sum(one.count * share.amount for one in types if (share := one.share(name)).amount is not None)
        total = totals.get(name) if pool.is_set(_TOTALS.get(name, "")) else None
        on_assumed = bool(total and amount and name in assumed)
        if total:
            fraction += amount / total
        if fraction > 1 + _SLACK and types and types[-1].definition is not None:
            yield Hit(
                message=f"all slots together take {fraction * 100:.0f} % of {name}"
                + (f" of the assumed machine, which has {pool.machine_words}" if on_assumed else ""),
                remedy="Name the machine with --slot-ad; on it, all shares may add up to 100 % at most."
                if on_assumed
                else "Lower the shares or the numbers of slots until they add up to 100 % at most.",
                severity=Severity.NOTE if on_assumed else None,
                place=pool.place(types[-1].definition),
                knob=types[-1].definition.name,
            )
