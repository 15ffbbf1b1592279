"""Preemption by the slightest difference in priority.

What: PREEMPTION_REQUIREMENTS compares the two users' priorities without any distance between them.

Why: A user whose jobs run gets a worse priority, one whose jobs wait a better one: after a while the two change places,
and again. Each change costs the work done since the last checkpoint.

Example::

    PREEMPTION_REQUIREMENTS = RemoteUserPrio > TARGET.SubmitterUserPrio

Instead::

    PREEMPTION_REQUIREMENTS = RemoteUserPrio > TARGET.SubmitterUserPrio * 1.2
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Op
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries, is_reference_to

_RUNNING = ("RemoteUserPrio",)
_WAITING = ("SubmitterUserPrio", "SubmittorPrio", "SubmitterPrio")


@expression_rule("RST608", Severity.WARNING, "D16")
def check(expression: Expression) -> Iterator[Hit]:
    if expression.base != "preemption_requirements":
        return
    for node, _ in binaries(expression, Op.GT, Op.GE, Op.LT, Op.LE):
        left, right = node.left, node.right
        if node.op in (Op.LT, Op.LE):
            left, right = right, left
        if is_reference_to(left, *_RUNNING) and is_reference_to(right, *_WAITING):
            yield Hit(
                message="users preempt each other as soon as their priorities cross",
                remedy="Ask for a distance, such as a factor of 1.2, and for some time that the job has run.",
                node=node,
            )
