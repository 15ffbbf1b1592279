"""on_exit_remove by the exit code alone.

What: ``on_exit_remove`` asks for ExitCode, and not for ExitBySignal.

Why: A job that was killed by a signal has no ExitCode: the expression is UNDEFINED, and the job leaves the queue as if
it had succeeded.

Example::

    executable = work
    on_exit_remove = ExitCode == 0
    request_memory = 1 GB
    queue

Instead::

    executable = work
    on_exit_remove = (ExitBySignal == False) && (ExitCode == 0)
    request_memory = 1 GB
    queue
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.policy.lint.registry import Hit, submit_rule
from roost.policy.lint.submit import Submission


@submit_rule("RST703", Severity.WARNING, "F6")
def check(submission: Submission) -> Iterator[Hit]:
    expression = submission.expression("on_exit_remove")
    if expression is None or "exitcode" not in expression.names or "exitbysignal" in expression.names:
        return
    if expression.tree is not None and expression.inferred.of(expression.tree).can_be_undefined:
        yield Hit(
            message="a job killed by a signal leaves the queue as if it had succeeded",
            remedy="Write (ExitBySignal == False) && (ExitCode == 0).",
            expression=expression,
        )
