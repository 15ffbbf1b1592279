"""CpuBusyTime where CpuBusy is not set.

What: An expression asks for CpuBusyTime or CpuIsBusy, and nothing sets CpuBusy.

Why: CpuBusyTime counts the seconds for which the expression CpuBusy has been TRUE, and CpuIsBusy is what it was last.
Without CpuBusy neither is there: a condition on them is UNDEFINED forever, and the owner's work drives no job away.

Example::

    PREEMPT = CpuBusyTime > 120

Instead::

    CpuBusy = (LoadAvg - CondorLoadAvg) >= 0.5
    PREEMPT = CpuBusyTime > 120
    START = (LoadAvg - CondorLoadAvg) <= 0.3
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.values import fold
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.shapes import references
from roost.policy.model import AdKind


@pool_rule("RST307", Severity.WARNING, "C3")
def check(pool: Pool) -> Iterator[Hit]:
    # Under a prefix, too: it may be set for some slots only, and nothing is known of the others.
    if any(expression.base in ("cpubusy", "cpu_busy") for expression in pool.expressions):
        return
    for expression in pool.expressions:
        if expression.scope.my is not AdKind.MACHINE:
            continue
        published = expression.scope.published.get(AdKind.MACHINE, {})
        for node, where, name in references(expression):
            if where != "target" and fold(name) in ("cpubusytime", "cpuisbusy") and fold(name) not in published:
                yield Hit(
                    message=f"{name} is never there: CpuBusy is not set",
                    remedy="Set it, for instance CpuBusy = (LoadAvg - CondorLoadAvg) >= 0.5.",
                    expression=expression,
                    node=node,
                )
                return
