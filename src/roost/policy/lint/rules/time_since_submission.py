"""Removal by the time since submission.

What: ``periodic_remove`` or ``periodic_hold`` compares the time since QDate, or RemoteWallClockTime, with a limit, and
does not ask whether the job runs.

Why: The time since submission includes the time of waiting; RemoteWallClockTime is brought up to date only when a job
stops running. A limit on the run time needs JobCurrentStartDate.

Example::

    executable = work
    periodic_remove = (time() - QDate) > 86400
    request_memory = 1 GB
    queue

Instead::

    executable = work
    periodic_remove = JobStatus == 2 && (time() - JobCurrentStartDate) > 86400
    request_memory = 1 GB
    queue
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Binary, Op, strip
from roost.policy.lint.registry import Hit, submit_rule
from roost.policy.lint.shapes import binaries, is_reference_to, reference
from roost.policy.lint.submit import Submission


@submit_rule("RST705", Severity.WARNING, "F8", "C8")
def check(submission: Submission) -> Iterator[Hit]:
    for command in ("periodic_remove", "periodic_hold"):
        expression = submission.expression(command)
        if expression is None or "jobstatus" in expression.names:
            continue
        for node, _ in binaries(expression, Op.GT, Op.GE):
            side = strip(node.left)
            since = isinstance(side, Binary) and side.op is Op.SUB and is_reference_to(side.right, "QDate")
            if since or (reference(side) is not None and is_reference_to(side, "RemoteWallClockTime")):
                what = "includes the time of waiting" if since else "stands still while a job runs"
                yield Hit(
                    message=f"{expression.text(side)} {what}",
                    remedy="For a limit on the run time write JobStatus == 2 && "
                    "(time() - JobCurrentStartDate) > limit; for jobs that wait too long add JobStatus == 1.",
                    expression=expression,
                    node=node,
                )
