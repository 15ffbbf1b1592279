"""PREEMPT behind WANT_SUSPEND.

What: In some situation PREEMPT is TRUE for a running job, but WANT_SUSPEND is TRUE as well and SUSPEND is not.

Why: While WANT_SUSPEND is TRUE, a running job is only ever suspended: PREEMPT is not looked at until it is. A
condition in PREEMPT alone then has no effect, for instance working hours at which the machine was to be empty.

Example::

    WANT_SUSPEND = TARGET.JobUniverse == 5
    SUSPEND = KeyboardIdle < 60
    CONTINUE = KeyboardIdle > 300
    START = KeyboardIdle > 900 && ClockMin < 480
    PREEMPT = ClockMin >= 480

Instead::

    WANT_SUSPEND = TARGET.JobUniverse == 5 && ClockMin < 480
    SUSPEND = KeyboardIdle < 60
    CONTINUE = KeyboardIdle > 300
    START = KeyboardIdle > 900 && ClockMin < 480
    PREEMPT = ClockMin >= 480
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from roost.policy.lint.findings import Severity
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.simulate import Machine, machines
from roost.policy.lint.situations import Situation, busy


@pool_rule("RST409", Severity.WARNING, "D9", "A7", "A13")
def check(pool: Pool) -> Iterator[Hit]:
    for machine in machines(pool):
        preempt = machine.written.get("PREEMPT")
        if machine.broken or preempt is None or not machine.is_set("WANT_SUSPEND"):
            continue
        found = next((s for s in machine.situations if _masked(machine, s)), None)
        if found is not None:
            yield Hit(
                message="PREEMPT is TRUE for a running job here, but WANT_SUSPEND keeps it from being looked at",
                remedy="Let WANT_SUSPEND be FALSE there, or put the condition into SUSPEND, too.",
                expression=preempt,
                witness=machine.witness(found, partial(_masked, machine)),
            )


def _masked(machine: Machine, situation: Situation) -> bool:
    return any(
        machine.holds("WANT_SUSPEND", situation, moment)
        and not machine.holds("SUSPEND", situation, moment)
        and machine.holds("PREEMPT", situation, moment)
        for moment in (busy(5), busy(3600), busy(100 * 86_400))
    )
