"""A macro without parentheses.

What: The text of a macro has an operator at its top level, and where the macro is used a tighter operator stands
beside it.

Why: Expansion is textual. With ``CPUIdle = LoadAvg <= 0.3``, ``!$(CPUIdle)`` means ``(!LoadAvg) <= 0.3``; with
``Busy = A || B``, ``$(Busy) && C`` means ``A || (B && C)``.

Example::

    Busy = KeyboardIdle < 60 || LoadAvg > 0.5
    WANT_SUSPEND = True
    SUSPEND = $(Busy) && TARGET.JobUniverse == 5
    CONTINUE = KeyboardIdle > 300 && LoadAvg < 0.3

Instead::

    Busy = (KeyboardIdle < 60 || LoadAvg > 0.5)
    WANT_SUSPEND = True
    SUSPEND = $(Busy) && TARGET.JobUniverse == 5
    CONTINUE = KeyboardIdle > 300 && LoadAvg < 0.3
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.classad.syntax import Binary, Conditional, Elvis, Node, Op, Unary
from roost.config import Origin
from roost.policy.lint.findings import Place, Severity
from roost.policy.lint.mapping import Use, position, whole
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule


@expression_rule("RST520", Severity.WARNING, "E3")
def check(expression: Expression) -> Iterator[Hit]:
    text = expression.mapped.text
    for use in expression.mapped.uses:
        if use.target is None or use.definition.origin is not Origin.FILE or use.end <= use.start:
            continue
        start, end = use.start, use.end
        while start < end and text[start].isspace():
            start += 1
        while end > start and text[end - 1].isspace():
            end -= 1
        torn = _torn(expression, start, end)
        if torn is None:
            continue
        line, column = position(use.definition, use.offset)
        yield Hit(
            message=f"$({use.name}) is taken apart by its surroundings: this means {_shown(expression, torn)}",
            remedy=f"Put parentheses around the value of {use.name}, or around $({use.name}) here.",
            place=Place(use.definition.span.file, line, column, len(use.name) + 3),
            knob=expression.knob,
            related=((f"the value of {use.name}", whole(use.target)),),
        )


def _torn(expression: Expression, start: int, end: int) -> Node | None:
    """The node that begins inside the span and ends outside of it, or the other way round."""
    for node, _ in expression.nodes:
        if not isinstance(node, Binary | Unary | Conditional | Elvis):
            continue
        first, last = node.span
        inside, outside = start <= first < end, start < last <= end
        if inside == outside:
            continue
        if isinstance(node, Binary) and _harmless(expression, node, start, end, inside):
            continue
        return node
    return None


def _harmless(expression: Expression, node: Binary, start: int, end: int, begins_inside: bool) -> bool:
    """Whether the macro's text is a whole operand of the node, or a run of operands of one and the same operator."""
    edge = node.left if begins_inside else node.right
    first, last = edge.span
    if (first, last) == (start, end):
        return True
    if begins_inside and last == end and first >= start:
        # The left operand is the tail of the macro's text: torn unless it is all of it.
        return first == start or _chain(expression, node, start, end)
    if not begins_inside and first == start and last <= end:
        return last == end or _chain(expression, node, start, end)
    return False


def _chain(expression: Expression, node: Binary, start: int, end: int) -> bool:
    """Whether the operators in the span are all the node's own, and of a kind that may be regrouped."""
    if node.op not in (Op.AND, Op.OR, Op.ADD, Op.MUL):
        return False
    return all(
        one.op is node.op
        for one, _ in expression.nodes
        if isinstance(one, Binary) and start <= one.span[0] and one.span[1] <= end
    )


def _shown(expression: Expression, node: Node) -> str:
    text = expression.text(node)
    return text if len(text) < 100 else text[:97] + "…"


__all__ = ["Use", "check"]
