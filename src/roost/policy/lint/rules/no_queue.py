"""Nothing is submitted.

What: A submit description has no ``queue`` statement, or only ``queue 0``.

Why: No job comes of it.

Example::

    executable = work
    request_memory = 1 GB

Instead::

    executable = work
    request_memory = 1 GB
    queue
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.policy.lint.registry import Hit, submit_rule
from roost.policy.lint.submit import Submission


@submit_rule("RST707", Severity.WARNING, "F12")
def check(submission: Submission) -> Iterator[Hit]:
    if not submission.queues or all(what == "0" for what, _ in submission.queues):
        line = submission.queues[0][1] if submission.queues else 1
        yield Hit(
            message="no job comes of this description",
            remedy="End it with queue, or queue and a number.",
            place=submission.place(line),
        )
