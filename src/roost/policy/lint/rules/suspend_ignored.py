"""SUSPEND that nothing looks at.

What: SUSPEND is TRUE in some situations, but WANT_SUSPEND never is, and PREEMPT does not ask for SUSPEND.

Why: SUSPEND is looked at only while WANT_SUSPEND is TRUE, and that is FALSE unless it is set. Nothing happens.

Example::

    SUSPEND = KeyboardIdle < 60
    CONTINUE = KeyboardIdle > 300

Instead::

    WANT_SUSPEND = True
    SUSPEND = KeyboardIdle < 60
    CONTINUE = KeyboardIdle > 300
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.simulate import Machine, machines
from roost.policy.lint.situations import Situation, busy


@pool_rule("RST408", Severity.WARNING, "D11")
def check(pool: Pool) -> Iterator[Hit]:
    for machine in machines(pool):
        suspend = machine.written.get("SUSPEND")
        if machine.broken or suspend is None:
            continue
        moment = busy(3600)
        situations = machine.about("WANT_SUSPEND", "SUSPEND")
        wanted = [s for s in situations if machine.holds("SUSPEND", s, moment)]
        if not wanted or any(machine.holds("WANT_SUSPEND", s, moment) for s in situations):
            continue
        # A PREEMPT that asks for SUSPEND takes its place.
        if "suspend" in (preempt.names if (preempt := machine.written.get("PREEMPT")) is not None else ()):
            continue
        yield Hit(
            message="SUSPEND has no effect: WANT_SUSPEND is never TRUE, and PREEMPT does not take its place",
            remedy="Set WANT_SUSPEND, or add SUSPEND && WANT_SUSPEND == False to PREEMPT.",
            expression=suspend,
            witness=machine.witness(wanted[0], partial(_wanted, machine)),
        )


def _wanted(machine: Machine, situation: Situation) -> bool:
    return machine.holds("SUSPEND", situation, busy(3600))
