"""Print-format files: ``SELECT`` … with a column a line, ``WHERE``, ``GROUP BY`` and ``SUMMARY``.

::

    SELECT
       ClusterId  AS ' ID'  NOSUFFIX WIDTH 5 PRINTF '%4d.'
       Owner      AS OWNER  WIDTH -14 PRINTAS OWNER OR ??
    WHERE JobStatus == 2
    SUMMARY NONE

A line of columns begins with an attribute or an expression; keywords are in capitals. Lines that begin with ``#`` are
comments. ``SELECT UNIQUE``, ``FROM AUTOCLUSTER`` and columns of summaries of HTCondor's language are not supported:
they are reported as errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from roost.cli.condor.errors import ToolError
from roost.cli.condor.printing.columns import Column, Mask, collapsed
from roost.cli.condor.printing.renderers import RENDERERS, looked_at
from roost.cli.condor.printing.rows import is_name, parsed

_TOKEN: Final = re.compile(r"'[^']*'|\"[^\"]*\"|\S+")
_COLUMN_WORDS: Final = frozenset((
    "AS", "PRINTF", "PRINTAS", "FORMATAS", "WIDTH", "FIT", "TRUNCATE", "NOPREFIX", "NOSUFFIX", "LEFT", "RIGHT", "OR",
    "ALWAYS",
))  # fmt: skip
_SEPARATORS: Final = {"RECORDPREFIX": "opens", "RECORDSUFFIX": "closes", "FIELDPREFIX": "between",
                      "FIELDSUFFIX": "behind"}  # fmt: skip
#: Maximum length of a file, characters, and maximum number of columns.
CHARS_MAX: Final = 1_000_000
COLUMNS_MAX: Final = 1000


class Sorting(NamedTuple):
    """One key of ``GROUP BY``."""

    expression: str
    down: bool = False


class PrintFormat(NamedTuple):
    """The contents of such a file."""

    mask: Mask
    where: str | None = None
    group_by: tuple[Sorting, ...] = ()
    title: bool = True
    summary: bool = True

    @property
    def beside(self) -> list[str]:
        """Expressions of an ad that are needed besides those of its columns."""
        found = [name for column in self.mask.columns for name in looked_at(column.render)]
        return [*found, *(each.expression for each in self.group_by)]


class _Wrong(ToolError):
    """An error in the file."""


def read_print_format(text: str, origin: str) -> PrintFormat:
    """Read the text of a print-format file. Raises ToolError that names the line."""
    if len(text) > CHARS_MAX:
        raise _Wrong(f"{origin}: a print format is limited to {CHARS_MAX} characters")
    reader = _Reader()
    for number, line in enumerate(text.splitlines(), 1):
        try:
            reader.line(line.strip())
        except _Wrong as error:
            raise _Wrong(f"{origin}:{number}: {error}") from None
    return reader.done()


class _Reader:
    """Reads line by line."""

    def __init__(self) -> None:
        self._separators: dict[str, str] = {}
        self._columns: list[Column] = []
        self._where: str | None = None
        self._group: list[Sorting] = []
        self._flags = {"title": True, "heads": True, "summary": True}
        self._labelled: str | None = None
        self._section = ""

    def done(self) -> PrintFormat:
        """The result."""
        columns = tuple(map(self._with_label, self._columns))
        heads = self._flags["heads"] and self._labelled is None
        said = self._separators.get
        mask = Mask(columns, said("between", " "), said("behind", ""), said("opens", ""), said("closes", "\n"), heads)
        return PrintFormat(mask, self._where, tuple(self._group), self._flags["title"], self._flags["summary"])

    def line(self, text: str) -> None:
        """Read a line."""
        if not text or text.startswith("#"):
            return
        words = _TOKEN.findall(text)
        first = words[0]
        if first == "SELECT":
            self._select(words[1:])
        elif first == "WHERE":
            self._where, self._section = _expression(text[5:].strip()), "where"
        elif first == "GROUP" or (first == "BY" and self._section == "group"):
            self._group += list(_keys(text.partition("BY")[2]))
            self._section = "group"
        elif first == "SUMMARY":
            self._summary(words[1:])
        elif self._section == "columns":
            self._column(text)
        elif self._section == "group":
            self._group += list(_keys(text))
        else:
            raise _Wrong(f"{first}: expected SELECT, WHERE, GROUP BY or SUMMARY")

    def _select(self, words: list[str]) -> None:
        self._section = "columns"
        left = iter(words)
        for word in left:
            match word:
                case "BARE":
                    self._flags = dict.fromkeys(self._flags, False)
                case "NOTITLE":
                    self._flags["title"] = False
                case "NOHEADER":
                    self._flags["heads"] = False
                case "NOSUMMARY":
                    self._flags["summary"] = False
                case "LABEL":
                    self._labelled = " = "
                case "SEPARATOR":
                    self._labelled = collapsed(_bare(next(left, "")))
                case _ if word in _SEPARATORS:
                    self._separators[_SEPARATORS[word]] = collapsed(_bare(next(left, "")))
                case _:
                    raise _Wrong(f"SELECT {word}: unknown keyword")

    def _summary(self, words: list[str]) -> None:
        if words not in ([], ["STANDARD"], ["NONE"]):
            raise _Wrong("SUMMARY must be STANDARD or NONE")
        self._flags["summary"] = words != ["NONE"]

    def _column(self, text: str) -> None:
        if len(self._columns) >= COLUMNS_MAX:
            raise _Wrong(f"a table is limited to {COLUMNS_MAX} columns")
        self._columns.append(_column(text))

    def _with_label(self, column: Column) -> Column:
        if self._labelled is None or column.render is not None:
            return column
        label = f"{column.title or column.attr}{self._labelled}".replace("%", "%%")
        return column._replace(form=label + (column.form or "%v"))


def _column(text: str) -> Column:
    found = list(_TOKEN.finditer(text))
    at = next((n for n, each in enumerate(found) if n and each.group() in _COLUMN_WORDS), len(found))
    end = found[at].start() if at < len(found) else len(text)
    attr = _expression(text[:end].strip())
    words = iter(each.group() for each in found[at:])
    said: dict[str, str] = {}
    for word in words:
        if word in ("AS", "PRINTF", "PRINTAS", "FORMATAS", "WIDTH", "OR"):
            value = next(words, None)
            if value is None:
                raise _Wrong(f"{word} needs a value")
            said["PRINTAS" if word == "FORMATAS" else word] = _bare(value)
        elif word in _COLUMN_WORDS:
            said[word] = ""
        else:
            raise _Wrong(f"{word} is an unknown keyword")
    return _made(attr, said)


def _made(attr: str, said: dict[str, str]) -> Column:
    title = said.get("AS", attr)
    wide, auto = -len(title), "WIDTH" not in said or said["WIDTH"].upper() == "AUTO"
    if not auto:
        try:
            wide = int(said["WIDTH"])
        except ValueError:
            raise _Wrong(f"WIDTH {said['WIDTH']}: must be AUTO or a number") from None
    render = None
    if "PRINTAS" in said:
        if said["PRINTAS"] not in RENDERERS:
            raise _Wrong(f"PRINTAS {said['PRINTAS']}: must be one of {', '.join(RENDERERS)}")
        render = RENDERERS[said["PRINTAS"]].render
    return Column(
        attr,
        title,
        wide=abs(wide),
        left=("LEFT" in said or wide < 0) and "RIGHT" not in said,
        auto=auto or "FIT" in said,
        cut="TRUNCATE" in said or ("WIDTH" in said and not auto and "FIT" not in said),
        form=said.get("PRINTF"),
        render=render,
        otherwise=said.get("OR", ""),
        before="NOPREFIX" not in said,
        after="NOSUFFIX" not in said,
    )


def _keys(text: str) -> Iterator[Sorting]:
    for part in text.split(","):
        words = part.split()
        down = bool(words) and words[-1] in ("DESCENDING", "DECENDING", "DESC")
        if words and words[-1] in ("DESCENDING", "DECENDING", "DESC", "ASCENDING", "ASC"):
            words = words[:-1]
        if words:
            yield Sorting(_expression(" ".join(words)), down)


def _expression(text: str) -> str:
    if not is_name(text) and parsed(text) is None:
        raise _Wrong(f"{text}: not a valid expression")
    return text


def _bare(word: str) -> str:
    quoted = len(word) >= 2 and word[0] in "'\"" and word[0] == word[-1]
    return word[1:-1] if quoted else word
