"""Conditions that exclude each other.

What: A comparison can't be TRUE together with what stands before it behind ``&&``.

Why: The whole is never TRUE. Mostly ``||`` was meant, or one of the limits is turned round.

Example::

    START = KeyboardIdle > 900 && KeyboardIdle < 60

Instead::

    START = KeyboardIdle > 900 || TARGET.Owner =?= "coltrane"
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.classad.syntax import Binary, Node, Op
from roost.policy.lint.abstract import T
from roost.policy.lint.findings import Severity
from roost.policy.lint.inference import Inference
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries, conjuncts, is_comparison


@expression_rule("RST305", Severity.WARNING, "D1")
def check(expression: Expression) -> Iterator[Hit]:
    for node, _ in binaries(expression, Op.AND):
        for part in conjuncts(node.right):
            if _excluded(expression, part):
                alone = Inference(expression.scope)
                alone.run(node)
                # Otherwise it is what stands around the two that excludes it.
                after = "here" if alone.of(part).can_be_true else f"after {expression.text(node.left)}"
                yield Hit(
                    message=f"{expression.text(part)} is never TRUE {after}",
                    remedy="Write || if either is enough; otherwise correct one of the two.",
                    node=part,
                )
                break


def _excluded(expression: Expression, part: Node) -> bool:
    if not isinstance(part, Binary) or not (is_comparison(part) or part.op is Op.IS):
        return False
    alone, here = expression.alone.of(part), expression.inferred.of(part)
    if expression.inferred.too_deep or not alone.can_be_true or here.can_be_true:
        return False
    # Nothing left to compare: an attribute that is never defined here is another matter.
    return bool(here.types & T.FALSE) or not here.types
