"""More cores or memory than there are.

What: NUM_CPUS or MEMORY is set to a multiple of what was detected.

Why: Slots promise what the machine has not. That is a known trick for two slots a core, of which one is suspended;
without such a policy jobs slow each other down, or run out of memory.

Example::

    NUM_CPUS = 2 * $(DETECTED_CORES)

Instead::

    NUM_CPUS = $(DETECTED_CORES)
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Origin
from roost.config.references import names_in
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule

_DETECTED = {"NUM_CPUS": ("DETECTED_CORES", "DETECTED_CPUS", "DETECTED_CPUS_LIMIT"), "MEMORY": ("DETECTED_MEMORY",)}


@pool_rule("RST617", Severity.NOTE, "A21")
def check(pool: Pool) -> Iterator[Hit]:
    for knob, detected in _DETECTED.items():
        definition, value = pool.last(knob), pool.number(knob)
        if definition is None or definition.origin is not Origin.FILE or value is None:
            continue
        found = [pool.number(name) for name in detected if name.lower() in names_in(definition.written)]
        if any(number is not None and value > number for number in found):
            yield Hit(
                message=f"{knob} is more than was detected",
                remedy="Make sure that a policy keeps the surplus slots from running at the same time.",
                place=pool.place(definition),
                knob=definition.name,
            )
