"""member() of a text.

What: The second argument of ``member()`` is a text.

Why: ``member`` looks into a list such as ``{"a", "b"}``; with a text it is ERROR. Lists written as a text,
``"a, b"``, are searched by ``stringListMember`` (which tells capitals from small letters) or ``stringListIMember``.

Fix: ``member`` becomes ``stringListIMember``, if what is looked for is known to be a text.

Example::

    START = member(TARGET.Owner, "smith, jones")

Instead::

    START = stringListIMember(TARGET.Owner, "smith, jones")
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.values import fold
from roost.policy.lint.abstract import Types
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import calls, span_fix


@expression_rule("RST113", Severity.ERROR, "B15", "B16", fixes=True)
def check(expression: Expression) -> Iterator[Hit]:
    for node in calls(expression, "member", "identicalmember"):
        if len(node.args) != 2 or not expression.alone.of(node.args[1]).without(Types.UNDEFINED).only(Types.STRING):
            continue
        start = node.span[0]
        # Of a number, stringListIMember is ERROR as well.
        asks_for_text = expression.inferred.of(node.args[0]).without(Types.UNDEFINED).only(Types.STRING)
        yield Hit(
            message=f"{expression.text(node)} is ERROR: {expression.text(node.args[1])} is a text, not a list",
            remedy="Use stringListIMember (or stringListMember, which tells capitals from small letters).",
            node=node,
            fix=span_fix(expression, start, start + len(node.name), "stringListIMember", "use stringListIMember")
            if asks_for_text and fold(node.name) == "member"
            else None,
        )
