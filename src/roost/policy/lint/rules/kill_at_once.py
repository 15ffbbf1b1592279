"""KILL that is TRUE from the start.

What: As soon as a job is asked to leave, KILL is TRUE in every situation.

Why: The job gets no time to save anything: the soft kill is followed by the hard one at the next poll. Often the wrong
timer is used: the time since the job began instead of the time in Preempting/Vacating.

Example::

    KILL = (time() - JobStart) > 600

Instead::

    KILL = (time() - EnteredCurrentActivity) > 300
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Literal, strip
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.simulate import machines
from roost.policy.lint.situations import vacating


@pool_rule("RST410", Severity.WARNING, "D12")
def check(pool: Pool) -> Iterator[Hit]:
    starter = pool.expression("STARTER_KILL")
    tree = None if starter is None or starter.tree is None else strip(starter.tree)
    if isinstance(tree, Literal) and tree.value is True:
        yield Hit(
            message="STARTER_KILL is TRUE as soon as the starter evicts a job: it gets no time",
            remedy="Let it wait, by time() - EnteredCurrentState; or say it openly: STARTER_WANT_VACATE = False.",
            expression=starter,
        )
    for machine in machines(pool):
        kill = machine.written.get("KILL")
        if machine.broken or kill is None:
            continue
        if all(machine.holds("KILL", situation, vacating(1)) for situation in machine.situations):
            yield Hit(
                message="KILL is TRUE as soon as a job begins to leave: it gets no time",
                remedy="Let KILL wait, by time() - EnteredCurrentActivity; or say it openly: WANT_VACATE = False.",
                expression=kill,
            )
