"""A claim for each job.

What: CLAIM_WORKLIFE is 0.

Why: Every job needs a negotiation of its own. With short jobs the slots stand idle most of the time.

Example::

    CLAIM_WORKLIFE = 0

Instead::

    CLAIM_WORKLIFE = 1200
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Origin
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule


@pool_rule("RST615", Severity.NOTE, "D19")
def check(pool: Pool) -> Iterator[Hit]:
    definition = pool.last("CLAIM_WORKLIFE")
    if definition is not None and definition.origin is Origin.FILE and pool.number("CLAIM_WORKLIFE") == 0:
        yield Hit(
            message="every job needs a claim of its own",
            remedy="Use some minutes, unless this is meant.",
            place=pool.place(definition),
            knob=definition.name,
        )
