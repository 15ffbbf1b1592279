"""IS_OWNER that may be UNDEFINED.

What: IS_OWNER depends on an attribute that the machine may lack, and is UNDEFINED or ERROR then.

Why: A daemon of HTCondor stops with an error. Here it counts as FALSE, with a warning in the log.

Example::

    START = KeyboardIdle > 900 && HasUserAtConsole =!= True
    IS_OWNER = HasUserAtConsole || KeyboardIdle < 900

Instead::

    START = KeyboardIdle > 900 && HasUserAtConsole =!= True
    IS_OWNER = HasUserAtConsole =?= True || KeyboardIdle < 900
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from roost.base.diagnostics import Severity
from roost.classad.syntax import Op
from roost.classad.values import Exceptional
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.shapes import binaries, is_boolean, reference, references
from roost.policy.lint.simulate import Machine, machines, truth
from roost.policy.lint.situations import UNCLAIMED, Situation


@pool_rule("RST413", Severity.WARNING, "D3")
def check(pool: Pool) -> Iterator[Hit]:
    for machine in machines(pool):
        owner = machine.written.get("IS_OWNER")
        if machine.broken or owner is None or any(where == "target" for _, where, _ in references(owner)):
            continue
        if any(reference(b.left) and is_boolean(b.right) for b, _ in binaries(owner, Op.EQ, Op.NE)):
            continue
        for situation in machine.situations:
            value = truth(machine.value("IS_OWNER", situation, UNCLAIMED, with_job=False))
            if isinstance(value, Exceptional):
                yield Hit(
                    message=f"IS_OWNER is {str(value).upper()} in some situation",
                    remedy="Make it total: write =?= True behind what may be missing.",
                    expression=owner,
                    witness=machine.witness(situation, partial(_is_undefined, machine)),
                )
                break


def _is_undefined(machine: Machine, situation: Situation) -> bool:
    return isinstance(truth(machine.value("IS_OWNER", situation, UNCLAIMED, with_job=False)), Exceptional)
