"""Chance in matching.

What: ``random()`` in START, RANK, Requirements or an expression of the negotiator.

Why: Jobs that look the same are matched as one, so one throw decides for many; between the match and the claim the
expression is evaluated again and may come out differently.

Example::

    START = random(10) > 3

Instead::

    START = (SlotID % 10) > 3
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import calls

_MATCHING = frozenset(("start", "rank", "requirements", "append_requirements", "append_rank", "default_rank"))


@expression_rule("RST116", Severity.WARNING, "B21")
def check(expression: Expression) -> Iterator[Hit]:
    row = expression.policy
    if expression.base not in _MATCHING and (row is None or row.evaluated_by != "negotiator"):
        return
    for node in calls(expression, "random"):
        yield Hit(
            message=f"{expression.knob} depends on chance",
            remedy="Use something that is fixed for the slot or the job, such as SlotID or ProcId.",
            node=node,
        )
