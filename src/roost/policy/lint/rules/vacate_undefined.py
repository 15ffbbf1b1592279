"""WANT_VACATE that may be UNDEFINED.

What: WANT_VACATE depends on an attribute that a job may lack, and is UNDEFINED or ERROR then.

Why: A daemon of HTCondor stops with an error at the moment when a job is to be evicted. Here it counts as TRUE, with a
warning in the log.

Example::

    WANT_VACATE = TARGET.SavesItsState || TARGET.JobUniverse == 13
    PREEMPT = KeyboardIdle < 60
    START = KeyboardIdle > 900

Instead::

    WANT_VACATE = (TARGET.SavesItsState =?= True) || TARGET.JobUniverse == 13
    PREEMPT = KeyboardIdle < 60
    START = KeyboardIdle > 900
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from roost.base.diagnostics import Severity
from roost.classad.values import Exceptional
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.simulate import Machine, machines, truth
from roost.policy.lint.situations import Situation, busy


@pool_rule("RST414", Severity.WARNING, "D10")
def check(pool: Pool) -> Iterator[Hit]:
    for machine in machines(pool):
        vacate = machine.written.get("WANT_VACATE")
        if machine.broken or vacate is None:
            continue
        for situation in machine.situations:
            value = truth(machine.value("WANT_VACATE", situation, busy(3600)))
            if isinstance(value, Exceptional):
                yield Hit(
                    message=f"WANT_VACATE is {str(value).upper()} in some situation",
                    remedy="Make it total: write =?= True behind what may be missing.",
                    expression=vacate,
                    witness=machine.witness(situation, partial(_is_undefined, machine)),
                )
                break


def _is_undefined(machine: Machine, situation: Situation) -> bool:
    return isinstance(truth(machine.value("WANT_VACATE", situation, busy(3600))), Exceptional)
