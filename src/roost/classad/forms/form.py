"""The names of the text forms and of the orders of attributes, and guessing the form of a text."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from roost.classad.unparse import keys_in_reference_order, reference_order
from roost.classad.values import fold

if TYPE_CHECKING:
    from roost.classad.ad import ClassAd


class Form(StrEnum):
    """The text forms of an ad."""

    #: ``Name = expression`` per line, as condor_q -long prints.
    OLD = "old"
    #: ``[ Name = expression; … ]``.
    NEW = "new"
    #: A JSON object; expressions are specially marked strings.
    JSON = "json"
    #: ``<c><a n="Name">…</a></c>``.
    XML = "xml"


class Order(StrEnum):
    """The order in which attributes are written. Ads nested in the one written have `REFERENCE` order."""

    #: Shorter names first, then alphabetically ignoring case: the order of the reference library.
    REFERENCE = "reference"
    #: Alphabetically ignoring case, as condor_q -long prints.
    NAME = "name"
    #: In insertion order.
    INSERTION = "insertion"


def names_of(ad: ClassAd, order: Order) -> list[str]:
    """The names of an ad's attributes, in that order."""
    if order is Order.REFERENCE:
        return _in_reference_order(ad)
    return sorted(ad, key=fold) if order is Order.NAME else list(ad)


def _in_reference_order(ad: ClassAd) -> list[str]:
    if ad.chained is not None:
        return sorted(ad, key=reference_order)
    spelling = ad.spelling
    return [spelling(key) for key in keys_in_reference_order(tuple(ad.cells))]


#: Blanks that may precede the first ad in any form, and comments.
BLANKS: Final = re.compile(r"(?:[\s\ufeff]|/\*.*?\*/|//[^\n]*\n)*", re.DOTALL)


def guess_form(text: str) -> Form:
    """The form of a text, by its first characters after blanks and comments; old form by default."""
    found = BLANKS.match(text)
    at = found.end() if found else 0
    first, second = text[at : at + 1], text[at + 1 :].lstrip()[:1]
    if first == "<":
        return Form.XML
    # "[ {" cannot begin an ad, nor "{ [" an object: they are lists of the other form.
    if first == "[":
        return Form.JSON if second == "{" else Form.NEW
    if first == "{":
        return Form.NEW if second == "[" else Form.JSON
    return Form.OLD


__all__ = ["Form", "Order", "guess_form", "names_of"]
