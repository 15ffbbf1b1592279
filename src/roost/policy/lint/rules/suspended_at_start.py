"""Jobs that are suspended as soon as they start.

What: There is a situation in which START is TRUE for a job, and once the job runs WANT_SUSPEND and SUSPEND are TRUE,
without anything having changed.

Why: The job occupies the machine without running. It waits there, instead of running elsewhere.

Example::

    START = (LoadAvg - CondorLoadAvg) < 0.3
    WANT_SUSPEND = True
    SUSPEND = KeyboardIdle < 60
    CONTINUE = KeyboardIdle > 300
    PREEMPT = Activity == "Suspended" && (time() - EnteredCurrentActivity) > 600

Instead::

    START = (LoadAvg - CondorLoadAvg) < 0.3 && KeyboardIdle > 900
    WANT_SUSPEND = True
    SUSPEND = KeyboardIdle < 60
    CONTINUE = KeyboardIdle > 300
    PREEMPT = Activity == "Suspended" && (time() - EnteredCurrentActivity) > 600
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from roost.base.diagnostics import Severity
from roost.config import Origin
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.shapes import own_load
from roost.policy.lint.simulate import Machine, machines
from roost.policy.lint.situations import CLAIMED, UNCLAIMED, Situation, busy


@pool_rule("RST420", Severity.WARNING, "D4")
def check(pool: Pool) -> Iterator[Hit]:
    for machine in machines(pool):
        start, suspend = machine.place_of("START", "SUSPEND"), machine.written.get("SUSPEND")
        # Where START is not set at all, the policy is about something else.
        if machine.broken or start is None or not machine.is_set("SUSPEND") or not machine.is_set("START"):
            continue
        assert suspend is not None
        if suspend.definition.origin is Origin.FILE is not start.definition.origin:
            start, suspend = suspend, start
        found = next((s for s in machine.situations if _stuck(machine, s)), None)
        if found is not None:
            yield Hit(
                message="a job that START lets in is suspended at once",
                remedy="Let START be FALSE wherever SUSPEND would be TRUE." + own_load(suspend),
                expression=start,
                related=((f"{suspend.knob} is here", pool.place(suspend.definition)),),
                witness=machine.witness(found, partial(_stuck, machine)),
            )


def _stuck(machine: Machine, situation: Situation) -> bool:
    if not (machine.holds("START", situation, UNCLAIMED) and machine.holds("START", situation, CLAIMED)):
        return False
    moments = (busy(5), busy(120), busy(600))
    return all(
        machine.holds("WANT_SUSPEND", situation, m) and machine.holds("SUSPEND", situation, m) for m in moments[-1:]
    )
