"""Ads and expressions from arguments, files and standard input, for the ``roost classad`` commands."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Final

from roost.classad import ClassAd, Expr, ParseError, Syntax, parse_expression
from roost.classad.forms import Form, parse_ads, read
from roost.classad.forms.source import ReadWarning, placed
from roost.classad.limits import SOURCE_CHARS_MAX
from roost.cli.terminal import CommandError, complain

if TYPE_CHECKING:
    from pathlib import Path

#: The name of standard input on the command line.
STDIN: Final = "-"

#: Prefixes of an ad given on the command line itself.
_INLINE: Final = ("[", "{", "<")


def ads_from(
    where: str, form: Form | None = None, *, strict: bool = True, delimiter: str | None = None
) -> Iterator[ClassAd]:
    """The ads of a file, of ``-`` (standard input), or of a text that begins with a bracket or contains a ``=``.

    Raises ParseError, OSError, CommandError.
    """
    if not where.strip():
        raise CommandError("the argument is empty; give a file or an ad ([] is an ad without attributes)")
    if where.lstrip().startswith(_INLINE):
        yield from parse_ads(clean(where), form, delimiter=delimiter, strict=strict, warn=warn)
        return
    if where == STDIN:
        yield from read(sys.stdin.buffer, form, strict=strict, warn=warn, origin="standard input", delimiter=delimiter)
        return
    path = _path(where)
    if "=" in where and not path.exists():
        yield from parse_ads(clean(where), Form.OLD, delimiter=delimiter, strict=strict, warn=warn)
        return
    with path.open("rb") as stream:
        yield from read(stream, form, strict=strict, warn=warn, origin=where, delimiter=delimiter)


def one_ad(where: str | None, what: str) -> ClassAd | None:
    """The single ad that an option names; None without the option."""
    if where is None:
        return None
    ads = ads_from(where)
    ad = next(ads, None)
    if ad is None:
        # An empty file is an ad without attributes.
        return ClassAd()
    if next(ads, None) is not None:
        raise CommandError(f"{what}: {where} contains more than one ad; give only one")
    return ad


def expressions_from(texts: list[str], files: list[str], *, old: bool = False) -> Iterator[Expr]:
    """The expressions of the command line, or of files, or of standard input, with one per line in the latter two.

    Lines that are blank or begin with ``#`` are skipped. Raises ParseError, OSError.
    """
    for found in tried_expressions(texts, files, old=old):
        if isinstance(found, ParseError):
            raise found
        yield found


def tried_expressions(texts: list[str], files: list[str], *, old: bool = False) -> Iterator[Expr | ParseError]:
    """The same, with the error of each text that is not an expression in its place."""
    syntax = Syntax.OLD if old else Syntax.NEW
    for text in texts:
        try:
            yield parse_expression(clean(text), syntax)
        except ParseError as error:
            yield error
    for name in files or ([] if texts else [STDIN]):
        for number, line in enumerate(lines_of(name), 1):
            if line.strip() and not line.lstrip().startswith("#"):
                yield _line_expression(line, number, "standard input" if name == STDIN else name, syntax)


def lines_of(name: str) -> Iterator[str]:
    """The lines of a file or of standard input, without their ends."""
    if name == STDIN:
        yield from _decoded(sys.stdin.buffer)
    else:
        with _path(name).open("rb") as stream:
            yield from _decoded(stream)


def _path(name: str) -> Path:
    # Otherwise it would take a fifth of the run time of a command without files.
    from pathlib import Path

    return Path(name)


def _decoded(stream: IO[bytes]) -> Iterator[str]:
    while line := stream.readline(SOURCE_CHARS_MAX + 1):
        if len(line) > SOURCE_CHARS_MAX:
            raise CommandError(f"a line is longer than {SOURCE_CHARS_MAX} bytes")
        yield line.decode("utf-8", "surrogateescape").rstrip("\r\n")


def _line_expression(line: str, number: int, origin: str, syntax: Syntax) -> Expr | ParseError:
    text = line.strip()
    try:
        return parse_expression(text, syntax)
    except ParseError as error:
        return placed(error, line, line.find(text), lines=number - 1, origin=origin)


def clean(text: str) -> str:
    """`text` without characters that are not part of any text: unpaired surrogates."""
    if text.isascii():
        return text
    return "".join("\ufffd" if "\ud800" <= c < "\udc80" or "\udcff" < c <= "\udfff" else c for c in text)


def warn(warning: ReadWarning) -> None:
    """Warn about input that was read, but perhaps not as intended."""
    complain(f"warning: {warning}")


__all__ = [
    "STDIN",
    "ads_from",
    "clean",
    "expressions_from",
    "lines_of",
    "one_ad",
    "tried_expressions",
    "warn",
]
