"""PREEMPT behind WANT_SUSPEND.

What: In some situation PREEMPT is TRUE for a running job, but WANT_SUSPEND is TRUE as well and SUSPEND is not. What a
running job can come to use of the machine (MemoryUsage and the like) is looked at, too.

Why: While WANT_SUSPEND is TRUE, a running job is only ever suspended: PREEMPT is not looked at until it is. A
condition in PREEMPT alone then has no effect until the job is suspended for some other reason: a limit on memory is
not enforced, and a machine that was to be empty in working hours is not.

Example::

    WANT_SUSPEND = True
    SUSPEND = KeyboardIdle < 60
    CONTINUE = KeyboardIdle > 300
    START = KeyboardIdle > 900
    PREEMPT = (Activity == "Suspended" && (time() - EnteredCurrentActivity) > 600) || MemoryUsage > Memory

Instead::

    TooBig = ((MemoryUsage > Memory) =?= True)
    WANT_SUSPEND = $(TooBig) == False
    SUSPEND = KeyboardIdle < 60
    CONTINUE = KeyboardIdle > 300
    START = KeyboardIdle > 900
    PREEMPT = (Activity == "Suspended" && (time() - EnteredCurrentActivity) > 600) || $(TooBig)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.simulate import Machine, machines
from roost.policy.lint.situations import Situation, busy

#: Situations in which things that jobs come to are looked at.
RUNS_MAX = 100


@pool_rule("RST409", Severity.WARNING, "D9", "A7", "A13")
def check(pool: Pool) -> Iterator[Hit]:
    for machine in machines(pool):
        preempt = machine.written.get("PREEMPT")
        if machine.broken or preempt is None or not machine.is_set("WANT_SUSPEND"):
            continue
        found = next((s for s in _lived_through(machine) if _masked(machine, s)), None)
        if found is not None:
            yield Hit(
                message="PREEMPT can be TRUE for a running job while WANT_SUSPEND keeps it from being looked at",
                remedy="Let WANT_SUSPEND be FALSE there, or put the condition into SUSPEND, too.",
                expression=preempt,
                witness=machine.witness(found, partial(_masked, machine)),
            )


def _lived_through(machine: Machine) -> Iterator[Situation]:
    """The situations, and after them what a running job can come to in each."""
    yield from machine.situations
    for situation in machine.situations[:RUNS_MAX]:
        yield from machine.measured(situation)


def _masked(machine: Machine, situation: Situation) -> bool:
    return any(
        machine.holds("WANT_SUSPEND", situation, moment)
        and not machine.holds("SUSPEND", situation, moment)
        and machine.holds("PREEMPT", situation, moment)
        for moment in (busy(5), busy(3600), busy(100 * 86_400))
    )
