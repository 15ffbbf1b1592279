"""A speed that is not measured yet.

What: KFlops or Mips in an expression that decides about machines, without a word on what holds while they are missing.

Why: They are UNDEFINED until a machine has run its benchmarks. A pool-wide condition on them keeps fresh machines out
(or lets them in) for a reason that its author did not intend, and a rank puts them last.

Example::

    NEGOTIATOR_PE_RESOURCE_EXPR = KFlops > 100000

Instead::

    NEGOTIATOR_PE_RESOURCE_EXPR = (KFlops > 100000) =!= False
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.values import fold
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import references

_DECIDING = frozenset(
    (
        "negotiator_pe_resource_expr",
        "negotiator_pe_job_expr",
        "negotiator_slot_constraint",
        "defrag_requirements",
        "negotiator_pre_job_rank",
        "negotiator_post_job_rank",
        "preemption_rank",
        "start",
        "append_requirements",
        "rank",
    )
)


@expression_rule("RST209", Severity.WARNING, "C5", "A18")
def check(expression: Expression) -> Iterator[Hit]:
    if expression.base not in _DECIDING or expression.tree is None:
        return
    if not expression.inferred.of(expression.tree).can_be_undefined:
        return
    for node, _, name in references(expression):
        if fold(name) in ("kflops", "mips") and expression.inferred.of(node).can_be_undefined:
            yield Hit(
                message=f"{name} is UNDEFINED on machines that have not run their benchmarks",
                remedy=f"Say what holds then: ({name} > …) =!= False lets them in, =?= True keeps them out; in a rank "
                f"use ifThenElse(isUndefined({name}), …, {name}).",
                node=node,
                # A job's own rank is its user's business.
                severity=Severity.NOTE if expression.base == "rank" else None,
            )
            return
