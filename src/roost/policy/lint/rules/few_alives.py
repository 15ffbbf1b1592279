"""Claims that end when one sign of life is late.

What: MAX_CLAIM_ALIVES_MISSED is 1.

Why: A claim whose job has no lease lasts MAX_CLAIM_ALIVES_MISSED times ALIVE_INTERVAL without a sign of life, and the
next one is due at just that time: any delay kills a job whose queue is there.

Example::

    ALIVE_INTERVAL = 600
    MAX_CLAIM_ALIVES_MISSED = 1

Instead::

    ALIVE_INTERVAL = 600
    MAX_CLAIM_ALIVES_MISSED = 3
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule


@pool_rule("RST620", Severity.WARNING, "D18")
def check(pool: Pool) -> Iterator[Hit]:
    definition = pool.last("MAX_CLAIM_ALIVES_MISSED")
    if definition is not None and pool.number("MAX_CLAIM_ALIVES_MISSED") == 1:
        yield Hit(
            message="one late sign of life from the queue ends a claim whose job has no lease",
            remedy="Let at least three be missed; the default is 6.",
            place=pool.place(definition),
            knob=definition.name,
        )
