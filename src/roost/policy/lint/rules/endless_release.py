"""periodic_release without an end.

What: ``periodic_release`` neither counts (NumJobStarts, NumHolds and the like) nor asks for the cause of the hold.

Why: A job that is held for a reason that stays, goes on hold again as soon as it is released: forever, once a minute.

Example::

    executable = work
    periodic_release = (time() - EnteredCurrentStatus) > 600
    request_memory = 1 GB
    queue

Instead::

    executable = work
    periodic_release = NumJobStarts < 5 && HoldReasonCode =!= 1 && (time() - EnteredCurrentStatus) > 600
    request_memory = 1 GB
    queue
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, submit_rule
from roost.policy.lint.submit import Submission

_COUNTERS = frozenset(
    (
        "numjobstarts",
        "numholds",
        "numsystemholds",
        "jobruncount",
        "numshadowstarts",
        "holdreasoncode",
        "holdreasonsubcode",
        "numjobmatches",
        "qdate",
        "holdreason",
        "numrestarts",
    )
)


@submit_rule("RST704", Severity.WARNING, "F7")
def check(submission: Submission) -> Iterator[Hit]:
    expression = submission.expression("periodic_release")
    if expression is not None and _endless(expression):
        yield Hit(
            message="a job that is held again and again is released again and again",
            remedy="Count: NumJobStarts < 5 &&; and name the causes that may go away: HoldReasonCode == …",
            expression=expression,
        )


def _endless(expression: Expression) -> bool:
    tree = expression.tree
    if tree is None or not expression.inferred.of(tree).can_be_true:
        return False
    return not expression.names & _COUNTERS
