"""An explanation as text: the expression, the deciding clauses underlined, the reason under each.

    START is FALSE [pool.config:12]

        KeyboardIdle > 15 * 60 && LoadAvg <= 0.3
        ^^^^^^^^^^^^^^^^^^^^^^
        FALSE: KeyboardIdle is 12, 15 * 60 is 900

    It would be TRUE if KeyboardIdle were > 900 (is 12).

A name that is defined by an expression is underlined, and that expression follows in a separate block. An expression
that is wider than allowed is broken before operators, preferably outside brackets.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Final, TypeAlias

from roost.base.records import dataclass, field
from roost.classad import parse_expression
from roost.classad.errors import ParseError
from roost.classad.syntax import Binary, Conditional, Node, Op, Paren, Span, children
from roost.policy.explain import Change, Clause, Explanation, Origin, Role, Step
from roost.policy.render.sentences import change_text, one_line, reasons, scoped, value_text

_INDENT: Final = "    "
#: Minimum width.
WIDTH_MIN: Final = 40


@dataclass(frozen=True, slots=True)
class _Mark:
    """Something underlined, and the text about it."""

    span: Span
    note: str


#: The names that lead to a block: side, name, span.
_Key: TypeAlias = tuple[tuple[str, str, Span], ...]


@dataclass(slots=True)
class _Block:
    """One expression and its marks."""

    title: str
    text: str
    marks: dict[Span, _Mark] = field(default_factory=dict)


def render_text(explanation: Explanation, width: int = 100) -> str:
    """The explanation in lines of about `width` characters."""
    width = max(WIDTH_MIN, width)
    subject = explanation.name or "The expression"
    lines = [f"{subject} is {value_text(explanation.value)}{_place(explanation.origin)}", ""]
    for block in _blocks(explanation):
        if block.title:
            lines += [block.title]
        lines += [f"{_INDENT}{line}".rstrip() for line in _drawn(block, width - len(_INDENT))]
        lines.append("")
    for line in _closing(explanation):
        lines += textwrap.wrap(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).rstrip() + "\n"


def _place(origin: Origin | None) -> str:
    return f" [{origin}]" if origin else ""


# -- blocks --------------------------------------------------------------------------------------


def _blocks(explanation: Explanation) -> list[_Block]:
    """The expression itself, then the definitions on the way to the clauses, in the order in which they occur."""
    keys: dict[_Key, _Block] = {(): _Block("", explanation.text)}
    for clause in explanation.clauses:
        key: _Key = ()
        for step in clause.path:
            note = f"{value_text(step.value)}, see below"
            keys[key].marks.setdefault(step.span, _Mark(step.span, note))
            key = (*key, (step.side, step.name.lower(), step.span))
            if key not in keys:
                keys[key] = _Block(_title(step), step.text)
        keys[key].marks[clause.span] = _Mark(clause.span, _note(clause))
    return list(keys.values())


def _title(step: Step) -> str:
    return f"{scoped(step.name, step.side)} is {value_text(step.value)}{_place(step.origin)}"


def _note(clause: Clause) -> str:
    value = value_text(clause.value)
    why = ", ".join(reasons(clause))
    aside = " (it only stands aside)" if clause.role is Role.CONDITION else ""
    return f"{value}{aside}: {why}" if why else f"{value}{aside}"


# -- drawing -------------------------------------------------------------------------------------


def _drawn(block: _Block, width: int) -> Iterator[str]:
    text = "".join(char if char.isprintable() else " " for char in block.text)
    marks = sorted(block.marks.values(), key=lambda mark: mark.span)
    for start, end in _pieces(text, width):
        lead = "" if start == 0 else "  "
        yield lead + text[start:end].rstrip()
        shown = [mark for mark in marks if mark.span[0] < end and start < mark.span[1]]
        if not shown:
            continue
        cells = [(len(lead) + max(mark.span[0], start) - start, mark) for mark in shown]
        yield _underline(text, cells, (start, end), len(lead))
        # A mark that continues in the next piece gets its note there.
        yield from _notes([(at, mark.note) for at, mark in cells if mark.span[1] <= end], width)


def _underline(text: str, cells: list[tuple[int, _Mark]], piece: Span, lead: int) -> str:
    line = ""
    for at, mark in cells:
        stop = min(mark.span[1], piece[0] + len(text[piece[0] : piece[1]].rstrip()))
        line = line.ljust(at) + "^" * max(1, stop - piece[0] + lead - at)
    return line


def _notes(cells: list[tuple[int, str]], width: int) -> Iterator[str]:
    """The notes, the rightmost first, with bars that lead to those still to come."""
    while cells:
        at, note = cells.pop()
        bars = ""
        for column, _ in cells:
            bars = bars.ljust(column) + "|"
        room = max(WIDTH_MIN, width - at)
        for line in textwrap.wrap(note, room, subsequent_indent="  ", break_long_words=False) or [""]:
            yield bars.ljust(at) + line


def _pieces(text: str, width: int) -> list[Span]:
    """Where to break a text that is wider than `width`."""
    pieces: list[Span] = []
    breaks = _breaks(text) if len(text) > width else []
    start = 0
    while len(text) - start > width:
        within = [(depth, at) for depth, at in breaks if start < at <= start + width - 2]
        if within:
            end = min(within, key=lambda one: (one[0], -one[1]))[1]
        else:
            blank = text.rfind(" ", start + 1, start + width - 2)
            end = blank + 1 if blank > start else start + width - 2
        pieces.append((start, end))
        start = end
    pieces.append((start, len(text)))
    return pieces


def _breaks(text: str) -> list[tuple[int, int]]:
    """Depth and offset of the operators that a piece may end before."""
    try:
        tree = parse_expression(text).tree
    except ParseError:
        return []
    found: list[tuple[int, int]] = []
    work: list[tuple[Node, int]] = [(tree, 0)]
    while work:
        node, depth = work.pop()
        match node:
            case Binary(op=Op.AND | Op.OR as op, left=left, right=right):
                found.append((depth, text.find(op.value, left.span[1], right.span[0])))
            case Conditional(test=test, then=then, otherwise=otherwise):
                found.append((depth, text.find("?", test.span[1], then.span[0])))
                found.append((depth, text.find(":", then.span[1], otherwise.span[0])))
        # Operators of one chain are at the same depth, whatever the tree says.
        same = isinstance(node, Paren)
        for child in children(node):
            chained = isinstance(node, Binary) and isinstance(child, Binary) and child.op is node.op
            work.append((child, depth if same or chained else depth + 1))
    return [(depth, at) for depth, at in found if at > 0]


# -- the end -------------------------------------------------------------------------------------


def _closing(explanation: Explanation) -> Iterator[str]:
    if explanation.truncated:
        yield "The expression is too large to be taken apart."
    yield from dict.fromkeys(_also(some) for some in explanation.also)
    if explanation.changes:
        assert explanation.changed is not None
        together = " and ".join(change_text(change) for change in explanation.changes)
        yield f"It would be {value_text(explanation.changed)} if {together}."
    for change in _others(explanation):
        yield f"It would be {value_text(change.result)} if {change_text(change)}."


def _also(some: tuple[Clause, ...]) -> str:
    values = {value_text(clause.value) for clause in some}
    head = f"Also {values.pop()}" if len(values) == 1 else "Also enough"
    said = []
    for clause in some:
        text = one_line(clause.text) + (f" is {value_text(clause.value)}" if values else "")
        why = ", ".join(reasons(clause))
        said.append(f"{text} ({why})" if why else text)
    return f"{head}{', together' if len(some) > 1 else ''}: {'; '.join(said)}"


def _others(explanation: Explanation) -> Iterator[Change]:
    """Single changes that suffice, other than the one already named."""
    said = [explanation.changes]
    for clause in explanation.clauses:
        change = clause.change
        if change is not None and (change,) not in said and change.result is not explanation.value:
            said.append((change,))
            yield change


__all__ = ["render_text"]
