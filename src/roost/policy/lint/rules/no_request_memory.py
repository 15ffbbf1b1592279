"""No word on memory.

What: A submit description does not say how much memory a job needs.

Why: The default is 128 MB. Where memory is enforced the job is put on hold when it needs more.

Example::

    executable = work
    queue

Instead::

    executable = work
    request_memory = 2 GB
    queue
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.policy.lint.registry import Hit, submit_rule
from roost.policy.lint.submit import Submission


@submit_rule("RST708", Severity.NOTE, "F2")
def check(submission: Submission) -> Iterator[Hit]:
    known = {"request_memory", "requestmemory"} & {*submission.commands, *submission.attributes}
    ordinary = submission.commands.get("universe")
    if not known and submission.queues and (ordinary is None or ordinary.text.lower() in ("vanilla", "5", "docker")):
        yield Hit(
            message="request_memory is not set",
            remedy="Set request_memory to what a job needs, with a unit.",
            place=submission.place(submission.queues[0][1]),
        )
