"""The old form: ``Name = expression`` per line, a blank line (or a delimiter) between ads.

Reading keeps the reference library's rules: a line that begins with ``#`` is a comment; the name is everything before
the first ``=``; only ``\\"`` is an escape in strings, and not where that quote ends the line; what follows the
expression on its line is ignored. The last one loses meaning silently, so it is reported as a warning. A line that
cannot be read is an error, or, where reading is not strict, ends its ad: attributes before it stay, the rest up to the
blank line is skipped, as in the reference library.

Most lines are a plain literal, which one regular expression reads; other expressions go through the table of
interned texts.

The form cannot hold everything: `unfaithful` names the attributes whose line would read back as something else
(a line end in a string, a backslash at the end of a string that something follows).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from roost.classad.ad import Cell, ClassAd, key_of
from roost.classad.errors import ParseError
from roost.classad.expr import Expr, expression_later, parse_expression
from roost.classad.forms.building import put_node
from roost.classad.forms.form import Order, names_of
from roost.classad.forms.source import FormError, ReadWarning, Source, Warn, lines_of, lines_of_iterable, placed
from roost.classad.lexer import Syntax
from roost.classad.limits import NAME_BYTES_MAX, SOURCE_CHARS_MAX
from roost.classad.parser import parse_leading_tree
from roost.classad.unparse import item_node, quote_name, unparse, unparse_value
from roost.classad.values import UNDEFINED

if TYPE_CHECKING:
    from roost.classad.values import Value

_NAME: Final = f"[A-Za-z_][A-Za-z0-9_]{{0,{NAME_BYTES_MAX - 1}}}"
#: A plain name and a literal that makes up the rest of its line.
_PLAIN_LINE: Final = re.compile(
    rf"""({_NAME}) [ ]* = [ \t]* (?:
        (-?(?:0|[1-9][0-9]{{0,17}})) [ \t]*
      | "([^"\0]*)"
      | (-?[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]{{1,5}})?) [ \t]*
      | (true|false|undefined) [ \t]*
    ) \r* \Z""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_WORDS: Final[dict[str, Value]] = {"true": True, "false": False, "undefined": UNDEFINED}
_BLANK: Final = " \t\v\f\r"
#: A number directly followed by letters; matches the number only.
_NUMBER: Final = re.compile(r"-?(?!0[xX])(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?=[A-DF-Za-df-z_])")
_IDENTIFIER: Final = re.compile(rf"{_NAME}\Z")


# -- reading -------------------------------------------------------------------------------------


def read_old(
    source: Source | Iterable[str],
    *,
    delimiter: str | None = None,
    whole: bool = False,
    strict: bool = True,
    warn: Warn | None = None,
    origin: str | None = None,
    lazy: bool = False,
) -> Iterator[ClassAd]:
    """The ads of a source or of lines, each as soon as it ends.

    A line that begins with `delimiter` ends an ad; None: a blank line does. `whole`: nothing does, the text
    is one ad. Raises ParseError at a line that cannot be read; if not `strict`, warns and skips the rest of
    that ad. `lazy`: expressions are parsed when they are first used, see `expr.expression_later`.
    """
    if isinstance(source, Source):
        origin = source.origin
        lines = lines_of(source)
    else:
        lines = lines_of_iterable(source)
    return _Reader(delimiter, whole, strict, warn, origin, lazy).ads(lines)


class _Reader:
    """The state of reading one text."""

    __slots__ = ("_delimiter", "_lazy", "_number", "_origin", "_strict", "_warn", "_whole")

    def __init__(
        self, delimiter: str | None, whole: bool, strict: bool, warn: Warn | None, origin: str | None, lazy: bool
    ) -> None:
        self._delimiter = delimiter
        self._whole = whole
        self._strict = strict
        self._warn = warn
        self._origin = origin
        #: Whether expressions are parsed when they are first used.
        self._lazy = lazy
        #: The line being read, from 1.
        self._number = 0

    def ads(self, lines: Iterable[str]) -> Iterator[ClassAd]:
        """The ads of these lines."""
        ad = ClassAd()
        skipping = False
        length = 0
        delimiter = self._delimiter
        for self._number, line in enumerate(lines, 1):
            found = None if skipping else _PLAIN_LINE.match(line)
            if found is not None and (delimiter is None or not line.startswith(delimiter)):
                length += len(line)
                if length <= SOURCE_CHARS_MAX:
                    ad.put(*_plain(found))
                    continue
            line = line.rstrip("\r")
            start = line.lstrip(_BLANK)
            if self._ends_ad(line, start):
                if ad.cells:
                    yield ad
                    ad = ClassAd()
                skipping, length = False, 0
                continue
            if skipping or not start or start[0] == "#":
                continue
            length += len(line)
            try:
                self._check_length(line, length)
                self._attribute(ad, line)
            except FormError as error:
                if self._strict:
                    raise
                skipping = True
                self._report("line", f"the ad ends here: {error.message}", error.place.column, line)
        if ad.cells:
            yield ad

    def _ends_ad(self, line: str, start: str) -> bool:
        if self._whole:
            return False
        return not start if self._delimiter is None else line.startswith(self._delimiter)

    def _check_length(self, line: str, length: int) -> None:
        if length > SOURCE_CHARS_MAX:
            raise self._error(ParseError(f"the ad is longer than {SOURCE_CHARS_MAX} characters", code="limit"), line, 0)

    def _attribute(self, ad: ClassAd, line: str) -> None:
        """Read one line into `ad`."""
        before, equals, _ = line.partition("=")
        name = before.lstrip(_BLANK).rstrip(" ")
        if not equals or not name:
            raise self._bad_line(line, before, equals)
        self._expression(ad, name, line, len(before) + 1)
        if not _IDENTIFIER.match(name):
            self._check_name(name, line)

    def _expression(self, ad: ClassAd, name: str, line: str, offset: int) -> None:
        text = line[offset:]
        trimmed = text.strip(_BLANK)
        if trimmed.endswith('\\"') and not text.endswith('"'):
            # The quote does not end the line, which makes the backslash an escape.
            trimmed = text.lstrip(_BLANK)
        offset += len(text) - len(text.lstrip(_BLANK))
        if self._lazy:
            ad.put(name, expression_later(trimmed, Syntax.OLD))
            return
        try:
            expression = parse_expression(trimmed, Syntax.OLD)
            end = len(trimmed)
        except ParseError as error:
            end = self._leading(trimmed, error, line, offset)
            expression = parse_expression(trimmed[:end], Syntax.OLD)
        put_node(ad, name, expression.tree, expression)
        rest = trimmed[end:]
        junk = rest.strip(_BLANK)
        if junk:
            end += len(rest) - len(rest.lstrip(_BLANK))
            self._report("junk", f"ignored after the expression of {name}: {_shown(junk)}", offset + end + 1, junk)

    def _leading(self, text: str, error: ParseError, line: str, offset: int) -> int:
        """Where the expression ends that `text`, which is not one as a whole, begins with."""
        try:
            return parse_leading_tree(text, Syntax.OLD)[1]
        except ParseError as first:
            at = first.start
            number = _NUMBER.match(text, at) if first.code == "number" else None
            cut = text[: number.end() if number else at]
        # Perhaps a later token is bad, and the expression has ended by then.
        if error.code in ("token", "string", "comment", "number") and cut.strip(_BLANK):
            try:
                return parse_leading_tree(cut, Syntax.OLD)[1]
            except ParseError:
                pass
        raise self._error(error, line, offset) from None

    # -- what is wrong -------------------------------------------------------------------------

    def _bad_line(self, line: str, before: str, equals: str) -> FormError:
        at = len(line) - len(line.lstrip(_BLANK))
        if not equals:
            hint = "write Name = expression; a blank line separates ads, and # begins a comment line"
            found = ParseError("there is no = in this line", code="line", start=at, end=len(line.rstrip()), hint=hint)
        else:
            found = ParseError("there is no attribute name before the =", code="line", start=len(before))
        return self._error(found, line, 0)

    def _check_name(self, name: str, line: str) -> None:
        if len(name) > NAME_BYTES_MAX or "\0" in name:
            what = "holds a NUL character" if "\0" in name else f"is longer than {NAME_BYTES_MAX} bytes"
            raise self._error(ParseError(f"the attribute name {what}", code="limit"), line, 0)
        message = f"{_shown(name)} is not a plain name; an expression must write {_shown(quote_name(name))}"
        self._report("name", message, line.find(name) + 1, name)

    def _error(self, error: ParseError, line: str, offset: int) -> FormError:
        return placed(error, line, offset, lines=self._number - 1, origin=self._origin)

    def _report(self, code: str, message: str, column: int, text: str) -> None:
        if self._warn is not None:
            self._warn(
                ReadWarning(
                    code=code,
                    message=message,
                    line=self._number,
                    column=column,
                    text=text,
                    origin=self._origin,
                )
            )


def _plain(found: re.Match[str]) -> tuple[str, Cell]:
    """The name and value of a plain line."""
    name, integer, text, real, word = found.groups()
    if text is not None:
        return name, text
    if integer is not None:
        return name, int(integer)
    return name, float(real) if real is not None else _WORDS[word.lower()]


def _shown(text: str) -> str:
    text = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text[:60])
    return text if len(text) < 60 else text[:59] + "…"


# -- writing -------------------------------------------------------------------------------------


def format_old(ad: ClassAd, order: Order = Order.REFERENCE) -> str:
    """The lines of an ad; one line end for an empty one."""
    if ad.chained is not None:
        return "".join([f"{_line(name, ad[name])}\n" for name in names_of(ad, order)]) or "\n"
    lines = []
    for name in names_of(ad, order):
        cell = ad.cells[key_of(name)]
        lines.append(_line(name, ad[name] if isinstance(cell, Expr) else cell))
    lines.append("")
    return "\n".join(lines) or "\n"


def _line(name: str, cell: Cell) -> str:
    if isinstance(cell, int) or (isinstance(cell, str) and len(cell) <= _KEPT_CHARS):
        return _plain_line(name, cell, isinstance(cell, bool))
    text = _expression_text(cell) if isinstance(cell, Expr) else unparse_value(cell, old=True)
    return f"{_name(name)} = {text}"


#: Lines of longer strings are not kept.
_KEPT_CHARS: Final = 200


# An ad is written again for every job, with most of its lines as they were.
# Without `typed`, True and 1 would be one key.
@lru_cache(maxsize=10_000)
def _plain_line(name: str, cell: int | str, is_truth: bool) -> str:
    return f"{_name(name)} = {unparse_value(cell, old=True)}"


@lru_cache(maxsize=10_000)
def _expression_text(expression: Expr) -> str:
    return unparse(expression.tree, old=True)


def _name(name: str) -> str:
    """A name as a line can begin with it: bare, for quotes would be part of the name when it is read.

    The reference library writes the quotes, and reads another name back.
    """
    if _IDENTIFIER.match(name) or _can_begin_line(name):
        return name
    return quote_name(name, old=True)


def _can_begin_line(name: str) -> bool:
    return bool(name) and name[0] != "#" and name == name.lstrip(_BLANK).rstrip(" ") and not re.search(r"[=\n\0]", name)


def unfaithful(ad: ClassAd) -> list[str]:
    """The names of attributes that the old form does not preserve."""
    return [name for name in ad if not _comes_back(name, ad[name])]


def _comes_back(name: str, cell: Cell) -> bool:
    line = _line(name, cell)
    if "\n" in line:
        return False
    try:
        ads = list(read_old([line]))
    except ParseError:
        return False
    if len(ads) != 1 or list(ads[0]) != [name]:
        return False
    return unparse(item_node(ads[0][name])) == unparse(item_node(cell))
