"""The names of the text forms and of the orders of attributes, and guessing the form of a text."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from roost.classad.unparse import reference_order
from roost.classad.values import fold

if TYPE_CHECKING:
    from roost.classad.ad import ClassAd


class Form(StrEnum):
    """The text forms of an ad."""

    #: ``Name = expression`` a line; what condor_q -long prints.
    OLD = "old"
    #: ``[ Name = expression; … ]``.
    NEW = "new"
    #: A JSON object; expressions are strings of a shape of their own.
    JSON = "json"
    #: ``<c><a n="Name">…</a></c>``.
    XML = "xml"


class Order(StrEnum):
    """The order in which attributes are written. Ads nested in the one written have `REFERENCE` order."""

    #: Shorter names first, then by letter in any case: how the reference library keeps them.
    REFERENCE = "reference"
    #: By letter in any case, as condor_q -long prints.
    NAME = "name"
    #: As they came into the ad.
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
    return [spelling(key) for key in _keys_in_reference_order(tuple(ad.cells))]


# Jobs, and slots, have the same attributes time and again.
@lru_cache(maxsize=256)
def _keys_in_reference_order(keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(keys, key=reference_order))


#: What may stand before the first ad in every form, and comments.
BLANKS: Final = re.compile(r"(?:[\s\ufeff]|/\*.*?\*/|//[^\n]*\n)*", re.DOTALL)


def guess_form(text: str) -> Form:
    """The form of a text, by its first characters beyond blanks and comments; what fits no other is old form."""
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
