"""A slot type without slots, or slots without a type.

What: SLOT_TYPE_<N> is defined and NUM_SLOTS_TYPE_<N> is not, or the other way round; or type 0 or one
beyond MAX_SLOT_TYPES is set; or NUM_SLOTS stands next to types with another number of slots.

Why: A type without a number makes no slot. A number without a type makes slots that share everything evenly, which is
hardly what was meant. Type 0 belongs to the daemon, and it reads no type from MAX_SLOT_TYPES (10) on. Slots are made
either by NUM_SLOTS, all alike, or by types: where there are types NUM_SLOTS does nothing, and some releases do not
start.

Example::

    SLOT_TYPE_1 = cpus=4, memory=25%
    NUM_SLOTS_TYPE_2 = 1

Instead::

    SLOT_TYPE_1 = cpus=4, memory=25%
    NUM_SLOTS_TYPE_1 = 1
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.slot_types import slot_types


@pool_rule("RST602", Severity.WARNING, "E13")
def check(pool: Pool) -> Iterator[Hit]:
    types, plain = slot_types(pool), pool.last("NUM_SLOTS")
    counted = next((one.count_definition for one in types if one.count_definition is not None and one.count), None)
    # The sum of the types besides them says the same twice.
    agrees = pool.number("NUM_SLOTS") == sum(one.count for one in types)
    if plain is not None and counted is not None and not agrees:
        yield Hit(
            message=f"NUM_SLOTS has no effect next to {counted.name}",
            remedy="Drop NUM_SLOTS, or the slot types.",
            place=pool.place(plain),
            knob=plain.name,
            related=((f"{counted.name} is here", pool.place(counted)),),
        )
    limit = pool.number("MAX_SLOT_TYPES") or 10
    for one in types:
        present = one.definition or one.count_definition
        if present is None:
            continue
        if one.number == 0:
            yield Hit(
                message="slot type 0 belongs to the daemon",
                remedy="Use types from 1.",
                place=pool.place(present),
                knob=present.name,
                severity=Severity.ERROR,
            )
        elif one.number >= limit:
            yield Hit(
                message=f"there is no type {one.number}: types end before MAX_SLOT_TYPES = {limit:g}",
                remedy=f"Use a number below {limit:g}, or raise MAX_SLOT_TYPES.",
                place=pool.place(present),
                knob=present.name,
            )
        elif one.count_definition is None:
            yield Hit(
                message=f"there are no slots of type {one.number}",
                remedy=f"Set NUM_SLOTS_TYPE_{one.number}.",
                place=pool.place(present),
                knob=present.name,
            )
        elif one.definition is None and one.count > 0 and not one.partitionable:
            yield Hit(
                message=f"type {one.number} is not defined: its slots share everything evenly",
                remedy=f"Set SLOT_TYPE_{one.number}, if only to auto.",
                place=pool.place(present),
                knob=present.name,
            )
