"""SUSPEND and CONTINUE at the same time.

What: There is a situation in which SUSPEND is TRUE for a running job, and CONTINUE is TRUE once it is suspended,
without anything having changed.

Why: The job is stopped and let go on at every poll, every five seconds. Between the limits of the two there must be a
distance, and CONTINUE must be FALSE wherever SUSPEND is TRUE.

Example::

    WANT_SUSPEND = True
    SUSPEND = KeyboardIdle < 60 || (LoadAvg - CondorLoadAvg) > 0.5
    CONTINUE = KeyboardIdle > 300

Instead::

    WANT_SUSPEND = True
    SUSPEND = KeyboardIdle < 60 || (LoadAvg - CondorLoadAvg) > 0.5
    CONTINUE = KeyboardIdle > 300 && (LoadAvg - CondorLoadAvg) < 0.3
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.shapes import own_load
from roost.policy.lint.simulate import Machine, machines
from roost.policy.lint.situations import Situation, busy, resumed, suspended


@pool_rule("RST404", Severity.WARNING, "D5", "D8")
def check(pool: Pool) -> Iterator[Hit]:
    for machine in machines(pool):
        resume = machine.written.get("CONTINUE")
        if machine.broken or resume is None:
            continue
        found = next((s for s in machine.situations if flaps(machine, s)), None)
        if found is not None:
            yield Hit(
                message="a suspended job continues although SUSPEND is still TRUE, and is suspended again",
                remedy="Let CONTINUE be FALSE wherever SUSPEND is TRUE: each cause of SUSPEND needs its counterpart."
                + own_load(machine.written.get("SUSPEND")),
                expression=resume,
                witness=machine.witness(found, partial(flaps, machine)),
            )


def flaps(machine: Machine, situation: Situation) -> bool:
    """Whether a job of the situation is suspended and continued forever."""
    for moment in (busy(3600), resumed(3600)):
        if not (machine.holds("WANT_SUSPEND", situation, moment) and machine.holds("SUSPEND", situation, moment)):
            return False
    for seconds in (5, 15, 65, 305, 605):
        if machine.holds("PREEMPT", situation, suspended(seconds)):
            return False
        if machine.holds("CONTINUE", situation, suspended(seconds)):
            return True
    return False
