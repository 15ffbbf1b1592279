"""Tables: columns that take a value from an ad, format it, and pad it.

A column has a fixed width, or grows with its contents, heading included, if it is `auto`. Columns are separated by the
mask's `between`, unless a column has no separator before it, or after it (`after`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from roost.cli.condor.printing.rows import AdRow
from roost.cli.condor.printing.values import Value, quoted, real, text_of, whole

#: One conversion of a printf text: flags, width, precision, letter.
_CONVERSION: Final = re.compile(r"%([-+ #0']*)(\d+)?(?:\.(\d+))?(?:hh|h|ll|l|L|q|j|z|t)?([A-Za-z])")
_INTEGERS: Final = "diouxXcpT"
_REALS: Final = "aAeEfFgG"


class Column(NamedTuple):
    """One column."""

    #: Attribute or expression.
    attr: str
    title: str = ""
    wide: int = 0
    left: bool = False
    #: Whether it grows with its contents.
    auto: bool = False
    #: Whether text that does not fit is truncated.
    cut: bool = False
    #: A printf format; None for the value unchanged.
    form: str | None = None
    #: A named format of the ad; it returns None for "nothing to show".
    render: Callable[[AdRow, Value], str | None] | None = None
    #: The text if there is nothing to show.
    otherwise: str = ""
    #: Whether the mask's separator is put before it, and after it.
    before: bool = True
    after: bool = True
    hidden: bool = False

    @property
    def letter(self) -> str:
        """The letter of its conversion; "" for a renderer, and if there is none."""
        found = None if self.render is not None else conversion(self.form)
        return "" if found is None else found.group(4)

    def shown(self, row: AdRow) -> str | None:
        """The text of an ad's value; None if there is nothing to show."""
        if self.render is not None:
            return self.render(row, row.value(self.attr))
        if self.form is None:
            return text_of(row.value(self.attr))
        found = conversion(self.form)
        if found is None:
            return collapsed(self.form)
        return _printed(self.form, found, row, self.attr)


@lru_cache(maxsize=1000)
def conversion(form: str | None) -> re.Match[str] | None:
    """The first conversion of a printf text."""
    for found in _CONVERSION.finditer(form or ""):
        if form is not None and not form[: found.start()].endswith("%"):
            return found
    return None


def _printed(form: str, found: re.Match[str], row: AdRow, attr: str) -> str | None:
    flags, wide, precise, letter = found.groups()
    text = _converted(row, attr, flags, wide, precise, letter)
    if text is None:
        return None
    text = f"{text:{'<' if '-' in flags else '>'}{wide or 0}}"
    return collapsed(form[: found.start()]) + text + collapsed(form[found.end() :])


def _converted(row: AdRow, attr: str, flags: str, wide: str | None, precise: str | None, letter: str) -> str | None:
    if letter in "ro":
        text: str | None = row.raw(attr)
    elif letter == "s":
        text = _string(row, attr)
    else:
        value = row.value(attr)
        if letter in "vV":
            text = quoted(value) if letter == "V" else text_of(value)
        else:
            return _number(value, flags, wide, precise, letter)
    return text if text is None or precise is None else text[: int(precise)]


def _string(row: AdRow, attr: str) -> str | None:
    """For ``%s``: a string, or else the unevaluated text in the ad; empty for a missing attribute."""
    value = row.known(attr)
    if value.__class__ is str:
        return str(value)
    return row.raw(attr) if attr in row else None


def _number(value: Value, flags: str, wide: str | None, precise: str | None, letter: str) -> str | None:
    form = f"%{flags.replace(chr(39), '')}{wide or ''}{'' if precise is None else f'.{precise}'}"
    if letter in _REALS:
        number = real(value)
        return None if number is None else (form + letter.replace("a", "e").replace("A", "E")) % number
    count = whole(value)
    if count is None or letter not in _INTEGERS:
        return None
    if letter == "c":
        return chr(count % 0x110000)
    if letter == "T":
        from roost.cli.condor.printing.renderers import duration

        return duration(count)
    return (form + {"u": "d", "p": "x", "i": "d"}.get(letter, letter)) % count


_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'", "a": "\a", "b": "\b", "f": "\f",
                   "v": "\v", "?": "?"}  # fmt: skip


@lru_cache(maxsize=1000)
def collapsed(text: str) -> str:
    """Text with its backslash sequences and doubled percent signs replaced."""
    if "\\" in text:
        text = re.sub(r"\\([0-7]{1,3}|x[0-9a-fA-F]+|.)", _escape, text, flags=re.DOTALL)
    return text.replace("%%", "%")


def _escape(found: re.Match[str]) -> str:
    sign = found.group(1)
    if sign in _ESCAPES:
        return _ESCAPES[sign]
    if sign[0] == "x" and len(sign) > 1:
        return chr(int(sign[1:], 16) % 256)
    return chr(int(sign, 8) % 256) if sign.isdigit() else found.group()


class Mask(NamedTuple):
    """The format of each ad."""

    columns: tuple[Column, ...]
    between: str = " "
    #: After each column except the last.
    behind: str = ""
    #: Before and after each row.
    opens: str = ""
    closes: str = "\n"
    heads: bool = True
    #: Maximum line length; 0 for any.
    widest: int = 0

    @property
    def expressions(self) -> list[str]:
        """The expressions that the columns need; for a renderer, only its own attribute."""
        return [column.attr for column in self.columns if column.attr]


def lines(mask: Mask, rows: Iterable[AdRow]) -> Iterator[str]:
    """The heading, if there is one, and a line for each row, each with its end."""
    shown = [column for column in mask.columns if not column.hidden]
    cells = [[column.shown(row) for column in shown] for row in rows]
    widths = [_width(column, [row[at] for row in cells], heads=mask.heads) for at, column in enumerate(shown)]
    if mask.heads:
        titles = [f"{column.title:<{wide}}" for column, wide in zip(shown, widths, strict=True)]
        yield _line(mask, shown, titles)
    for row in cells:
        texts = [_fitted(column, cell, wide) for column, cell, wide in zip(shown, row, widths, strict=True)]
        yield _line(mask, shown, texts)


def _width(column: Column, cells: list[str | None], *, heads: bool) -> int:
    if not column.auto:
        return column.wide
    longest = max((len(cell) for cell in cells if cell is not None), default=0)
    return max(column.wide, longest, len(column.title) if heads and column.wide else 0)


def _fitted(column: Column, cell: str | None, wide: int) -> str:
    text = _missing(column.otherwise, wide) if cell is None else cell
    if len(text) > wide:
        return text[:wide] if column.cut and wide else text
    return f"{text:{'<' if column.left else '>'}{wide}}" if wide else text


def _missing(otherwise: str, wide: int) -> str:
    """The text for a missing value: a doubled sign fills the column."""
    if len(otherwise) == 2 and otherwise[0] == otherwise[1] and wide >= 3:
        return f"[{otherwise[0] * (wide - 2)}]"
    return otherwise[:1] if len(otherwise) == 2 and otherwise[0] == otherwise[1] else otherwise


def _line(mask: Mask, columns: list[Column], texts: list[str]) -> str:
    out = [mask.opens]
    last = len(columns) - 1
    for at, (column, text) in enumerate(zip(columns, texts, strict=True)):
        if at and column.before:
            out.append(mask.between)
        out.append(text)
        if at < last and column.after:
            out.append(mask.behind)
    whole_line = "".join(out)
    return (whole_line[: mask.widest] if mask.widest else whole_line) + mask.closes
