"""The .adtest files of tests/language: a chunk is one question with its answer, as a user could write it.

Chunks are parted by a line ``---``. Lines that begin with ``# `` name the rule. Other lines are ``key: value``; a line
that begins with two blanks continues the value above it. Keys:

=============  ===============================================================================
my, target     ads in new form
expr           an expression, new form
want           the value of `expr` in `my` against `target`, itself an expression without names
text           how `expr` prints
old-text       how `expr` prints in the old form
parse-error    `expr`, `ad` or `old` is refused: a stable code, or a pattern found in the message
ad             an ad in new form
again          how `ad` prints
old            text in old form, written as a string literal
ads            the ads that `old` holds, as they print, one a line
differs        the heading in differences.md for a chunk on which the reference disagrees
=============  ===============================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.conformance.cases import Case, Kind

KEYS: Final = frozenset(
    (
        "my",
        "target",
        "expr",
        "want",
        "text",
        "old-text",
        "parse-error",
        "ad",
        "again",
        "old",
        "ads",
        "differs",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """One chunk of an .adtest file."""

    #: File name and the line of the chunk's first line.
    place: str
    #: The comment above it.
    rule: str
    #: Key to value.
    fields: dict[str, str] = field(default_factory=dict)

    def case(self) -> Case:
        """The chunk as a question about an expression."""
        return Case(
            kind=Kind.EXPRESSION,
            text=self.fields["expr"],
            my=self.fields.get("my", "[]"),
            target=self.fields.get("target"),
        )


class BadChunk(Exception):
    """An .adtest file breaks the format."""


def read(path: Path) -> list[Chunk]:
    """The chunks of a file. Raises BadChunk."""
    chunks: list[Chunk] = []
    lines: list[str] = []
    start = 1
    for number, line in enumerate([*path.read_bytes().decode().split("\n"), "---"], 1):
        if line == "---":
            if any(line.strip() for line in lines):
                chunks.append(_chunk(lines, f"{path.name}:{start}"))
            lines, start = [], number + 1
        else:
            lines.append(line)
    return chunks


def _chunk(lines: list[str], place: str) -> Chunk:
    rule: list[str] = []
    fields: dict[str, str] = {}
    last = None
    for line in lines:
        if line.startswith("#"):
            rule.append(line.removeprefix("#").strip())
        elif line.startswith("  ") and last is not None:
            fields[last] += "\n" + line[2:]
        elif line:
            last, colon, value = line.partition(":")
            if not colon or last not in KEYS or last in fields:
                raise BadChunk(f"{place}: {line!r} is not one of the keys {', '.join(sorted(KEYS))}, once each")
            fields[last] = value.strip()
    if not rule or not fields:
        raise BadChunk(f"{place}: a chunk needs a comment that names the rule, and at least one key")
    return Chunk(place=place, rule=" ".join(rule), fields=fields)


def write(case: Case, rule: str, **wanted: str) -> str:
    """A chunk for a case of kind expression, ad or old, with the answers wanted."""
    lines = [f"# {line}" for line in rule.splitlines()]
    match case.kind:
        case Kind.AD:
            questions = {"ad": case.text}
        case Kind.OLD:
            questions = {"old": _literal(case.text)}
        case _:
            questions = {"my": case.my or "", "target": case.target or "", "expr": case.text}
    for key, value in {**questions, **{key.replace("_", "-"): text for key, text in wanted.items()}}.items():
        if value:
            lines.append(f"{key}: " + value.replace("\n", "\n  "))
    return "\n".join(lines) + "\n---\n"


def _literal(text: str) -> str:
    for sign, escape in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(sign, escape)
    return f'"{text}"'
