"""Splits a text into its bracketed ads without parsing them: new form and JSON.

Ads follow each other, or are the items of a list; only blanks, comments and (in a list) commas may come between them.
Brackets in strings, quoted names and comments do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from roost.base.records import dataclass
from roost.classad.forms.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Brackets:
    """The brackets of a form."""

    #: Around an ad.
    open: str
    close: str
    #: Around a list of ads.
    list_open: str
    list_close: str
    #: What is expected if there is no ad, for messages.
    wanted: str


#: A run of irrelevant characters, a string, a quoted name, a comment, or one character.
_PIECE: Final = re.compile(
    r"""
      [^\[\]{}"'/]+
    | "[^"\\]*(?:\\.[^"\\]*)*"
    | '[^'\\]*(?:\\.[^'\\]*)*'
    | //[^\n]*(?:\n|\Z)
    | /\*.*?\*/
    | [\[\]{}]
    | /(?![/*])
    """,
    re.VERBOSE | re.DOTALL,
)
_GAP: Final = re.compile(r"(?: [ \t\n\r\f\v]+ | //[^\n]*(?:\n|\Z) | /\*.*?\*/ )*", re.VERBOSE | re.DOTALL)


def pieces(source: Source, brackets: Brackets) -> Iterator[tuple[str, int]]:
    """The text of each ad and its offset in ``source.text``, which stays until the next one is requested.

    The text of an unterminated ad is the whole rest: parsing it reports the error. Raises ParseError for anything that
    is neither an ad nor a list.
    """
    listed = -1
    while True:
        sign = _next_sign(source)
        at = source.at
        if not sign:
            if listed >= 0:
                raise source.error(
                    "the list of ads is not closed",
                    at,
                    code="bracket",
                    hint=f"add the missing {brackets.list_close}",
                )
            return
        if sign == brackets.open:
            end = _end_of_ad(source, brackets)
            at = source.at
            yield source.text[at:end], at
            source.at = end
        elif sign == brackets.list_open and listed < 0:
            listed = at
            source.at += 1
        elif listed >= 0 and sign in (brackets.list_close, ","):
            listed = -1 if sign == brackets.list_close else listed
            source.at += 1
        else:
            shown = source.text[at : at + 20].split("\n")[0]
            raise source.error(f"{brackets.wanted} is expected, not {shown}", at, at + len(shown), code="form")


def _next_sign(source: Source) -> str:
    """The first character beyond blanks and comments; source.at is moved there. Empty at the end."""
    while True:
        found = _GAP.match(source.text, source.at)
        assert found is not None
        at = found.end()
        # At the end of the available text a blank or comment may continue.
        if source.ended or (len(source.text) - at > 1 and not source.text.startswith("/*", at)):
            source.at = at
            return source.text[at : at + 1]
        source.check_length(source.at)
        source.fill()


def _end_of_ad(source: Source, brackets: Brackets) -> int:
    """The offset after the ad that begins at source.at; the end of the text if it has none."""
    depth = 0
    scanned = 0
    opener, closer = brackets.open, brackets.close
    match = _PIECE.match
    while True:
        text = source.text
        at, size = source.at + scanned, len(text)
        while (found := match(text, at)) is not None:
            end = found.end()
            if end == size and not source.ended and text[end - 1] not in "[]{}":
                # The piece may continue beyond the available text.
                break
            sign = text[at]
            at = end
            if sign == opener:
                depth += 1
            elif sign == closer:
                depth -= 1
                if depth == 0:
                    return end
        scanned = at - source.at
        source.check_length(source.at)
        if not source.fill():
            if source.ended and found is not None:
                continue
            return len(source.text)
