"""Conditions that exclude each other.

What: A comparison cannot be TRUE together with what stands before it behind ``&&``.

Why: The whole is never TRUE. Mostly ``||`` was meant, or one of the limits is turned round.

Example::

    START = KeyboardIdle > 900 && KeyboardIdle < 60

Instead::

    START = KeyboardIdle > 900 || TARGET.Owner =?= "coltrane"
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.syntax import Binary, Node, Op
from roost.policy.lint.abstract import Types
from roost.policy.lint.inference import Inference
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries, conjuncts, is_comparison


@expression_rule("RST305", Severity.WARNING, "D1")
def check(expression: Expression) -> Iterator[Hit]:
    before: dict[int, tuple[Node, list[Binary]]] = {}
    for node, _ in binaries(expression, Op.AND):
        for part in conjuncts(node.right):
            if _excluded(expression, part):
                before.setdefault(id(part), (part, []))[1].append(node)
    for part, links in before.values():
        # The nearest that excludes it; if it takes more than one link of a chain, what stands around all of it.
        excluding = next((link for link in reversed(links) if not _possible(expression, link, part)), None)
        yield Hit(
            message=f"{expression.text(part)} is never TRUE "
            + ("here" if excluding is None else f"after {expression.text(excluding.left)}"),
            remedy="Write || if either is enough; otherwise correct one of the two.",
            node=part,
        )


def _possible(expression: Expression, link: Binary, part: Node) -> bool:
    """Whether a part can be TRUE as far as the link that it stands in says."""
    alone = Inference(expression.scope)
    alone.run(link)
    return alone.of(part).can_be_true


def _excluded(expression: Expression, part: Node) -> bool:
    if not isinstance(part, Binary) or not (is_comparison(part) or part.op is Op.IS):
        return False
    alone, here = expression.alone.of(part), expression.inferred.of(part)
    if expression.inferred.too_deep or not alone.can_be_true or here.can_be_true:
        return False
    # Nothing left to compare: an attribute that is never defined here is another matter.
    return bool(here.types & Types.FALSE) or not here.types
