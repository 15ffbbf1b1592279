"""The text forms of ads: reading and writing old form, new form, JSON and XML.

`parse_ad` and `parse_ads` read texts, `read` and `write` streams, `format_ad` makes the text of one ad.
The output is that of the reference library and its tools; each form reads back its own output (see `old.unfaithful` for
the few values that the old form cannot represent).

Streams are read in pieces and ads are returned one by one, so memory holds at most one ad. Expressions are
parsed at once, so that errors show where they are; with `lazy`, for ads in old form that are known to be valid, each is
parsed when first used. Either way the same text is parsed once in a process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from roost.classad.forms.form import BLANKS, Form, Order, guess_form

if TYPE_CHECKING:
    from roost.classad.ad import ClassAd
    from roost.classad.forms.source import ReadWarning, Source, Stream, Warn


class Sink(Protocol):
    """A file open for writing text."""

    def write(self, text: str, /) -> object:
        """Write a text."""
        ...


def parse_ad(
    text: str,
    form: Form | None = None,
    *,
    strict: bool = True,
    warn: Warn | None = None,
    origin: str | None = None,
    lazy: bool = False,
) -> ClassAd:
    """The one ad of `text`. Raises ParseError for none, for more than one, and for mistakes.

    `form` None: guessed. In old form all of the text is one ad, blank lines or not, and an empty text an
    empty ad. `strict` False: a bad line in old form ends the ad there. `warn` is called with each
    `ReadWarning`. `lazy`: in old form expressions are parsed when they are first used.
    """
    from roost.classad.ad import ClassAd
    from roost.classad.errors import ParseError

    source = _source(text, origin)
    form = form or guess_form(text)
    if form is Form.OLD:
        from roost.classad.forms.old import read_old

        return next(read_old(source, whole=True, strict=strict, warn=warn, lazy=lazy), None) or ClassAd()
    ads = _reader(source, form)
    ad = next(ads, None)
    if ad is None:
        raise ParseError("the text holds no ad", code="form", source=text, origin=origin)
    if next(ads, None) is not None:
        raise ParseError(
            "the text holds more than one ad",
            code="form",
            source=text,
            origin=origin,
            hint="give one ad; in Python, parse_ads reads several",
        )
    return ad


def parse_ads(
    text: str | Iterable[str],
    form: Form | None = None,
    *,
    delimiter: str | None = None,
    strict: bool = True,
    warn: Warn | None = None,
    origin: str | None = None,
    lazy: bool = False,
) -> Iterator[ClassAd]:
    """The ads of a text or of lines, each as soon as it is read. Raises ParseError.

    `form` None: guessed, for lines old form. `delimiter`: in old form, how a line begins that ends an ad;
    None: a blank line does. For the rest see `parse_ad`.
    """
    if isinstance(text, str):
        return _read(_source(text, origin), form or guess_form(text), delimiter, strict, warn, lazy)
    if form not in (None, Form.OLD):
        return _read(
            _source("\n".join([line.removesuffix("\n") for line in text]), origin), form, None, strict, warn, lazy
        )
    from roost.classad.forms.old import read_old

    return read_old(text, delimiter=delimiter, strict=strict, warn=warn, origin=origin, lazy=lazy)


def read(
    stream: Stream,
    form: Form | None = None,
    *,
    delimiter: str | None = None,
    strict: bool = True,
    warn: Warn | None = None,
    origin: str | None = None,
    lazy: bool = False,
) -> Iterator[ClassAd]:
    """The ads of a stream of text or bytes, each as soon as it is read. Raises ParseError.

    A text stream should be opened with ``newline="\\n"`` and ``errors="surrogateescape"``; of bytes, this
    is how they are read. The arguments are those of `parse_ads`.
    """
    source = _source(stream, origin)
    return _read(source, form or guess_form(source.peek(BLANKS)), delimiter, strict, warn, lazy)


def _source(stream: Stream | str, origin: str | None) -> Source:
    from roost.classad.forms.source import Source

    return Source(stream, origin)


def _read(
    source: Source, form: Form, delimiter: str | None, strict: bool, warn: Warn | None, lazy: bool
) -> Iterator[ClassAd]:
    if form is Form.OLD:
        from roost.classad.forms.old import read_old

        return read_old(source, delimiter=delimiter, strict=strict, warn=warn, lazy=lazy)
    return _reader(source, form)


def _reader(source: Source, form: Form) -> Iterator[ClassAd]:
    if form is Form.JSON:
        from roost.classad.forms.json import read_json

        return read_json(source)
    if form is Form.XML:
        from roost.classad.forms.xml import read_xml

        return read_xml(source)
    from roost.classad.forms.new import read_new

    return read_new(source)


# -- writing -------------------------------------------------------------------------------------


def format_ad(ad: ClassAd, form: Form = Form.NEW, order: Order = Order.REFERENCE) -> str:
    """The text of one ad as the reference library prints it; old form and XML end with a line end."""
    if form is Form.OLD:
        from roost.classad.forms.old import format_old

        return format_old(ad, order)
    if form is Form.JSON:
        from roost.classad.forms.json import format_json

        return format_json(ad, order)
    if form is Form.XML:
        from roost.classad.forms.xml import format_xml

        return format_xml(ad, order)
    from roost.classad.forms.new import format_new

    return format_new(ad, order)


def write(ads: Iterable[ClassAd], form: Form, stream: Sink, order: Order = Order.REFERENCE) -> None:
    """Write a list of ads as the reference tools do, each as soon as it comes.

    Old form: a blank line after each. New form: ``{``, ``,`` and ``}`` on lines of their own. JSON: ``[``,
    ``,`` and ``]`` likewise. XML: header and footer of a file.
    """
    opener, separator, end, closer = _WRAPPERS[form] if form is not Form.XML else _xml_wrapper()
    first = True
    for ad in ads:
        if form is Form.OLD and not len(ad):
            # An empty ad would add a blank line, which is not an ad.
            continue
        stream.write((opener if first else separator) + format_ad(ad, form, order) + end)
        first = False
    stream.write(opener + closer if first else closer)


#: Before the first ad, between two, after each, and after the last.
_WRAPPERS = {
    Form.OLD: ("", "", "\n", ""),
    Form.NEW: ("{\n", ",\n", "\n", "}\n"),
    Form.JSON: ("[\n", ",\n", "\n", "]\n"),
}


def _xml_wrapper() -> tuple[str, str, str, str]:
    from roost.classad.forms.xml import FOOTER, HEADER

    return HEADER, "", "", FOOTER


def __getattr__(name: str) -> object:
    if name == "ReadWarning":
        from roost.classad.forms.source import ReadWarning

        return ReadWarning
    raise AttributeError(name)


__all__ = [
    "Form",
    "Order",
    "ReadWarning",
    "format_ad",
    "guess_form",
    "parse_ad",
    "parse_ads",
    "read",
    "write",
]
