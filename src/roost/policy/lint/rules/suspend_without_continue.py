"""SUSPEND without CONTINUE.

What: SUSPEND is set, CONTINUE is not.

Why: CONTINUE is TRUE unless it is set: a job is suspended and let go on at every poll, as long as SUSPEND is TRUE.

Example::

    WANT_SUSPEND = True
    SUSPEND = KeyboardIdle < 60

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
from roost.policy.lint.rules.suspend_and_continue import flaps
from roost.policy.lint.simulate import machines


@pool_rule("RST421", Severity.ERROR, "D5")
def check(pool: Pool) -> Iterator[Hit]:
    for machine in machines(pool):
        suspend = machine.written.get("SUSPEND")
        if machine.broken or suspend is None or machine.is_set("CONTINUE"):
            continue
        if any(flaps(machine, situation) for situation in machine.situations):
            yield Hit(
                message="CONTINUE is not set, so that it is always TRUE: jobs stop and go on at every poll",
                remedy="Set CONTINUE to what must hold before a suspended job may go on.",
                expression=suspend,
            )
