"""An expression cannot be read.

What: The text of a policy expression, all macros in place, is not a ClassAd expression: a parenthesis is not closed, an
operand is missing, an operator does not exist.

Why: A daemon that meets it refuses to start, or goes on as if the expression were ERROR: START then matches no job at
all, SUSPEND and PREEMPT never act. The mistake often stands in a macro and shows only where that is used.

Example::

    MachineBusy = ($(CPUBusy) || $(KeyboardBusy)
    CPUBusy = (LoadAvg - CondorLoadAvg) >= 0.5
    KeyboardBusy = KeyboardIdle < 60
    WANT_SUSPEND = True
    SUSPEND = $(MachineBusy)
    CONTINUE = KeyboardIdle > 300 && (LoadAvg - CondorLoadAvg) < 0.3

Instead::

    MachineBusy = ($(CPUBusy) || $(KeyboardBusy))
    CPUBusy = (LoadAvg - CondorLoadAvg) >= 0.5
    KeyboardBusy = KeyboardIdle < 60
    WANT_SUSPEND = True
    SUSPEND = $(MachineBusy)
    CONTINUE = KeyboardIdle > 300 && (LoadAvg - CondorLoadAvg) < 0.3
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule


@expression_rule("RST001", Severity.ERROR, "A3", "A4", "B22", "B24")
def check(expression: Expression) -> Iterator[Hit]:
    problem = expression.problem
    if problem is None:
        return
    empty = [use.name for use in expression.mapped.uses if use.undefined]
    remedy = problem.hint or "Correct the text; look at the macros that stand in it, too."
    if empty:
        remedy = f"$({empty[0]}) is not defined and leaves a gap: define it. Otherwise: {remedy}"
    yield Hit(
        message=f"{expression.knob} cannot be read: {problem.message}",
        remedy=remedy[0].upper() + remedy[1:],
        span=(problem.start, min(problem.end, len(expression.mapped.text))),
    )
