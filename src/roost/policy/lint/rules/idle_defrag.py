"""Draining that never begins.

What: DEFRAG is in DAEMON_LIST, and DEFRAG_DRAINING_MACHINES_PER_HOUR is not set or 0, or one of its limits is 0.

Why: The rate is 0 unless it is set: the daemon runs and drains nothing. Jobs that need a whole machine go on waiting.

Example::

    DAEMON_LIST = MASTER COLLECTOR NEGOTIATOR DEFRAG
    DEFRAG_MAX_WHOLE_MACHINES = 20

Instead::

    DAEMON_LIST = MASTER COLLECTOR NEGOTIATOR DEFRAG
    DEFRAG_MAX_WHOLE_MACHINES = 20
    DEFRAG_DRAINING_MACHINES_PER_HOUR = 1.0
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule


@pool_rule("RST613", Severity.WARNING, "D27")
def check(pool: Pool) -> Iterator[Hit]:
    daemons = pool.last("DAEMON_LIST")
    if daemons is None or "DEFRAG" not in {member.upper() for member in pool.members("DAEMON_LIST")}:
        return
    rate = pool.number("DEFRAG_DRAINING_MACHINES_PER_HOUR", "DEFRAG")
    limits = [
        n for n in ("DEFRAG_MAX_WHOLE_MACHINES", "DEFRAG_MAX_CONCURRENT_DRAINING") if pool.number(n, "DEFRAG") == 0
    ]
    if rate == 0 or rate is None or limits:
        name = limits[0] if limits else "DEFRAG_DRAINING_MACHINES_PER_HOUR"
        yield Hit(
            message=f"the defrag daemon drains nothing: {name} is 0",
            remedy=f"Set {name}, or take DEFRAG off DAEMON_LIST.",
            place=pool.place(pool.last(name) or daemons),
            knob=name,
        )
