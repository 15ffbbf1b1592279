"""A run time that stands still while the job runs.

What: An expression of the queue that is looked at while jobs run (SYSTEM_PERIODIC_REMOVE and the like) compares
RemoteWallClockTime with a limit.

Why: RemoteWallClockTime is the time of the runs that have ended: it is brought up to date when a job stops running. A
job in its first run goes on forever, and one that was evicted after long is removed while it waits.

Example::

    SYSTEM_PERIODIC_REMOVE = RemoteWallClockTime > 86400

Instead::

    SYSTEM_PERIODIC_REMOVE = JobStatus == 2 && (time() - JobCurrentStartDate) > 86400
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Op
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries, is_reference_to

_WHILE_RUNNING = frozenset(("system_periodic_remove", "system_periodic_hold", "system_periodic_vacate"))


@expression_rule("RST311", Severity.WARNING, "C8")
def check(expression: Expression) -> Iterator[Hit]:
    # With a term on the present run alongside it the sum is live.
    live = ("JobCurrentStartDate", "ShadowBday", "JobCurrentStartExecutingDate", "EnteredCurrentStatus", "JobStatus")
    if expression.base not in _WHILE_RUNNING or expression.mentions(*live):
        return
    for node, _ in binaries(expression, Op.GT, Op.GE, Op.LT, Op.LE):
        for side in (node.left, node.right):
            if is_reference_to(side, "RemoteWallClockTime"):
                yield Hit(
                    message="RemoteWallClockTime stands still while a job runs",
                    remedy="For a limit on a run write JobStatus == 2 && (time() - JobCurrentStartDate) > limit; "
                    "for the time of all runs add that to RemoteWallClockTime.",
                    node=node,
                )
