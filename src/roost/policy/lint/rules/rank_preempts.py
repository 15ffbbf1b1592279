"""RANK preempts although preemption was switched off.

What: PREEMPT and PREEMPTION_REQUIREMENTS are set to FALSE, but RANK prefers some jobs to others, and nothing grants
retirement time.

Why: A job of higher rank takes the slot from the one that runs, whatever PREEMPT and PREEMPTION_REQUIREMENTS say.

Example::

    PREEMPT = False
    PREEMPTION_REQUIREMENTS = False
    RANK = TARGET.Owner == "coltrane"

Instead::

    PREEMPT = False
    PREEMPTION_REQUIREMENTS = False
    NEGOTIATOR_CONSIDER_PREEMPTION = False
    RANK = TARGET.Owner == "coltrane"
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Origin
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule


@pool_rule("RST416", Severity.WARNING, "D15")
def check(pool: Pool) -> Iterator[Hit]:
    rank, preempt = pool.expression("RANK"), pool.last("PREEMPT")
    wanted = pool.last("PREEMPTION_REQUIREMENTS")
    if rank is None or not rank.names or preempt is None or wanted is None or preempt.origin is not Origin.FILE:
        return
    off = pool.condition("PREEMPT") is False and pool.condition("PREEMPTION_REQUIREMENTS", "NEGOTIATOR") is False
    granted = pool.is_set("MAXJOBRETIREMENTTIME") and pool.number("MAXJOBRETIREMENTTIME") != 0
    if off and not granted and pool.condition("NEGOTIATOR_CONSIDER_PREEMPTION", "NEGOTIATOR") is not False:
        yield Hit(
            message="jobs are still preempted for others that RANK prefers",
            remedy="Set RANK = 0, or NEGOTIATOR_CONSIDER_PREEMPTION = False, or grant MAXJOBRETIREMENTTIME.",
            expression=rank,
        )
