"""The effect of the output options of one call, for `condor_q`, `condor_status` and `condor_history` alike.

The options are the same in all of them; only the default tables belong to each command.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from roost.cli.condor.errors import ToolError, UsageError
from roost.cli.condor.options import Given, Option
from roost.cli.condor.printing import documents
from roost.cli.condor.printing.autoformat import FLAGS, autoformat, formatted
from roost.cli.condor.printing.columns import Mask, lines
from roost.cli.condor.printing.print_format import PrintFormat, read_print_format
from roost.cli.condor.printing.rows import AdRow, is_name, needed
from roost.wire.requests.queue import ShownFields

#: Options that select what is printed of each ad.
OUTPUT_OPTIONS: Final = (
    Option("long", "whole ads", least=1, colon="FORM"),
    Option("json", "print whole ads as JSON", least=2),
    Option("jsonl", "print whole ads, one JSON object per line", least=5),
    Option("xml", "print whole ads as XML", least=3),
    Option("attributes", "with whole ads, print only these attributes, separated by commas", takes="NAMES", least=2),
    Option(
        "autoformat",
        "print values of attributes and expressions, one ad per line",
        takes="ATTR...",
        least=5,
        colon=FLAGS,
    ),
    Option("af", "the same", takes="ATTR...", least=2, colon=FLAGS),
    Option("format", "print a value with a printf format; may be repeated", takes="TEXT ATTR", least=1),
    Option("print-format", "print a table as described in a file", takes="FILE", least=2),
    Option("pr", "the same", takes="FILE", least=2),
)
_LONG_FORMS: Final = {"": documents.LONG, "long": documents.LONG, "json": documents.JSON, "xml": documents.XML,
                      "new": documents.NEW, "jsonl": documents.JSON_LINES, "auto": documents.LONG,
                      "nosort": documents.LONG}  # fmt: skip


class Projection(NamedTuple):
    """The requested part of the ads."""

    #: Attributes; empty for all.
    names: list[str]
    #: Whether their expressions are requested, rather than their values.
    raw: bool = False
    #: Attributes that are requested unevaluated unless they are strings.
    texts: tuple[str, ...] = ()

    def asked(self) -> ShownFields:
        """The fields of a request to the queue."""
        return {"projection": tuple(self.names), "raw": self.raw, "texts": self.texts}

    def rows(self, found: Iterable[dict[str, Any]]) -> list[AdRow]:
        """The reply, as rows."""
        return [AdRow(each, self.texts) for each in found]


class Output:
    """Collects the output options, and then prints."""

    def __init__(self) -> None:
        #: One of the forms of `documents`; "" for none.
        self.document = ""
        self.names: list[str] = []
        self.custom: PrintFormat | None = None
        self._auto: list[str] | None = None
        self._flags = ""
        self._pairs: list[tuple[str, str]] = []

    def take(self, option: Given) -> bool:
        """Note an output option; return whether it was one."""
        match option.name:
            case "long":
                form = _LONG_FORMS.get((option.colon or "").lower())
                if form is None:
                    raise ToolError(
                        f"Error: {option.written}: the known forms are {', '.join(filter(None, _LONG_FORMS))}"
                    )
                self.document = form
            case "json" | "jsonl" | "xml":
                self.document = option.name
            case "attributes":
                self.names += option.value.replace(",", " ").split()
            case "af" | "autoformat":
                if not option.values:
                    raise UsageError(f"Error: Argument {option.written} requires at least one attribute parameter")
                self._auto = [*(self._auto or []), *option.values]
                self._flags += option.colon or ""
            case "format":
                self._pairs.append((option.values[0], option.values[1]))
            case "print-format" | "pr":
                self.custom = _from_file(option.value)
            case _:
                return False
        return True

    @property
    def mask(self) -> Mask | None:
        """The columns that the user named; None if there are none."""
        if self.custom is not None:
            return self.custom.mask
        if self._pairs:
            return formatted(self._pairs)
        if self._auto is not None:
            return autoformat(self._auto, self._flags)
        return None

    @property
    def is_own(self) -> bool:
        """Whether the user selected the output, so that the command's own table is not used."""
        return bool(self.document) or self._auto is not None or bool(self._pairs) or self.custom is not None

    def wanted(self, *also: str) -> Projection:
        """What to request, including these expressions."""
        if self.document or self.mask is None:
            return Projection(list(dict.fromkeys([*self.names, *also])) if self.names else [], raw=True)
        columns = self.mask.columns
        if {"r", "o"} & {column.letter for column in columns}:
            return Projection([], raw=True)
        beside = [] if self.custom is None else self.custom.beside
        as_text = [column.letter == "s" and is_name(column.attr) for column in columns]
        texts = [column.attr for column, text in zip(columns, as_text, strict=True) if text]
        values = [column.attr for column, text in zip(columns, as_text, strict=True) if column.attr and not text]
        names = needed([*values, *beside, *also])
        if names is None or {name.lower() for name in names} & {name.lower() for name in texts}:
            return Projection([], raw=True)
        return Projection(list(dict.fromkeys([*names, *texts])), texts=tuple(texts))

    def print(self, rows: Iterable[AdRow]) -> None:
        """Print ads in the selected way."""
        if self.document:
            documents.write_ads(rows, self.document, sys.stdout, self.names)
            return
        assert self.mask is not None
        sys.stdout.writelines(lines(self.mask, sorted_rows(list(rows), self.custom)))


def sorted_rows(rows: list[AdRow], custom: PrintFormat | None) -> list[AdRow]:
    """Rows in the order of ``GROUP BY``; unchanged without one."""
    for key in reversed(custom.group_by if custom is not None else ()):
        rows.sort(key=lambda row: sortable(row, key.expression), reverse=key.down)
    return rows


def sortable(row: AdRow, expression: str) -> tuple[int, float, str]:
    """The value of an expression as a key: numbers first, then texts."""
    value = row.value(expression)
    return (0, float(value), "") if isinstance(value, int | float) else (1, 0.0, str(value))


def _from_file(path: str) -> PrintFormat:
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        raise ToolError(f"Can't open select file: {path}") from None
    return read_print_format(text, path)


def rows_of_file(path: str) -> Sequence[AdRow]:
    """The ads of a file, in any form; ``-`` for standard input. Raises ToolError."""
    from roost.classad.errors import ParseError
    from roost.classad.forms import parse_ads

    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        raise ToolError(f"Can't open file of ClassAds: {path}") from None
    try:
        return [AdRow.of(ad) for ad in parse_ads(text, origin=path)]
    except ParseError as error:
        raise ToolError(f"{error}") from None
