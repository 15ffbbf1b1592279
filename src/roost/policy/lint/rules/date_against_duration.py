"""A point in time compared with a duration.

What: An attribute that holds a date (seconds since 1970), such as EnteredCurrentState, QDate or JobStart, is compared
with a small number or with a duration.

Why: A date of today is about 1,800,000,000. ``EnteredCurrentState > 600`` is always TRUE.

Example::

    KILL = EnteredCurrentActivity > 600

Instead::

    KILL = (time() - EnteredCurrentActivity) > 300
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Op
from roost.classad.values import fold
from roost.policy.lint.abstract import INSTANT, SECONDS
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries

#: Numbers below this, in seconds, are durations; as a date it is in 1986.
_DATE_MIN = 500_000_000


@expression_rule("RST302", Severity.WARNING, "C7", "C8")
def check(expression: Expression) -> Iterator[Hit]:
    for node, _ in binaries(expression, Op.LT, Op.LE, Op.GT, Op.GE, Op.EQ, Op.NE):
        for side, other in ((node.left, node.right), (node.right, node.left)):
            date, limit = expression.alone.of(side), expression.alone.of(other)
            if date.unit != INSTANT or "cpubusytime" in fold(expression.text(side)):
                continue
            number = limit.single
            small = limit.constant and number is not None and 1 < abs(number) < _DATE_MIN
            if small or limit.unit == SECONDS:
                yield Hit(
                    message=f"{expression.text(side)} is a date, {expression.text(other)} a duration",
                    remedy=f"Compare the time that has passed: (time() - {expression.text(side)}).",
                    node=node,
                )
