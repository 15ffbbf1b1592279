"""Claims without end where nothing is preempted.

What: CLAIM_WORKLIFE is unlimited, or longer than a week, and preemption is switched off.

Why: A queue keeps a slot as long as it has jobs for it. Where no job can be preempted, the user who came first keeps
the machines, and priorities have no effect.

Example::

    PREEMPT = False
    PREEMPTION_REQUIREMENTS = False
    NEGOTIATOR_CONSIDER_PREEMPTION = False
    CLAIM_WORKLIFE = -1

Instead::

    PREEMPT = False
    PREEMPTION_REQUIREMENTS = False
    NEGOTIATOR_CONSIDER_PREEMPTION = False
    CLAIM_WORKLIFE = 3600
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Origin
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule

_WEEK_S = 7 * 86_400


@pool_rule("RST610", Severity.WARNING, "D18")
def check(pool: Pool) -> Iterator[Hit]:
    definition, life = pool.last("CLAIM_WORKLIFE"), pool.number("CLAIM_WORKLIFE")
    off = (
        pool.condition("NEGOTIATOR_CONSIDER_PREEMPTION", "NEGOTIATOR") is False
        or (pool.is_set("PREEMPTION_REQUIREMENTS") and pool.condition("PREEMPTION_REQUIREMENTS", "NEGOTIATOR") is False)
    ) and pool.condition("PREEMPT") is False
    if definition is None or definition.origin is not Origin.FILE or life is None or not off:
        return
    if life < 0 or life > _WEEK_S:
        yield Hit(
            message="a queue may keep a slot forever, and nothing takes it away",
            remedy="Set CLAIM_WORKLIFE to the time for which a queue may go on using a slot; 3600 is usual.",
            place=pool.place(definition),
            knob=definition.name,
        )
