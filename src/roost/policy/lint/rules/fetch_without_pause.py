"""Fetching work without a pause.

What: FetchWorkDelay is 0 in all situations.

Why: The hook is run again as soon as it has ended, on each slot: a queue that has no work is asked without end.

Example::

    STARTD_JOB_HOOK_KEYWORD = DB
    DB_HOOK_FETCH_WORK = /opt/hooks/fetch_work
    FetchWorkDelay = 0

Instead::

    STARTD_JOB_HOOK_KEYWORD = DB
    DB_HOOK_FETCH_WORK = /opt/hooks/fetch_work
    FetchWorkDelay = ifThenElse(State == "Claimed" && Activity == "Idle", 0, 300)
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule


@expression_rule("RST607", Severity.WARNING, "D34")
def check(expression: Expression) -> Iterator[Hit]:
    if expression.base == "fetchworkdelay" and expression.tree is not None:
        single = expression.inferred.of(expression.tree).single
        if single is not None and single <= 0:
            yield Hit(
                message="the hook is asked for work without any pause",
                remedy="Use 0 only for a claimed idle slot, and some minutes otherwise.",
                node=expression.tree,
            )
