"""Jobs that stay suspended forever.

What: There are situations in which a running job is suspended, and in none of them does it ever leave the suspension:
CONTINUE is not TRUE there, and PREEMPT is not TRUE for a suspended job however long it has been so.

Why: As long as the owner works, or the machine is busy, the job occupies its slot and its memory without getting on.
It is not given back either, and so cannot run on a machine that is free. With PREEMPT = False, written down, or in a
template, that is taken as meant, and only noted.

Example::

    START = KeyboardIdle > 900
    WANT_SUSPEND = True
    SUSPEND = KeyboardIdle < 60
    CONTINUE = KeyboardIdle > 300

Instead::

    START = KeyboardIdle > 900
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
from roost.policy.lint.simulate import Machine, machines
from roost.policy.lint.situations import LONG_S, Situation, busy, suspended


@pool_rule("RST422", Severity.WARNING, "D9", "D6")
def check(pool: Pool) -> Iterator[Hit]:
    for machine in machines(pool):
        suspend = machine.written.get("SUSPEND")
        # Where neither is set, the policy is about something else.
        if machine.broken or suspend is None or not machine.is_set("START", "PREEMPT"):
            continue
        situations = machine.about("PREEMPT", "SUSPEND", "WANT_SUSPEND", "CONTINUE")
        stuck = [situation for situation in situations if _stays(machine, situation)]
        if not stuck or any(_is_preempted(machine, situation) for situation in stuck):
            continue
        preempt = machine.written.get("PREEMPT")
        meant = (preempt is not None and machine.is_literal("PREEMPT")) or (
            preempt or suspend
        ).definition.origin is Origin.TEMPLATE
        beside = ", besides what PREEMPT says now." if preempt is not None and not meant else "."
        yield Hit(
            message="a job that is suspended stays so as long as nothing changes: "
            + ("PREEMPT is not TRUE for it" if preempt is not None else "PREEMPT is not set"),
            remedy='Set a limit: PREEMPT = Activity == "Suspended" && (time() - EnteredCurrentActivity) > seconds'
            + beside,
            expression=preempt or suspend,
            severity=Severity.NOTE if meant else None,
            witness=machine.witness(stuck[0], partial(_stays, machine)),
        )


def _stays(machine: Machine, situation: Situation) -> bool:
    """Whether a running job is suspended here, and does not go on."""
    at = busy(3600)
    suspends = machine.holds("WANT_SUSPEND", situation, at) and machine.holds("SUSPEND", situation, at)
    return suspends and not any(machine.holds("CONTINUE", situation, suspended(s)) for s in (5, 3600, LONG_S))


def _is_preempted(machine: Machine, situation: Situation) -> bool:
    return any(machine.holds("PREEMPT", situation, suspended(s)) for s in (5, 3600, LONG_S))
