"""START that refuses once the slot is claimed.

What: START is TRUE in some situations while the slot is Unclaimed, but never while it is Claimed.

Why: START is asked twice: when the slot is matched and claimed, and again when the job is to start. By then the state
is Claimed. The slot is claimed and never runs anything.

Example::

    START = State == "Unclaimed" && KeyboardIdle > 900

Instead::

    START = State != "Owner" && KeyboardIdle > 900
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.simulate import Machine, machines
from roost.policy.lint.situations import CLAIMED, UNCLAIMED, Situation


@pool_rule("RST415", Severity.ERROR, "D22")
def check(pool: Pool) -> Iterator[Hit]:
    for machine in machines(pool):
        start = machine.written.get("START")
        if machine.broken or start is None:
            continue
        willing = [s for s in machine.situations if machine.holds("START", s, UNCLAIMED)]
        if willing and machine.never("START", ("Claimed", "Idle")):
            yield Hit(
                message="START accepts a claim, but no job on a claimed slot",
                remedy="Let START hold in state Claimed, too.",
                expression=start,
                witness=machine.witness(willing[0], partial(_refuses, machine)),
            )


def _refuses(machine: Machine, situation: Situation) -> bool:
    return machine.holds("START", situation, UNCLAIMED) and not machine.holds("START", situation, CLAIMED)
