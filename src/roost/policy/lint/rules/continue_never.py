"""CONTINUE that is never TRUE.

What: Jobs can be suspended, but in no situation is CONTINUE TRUE afterwards.

Why: A suspended job never goes on: it waits until PREEMPT gets rid of it, or forever.

Example::

    WANT_SUSPEND = True
    SUSPEND = KeyboardIdle < 60
    CONTINUE = KeyboardIdle > 300 && Activity == "Busy"

Instead::

    WANT_SUSPEND = True
    SUSPEND = KeyboardIdle < 60
    CONTINUE = KeyboardIdle > 300
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.simulate import machines
from roost.policy.lint.situations import busy


@pool_rule("RST405", Severity.WARNING, "D6", "D9")
def check(pool: Pool) -> Iterator[Hit]:
    for machine in machines(pool):
        resume = machine.written.get("CONTINUE")
        if machine.broken or resume is None:
            continue
        stops = any(
            machine.holds("WANT_SUSPEND", s, busy(3600)) and machine.holds("SUSPEND", s, busy(3600))
            for s in machine.situations
        )
        if stops and machine.never("CONTINUE", ("Claimed", "Suspended")):
            yield Hit(
                message="CONTINUE is never TRUE for a suspended job",
                remedy="Ask for what ends the cause of SUSPEND; while the job is suspended, Activity is Suspended.",
                expression=resume,
            )
