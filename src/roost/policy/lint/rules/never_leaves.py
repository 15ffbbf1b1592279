"""Jobs that never leave the queue.

What: ``leave_in_queue`` is TRUE at all times.

Why: Ended jobs stay in the queue until they are removed by hand. The queue grows, and everything that reads it slows
down.

Example::

    executable = work
    leave_in_queue = True
    request_memory = 1 GB
    queue

Instead::

    executable = work
    leave_in_queue = JobStatus == 4 && (time() - CompletionDate) < 10 * 86400
    request_memory = 1 GB
    queue
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.policy.lint.abstract import Types
from roost.policy.lint.registry import Hit, submit_rule
from roost.policy.lint.submit import Submission


@submit_rule("RST706", Severity.WARNING, "F9")
def check(submission: Submission) -> Iterator[Hit]:
    expression = submission.expression("leave_in_queue")
    if expression is None or expression.tree is None:
        return
    if expression.inferred.of(expression.tree).only(Types.TRUE):
        yield Hit(
            message="these jobs stay in the queue forever",
            remedy="Give them an end: (time() - CompletionDate) < seconds.",
            expression=expression,
        )
