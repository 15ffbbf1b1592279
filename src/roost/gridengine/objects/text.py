"""The flat form of an object: one line per attribute, with its name, blanks, and its value.

`#` at the start of a line begins a comment. A backslash at the end of a line continues it; blanks before the backslash
and at the start of the next line count as one. All attributes of an object must be present exactly once. `show` prints
what `qconf -s…` prints with SGE_SINGLE_LINE set, which is also what `save_sge_config.sh` writes; `wrapped` breaks long
lines as `qconf` does otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from roost.base.diagnostics import Span
from roost.gridengine.objects.rows import Row
from roost.gridengine.objects.values import BadValue
from roost.gridengine.problems import ProblemCode, Refused, problem

_CONTINUED: Final = re.compile(r"([ \t]*)\\\n([ \t]*)")
#: columns after which `qconf` continues on the next line
LINE_LENGTH_MAX: Final = 80


class Entry(NamedTuple):
    """One attribute as written."""

    name: str
    text: str
    span: Span


def logical_lines(text: str, file: str) -> Iterator[tuple[str, Span]]:
    """The lines of a text with continuations joined, without comments and empty lines."""
    number = 1
    for raw in re.split(r"(?<!\\)\n", text):
        line = _CONTINUED.sub(lambda found: " " if found.group(1) or found.group(2) else "", raw).strip()
        if line and not line.startswith("#"):
            yield line, Span(file, number)
        number += raw.count("\n") + 1


def entries(lines: Iterable[tuple[str, Span]], known: Sequence[str] = ()) -> Iterator[Entry]:
    """Split lines into attribute and value; refuse an attribute without a value, or one that is not `known`."""
    for line, span in lines:
        name, _, value = line.partition(" ") if " " in line else line.partition("\t")
        if known and name not in known:
            raise _unknown(name, span, known)
        if not value.strip():
            message = '" " is the only character allowed between the attribute name and the value'
            raise Refused([problem(ProblemCode.SYNTAX, message, span, f"Write a value after {name}.", name)])
        yield Entry(name, value.strip(), span)


def by_name(found: Iterable[Entry], known: Sequence[str], optional: Sequence[str], place: Span) -> dict[str, Entry]:
    """The entries by attribute; refuse unknown, repeated and missing attributes."""
    kept: dict[str, Entry] = {}
    for entry in found:
        if entry.name in kept:
            message = f'attribute "{entry.name}" appears more than once'
            raise Refused(
                [problem(ProblemCode.REPEATED_ATTRIBUTE, message, entry.span, "Keep one of them.", entry.name)]
            )
        if entry.name not in known:
            raise _unknown(entry.name, entry.span, known)
        kept[entry.name] = entry
    for name in known:
        if name not in kept and name not in optional:
            message = f'required attribute "{name}" is missing'
            raise Refused([problem(ProblemCode.MISSING_ATTRIBUTE, message, place, f"Add a line for {name}.", name)])
    return kept


def _unknown(name: str, span: Span, known: Sequence[str]) -> Refused:
    remedy = f"The attributes are {', '.join(known)}."
    # In Grid Engine, a name ends at such a character.
    name = re.split("[&(}]", name)[0] or name
    return Refused([problem(ProblemCode.UNKNOWN_ATTRIBUTE, f'unknown attribute name "{name}"', span, remedy, name)])


def value_of(row: Row, text: str, span: Span) -> Any:
    """The value of an attribute; raise `Refused` if the text is not one."""
    try:
        value = row.type.parse(text)
    except BadValue as error:
        raise Refused([problem(ProblemCode.BAD_VALUE, error.message, span, error.remedy, row.name)]) from None
    complaint = row.check(value) if row.check else None
    if complaint:
        raise Refused([problem(ProblemCode.BAD_VALUE, complaint, span, row.remedy, row.name)])
    return value


def show(pairs: Iterable[tuple[str, str]], width: int) -> str:
    """The flat form of attributes and their texts, each on one line."""
    return "".join(f"{name + ' ':<{width}}{text}\n" for name, text in pairs)


def wrapped(text: str, indent: int | None = None) -> str:
    """The flat form as `qconf` prints it without SGE_SINGLE_LINE: long values continue on further lines.

    A value is broken after a comma or a blank. Further lines begin in the column of the value, or at `indent`, which is
    3 for resource quota sets.
    """
    return "".join(f"{line}\n" for each in text.splitlines() for line in _folded(each, indent))


def _folded(line: str, indent: int | None) -> Iterator[str]:
    found = re.match(r"\s*\S+\s+", line)
    if len(line) <= LINE_LENGTH_MAX or found is None or line.startswith("#"):
        yield line
        return
    present, begun = found.group(), False
    parts = re.findall(r"[^ ,]*[ ,]+|[^ ,]+", line[found.end() :])
    for number, part in enumerate(parts, 1):
        # A continued line ends in a blank and a backslash.
        room = LINE_LENGTH_MAX - (2 if number < len(parts) else 0)
        if begun and len((present + part).rstrip()) > room:
            yield f"{present.rstrip()} \\"
            present = " " * (found.end() if indent is None else indent)
        present += part
        begun = True
    yield present.rstrip()


def shown(rows: Sequence[Row], values: object) -> list[tuple[str, str]]:
    """The attributes of an object and their texts."""
    return [(row.name, row.type.show(getattr(values, row.name))) for row in rows]
