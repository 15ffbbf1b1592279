"""START that is never TRUE.

What: In no situation at all is START TRUE for any job before the slot is claimed, although it is not simply set to
FALSE.

Why: The machine never runs a job. Mostly two of its conditions exclude each other, or a state is asked for in which
START is not looked at.

Example::

    START = KeyboardIdle > 900 && State == "Owner" && Activity == "Busy"

Instead::

    START = KeyboardIdle > 900
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.simulate import machines
from roost.policy.lint.situations import CLAIMED, FREE


@pool_rule("RST401", Severity.ERROR, "D1")
def check(pool: Pool) -> Iterator[Hit]:
    for machine in machines(pool):
        start = machine.written.get("START")
        if start is None or machine.broken or machine.is_literal("START") or not machine.never("START", *FREE):
            continue
        claimed = any(machine.holds("START", s, CLAIMED) for s in machine.situations)
        yield Hit(
            message=f"{start.knob} is TRUE only on a slot that is claimed already: no claim is ever accepted"
            if claimed
            else f"{start.knob} is never TRUE, whatever the machine and the job",
            remedy="START is asked before there is a claim, and again for each job: let it hold when Unclaimed, too."
            if claimed
            else "Look for conditions that exclude each other; `roost explain expr START` with --my and --target "
            "tries a situation.",
            expression=start,
        )
