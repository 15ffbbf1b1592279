"""Ads on the wire: a JSON object from attribute names to values.

Booleans, 64-bit integers, finite reals and strings represent themselves. Any other value (an expression, a list, a
nested ad, UNDEFINED) is an object with one member, `expr`, which holds its text in the new syntax. Attributes of an
ad's parents are included.

Expressions are parsed when they are first used; a text that cannot be parsed is then ERROR, as in any ad.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any, Final

from roost.classad import ClassAd, Expr
from roost.classad.lexer import Syntax
from roost.classad.unparse import exact_text
from roost.wire.errors import WireError
from roost.wire.structs import AdData

#: Maximum number of attributes of one ad, and maximum size of one expression's text, bytes.
AD_ATTRIBUTES_MAX: Final = 10_000
EXPRESSION_CHARS_MAX: Final = 1_000_000

#: Texts of recently sent expressions; START and the like are sent repeatedly.
_TEXTS: Final[OrderedDict[int, tuple[Expr, str]]] = OrderedDict()
_TEXTS_MAX: Final = 10_000

_PLAIN: Final = frozenset((bool, int, str))


def ad_data(ad: ClassAd) -> AdData:
    """An ad as JSON."""
    if ad.chained is None:
        return {ad.spelling(key): value_data(cell) for key, cell in ad.cells.items()}
    layers = [ad]
    while layers[-1].chained is not None:
        layers.append(layers[-1].chained)
    found: dict[str, tuple[str, Any]] = {}
    for layer in reversed(layers):
        for key, cell in layer.cells.items():
            found[key] = (layer.spelling(key), cell)
    return {name: value_data(cell) for name, cell in found.values()}


def value_data(cell: Any) -> Any:
    """One attribute as JSON."""
    kind = cell.__class__
    if kind in _PLAIN and (kind is not str or cell.isascii() or _is_unicode(cell)):
        return cell
    if kind is float and math.isfinite(cell):
        return cell
    return {"expr": expression_text(cell)}


def _is_unicode(text: str) -> bool:
    """Whether JSON can hold a text: functions may split a character in the middle."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def expression_text(cell: Any) -> str:
    """The text of a value or expression, exact to the last bit."""
    if not isinstance(cell, Expr):
        return exact_text(cell)
    kept = _TEXTS.get(id(cell))
    if kept is not None and kept[0] is cell:
        return kept[1]
    text = cell.exact_text
    _TEXTS[id(cell)] = (cell, text)
    while len(_TEXTS) > _TEXTS_MAX:
        _TEXTS.popitem(last=False)
    return text


def ad_from(data: object, where: str = "ad") -> ClassAd:
    """The ad of a JSON value. Raises WireError, naming the attribute."""
    if not isinstance(data, dict):
        raise WireError(f"{where}: an ad is a JSON object, not {_kind(data)}")
    if len(data) > AD_ATTRIBUTES_MAX:
        raise WireError(f"{where}: {len(data)} attributes exceed AD_ATTRIBUTES_MAX = {AD_ATTRIBUTES_MAX}")
    ad = ClassAd()
    for name, value in data.items():
        _put(ad, name, value, where)
    return ad


def _put(ad: ClassAd, name: str, value: object, where: str) -> None:
    kind = value.__class__
    try:
        if kind is int and not -(2**63) <= value < 2**63:  # type: ignore[operator]
            raise WireError(f"{where}.{name}: the number has more than 64 bits")
        if kind in _PLAIN or kind is float:
            # The ad itself checks names and values from outside.
            ad[name] = value
            return
        text = value.get("expr") if isinstance(value, dict) and len(value) == 1 else None
        if not isinstance(text, str):
            raise WireError(f'{where}.{name}: a value is a JSON scalar or {{"expr": text}}, not {_kind(value)}')
        if len(text) > EXPRESSION_CHARS_MAX:
            raise WireError(f"{where}.{name}: longer than EXPRESSION_CHARS_MAX = {EXPRESSION_CHARS_MAX}")
        ad.set_later(name, text, Syntax.NEW)
    except (TypeError, ValueError) as error:
        raise WireError(f"{where}: {error}") from None


def _kind(value: object) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
