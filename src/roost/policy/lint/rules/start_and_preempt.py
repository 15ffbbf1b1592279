"""Jobs that are preempted as soon as they start.

What: There is a situation in which START is TRUE for a job, and once the job runs PREEMPT is TRUE as well, without
anything having changed but the number of its runs.

Why: The job starts, is evicted, and goes back to the queue; the machine is free and START is TRUE: so it goes on with
this job or the next, and none gets anywhere.

Example::

    START = TARGET.JobUniverse == 5
    PREEMPT = KeyboardIdle < 60

Instead::

    START = TARGET.JobUniverse == 5 && KeyboardIdle > 900
    PREEMPT = KeyboardIdle < 60
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.shapes import own_load
from roost.policy.lint.simulate import Machine, machines
from roost.policy.lint.situations import CLAIMED, UNCLAIMED, Situation, busy

#: A job that has run this long, in seconds, has had its chance.
_SHORT_S = 300


@pool_rule("RST403", Severity.ERROR, "D4")
def check(pool: Pool) -> Iterator[Hit]:
    for machine in machines(pool):
        preempt = machine.place_of("PREEMPT", "START")
        if machine.broken or preempt is None or not machine.is_set("PREEMPT"):
            continue
        found = next((s for s in machine.situations if _thrashes(machine, s)), None)
        if found is not None:
            always = "" if machine.is_set("START") else " (it is not set, and so always TRUE)"
            yield Hit(
                message=f"a job that START{always} lets in is preempted at once, again and again",
                severity=Severity.WARNING if always else None,
                remedy="Let START be FALSE wherever PREEMPT would be TRUE, with some distance between the limits."
                + own_load(machine.written.get("PREEMPT")),
                expression=preempt,
                witness=machine.witness(found, partial(_thrashes, machine)),
            )


def _thrashes(machine: Machine, situation: Situation) -> bool:
    """Whether it goes on like that: what counts the job's runs must not end it."""
    return _evicts(machine, situation) and _evicts(machine, machine.later(situation))


def _evicts(machine: Machine, situation: Situation) -> bool:
    if not (machine.holds("START", situation, UNCLAIMED) and machine.holds("START", situation, CLAIMED)):
        return False
    for seconds in (5, 60, _SHORT_S):
        moment = busy(seconds)
        if machine.holds("WANT_SUSPEND", situation, moment) or not machine.holds("PREEMPT", situation, moment):
            continue
        if machine.number("MAXJOBRETIREMENTTIME", situation, moment) <= seconds:
            return True
    return False
