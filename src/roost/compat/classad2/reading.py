"""Ads from texts and files: `parseOne`, `parseNext`, `parseAds`, and the texts of literals.

The caller names the form, or it is guessed from the first characters. In the old form a line that cannot be parsed ends
the ad and the input; an ad that is truncated at the end of the input is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any, Final

from roost.classad import ClassAd as Ad
from roost.classad import ParseError, parse_expression
from roost.classad.forms import Form, parse_ads, read
from roost.classad.syntax import Literal
from roost.classad.unparse import quote_string
from roost.compat.classad2.ad import ClassAd
from roost.compat.classad2.values import ParserType

_FAILED: Final = "Unable to parse input stream into a ClassAd."
_FORMS: Final = {
    ParserType.Old: Form.OLD,
    ParserType.XML: Form.XML,
    ParserType.JSON: Form.JSON,
    ParserType.New: Form.NEW,
}
#: Codes of errors for unterminated constructs.
_OPEN: Final = frozenset(("bracket", "string"))


class _Sparing:
    """A stream from which no more is read than an ad needs: by line in the old form, else by character."""

    def __init__(self, stream: IO[Any], *, lines: bool, begun: Any = "") -> None:
        self._stream = stream
        self._lines = lines
        self._begun = begun

    def read(self, size: int = -1, /) -> Any:
        if self._begun:
            begun, self._begun = self._begun, self._begun[:0]
            return begun
        return self._stream.readline() if self._lines else self._stream.read(1)


def ads(input: str | IO[Any], parser: ParserType, *, sparing: bool = False) -> Iterator[Ad]:
    """The ads of an input. Raises ValueError for invalid input."""
    form = _FORMS.get(ParserType(int(parser)))
    try:
        if isinstance(input, str):
            yield from parse_ads(input, form, strict=False)
        elif not hasattr(input, "read"):
            raise AttributeError(f"'{type(input).__name__}' object has no attribute 'tell'")
        elif sparing:
            yield from _spared(input, form)
        else:
            yield from read(input, form, strict=False)
    except ParseError as error:
        if not _cut_off(error):
            raise ValueError(f"{_FAILED}\n{error}") from None


def _spared(stream: IO[Any], form: Form | None) -> Iterator[Ad]:
    begun = stream.read(1)
    while begun and begun.isspace():
        begun = stream.read(1)
    if not begun:
        return
    if form is None:
        form = {"[": Form.NEW, "<": Form.XML, "{": Form.JSON}.get(begun if isinstance(begun, str) else begun.decode())
    form = form or Form.OLD
    yield from read(_Sparing(stream, lines=form is Form.OLD, begun=begun), form, strict=False)


def _cut_off(error: ParseError) -> bool:
    return error.code in _OPEN or (error.code == "operand" and error.end >= len(error.source.rstrip()))


def parseOne(input: str | IO[Any], parser: ParserType = ParserType.Auto) -> ClassAd:
    """All ads of the input as one: later attributes replace earlier ones."""
    whole = Ad()
    for ad in ads(input, parser):
        whole.update(ad)
    return ClassAd._of_ad(whole)


def parseNext(input: str | IO[Any], parser: ParserType = ParserType.Auto) -> ClassAd | None:
    """The next ad; None at the end. No more of a stream is read than the ad needs."""
    ad = next(ads(input, parser, sparing=True), None)
    return None if ad is None else ClassAd._of_ad(ad)


def parseAds(input: str | IO[Any], parser: ParserType = ParserType.Auto) -> Iterator[ClassAd]:
    """The ads of the input, each as soon as it is read."""
    for ad in ads(input, parser):
        yield ClassAd._of_ad(ad)


def quote(input: str) -> str:
    """The text of a string literal."""
    if not isinstance(input, str):
        raise TypeError(f"argument 1 must be str or None, not {type(input).__name__}")
    return quote_string(input)


def unquote(input: str) -> str:
    """The string from a literal's text. Raises ValueError."""
    try:
        tree = parse_expression(input).tree
    except ParseError:
        raise ValueError("Invalid string to unquote") from None
    if not isinstance(tree, Literal) or not isinstance(tree.value, str):
        raise ValueError("String does not parse to a ClassAd literal")
    return tree.value
