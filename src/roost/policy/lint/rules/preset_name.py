"""A name that cannot be set.

What: A name such as HOSTNAME or DETECTED_CPUS is assigned.

Why: It is set at start, and the assignment is ignored.

Example::

    DETECTED_CPUS = 64

Instead::

    NUM_CPUS = 64
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Code
from roost.policy.lint.forwarded import forwarded
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule


@pool_rule("RST514", Severity.WARNING)
def check(pool: Pool) -> Iterator[Hit]:
    for _, hit in forwarded(pool, Code.PRESET_OVERRIDDEN):
        yield hit
