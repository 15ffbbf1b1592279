"""Templates, and substitution of their arguments.

`use CATEGORY : Name(arguments)` puts the lines of a template in place of itself. Arguments are substituted as text
before the lines are parsed: ``$(1)`` … ``$(9)`` the arguments, ``$(0)`` all of them, ``$(0#)`` their number, ``$(N?)``
1 if argument N is not empty else 0, ``$(N+)`` argument N and those after it, ``$(N:default)`` a default for an empty
one. Other references are left for the usual expansion, so arguments that are macros mean their last definition.

The catalogue itself is `roost.config.templates`.
"""

from __future__ import annotations

import re
from enum import StrEnum

from roost.base.records import dataclass
from roost.config.functions import commas, split
from roost.config.references import Call, Reference, pieces

_POSITIONAL = re.compile(r"(\d)([#?+]?)\Z")
_OPTION = re.compile(r"([^\s,()]+)\s*")


class ArgumentKind(StrEnum):
    """The type of an argument."""

    TEXT = "text"
    #: the hour of a day, 0 to 24, known where `use` stands
    HOUR = "hour"
    #: the day of a week, 0 for Sunday to 6, known where `use` stands
    DAY = "day"
    #: a whole number from 1, or an expression
    POSITIVE = "positive"
    #: a number of seconds, or an expression
    SECONDS = "seconds"
    #: the name of a macro
    NAME = "name"
    #: a text that is put between quotes
    WORD = "word"
    #: a number above 0, or an expression
    AMOUNT = "amount"
    #: an expression
    CONDITION = "condition"
    #: a date and time of day, known where `use` stands
    INSTANT = "instant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument of a template."""

    name: str
    meaning: str
    #: text used when it is not given; None when it must be given
    default: str | None = None
    kind: ArgumentKind = ArgumentKind.TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """One named set of configuration lines."""

    category: str
    name: str
    #: one sentence for the catalogue
    meaning: str
    #: its basis: a section of the manual's policy chapter, or a convention
    source: str
    body: str
    arguments: tuple[Argument, ...] = ()
    #: whether the last argument takes everything that follows, commas included
    rest: bool = False

    @property
    def required(self) -> int:
        """How many arguments must be given: all up to the last one without a default, which may be empty."""
        needed = [number for number, argument in enumerate(self.arguments, 1) if argument.default is None]
        return max(needed, default=0)

    def usage(self) -> str:
        """The statement that uses it, with optional arguments in brackets."""
        text = ""
        for index, argument in enumerate(self.arguments):
            comma = "," if index else ""
            word = argument.name + (",…" if self.rest and index == len(self.arguments) - 1 else "")
            text += f"{comma}{word}" if argument.default is None else f"[{comma}{word}]"
        return f"use {self.category} : {self.name}" + (f"({text})" if text else "")


def template(
    category: str, name: str, meaning: str, source: str, body: str, *arguments: Argument, rest: bool = False
) -> Template:
    """A template; blank lines around the body are dropped."""
    return Template(
        category=category,
        name=name,
        meaning=meaning,
        source=source,
        body=body.strip("\n") + "\n",
        arguments=arguments,
        rest=rest,
    )


class OptionProblem(Exception):
    """The options of a ``use`` statement cannot be read."""


def split_options(text: str) -> list[tuple[str, str | None]]:
    """Split ``A(x,y), B C`` into names and argument texts (None without parentheses)."""
    found: list[tuple[str, str | None]] = []
    position = 0
    while position < len(text):
        if text[position] in ", \t\r\n":
            position += 1
            continue
        match = _OPTION.match(text, position)
        if match is None:
            raise OptionProblem(f"{text[position:]!r} is not a list of template names")
        name, position = match.group(1), match.end()
        if position >= len(text) or text[position] != "(":
            found.append((name, None))
            continue
        end = _end_of_arguments(text, position)
        if end < 0:
            raise OptionProblem(f"the parenthesis after {name} is not closed")
        found.append((name, text[position + 1 : end]))
        position = end + 1
    return found


def _end_of_arguments(text: str, start: int) -> int:
    depth = 0
    for position in range(start, len(text)):
        if text[position] == "(":
            depth += 1
        elif text[position] == ")":
            depth -= 1
            if depth == 0:
                return position
    return -1


def fill(body: str, arguments: str | None, depth_left: int = 40) -> str:
    """The body with its positional references replaced."""
    if "$" not in body:
        return body
    whole = (arguments or "").strip()
    return _fill(body, whole, split(whole) if whole else [], depth_left)


def _fill(text: str, whole: str, parts: list[str], depth_left: int) -> str:
    if "$" not in text or depth_left < 0:
        return text
    filled = []
    for piece in pieces(text):
        match piece:
            case Reference():
                filled.append(_reference(piece, whole, parts, depth_left - 1))
            case Call():
                filled.append(f"${piece.function}({_fill(piece.arguments, whole, parts, depth_left - 1)})")
            case _:
                filled.append(_special(piece, whole, parts))
    return "".join(filled)


def _special(text: str, whole: str, parts: list[str]) -> str:
    """The forms ``$(N?)``, ``$(N+)`` and ``$(0#)``, which are not references to macros."""
    return _SPECIAL.sub(lambda match: _positional(int(match.group(1)), match.group(2), whole, parts), text)


_SPECIAL = re.compile(r"\$\((\d)([#?+])\)")


def _positional(number: int, mark: str, whole: str, parts: list[str]) -> str:
    given = parts[number - 1] if 0 < number <= len(parts) else whole if number == 0 else ""
    match mark:
        case "#":
            return str(len(parts))
        case "?":
            return "1" if given else "0"
        case "+":
            starts = [0, *(position + 1 for position in commas(whole))]
            return whole[starts[max(number - 1, 0)] :].strip() if number <= len(starts) else ""
        case _:
            return given


def _reference(piece: Reference, whole: str, parts: list[str], depth_left: int) -> str:
    match = _POSITIONAL.match(piece.name)
    if match is None or match.group(2):
        name = _fill(piece.name, whole, parts, depth_left)
        default = "" if piece.default is None else ":" + _fill(piece.default, whole, parts, depth_left)
        return f"$({name}{default})"
    given = _positional(int(match.group(1)), "", whole, parts)
    return given or ("" if piece.default is None else _fill(piece.default, whole, parts, depth_left))
