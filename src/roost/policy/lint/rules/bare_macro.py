"""A macro without parentheses.

What: The text of a macro has an operator at its top level, and where the macro is used a tighter operator stands
next to it.

Why: Expansion is textual. With ``CPUIdle = LoadAvg <= 0.3``, ``!$(CPUIdle)`` means ``(!LoadAvg) <= 0.3``; with
``Busy = A || B``, ``$(Busy) && C`` means ``A || (B && C)``; with a START that holds ``A ? B : C``,
``$(START) || D`` means ``A ? B : (C || D)``.

Example::

    Busy = KeyboardIdle < 60 || (LoadAvg - CondorLoadAvg) > 0.5
    WANT_SUSPEND = True
    SUSPEND = $(Busy) && TARGET.JobUniverse == 5
    CONTINUE = KeyboardIdle > 300 && (LoadAvg - CondorLoadAvg) < 0.3

Instead::

    Busy = (KeyboardIdle < 60 || (LoadAvg - CondorLoadAvg) > 0.5)
    WANT_SUSPEND = True
    SUSPEND = $(Busy) && TARGET.JobUniverse == 5
    CONTINUE = KeyboardIdle > 300 && (LoadAvg - CondorLoadAvg) < 0.3
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.classad.errors import ParseError
from roost.classad.expr import parse_expression
from roost.classad.lexer import Syntax
from roost.classad.syntax import Binary, Conditional, Elvis, Node, Op, Unary
from roost.config import Origin
from roost.policy.lint.findings import SourcePlace
from roost.policy.lint.mapping import position, whole
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule

_ASSOCIATIVE = (Op.AND, Op.OR, Op.ADD, Op.MUL)


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
            place=SourcePlace(use.definition.span.file, line, column, len(use.name) + 3),
            knob=expression.knob,
            related=((f"the value of {use.name}", whole(use.target)),),
        )


def _torn(expression: Expression, start: int, end: int) -> Node | None:
    """The node that has a part of the span and something outside of it; None if the span keeps together."""
    crossing = []
    for node, _ in expression.nodes:
        first, last = node.span
        if (first, last) == (start, end):
            return None
        outside = first < start or last > end
        if first < end and last > start and outside and not (first <= start and end <= last):
            crossing.append(node)
    if not crossing:
        return None
    top = _top_operator(expression.mapped.text[start:end])
    if top is None:
        return None
    same = isinstance(top, Binary) and all(isinstance(node, Binary) and node.op is top.op for node in crossing)
    regrouped = same and isinstance(top, Binary) and top.op in _ASSOCIATIVE
    return None if regrouped else crossing[0]


def _top_operator(text: str) -> Binary | Unary | Conditional | Elvis | None:
    """The top operator of the macro's text; None if the text is not an expression or has no operator."""
    try:
        tree = parse_expression(text, Syntax.OLD).tree
    except ParseError:
        return None
    return tree if isinstance(tree, Binary | Unary | Conditional | Elvis) else None


def _shown(expression: Expression, node: Node) -> str:
    text = expression.text(node)
    return text if len(text) < 100 else text[:97] + "…"
