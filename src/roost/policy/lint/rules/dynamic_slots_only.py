"""START that partitionable slots refuse.

What: START can be TRUE only where DynamicSlot is TRUE, or SlotType is "Dynamic".

Why: A job is first matched with the partitionable slot; only then is a dynamic one cut from it and asked as well. A
START that the partitionable slot refuses lets no dynamic slot come into being.

Example::

    START = DynamicSlot =?= True && TARGET.RequestCpus <= 4

Instead::

    START = TARGET.RequestCpus <= 4
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Binary, Op
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import conjuncts, is_boolean, is_reference_to, text_of


@expression_rule("RST616", Severity.ERROR, "D26")
def check(expression: Expression) -> Iterator[Hit]:
    if expression.base != "start" or expression.tree is None:
        return
    for part in conjuncts(expression.tree):
        tested = is_reference_to(part, "DynamicSlot")
        if isinstance(part, Binary) and part.op in (Op.EQ, Op.IS):
            tested = is_reference_to(part.left, "DynamicSlot") and is_boolean(part.right)
            tested = tested and expression.alone.of(part.right).can_be_true
            tested |= is_reference_to(part.left, "SlotType") and (text_of(part.right) or "").lower() == "dynamic"
        if tested:
            yield Hit(
                message="a partitionable slot refuses every job, so that no dynamic slot is ever made",
                remedy="Leave the test out, or let it be TRUE for the partitionable slot, too.",
                node=part,
            )
