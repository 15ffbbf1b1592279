"""A text that the attribute never has.

What: An attribute with a fixed set of values, such as State or Activity, is compared with a text outside of it.

Why: The outcome is the same at all times. ``State == "Busy"`` is never TRUE: Busy is an activity.

Example::

    SUSPEND = State == "Busy" && KeyboardIdle < 60
    WANT_SUSPEND = True
    CONTINUE = KeyboardIdle > 300

Instead::

    SUSPEND = Activity == "Busy" && KeyboardIdle < 60
    WANT_SUSPEND = True
    CONTINUE = KeyboardIdle > 300
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Op
from roost.classad.values import fold
from roost.policy.lint.abstract import Types
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries, reference, text_of
from roost.policy.lint.spelling import nearest


@expression_rule("RST202", Severity.WARNING, "D1")
def check(expression: Expression) -> Iterator[Hit]:
    for node, _ in binaries(expression, Op.EQ, Op.NE, Op.IS, Op.ISNT):
        for side, other in ((node.left, node.right), (node.right, node.left)):
            text, found = text_of(other), reference(side)
            texts = expression.alone.of(side).texts
            if text is None or found is None or texts is None or not expression.alone.of(side).types & Types.STRING:
                continue
            if fold(text) in {fold(one) for one in texts}:
                continue
            near = nearest(text, texts)
            yield Hit(
                message=f'{found[1]} is never "{text}": it is one of {", ".join(texts)}',
                remedy=f"Did you mean {near}?" if near else "Compare with one of these, or another attribute.",
                node=node,
            )
