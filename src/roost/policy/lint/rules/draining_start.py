"""$(START) in the configuration of draining.

What: DEFRAG_DRAINING_START_EXPR or another expression of the defrag daemon refers to ``$(START)``.

Why: It is expanded where the defrag daemon runs, mostly on the central manager: that machine's START is sent to all
others, and not their own.

Example::

    DEFRAG_DRAINING_START_EXPR = $(START) && TARGET.RequestCpus <= 1

Instead::

    DEFRAG_DRAINING_START_EXPR = TARGET.RequestCpus <= 1
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.policy.lint.findings import SourcePlace
from roost.policy.lint.mapping import position
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule


@expression_rule("RST612", Severity.WARNING, "D28")
def check(expression: Expression) -> Iterator[Hit]:
    if not expression.base.startswith("defrag_"):
        return
    for use in expression.mapped.uses:
        if use.name.lower() == "start":
            line, column = position(use.definition, use.offset)
            yield Hit(
                message=f"{expression.knob} takes the START of the machine that the defrag daemon runs on",
                remedy="Write out what is to hold while a machine is drained.",
                place=SourcePlace(use.definition.span.file, line, column, len(use.name) + 3),
                knob=expression.knob,
            )
            return
