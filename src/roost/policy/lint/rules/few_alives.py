"""Claims that end when one keepalive is late.

What: MAX_CLAIM_ALIVES_MISSED is 1.

Why: A claim whose job has no lease lasts MAX_CLAIM_ALIVES_MISSED times ALIVE_INTERVAL without a keepalive, and the
next one is due at exactly that time. Any delay kills the job, although its queue is reachable.

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
            message="one late keepalive from the queue ends a claim whose job has no lease",
            remedy="Set MAX_CLAIM_ALIVES_MISSED to 3 or more; the default is 6.",
            place=pool.place(definition),
            knob=definition.name,
        )
