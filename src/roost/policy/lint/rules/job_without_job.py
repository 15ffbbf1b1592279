"""A job's attribute where there is no job.

What: IS_OWNER, RunBenchmarks, START_BACKFILL and others are evaluated without a job, and the expression asks for an
attribute that only jobs have.

Why: It is UNDEFINED there. IS_OWNER that is UNDEFINED stops a daemon of HTCondor; the others count as FALSE.

Example::

    START = KeyboardIdle > 900
    IS_OWNER = TARGET.Owner != "coltrane" && KeyboardIdle < 900

Instead::

    START = KeyboardIdle > 900
    IS_OWNER = KeyboardIdle < 900
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Node, Op
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.scope import row_of
from roost.policy.lint.shapes import binaries, references
from roost.policy.model import AdKind


def _is_total(expression: Expression, node: Node) -> bool:
    """Whether a reference is compared by ``=?=`` or ``=!=``, which are never UNDEFINED."""
    return any(node in (each.left, each.right) for each, _ in binaries(expression, Op.IS, Op.ISNT))


@expression_rule("RST204", Severity.WARNING, "D3", "D2")
def check(expression: Expression) -> Iterator[Hit]:
    row = expression.policy
    if row is None or row.target is not AdKind.NONE or row.my is not AdKind.MACHINE:
        return
    for node, where, name in references(expression):
        if row.name.upper() == "IS_OWNER" and _is_total(expression, node):
            # A claimed slot asks it with the claim's job: such a test makes an exception for that job.
            continue
        job_only = where is None and not expression.scope.knows(name) and row_of(name, AdKind.JOB) is not None
        if where == "target" or job_only:
            yield Hit(
                message=f"{expression.knob} is evaluated without a job: {expression.text(node)} is UNDEFINED",
                remedy="Ask for attributes of the machine only.",
                node=node,
            )
