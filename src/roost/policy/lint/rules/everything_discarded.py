"""A pool-wide expression that discards everything, or nothing.

What: A NEGOTIATOR_PE_… expression, or a constraint of the negotiator, has the same outcome for all ads.

Why: NEGOTIATOR_PE_STARTD_ONLY_EXPR and its kin discard what they are TRUE for: always TRUE empties the pool.
NEGOTIATOR_PE_RESOURCE_EXPR, NEGOTIATOR_PE_JOB_EXPR and the constraints let in only what they are TRUE for: never TRUE
does the same.

Example::

    NEGOTIATOR_PE_STARTD_ONLY_EXPR = Memory >= 0

Instead::

    NEGOTIATOR_PE_STARTD_ONLY_EXPR = Memory < 128
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.policy.lint.abstract import Types
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule


@expression_rule("RST611", Severity.ERROR, "D31")
def check(expression: Expression) -> Iterator[Hit]:
    base, tree = expression.base, expression.tree
    if tree is None or expression.inferred.too_deep:
        return
    value = expression.inferred.of(tree)
    discards = base.startswith("negotiator_pe_") and base.endswith("_only_expr")
    permits = base in ("negotiator_pe_resource_expr", "negotiator_pe_job_expr") or (
        base.startswith("negotiator_") and base.endswith("_constraint")
    )
    if discards and value.only(Types.TRUE):
        yield Hit(message=f"{expression.knob} discards everything", remedy="Correct the condition.", node=tree)
    elif permits and value.types and not value.can_be_true:
        yield Hit(message=f"{expression.knob} lets nothing in", remedy="Correct the condition.", node=tree)
