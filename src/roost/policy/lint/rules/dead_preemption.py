"""Preemption that is switched off elsewhere.

What: PREEMPTION_REQUIREMENTS is set to something, and NEGOTIATOR_CONSIDER_PREEMPTION is FALSE.

Why: Claimed slots then take no part in matchmaking. The expression is never looked at.

Example::

    NEGOTIATOR_CONSIDER_PREEMPTION = False
    PREEMPTION_REQUIREMENTS = RemoteUserPrio > TARGET.SubmitterUserPrio * 1.2

Instead::

    NEGOTIATOR_CONSIDER_PREEMPTION = True
    PREEMPTION_REQUIREMENTS = RemoteUserPrio > TARGET.SubmitterUserPrio * 1.2
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Origin
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule


@pool_rule("RST609", Severity.WARNING, "D17")
def check(pool: Pool) -> Iterator[Hit]:
    wanted = pool.expression("PREEMPTION_REQUIREMENTS")
    if wanted is None or not wanted.names or wanted.definition.origin is not Origin.FILE:
        return
    if pool.condition("NEGOTIATOR_CONSIDER_PREEMPTION", "NEGOTIATOR") is False:
        yield Hit(
            message="PREEMPTION_REQUIREMENTS is never looked at: NEGOTIATOR_CONSIDER_PREEMPTION is False",
            remedy="Remove one of the two.",
            expression=wanted,
        )
