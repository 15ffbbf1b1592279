"""Arithmetic with a text.

What: One side of ``+ - * / %`` is a text. Mostly a parenthesis is misplaced: ``*`` and ``+`` bind tighter than
``==``, so that in ``Owner == "smith" * 10`` the text is multiplied, not the outcome of the comparison.

Why: The result is ERROR for every job. A RANK that is ERROR counts as 0 for every job, a START that is ERROR matches
none.

Example::

    RANK = (TARGET.Owner == "coltrane" * 1000000000000) + TARGET.RequestMemory

Instead::

    RANK = ((TARGET.Owner == "coltrane") * 1000000000000) + TARGET.RequestMemory
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Binary, Op
from roost.policy.lint.abstract import Types
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries, is_comparison


@expression_rule("RST101", Severity.ERROR, "A1", "B1", "B2")
def check(expression: Expression) -> Iterator[Hit]:
    for node, parent in binaries(expression, Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.MOD):
        for side in (node.left, node.right):
            if not expression.alone.of(side).only(Types.STRING):
                continue
            near = parent if isinstance(parent, Binary) and is_comparison(parent) else None
            remedy = f"Put the comparison in parentheses: it is meant to be counted, not {expression.text(side)}."
            if near is None:
                remedy = "Leave the text out, or compare it and count the outcome: (Attribute == text) * number."
            yield Hit(
                message=f"{expression.text(side)} is a text: {expression.text(node)} is ERROR for every job",
                remedy=remedy,
                node=node,
            )
            break
