"""A traced evaluation as a drawing: the expression, with the value of each part below it, connected by a line.

    KeyboardIdle > 15 * 60 && TARGET.Owner == "ada"
    |            |    |    |  |            |
    |            |    900  |  |            true
    |            true      |  "Ada"
    1200                   true

Every name, operator and call has its value below its first character (for an operator, its sign); constants have none.
A value in parentheses was not needed, because the other operand had decided. A long expression is drawn in pieces that
end before an operator, preferably one inside few brackets. Attributes that are expressions follow, each drawn once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from roost.base.records import dataclass
from roost.classad.errors import ParseError
from roost.classad.expr import Expr, parse_expression
from roost.classad.syntax import (
    AdNode,
    Binary,
    Conditional,
    Elvis,
    ListNode,
    Literal,
    Node,
    Select,
    Span,
    Subscript,
    children,
    strip,
)
from roost.classad.tracing import Definition, Trace, Traced
from roost.classad.unparse import unparse_value

#: Maximum number of definitions drawn below one expression.
_DEFINITIONS_MAX: Final = 40

#: Maximum number of characters of a value that are drawn.
_VALUE_CHARS_MAX: Final = 40

#: Minimum width of a drawing.
_WIDTH_MIN: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    """A value and the text position it belongs to."""

    at: int
    text: str
    #: Nesting depth of an infix operator in brackets and operators; None if a piece cannot end before it.
    depth: int | None


def draw(trace: Trace, width: int = 100) -> str:
    """The lines of the drawing, joined by line ends."""
    lines = list(_drawn(trace.expression, trace.root, width, ""))
    if trace.truncated:
        lines.append("(the evaluation has too many steps to show)")
    seen: set[tuple[str, str, str]] = set()
    queue = _definitions(trace.root, seen)
    for count, definition in enumerate(queue):
        if count >= _DEFINITIONS_MAX:
            lines += ["", f"… and {len(queue) - count} more attributes"]
            break
        label = f"{definition.side}.{definition.name}" if definition.side else definition.name
        lines += ["", f"{label} ="]
        lines += _drawn(definition.expression, definition.trace, width, "  ")
        queue += _definitions(definition.trace, seen)
    return "\n".join(lines)


def _definitions(root: Traced, seen: set[tuple[str, str, str]]) -> list[Definition]:
    """The definitions of names in a drawing, except those already drawn."""
    found = []
    for traced in root.walk():
        definition = traced.definition
        if definition is not None and not traced.skipped and not _plain(definition):
            key = (definition.side, definition.name.lower(), str(definition.expression))
            if key not in seen:
                seen.add(key)
                found.append(definition)
    return found


def _plain(definition: Definition) -> bool:
    """Whether the expression is its own value, such as a list of constants."""
    return str(definition.expression) == unparse_value(definition.trace.value)


# -- one expression ------------------------------------------------------------------------------


def _drawn(expression: Expr, root: Traced, width: int, indent: str) -> Iterator[str]:
    text, spans = _text_and_spans(expression)
    marks = sorted(_marks(text, spans, root), key=lambda mark: mark.at)
    text = "".join(c if c.isprintable() else " " for c in text)
    width = max(_WIDTH_MIN, width - len(indent))
    if not marks:
        yield f"{indent}{text}"
        if not isinstance(strip(root.node), Literal) and "".join(text.split()) != "".join(_shown(root).split()):
            yield f"{indent}{_shown(root)}"
        return
    for start, end in _pieces(text, marks, width):
        lead = "" if start == 0 else "  "
        yield f"{indent}{lead}{text[start:end].rstrip()}"
        inside = [(len(lead) + mark.at - start, mark.text) for mark in marks if start <= mark.at < end]
        if inside:
            yield from (f"{indent}{row}" for row in _rows(inside))


def _text_and_spans(expression: Expr) -> tuple[str, dict[int, Span]]:
    """The text that is drawn, and the span of each node in it, by the node's identity."""
    text = expression.source
    spans: dict[int, Span] = {}
    if text is not None:
        spans = {id(node): node.span for node in _walk(expression.tree)}
    else:
        # A tree that was not parsed from a text: its spans are meaningless, those of its printed form are used.
        text = str(expression)
        try:
            printed = list(_walk(parse_expression(text).tree))
        except ParseError:
            printed = []
        original = list(_walk(expression.tree))
        if len(printed) == len(original):
            spans = {id(node): twin.span for node, twin in zip(original, printed, strict=True)}
    return text, spans


def _walk(tree: Node) -> Iterator[Node]:
    work = [tree]
    while work:
        node = work.pop()
        yield node
        work.extend(reversed(children(node)))


def _marks(text: str, spans: dict[int, Span], root: Traced) -> Iterator[_Mark]:
    work = [(root, 0)]
    while work:
        traced, depth = work.pop()
        node = strip(traced.node)
        inner = depth if isinstance(node, Binary | Conditional | Elvis) else depth + 1
        work += [(operand, inner + 1) for operand in traced.operands]
        if isinstance(node, Literal) or id(node) not in spans:
            continue
        if isinstance(node, ListNode | AdNode) and not traced.operands:
            continue
        infix = isinstance(node, Binary | Conditional | Elvis)
        yield _Mark(
            at=_anchor(text, spans, node, bool(traced.operands)),
            text=_shown(traced),
            depth=depth if infix else None,
        )


def _anchor(text: str, spans: dict[int, Span], node: Node, has_operands: bool) -> int:
    """The offset of the character above a node's value."""
    match node:
        case Binary(left=left) | Elvis(left=left):
            return _sign_after(text, spans[id(left)][1])
        case Conditional(test=test):
            return _sign_after(text, spans[id(test)][1])
        case Select(name=name) if has_operands:
            start, end = spans[id(node)]
            at = text.rfind(name, start, end)
            return at if at >= 0 else start
        case Subscript(base=base):
            return _sign_after(text, spans[id(base)][1])
    return spans[id(node)][0]


_BETWEEN: Final = re.compile(r"(?:\s|//[^\n]*\n|/\*.*?\*/)*", re.DOTALL)


def _sign_after(text: str, at: int) -> int:
    found = _BETWEEN.match(text, at)
    return min(found.end() if found else at, len(text) - 1)


def _shown(traced: Traced) -> str:
    # Drawings are for people: reals are as short as in the long form.
    text = unparse_value(traced.value, old=isinstance(traced.value, float))
    if len(text) > _VALUE_CHARS_MAX:
        text = text[: _VALUE_CHARS_MAX - 1] + "…"
    return f"({text})" if traced.skipped else text


# -- pieces and rows -----------------------------------------------------------------------------


_QUOTED: Final = re.compile(r"""\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'""")


def _pieces(text: str, marks: list[_Mark], width: int) -> Iterator[tuple[int, int]]:
    """The spans of the pieces of a text, each at most `width` wide."""
    quoted = [found.span() for found in _QUOTED.finditer(text)]
    start = 0
    while len(text) - start > width:
        latest = start + width - 2
        breaks = [mark for mark in marks if mark.depth is not None and start + width // 4 < mark.at <= latest]
        if breaks:
            end = min(breaks, key=lambda mark: (mark.depth, -mark.at)).at
        else:
            end = _gap(text, quoted, start, latest, width)
        yield start, end
        start = end
    yield start, len(text)


def _gap(text: str, quoted: list[tuple[int, int]], start: int, latest: int, width: int) -> int:
    """Where a piece ends if there is no good operator to end before: after a space, outside quotes if possible."""
    for blank in range(latest - 1, start + width // 4 - 1, -1):
        if text[blank] == " " and not any(first < blank < last for first, last in quoted):
            return blank + 1
    return next((first for first, last in quoted if start < first <= latest < last), latest)


def _rows(marks: list[tuple[int, str]]) -> Iterator[str]:
    """The lines under a piece: bars first, then the values, the rightmost highest."""
    yield _row([(at, "|") for at, _ in marks])
    waiting = list(reversed(marks))
    while waiting:
        row: list[tuple[int, str]] = []
        later: list[tuple[int, str]] = []
        limit: int | None = None
        for at, text in waiting:
            if limit is None or at + len(text) < limit:
                row.append((at, text))
            else:
                row.append((at, "|"))
                later.append((at, text))
            limit = at
        yield _row(list(reversed(row)))
        waiting = later


def _row(cells: list[tuple[int, str]]) -> str:
    line = ""
    for at, text in cells:
        line = line.ljust(at) + text if at >= len(line) else line
    return line


__all__ = ["draw"]
