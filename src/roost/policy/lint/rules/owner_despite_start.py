"""IS_OWNER that follows a START about jobs.

What: IS_OWNER is made of START, START asks for attributes of jobs, and without a job it is FALSE although there are
jobs that it would accept.

Why: IS_OWNER is evaluated without a job. The machine says it belongs to its owner, gives up its claims between jobs,
and is shown as not available, while jobs could run. Tests by ``=?=`` are FALSE without a job; tests by ``==`` are
UNDEFINED, which is not FALSE.

Example::

    START = TARGET.InteractiveJob =?= True && KeyboardIdle > 900
    IS_OWNER = (START =?= False)

Instead::

    START = TARGET.InteractiveJob =?= True && KeyboardIdle > 900
    IS_OWNER = KeyboardIdle <= 900
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.simulate import Machine, machines, truth
from roost.policy.lint.situations import UNCLAIMED, Situation


@pool_rule("RST412", Severity.WARNING, "D2")
def check(pool: Pool) -> Iterator[Hit]:
    for machine in machines(pool):
        owner = machine.written.get("IS_OWNER")
        if machine.broken or owner is None or "start" not in owner.names:
            continue
        place = machine.place_of("START", "IS_OWNER") or owner
        willing = [s for s in machine.situations if machine.holds("START", s, UNCLAIMED)]
        refused = [s for s in willing if _is_owner(machine, s)]
        if refused and len(refused) == len(willing):
            yield Hit(
                message="without a job START is FALSE, so that the machine always counts as its owner's",
                remedy="Write an IS_OWNER of its own, with the conditions of START that are about the machine.",
                expression=place,
                witness=machine.witness(refused[0], partial(_refuses, machine)),
            )
        elif refused:
            yield Hit(
                message="the machine counts as its owner's in a situation in which START would accept a job",
                remedy="If that is not meant, write an IS_OWNER of its own, about the machine only.",
                expression=place,
                witness=machine.witness(refused[0], partial(_refuses, machine)),
                severity=Severity.NOTE,
            )


def _is_owner(machine: Machine, situation: Situation) -> bool:
    return truth(machine.value("IS_OWNER", situation, UNCLAIMED, with_job=False)) is True


def _refuses(machine: Machine, situation: Situation) -> bool:
    return machine.holds("START", situation, UNCLAIMED) and _is_owner(machine, situation)
