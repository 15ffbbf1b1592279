"""An amount of disk or swap for a slot type.

What: SLOT_TYPE_<N> gives disk or swap as a number instead of a share.

Why: What is free on a disk changes all the time: releases before 25.4 refuse an amount and do not start. And the
number counts KB, not MB as for memory.

Example::

    SLOT_TYPE_1 = cpus=2, memory=2048, disk=20000
    NUM_SLOTS_TYPE_1 = 1

Instead::

    SLOT_TYPE_1 = cpus=2, memory=2048, disk=25%
    NUM_SLOTS_TYPE_1 = 1
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.slot_types import slot_types


@pool_rule("RST604", Severity.WARNING, "E14")
def check(pool: Pool) -> Iterator[Hit]:
    for one in slot_types(pool):
        names = [name for name in ("disk", "swap") if name in one.shares and one.shares[name].amount]
        if one.definition is not None and names:
            yield Hit(
                message=f"{one.definition.name} gives {' and '.join(names)} as an amount",
                remedy="Give a fraction, a percentage or auto.",
                place=pool.place(one.definition),
                knob=one.definition.name,
            )
