"""Texts with placeholders for words: how most jobs of a cluster differ.

A section is run once with marks, characters that no user writes, in place of the words that differ. Its attributes
become templates where the marks appear in them. A word is inserted into a template only if it is plain: no section
treats it specially.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Final

from roost.base.records import dataclass
from roost.classad import ParseError, Syntax, parse_expression
from roost.classad.ad import Cell
from roost.classad.expr import expression_later
from roost.classad.syntax import AdNode, Literal

#: A word that no quoting, list or path treats specially.
PLAIN: Final = re.compile(r"[A-Za-z0-9_.+@%~-][A-Za-z0-9_./+@%~-]*\Z")
#: The first character used as a mark, in Unicode's private use area.
_MARKS_FROM: Final = 0xF0000
#: Maximum number of words of one template.
MARKS_MAX: Final = 1000
_MARK: Final = re.compile(f"[{chr(_MARKS_FROM)}-{chr(_MARKS_FROM + MARKS_MAX)}]")


def mark(number: int) -> str:
    """The mark for a word."""
    return chr(_MARKS_FROM + number)


class Meaning(Enum):
    """The kind of a text with its words inserted."""

    TEXT = "text"
    NUMBER = "number"
    EXPRESSION = "expression"


@dataclass(frozen=True, slots=True)
class Template:
    """An attribute as pieces of text and numbers of words."""

    attribute: str
    pieces: tuple[str | int, ...]
    value: Meaning = Meaning.TEXT

    def cell(self, words: Sequence[str]) -> Cell:
        """The attribute with its words inserted."""
        text = "".join([words[piece] if isinstance(piece, int) else piece for piece in self.pieces])
        match self.value:
            case Meaning.TEXT:
                return text
            case Meaning.NUMBER:
                return int(text)
            case Meaning.EXPRESSION:
                return expression_later(text, Syntax.OLD)

    @property
    def used(self) -> frozenset[int]:
        """Numbers of the words in it."""
        return frozenset(piece for piece in self.pieces if isinstance(piece, int))


@dataclass(frozen=True, slots=True)
class Form:
    """The output of a section: templates, and attributes that stay the same."""

    section: str
    templates: tuple[Template, ...]
    fixed: tuple[tuple[str, Cell], ...]
    #: Numbers of words that must be plain: those of the items.
    checked: tuple[int, ...]

    @property
    def used(self) -> frozenset[int]:
        """Numbers of the words in it."""
        return frozenset[int]().union(*(template.used for template in self.templates))

    def fits(self, words: Sequence[str]) -> bool:
        """Whether the words may be inserted."""
        return all([PLAIN.match(words[number]) is not None for number in self.checked])

    def fill(self, words: Sequence[str], found: dict[str, Cell]) -> None:
        """Put the attributes with the words inserted."""
        for template in self.templates:
            found[template.attribute] = template.cell(words)
        if self.fixed:
            found.update(self.fixed)


def split(text: str) -> tuple[str | int, ...]:
    """A text with marks, split into pieces."""
    pieces: list[str | int] = []
    at = 0
    for match in _MARK.finditer(text):
        if match.start() > at:
            pieces.append(text[at : match.start()])
        pieces.append(ord(match.group()) - _MARKS_FROM)
        at = match.end()
    if at < len(text):
        pieces.append(text[at:])
    return tuple(pieces)


def form_of(section: str, cells: Mapping[str, Cell], others_from: int) -> Form | None:
    """The form of a section's output with marks; None if a mark is where no word can be inserted.

    Words from `others_from` on are not whole numbers, and are checked before they are inserted.
    """
    templates: list[Template] = []
    fixed: list[tuple[str, Cell]] = []
    for attribute, cell in cells.items():
        if isinstance(cell, str) and _MARK.search(cell):
            templates.append(Template(attribute, split(cell)))
        elif isinstance(cell, str | bool | int | float):
            fixed.append((attribute, cell))
        else:
            return None
    used = frozenset[int]().union(*(template.used for template in templates))
    checked = tuple(sorted(number for number in used if number >= others_from))
    return Form(section, tuple(templates), tuple(fixed), checked)


_TEXT: Final = re.compile(r'"([^"\\]*)"\Z')


def form_of_expression(section: str, attribute: str, text: str, others_from: int) -> Form | None:
    """The form of ``+Attribute = text`` with marks in it: numbers anywhere, or words in one quoted string."""
    pieces = split(text)
    if all([not isinstance(piece, int) or piece < others_from for piece in pieces]):
        meaning = Meaning.NUMBER if len(pieces) == 1 else Meaning.EXPRESSION
        if meaning is Meaning.NUMBER or _is_expression(_MARK.sub("1", text)):
            return Form(section, (Template(attribute, pieces, meaning),), (), ())
    quoted = _TEXT.match(text)
    if quoted is None:
        return None
    return form_of(section, {attribute: quoted[1]}, others_from)


def _is_expression(text: str) -> bool:
    """Whether a text is an expression that is kept as one, not as a value or an ad."""
    try:
        tree = parse_expression(text, Syntax.OLD).tree
    except ParseError:
        return False
    return not isinstance(tree, Literal | AdNode)


#: Computes the attributes of a section for one job without templates.
LongWay = Callable[[int], Mapping[str, Cell]]


def agrees(form: Form, words_of: Callable[[int], Sequence[str]], long_way: LongWay, indices: Sequence[int]) -> bool:
    """Whether the form gives the same result for some jobs as the section itself; False if it fits none of them.

    This also finds texts that happen to contain a mark.
    """
    tried = 0
    for index in indices:
        words = words_of(index)
        if max(form.used, default=0) >= len(words):
            return False
        if form.fits(words):
            tried += 1
            found: dict[str, Cell] = {}
            form.fill(words, found)
            if found != dict(long_way(index)):
                return False
    return tried > 0
