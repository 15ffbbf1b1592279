"""eval() of a constant text.

What: The argument of ``eval()`` is a text without anything put into it.

Why: The expression could stand there itself. Inside a text its attributes are hidden: jobs that differ in them share
one answer in matchmaking, and no tool can check it.

Example::

    START = eval("KeyboardIdle > 900")

Instead::

    START = KeyboardIdle > 900
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import calls, text_of


@expression_rule("RST117", Severity.WARNING, "B20")
def check(expression: Expression) -> Iterator[Hit]:
    for node in calls(expression, "eval"):
        if len(node.args) == 1 and text_of(node.args[0]) is not None:
            yield Hit(
                message=f"{expression.text(node)} hides an expression in a text",
                remedy="Write the expression itself.",
                node=node,
            )
