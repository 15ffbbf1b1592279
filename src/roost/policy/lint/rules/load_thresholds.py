"""Load limits without distance.

What: BackgroundLoad, below which the processor counts as idle, is not below HighLoad, above which it counts as busy.

Why: A load between the two is idle and busy at once. With equal limits the slightest change of load stops and starts
jobs.

Example::

    BackgroundLoad = 0.5
    HighLoad = 0.3
    START = (LoadAvg - CondorLoadAvg) <= $(BackgroundLoad)
    CpuBusy = (LoadAvg - CondorLoadAvg) >= 0.5
    WANT_SUSPEND = True
    SUSPEND = CpuBusyTime > 120 && (LoadAvg - CondorLoadAvg) >= 4 * $(HighLoad)
    CONTINUE = (LoadAvg - CondorLoadAvg) <= $(BackgroundLoad)
    PREEMPT = Activity == "Suspended" && (time() - EnteredCurrentActivity) > 600

Instead::

    BackgroundLoad = 0.3
    HighLoad = 0.5
    START = (LoadAvg - CondorLoadAvg) <= $(BackgroundLoad)
    CpuBusy = (LoadAvg - CondorLoadAvg) >= 0.5
    WANT_SUSPEND = True
    SUSPEND = CpuBusyTime > 120 && (LoadAvg - CondorLoadAvg) >= $(HighLoad)
    CONTINUE = (LoadAvg - CondorLoadAvg) <= $(BackgroundLoad)
    PREEMPT = Activity == "Suspended" && (time() - EnteredCurrentActivity) > 600
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Origin
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.rules.dead_redefinition import reachable


@pool_rule("RST407", Severity.WARNING, "D8")
def check(pool: Pool) -> Iterator[Hit]:
    low, high = pool.number("BackgroundLoad"), pool.number("HighLoad")
    if low is None or high is None or low < high or not {"backgroundload", "highload"} <= reachable(pool):
        return
    written = [d for name in ("BackgroundLoad", "HighLoad") if (d := pool.last(name)) and d.origin is Origin.FILE]
    for definition in written[-1:]:
        yield Hit(
            message=f"BackgroundLoad is {low:g}, HighLoad {high:g}: a load can be idle and busy at once",
            remedy="Keep BackgroundLoad well below HighLoad; 0.3 and 0.5 are usual.",
            place=pool.place(definition),
            knob=definition.name,
        )
