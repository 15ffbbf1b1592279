"""More time to leave than a shutdown leaves.

What: MachineMaxVacateTime is longer than SHUTDOWN_GRACEFUL_TIMEOUT.

Why: When the machine is shut down gracefully, the daemons wait only so long and then kill. Jobs do not get the time
they were promised.

Example::

    MachineMaxVacateTime = 7200

Instead::

    MachineMaxVacateTime = 7200
    SHUTDOWN_GRACEFUL_TIMEOUT = 10800
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Origin
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule


@pool_rule("RST614", Severity.WARNING, "D13")
def check(pool: Pool) -> Iterator[Hit]:
    vacate, limit = pool.number("MachineMaxVacateTime"), pool.number("SHUTDOWN_GRACEFUL_TIMEOUT", "MASTER")
    definition = pool.last("MachineMaxVacateTime")
    if definition is None or definition.origin is not Origin.FILE or vacate is None or limit is None:
        return
    if vacate > limit:
        yield Hit(
            message=f"jobs are promised {vacate:g} s to leave, a graceful shutdown gives them {limit:g} s",
            remedy="Raise SHUTDOWN_GRACEFUL_TIMEOUT above it.",
            place=pool.place(definition),
            knob=definition.name,
        )
