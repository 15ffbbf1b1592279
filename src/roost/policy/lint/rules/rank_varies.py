"""RANK by something that changes while the job runs.

What: RANK asks for an attribute of the job that grows or changes at run time, such as ImageSize.

Why: The rank of the running job is fixed when it starts, that of waiting jobs is of now. A job that was evicted comes
back larger and preempts the one that took its place: a chain without end.

Example::

    RANK = TARGET.ImageSize

Instead::

    RANK = TARGET.RequestMemory / 4096
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.scope import row_of
from roost.policy.lint.shapes import references
from roost.policy.model import AdKind, Unit


@expression_rule("RST417", Severity.WARNING, "A20")
def check(expression: Expression) -> Iterator[Hit]:
    if expression.base != "rank" or expression.scope.my is not AdKind.MACHINE:
        return
    for node, where, name in references(expression):
        if where == "my":
            continue
        row = row_of(name, AdKind.JOB)
        if row is not None and row.varies and row.unit in (Unit.KIB, Unit.MIB, Unit.SECONDS, Unit.BYTES):
            yield Hit(
                message=f"{name} changes while a job runs, and with it the rank of jobs that wait",
                remedy="Rank by something fixed at submission, in coarse steps, or grant MAXJOBRETIREMENTTIME.",
                node=node,
            )
