"""A claim that IS_OWNER ends before its job begins.

What: In some situation START accepts a job, and IS_OWNER is TRUE although the slot is claimed for that job.

Why: The slot is claimed, and gives the claim up at once because it belongs to its owner. The job never begins, and the
slot is matched again in the next cycle, for as long as the situation lasts. In a claim IS_OWNER sees the ad of the
claim's job, so that it can make the same exceptions as START. A test by ``=?=`` is FALSE without a job, and the slot
still shows as its owner's while it is unclaimed.

Example::

    START = KeyboardIdle > 900 || TARGET.Owner == "coltrane"
    IS_OWNER = KeyboardIdle <= 900

Instead::

    START = KeyboardIdle > 900 || TARGET.Owner == "coltrane"
    IS_OWNER = KeyboardIdle <= 900 && TARGET.Owner =!= "coltrane"
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.simulate import Machine, machines
from roost.policy.lint.situations import CLAIMED, UNCLAIMED, Situation


@pool_rule("RST423", Severity.WARNING, "D4")
def check(pool: Pool) -> Iterator[Hit]:
    for machine in machines(pool):
        owner = machine.written.get("IS_OWNER")
        if machine.broken or owner is None:
            continue
        found = next((s for s in machine.situations if _is_lost(machine, s)), None)
        if found is not None:
            yield Hit(
                message="IS_OWNER is TRUE for a slot claimed for a job that START accepts: the job never begins",
                remedy="Make the same exceptions in IS_OWNER as in START; in a claim it sees the job's ad as TARGET.",
                expression=owner,
                witness=machine.witness(found, partial(_is_lost, machine)),
            )


def _is_lost(machine: Machine, situation: Situation) -> bool:
    return machine.holds("START", situation, UNCLAIMED) and machine.holds("IS_OWNER", situation, CLAIMED)
