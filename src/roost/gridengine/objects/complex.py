"""Complexes: the resource attributes that the cell knows, and the table in which they are printed."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from roost.base.diagnostics import Diagnostic, Span
from roost.base.records import dataclass
from roost.gridengine.objects.text import logical_lines
from roost.gridengine.objects.values import is_none, number, seconds
from roost.gridengine.problems import ProblemCode, Refused, problem


class Type(StrEnum):
    """Types of resource attributes."""

    INT = "INT"
    DOUBLE = "DOUBLE"
    MEMORY = "MEMORY"
    TIME = "TIME"
    BOOL = "BOOL"
    STRING = "STRING"
    CSTRING = "CSTRING"
    RESTRING = "RESTRING"
    HOST = "HOST"

    @property
    def is_text(self) -> bool:
        """Whether values are texts rather than numbers."""
        return self in (Type.STRING, Type.CSTRING, Type.RESTRING, Type.HOST)


RELATIONS: Final = ("==", ">=", ">", "<", "<=", "!=", "EXCL")
_YES: Final = ("YES", "Y", "TRUE", "T")
_NO: Final = ("NO", "N", "FALSE", "F")
#: the names of each type's values in Grid Engine's messages
_NOT_A: Final = {
    Type.INT: "integer",
    Type.DOUBLE: "double",
    Type.MEMORY: "memory",
    Type.TIME: "time",
    Type.BOOL: "boolean",
}
_HEADINGS: Final = ("#name", "shortcut", "type", "relop", "requestable", "consumable", "default", "urgency")
_FOOTER: Final = "# >#< starts a comment but comments are not saved across edits --------\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Complex:
    """One resource attribute."""

    name: str
    shortcut: str
    type: Type
    relation: str
    #: YES, NO or FORCED
    requestable: str
    #: YES, NO or JOB
    consumable: str
    #: amount of a job without a request, as text
    default: str
    #: as text
    urgency: str

    @property
    def is_consumable(self) -> bool:
        """Whether use is booked."""
        return self.consumable != "NO"

    @property
    def is_forced(self) -> bool:
        """Whether only jobs that request it may use queues and hosts that offer it."""
        return self.requestable == "FORCED"

    @property
    def is_exclusive(self) -> bool:
        """Whether it makes hosts or queues exclusive."""
        return self.relation == "EXCL"

    @property
    def urgency_number(self) -> float:
        """Urgency of one unit."""
        return number(self.urgency) or 0.0

    @property
    def default_number(self) -> float:
        """Amount of a job without a request; 0 for texts."""
        return value_number(self.type, self.default) or 0.0


def value_number(type: Type, text: str) -> float | None:
    """The number of a value of a numeric type; None for texts and for values that are not of the type."""
    match type:
        case Type.TIME:
            return seconds(text)
        case Type.BOOL:
            word = text.casefold()
            return 1.0 if word in ("true", "1") else 0.0 if word in ("false", "0") else None
        case Type.INT | Type.DOUBLE | Type.MEMORY:
            return number(text)
        case _:
            return None


def bad_value(definition: Complex, text: str) -> str | None:
    """Why a text is not a value of a complex, in Grid Engine's words; None if it is."""
    if definition.type.is_text:
        return None
    found = value_number(definition.type, text)
    if found is None:
        return f'attribute "{definition.name}" is not a {_NOT_A[definition.type]} value'
    if found == float("inf") and definition.type in (Type.INT, Type.TIME):
        return f'attribute "{definition.name}" is not a value that can be set to infinity'
    if found < 0 and definition.is_consumable:
        return f'attribute "{definition.name}" is consumable but has a negative value'
    return None


def text_matches(type: Type, pattern: str, value: str) -> bool:
    """Whether a value matches a pattern with `*`, `?` and `[…]`; case matters except for CSTRING and HOST."""
    if type in (Type.CSTRING, Type.HOST):
        pattern, value = pattern.casefold(), value.casefold()
    return fnmatch.fnmatchcase(value, pattern)


def _yes_no(word: str, third: str) -> str | None:
    upper = word.upper()
    return "YES" if upper in _YES else "NO" if upper in _NO else third if upper in (third, third[0]) else None


def _parse_line(line: str, span: Span) -> Complex:
    words = line.split()
    if len(words) < 8:
        message = "Complex urgency definition is missing"
        raise Refused([problem(ProblemCode.SYNTAX, message, span, "Write all eight columns.", words[0])])
    if words[2].upper() not in Type.__members__:
        message = f'unknown complex attribute type "{words[2]}"'
        raise Refused([problem(ProblemCode.BAD_VALUE, message, span, f"The types are {', '.join(Type)}.", words[0])])
    requestable = _yes_no(words[4], "FORCED") if len(words) == 8 else None
    consumable = _yes_no(words[5], "JOB") if len(words) == 8 else None
    relation = words[3].upper() if len(words) == 8 else ""
    if requestable is None or consumable is None or relation not in RELATIONS:
        message = 'each value in the attribute value list should end with "<NEWLINE>"'
        remedy = (
            f"Write name shortcut type relop requestable consumable default urgency: relop is one of "
            f"{' '.join(RELATIONS)}, requestable YES, NO or FORCED, consumable YES, NO or JOB."
        )
        raise Refused([problem(ProblemCode.SYNTAX, message, span, remedy, words[0])])
    name, shortcut, type, _, _, _, default, urgency = words
    return Complex(
        name=name,
        shortcut=shortcut,
        type=Type(type.upper()),
        relation=relation,
        requestable=requestable,
        consumable=consumable,
        default=default,
        urgency=urgency,
    )


def complaints(one: Complex) -> list[str]:
    """Problems of a definition by itself, in Grid Engine's words."""
    found: list[str] = []
    if one.is_exclusive and one.type is not Type.BOOL and not one.type.is_text:
        return [f'Complex "{one.name}" must be BOOL to use EXCL as relational operator']
    found.extend(_relation_complaints(one))
    found.extend(_default_complaints(one))
    if number(one.urgency) is None:
        message = f'The following error occurred for complex "{one.name}", while parsing the urgency value'
        found.append(f'{message}: "double value"')
    return found


def _relation_complaints(one: Complex) -> list[str]:
    found = []
    if one.type.is_text and one.relation not in ("==", "!="):
        found.append(f'Complex "{one.name}" has an invalid relational operator')
    if one.type is Type.BOOL and one.relation not in ("==", "!=", "EXCL"):
        found.append(f'Complex "{one.name}" has an invalid relational operator')
    if one.is_consumable:
        if one.type.is_text:
            found.append(f'Complex "{one.name}" of type "{one.type}" cannot be a consumable')
        if one.type is Type.BOOL and not one.is_exclusive:
            found.append(f'Exclusive complex "{one.name}" must have EXCL as relational operator')
        if one.relation not in ("<=", "EXCL"):
            found.append(f'Consumable "{one.name}" can have only <= as an relational operator')
    elif one.is_exclusive and one.type is Type.BOOL:
        found.append(f'Exclusive complex "{one.name}" must be a consumable')
    return found


def _default_complaints(one: Complex) -> list[str]:
    empty = is_none(one.default) if one.type.is_text else one.default_number == 0
    if not one.is_consumable and not empty:
        return [f'Complex "{one.name}" cannot have a (non-zero) default value']
    if one.is_consumable and one.is_forced and not empty:
        return [f'Consumable "{one.name}" cannot have a (non-zero) default value because it is forced.']
    if one.is_consumable and one.requestable == "NO" and empty:
        return [f'Consumable "{one.name}" needs a default value because it is not requestable.']
    return []


def parse_complexes(text: str, file: str) -> tuple[Complex, ...]:
    """Read the table of complexes; raise `Refused` with every problem."""
    problems: list[Diagnostic] = []
    taken: dict[str, str] = {}
    kept: dict[str, Complex] = {}
    for line, span in logical_lines(text, file):
        try:
            one = _parse_line(line, span)
        except Refused as refused:
            problems.extend(refused.problems)
            continue
        for message in complaints(one):
            problems.append(problem(ProblemCode.BAD_VALUE, message, span, "Correct the definition.", one.name))  # noqa: PERF401
        if one.name in taken or one.shortcut in taken:
            message = f"complex with name {one.name} or shortcut {one.shortcut} already exists"
            problems.append(problem(ProblemCode.EXISTS, message, span, "Choose another name and shortcut.", one.name))
        taken[one.name] = taken[one.shortcut] = one.name
        kept[one.name] = one
    if problems:
        raise Refused(problems)
    return tuple(kept[name] for name in sorted(kept))


def _cells(one: Complex) -> tuple[str, ...]:
    return (
        one.name,
        one.shortcut,
        str(one.type),
        one.relation,
        one.requestable,
        one.consumable,
        one.default,
        one.urgency,
    )


def show_complexes(complexes: Iterable[Complex]) -> str:
    """The table as `qconf -sc` prints it: columns as wide as their values need."""
    rows = [_cells(one) for one in complexes]
    widths = [
        max(len(heading) + 1, *(len(row[column]) + 4 for row in rows)) if rows else len(heading) + 1
        for column, heading in enumerate(_HEADINGS)
    ]
    header = "".join(f"{heading:<{width}}" for heading, width in zip(_HEADINGS, widths, strict=True))
    lines = [header, "#" + "-" * (len(header) - 1)]
    lines += ["".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines) + "\n" + _FOOTER


def by_any_name(complexes: Iterable[Complex]) -> Mapping[str, Complex]:
    """The definitions by name and by shortcut."""
    found: dict[str, Complex] = {}
    for one in complexes:
        found[one.name] = found[one.shortcut] = one
    return found
