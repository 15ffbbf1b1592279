"""A name in the pool's policy on matches that either ad may define.

What: A name without MY or TARGET, and in no catalogue, stands in an expression that the pool adds to Requirements.

Why: It is looked up in MY's ad first, and then in TARGET's. The author of either ad can define an attribute of that
name, and so decide for the other: a user that the machine is of a class, an owner that the job is of a group. Names
that Roost knows are read from the ad that they belong to; others need a scope.

Example::

    NEGOTIATOR_PE_JOB_EXPR = (MY.CostCenter =!= "students") || (Class =?= "old")

Instead::

    NEGOTIATOR_PE_JOB_EXPR = (MY.CostCenter =!= "students") || (TARGET.Class =?= "old")
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.values import fold
from roost.model.pool_policy import SCOPES
from roost.policy.attributes import attribute_of
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import references
from roost.policy.model import AdKind

_ABOUT_BOTH = tuple(f"negotiator_pe_{trial}{word}_expr" for trial in ("", "dryrun_") for word in ("resource", "job"))


@expression_rule("RST618", Severity.WARNING, "B18")
def check(expression: Expression) -> Iterator[Hit]:
    if expression.base not in _ABOUT_BOTH:
        return
    for node, where, name in references(expression):
        known = any(attribute_of(name, side) is not None for side in (AdKind.MACHINE, AdKind.JOB))
        if where is None and not known and fold(name) not in SCOPES:
            yield Hit(
                message=f"{name} may be the slot's or the job's: the author of one ad can decide for the other",
                remedy=f"Write MY.{name} or TARGET.{name}.",
                node=node,
            )
