"""The new form: ``[ Name = expression; … ]``, ads one after the other or in a list ``{ […], […] }``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from roost.classad.ad import ClassAd
from roost.classad.errors import ParseError
from roost.classad.forms.brackets import Brackets, pieces
from roost.classad.forms.building import build_ad
from roost.classad.forms.form import Order, names_of
from roost.classad.forms.source import Source
from roost.classad.parser import parse_tree
from roost.classad.syntax import AdNode
from roost.classad.unparse import item_node, quote_name, unparse

_BRACKETS: Final = Brackets(open="[", close="]", list_open="{", list_close="}", wanted="[ or a list of ads")


def read_new(source: Source) -> Iterator[ClassAd]:
    """The ads of a source, each as soon as it ends. Raises ParseError."""
    for text, offset in pieces(source, _BRACKETS):
        try:
            tree = parse_tree(text)
            if not isinstance(tree, AdNode):
                raise ParseError("this is an expression, not an ad", code="form", start=tree.span[0], end=tree.span[1])
            ad = build_ad(tree, source=text)
        except ParseError as error:
            raise source.placed(error, offset) from None
        yield ad


def format_new(ad: ClassAd, order: Order = Order.REFERENCE) -> str:
    """The text of an ad, in one line without its end."""
    names = names_of(ad, order)
    body = "; ".join([f"{quote_name(name)} = {unparse(item_node(ad[name]))}" for name in names])
    return f"[ {body} ]"
