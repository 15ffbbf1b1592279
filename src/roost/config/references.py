"""Macro references in text: finding them, and replacing those a macro makes to itself.

`pieces` splits a text into literal text, references ``$(name)`` or ``$(name:default)``, and calls
``$FUNCTION(…)``. What looks like a reference but is not (``$( name )``, ``$(A`` without an end, ``$A``,
unknown functions) stays literal text, as does ``$$``, which belongs to the job's submit language.

Expansion itself is in `expand`; this module looks nothing up.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from roost.base.records import dataclass

#: functions on a file name, whose letters select parts of it: ``$Fpn(…)``
FILE_FUNCTION = re.compile(r"F[abdfnpquwx]*\Z")
FUNCTIONS = frozenset(
    {
        "ENV",
        "INT",
        "REAL",
        "STRING",
        "EVAL",
        "CHOICE",
        "RANDOM_CHOICE",
        "RANDOM_INTEGER",
        "SUBSTR",
        "BASENAME",
        "DIRNAME",
    }
)
_START = re.compile(r"\$(?:\$|\(|([A-Z][A-Za-z_]*)\()")
_PAREN = re.compile(r"[()]")
NAME = re.compile(r"[A-Za-z0-9_./]+\Z")
_WORD = re.compile(r"[A-Za-z0-9_.]+")


@dataclass(frozen=True, slots=True)
class Reference:
    """``$(name)`` or ``$(name:default)``; the name may itself hold references."""

    text: str
    name: str
    #: text after the colon; None when there is no colon
    default: str | None


@dataclass(frozen=True, slots=True)
class Call:
    """``$FUNCTION(arguments)``; the arguments are not split yet."""

    text: str
    function: str
    arguments: str


Piece = str | Reference | Call


def parentheses(text: str) -> dict[int, int]:
    """Offset of each opening parenthesis that is closed, to the offset of the one that closes it."""
    opened: list[int] = []
    pairs: dict[int, int] = {}
    for match in _PAREN.finditer(text):
        if match.group() == "(":
            opened.append(match.start())
        elif opened:
            pairs[opened.pop()] = match.start()
    return pairs


def split_default(body: str) -> tuple[str, str | None]:
    """Split ``name:default`` at the first colon outside parentheses."""
    if "(" not in body:
        name, colon, default = body.partition(":")
        return name, default if colon else None
    depth = 0
    for position, char in enumerate(body):
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        elif char == ":" and depth == 0:
            return body[:position], body[position + 1 :]
    return body, None


def is_function(name: str) -> bool:
    """Whether ``$name(`` begins a call."""
    return name in FUNCTIONS or FILE_FUNCTION.match(name) is not None


@lru_cache(maxsize=8192)
def pieces(text: str) -> tuple[Piece, ...]:
    """Split a text into literals, references and calls; the pieces' texts joined give the text again."""
    found: list[Piece] = []
    literal_from = position = 0
    pairs: dict[int, int] | None = None
    while match := _START.search(text, position):
        if pairs is None:
            pairs = parentheses(text)
        piece = _piece(text, match, pairs.get(match.end() - 1, -1))
        if piece is None:
            position = match.end()
            continue
        if match.start() > literal_from:
            found.append(text[literal_from : match.start()])
        found.append(piece)
        position = literal_from = match.start() + len(piece.text)
    if literal_from < len(text):
        found.append(text[literal_from:])
    return tuple(found)


def _piece(text: str, match: re.Match[str], end: int) -> Reference | Call | None:
    opening, function = match.group(), match.group(1)
    if opening == "$$" or (function is not None and not is_function(function)):
        return None
    if end < 0:
        return None
    whole, body = text[match.start() : end + 1], text[match.end() : end]
    if function is not None:
        return Call(whole, function, body)
    name, default = split_default(body)
    if name and not NAME.match(name) and "$" not in name:
        return None
    return Reference(whole, name, default)


def names_in(text: str) -> frozenset[str]:
    """Case-folded names of the macros a text refers to, however deep; names put together by macros are left
    out."""
    return frozenset(name for name, _ in plain_references(text))


def plain_references(text: str, depth_max: int = 40) -> list[tuple[str, bool]]:
    """Each macro referred to as (case-folded name, whether a default is given), at any nesting."""
    found: list[tuple[str, bool]] = []
    pending = [(text, 0)]
    while pending:
        current, depth = pending.pop()
        if "$" not in current or depth > depth_max:
            continue
        for piece in pieces(current):
            if isinstance(piece, Call):
                pending.append((piece.arguments, depth + 1))
            elif isinstance(piece, Reference):
                if NAME.match(piece.name):
                    found.append((piece.name.lower(), piece.default is not None))
                else:
                    pending.append((piece.name, depth + 1))
                if piece.default is not None:
                    pending.append((piece.default, depth + 1))
    return found


def words_of(text: str) -> frozenset[str]:
    """Case-folded words of a text: whatever may be the name of a macro in it, in a reference or as an argument."""
    return frozenset(_WORD.findall(text.lower()))


def replace_self(text: str, is_self: Callable[[str], bool], previous: Callable[[str], str], depth_left: int) -> str:
    """Put a macro's earlier value where its new value refers to it.

    ``is_self`` is called with each case-folded name; ``previous`` gives the earlier raw value, empty if there
    was none. A reference with a default gets the default when the earlier value is empty. Defaults and
    arguments are searched too, at most ``depth_left`` levels deep.
    """
    if "$(" not in text or depth_left < 0:
        return text
    parts = []
    for piece in pieces(text):
        if isinstance(piece, Reference) and is_self(piece.name.lower()):
            parts.append(previous(piece.name.lower()) or _default(piece, is_self, previous, depth_left))
        elif isinstance(piece, Reference):
            parts.append(_rebuilt(piece, is_self, previous, depth_left))
        elif isinstance(piece, Call):
            inner = replace_self(piece.arguments, is_self, previous, depth_left - 1)
            parts.append(f"${piece.function}({inner})")
        else:
            parts.append(piece)
    return "".join(parts)


def _default(piece: Reference, is_self: Callable[[str], bool], previous: Callable[[str], str], depth_left: int) -> str:
    return "" if piece.default is None else replace_self(piece.default, is_self, previous, depth_left - 1)


def _rebuilt(piece: Reference, is_self: Callable[[str], bool], previous: Callable[[str], str], depth_left: int) -> str:
    name = replace_self(piece.name, is_self, previous, depth_left - 1) if "$" in piece.name else piece.name
    if piece.default is None:
        return f"$({name})"
    return f"$({name}:{_default(piece, is_self, previous, depth_left)})"
