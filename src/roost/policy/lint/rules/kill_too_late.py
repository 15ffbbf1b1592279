"""KILL that is never reached.

What: KILL becomes TRUE only after MachineMaxVacateTime.

Why: A job that is still there after MachineMaxVacateTime (600 seconds unless set) is killed then. KILL never matters.

Example::

    KILL = (time() - EnteredCurrentActivity) > 1200

Instead::

    KILL = (time() - EnteredCurrentActivity) > 1200
    MachineMaxVacateTime = 1800
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.simulate import machines
from roost.policy.lint.situations import LONG_S, busy, vacating


@pool_rule("RST411", Severity.WARNING, "D12", "D13")
def check(pool: Pool) -> Iterator[Hit]:
    for machine in machines(pool):
        kill = machine.written.get("KILL")
        if machine.broken or kill is None or machine.is_literal("KILL"):
            continue
        situations = machine.about("KILL", "MachineMaxVacateTime")
        if not situations:
            continue
        limits = [int(machine.number("MachineMaxVacateTime", s, busy(5))) for s in situations]
        limit = max(limits)
        times = [1, limit // 3, limit // 2, max(limit - 6, 1), max(limit - 1, 1)]
        if any(machine.holds("KILL", s, vacating(t)) for s in situations for t in times):
            continue
        if any(machine.holds("KILL", s, vacating(t)) for s in situations for t in (limit * 4 + 60, LONG_S)):
            yield Hit(
                message=f"KILL becomes TRUE only after MachineMaxVacateTime ({limit} s), when jobs are killed anyway",
                remedy="Raise MachineMaxVacateTime, or set it to the time you want and KILL to FALSE.",
                expression=kill,
            )
