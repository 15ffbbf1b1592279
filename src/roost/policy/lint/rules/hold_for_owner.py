"""Jobs put on hold because the owner came back.

What: WANT_HOLD is TRUE in a situation in which PREEMPT is TRUE though the job uses nothing that it should not.

Why: Such a job did nothing wrong and should go back to the queue. On hold it waits until it is released.

Example::

    PREEMPT = KeyboardIdle < 60 || MemoryUsage > Memory
    START = KeyboardIdle > 900
    WANT_HOLD = True
    WANT_HOLD_REASON = "memory exceeded"

Instead::

    PREEMPT = KeyboardIdle < 60 || MemoryUsage > Memory
    START = KeyboardIdle > 900
    WANT_HOLD = MemoryUsage > Memory
    WANT_HOLD_REASON = "memory exceeded"
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.simulate import Machine, machines
from roost.policy.lint.situations import Situation, busy, suspended


@pool_rule("RST418", Severity.WARNING, "D35")
def check(pool: Pool) -> Iterator[Hit]:
    for machine in machines(pool):
        hold = machine.written.get("WANT_HOLD")
        if machine.broken or hold is None or not machine.is_set("PREEMPT"):
            continue
        for situation in machine.situations:
            if _held(machine, situation):
                yield Hit(
                    message="a job is put on hold when it is preempted for the owner's sake",
                    remedy="Let WANT_HOLD be TRUE only for what the job itself did, such as using too much memory.",
                    expression=hold,
                    witness=machine.witness(situation, partial(_held, machine)),
                )
                break


def _held(machine: Machine, situation: Situation) -> bool:
    return any(
        machine.holds("PREEMPT", situation, moment) and machine.holds("WANT_HOLD", situation, moment)
        for moment in (busy(3600), suspended(3600))
    )
