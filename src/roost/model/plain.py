"""Converts frozen data to plain JSON-like data and back: the records from which daemons resume after a crash.

The shape is that of the dataclasses: an object for each, with a member for each field, under the field's name. Numbers,
strings, booleans and None are themselves; enumerations are their values; tuples are arrays; a float that is not finite
is one of the strings ``inf``, ``-inf``, ``nan``; a fraction is a string such as ``3/4``; bytes are hexadecimal; an
expression is its text, an ad an object of such texts in the order of its attributes. `from_plain` restores what
`to_plain` wrote to an equal value.

Reading is strict: every member must be present, unknown ones are refused, and each must have the type that its field
declares. The first mistake raises `PlainError` with the path to it.

What it does not do: handle versions or files, or validate the meaning of the data. Callers do that.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import cache, lru_cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Final, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from roost.classad import ClassAd, Expr, ParseError, parse_expression
from roost.classad.ad import check_name
from roost.classad.unparse import exact_text
from roost.classad.values import fold

T = TypeVar("T")

#: The values that JSON can represent.
Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"

_NOT_FINITE: Final = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


class PlainError(ValueError):
    """Invalid plain data. `path` locates the mistake, as in ``slot.claim.rank``."""

    def __init__(self, path: str, wanted: str, found: object) -> None:
        self.path = path
        self.wanted = wanted
        shown = repr(found)
        super().__init__(f"{path}: {wanted} is wanted here, not {shown if len(shown) <= 60 else shown[:57] + '...'}")


# -- writing -----------------------------------------------------------------------------------------------


class AdTexts:
    """Texts of ads shared by several values: each ad is written once, and then referred to.

    An ad must not change while this is in use.
    """

    def __init__(self) -> None:
        #: Its ads, in the order of their numbers, as `resolved` expects them.
        self.texts: list[Plain] = []
        self._known: dict[int, tuple[ClassAd, Plain]] = {}
        self._numbers: dict[int, int] = {}

    def reference(self, ad: ClassAd) -> Plain:
        """The reference that stands for an ad."""
        number = self._numbers.get(id(ad))
        if number is None:
            number = self._numbers[id(ad)] = len(self.texts)
            known = self._known.get(id(ad))
            if known is None:
                known = self._known[id(ad)] = ad, _ad_texts(ad)
            self.texts.append(known[1])
        return {_REFERENCE: number}

    def again(self) -> None:
        """Start over with other values; drop ads that the last ones did not use."""
        self._known = {key: self._known[key] for key in self._numbers}
        self._numbers = {}
        self.texts = []


#: Member of the object that stands for an ad. The members of an ad's own object are texts.
_REFERENCE: Final = "ad"


def resolved(plain: Plain, ads: object) -> Plain:
    """Plain data with references replaced by ads. Raises PlainError."""
    if isinstance(plain, dict):
        number = plain.get(_REFERENCE)
        if len(plain) != 1 or type(number) is not int:
            return {name: resolved(each, ads) for name, each in plain.items()}
        if not isinstance(ads, list) or not 0 <= number < len(ads):
            raise PlainError(_REFERENCE, "the number of an ad", number)
        found: Plain = ads[number]
        return found
    return [resolved(each, ads) for each in plain] if isinstance(plain, list) else plain


def to_plain(value: object, without: Collection[str] = (), ads: AdTexts | None = None) -> Plain:
    """Plain data for a dataclass, or for the value of a field. Raises TypeError for anything else.

    `without` names fields of the dataclass to leave out, which must be given to `from_plain`. With `ads`, an ad is
    written as a reference and its text is kept there; `resolved` reverses that.
    """
    if without:
        names = [name for name in _names(type(value)) if name not in without]
        return {name: _plain(getattr(value, name), ads) for name in names}
    return _plain(value, ads)


def _plain(value: object, ads: AdTexts | None) -> Plain:
    kind = type(value)
    if kind in _ITSELF:
        return value  # type: ignore[return-value]
    write = _WRITERS.get(kind)
    if write is None:
        write = _WRITERS[kind] = _writer(kind)
    return write(value, ads)


_ITSELF: Final = frozenset((NoneType, bool, int, str))
_Writer: TypeAlias = "Callable[[Any, AdTexts | None], Plain]"


def _writer(kind: type) -> _Writer:
    """The writer for values of one type."""
    if issubclass(kind, Enum):
        return lambda value, ads: _plain(value.value, ads)
    for known, write in _KINDS.items():
        if issubclass(kind, known):
            return write
    if not is_dataclass(kind):
        raise TypeError(f"a {kind.__name__} has no plain form")
    names = _names(kind)
    if len(names) < 2:
        return lambda value, ads: {name: _plain(getattr(value, name), ads) for name in names}
    members: Callable[[Any], tuple[Any, ...]] = attrgetter(*names)

    def write_members(value: Any, ads: AdTexts | None) -> Plain:
        return {
            name: each if each.__class__ in _ITSELF else _plain(each, ads)  # type: ignore[misc]
            for name, each in zip(names, members(value), strict=True)
        }

    return write_members


def _names(kind: type) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind) if each.init)


def _ad_texts(ad: ClassAd) -> Plain:
    if ad.chained is None:
        return {ad.spelling(key): _cell_text(cell) for key, cell in ad.cells.items()}
    return {name: _cell_text(ad.cell(fold(name))) for name in ad}


def _cell_text(cell: object) -> str:
    kind = type(cell)
    if isinstance(cell, str):
        return _string_text(cell) if len(cell) <= _KEPT_CHARS else _text_of_string(cell)
    if kind is int:
        return str(cell)
    if kind is bool:
        return "true" if cell else "false"
    return _expression_text(cell) if isinstance(cell, Expr) else exact_text(cell)


#: Texts of longer strings are not cached.
_KEPT_CHARS: Final = 200


def _text_of_string(value: str) -> str:
    return f'"{value}"' if _SIMPLE.fullmatch(value) else exact_text(value)


#: Most strings occur in other jobs as well.
_string_text: Final = lru_cache(maxsize=4096)(_text_of_string)


@lru_cache(maxsize=4096)
def _expression_text(expression: Expr) -> str:
    """The cached text of an expression: most occur in other jobs as well."""
    return expression.exact_text


#: Strings that need no escapes.
_SIMPLE: Final = re.compile(r"[ !#-\[\]-~]*")

_KINDS: Final[Mapping[type, _Writer]] = {
    bool: lambda value, ads: value,
    int: lambda value, ads: value,
    str: lambda value, ads: value,
    float: lambda value, ads: value if math.isfinite(value) else str(value),
    bytes: lambda value, ads: value.hex(),
    Fraction: lambda value, ads: str(value),
    Expr: lambda value, ads: value.exact_text,
    ClassAd: lambda value, ads: _ad_texts(value) if ads is None else ads.reference(value),
    tuple: lambda value, ads: [_plain(item, ads) for item in value],
    list: lambda value, ads: [_plain(item, ads) for item in value],
    Mapping: lambda value, ads: {_key(key): _plain(item, ads) for key, item in value.items()},
}
#: Type to its writer, for all types seen so far.
_WRITERS: Final[dict[type, _Writer]] = {}


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"the key of a mapping is a string, not a {type(key).__name__}")
    return str(key)


# -- reading -----------------------------------------------------------------------------------------------


def from_plain(kind: type[T], plain: object, path: str, given: Mapping[str, object] | None = None) -> T:
    """An instance of the dataclass `kind` from `plain`, with the fields in `given` taken from there.

    `path` names it in messages. Raises PlainError.
    """
    found: T = _read_dataclass(kind, plain, path, {} if given is None else given)
    return found


def _read(kind: Any, plain: object, path: str) -> Any:
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return _read_any(get_args(kind), plain, path)
    if origin is tuple:
        return _read_tuple(get_args(kind), plain, path)
    if origin is not None and issubclass(origin, Mapping):
        return {key: _read(get_args(kind)[1], item, f"{path}.{key}") for key, item in _members(plain, path).items()}
    if kind in _SCALARS:
        return _read_scalar(kind, plain, path)
    if kind is Expr:
        return _expression(plain, path)
    if kind is ClassAd:
        return _ad(plain, path)
    if issubclass(kind, Enum):
        return _member_of(kind, plain, path)
    return _read_dataclass(kind, plain, path, {})


_SCALARS: Final[Mapping[Any, str]] = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a text",
    bytes: "a text of hexadecimal digits",
    Fraction: "a fraction",
    NoneType: "null",
}


#: Type to the function that parses its text.
_SPELLED: Final[Mapping[Any, Callable[[str], object]]] = {bytes: bytes.fromhex, Fraction: Fraction}


def _read_scalar(kind: Any, plain: object, path: str) -> Any:
    if kind is float and isinstance(plain, str) and plain in _NOT_FINITE:
        return _NOT_FINITE[plain]
    if kind in _SPELLED and isinstance(plain, str):
        try:
            return _SPELLED[kind](plain)
        except (ValueError, ZeroDivisionError):
            raise PlainError(path, _SCALARS[kind], plain) from None
    accepted: tuple[type, ...] = (int, float) if kind is float else (kind,)
    if not isinstance(plain, accepted) or (isinstance(plain, bool) and kind is not bool):
        raise PlainError(path, _SCALARS[kind], plain)
    return plain


def _read_any(kinds: tuple[Any, ...], plain: object, path: str) -> Any:
    """Read an optional value, or one of several scalar types."""
    if plain is None and NoneType in kinds:
        return None
    others = [kind for kind in kinds if kind is not NoneType]
    if len(others) == 1:
        return _read(others[0], plain, path)
    for kind in others:
        try:
            return _read(kind, plain, path)
        except PlainError:
            continue
    raise PlainError(path, " or ".join(_SCALARS.get(kind, kind.__name__) for kind in others), plain)


def _read_tuple(kinds: tuple[Any, ...], plain: object, path: str) -> Any:
    if not isinstance(plain, list):
        raise PlainError(path, "an array", plain)
    if len(kinds) != 2 or kinds[1] is not Ellipsis:
        raise TypeError(f"{path}: a tuple of fixed length has no plain form")
    return tuple(_read(kinds[0], item, f"{path}[{index}]") for index, item in enumerate(plain))


def _members(plain: object, path: str) -> Mapping[str, object]:
    if not isinstance(plain, dict) or not all(isinstance(key, str) for key in plain):
        raise PlainError(path, "an object", plain)
    return plain


def _member_of(kind: type[Enum], plain: object, path: str) -> Enum:
    for member in kind:
        if member.value == plain and type(plain) is type(member.value):
            return member
    raise PlainError(path, "one of " + ", ".join(repr(member.value) for member in kind), plain)


def _read_dataclass(kind: Any, plain: object, path: str, given: Mapping[str, object]) -> Any:
    members = _members(plain, path)
    declared = {name: one for name, one in _declared(kind).items() if name not in given}
    for name in members:
        if name not in declared:
            raise PlainError(f"{path}.{name}", "nothing", members[name])
    for name in declared:
        if name not in members and name not in _added(kind):
            raise PlainError(f"{path}.{name}", "a member", None)
    read = {name: _read(one, members[name], f"{path}.{name}") for name, one in declared.items() if name in members}
    return kind(**read, **given)


@cache
def _added(kind: type) -> frozenset[str]:
    """Members added later: older records lack them, and they get their defaults."""
    return frozenset(each.name for each in fields(kind) if each.metadata.get("added"))


@cache
def _declared(kind: type) -> Mapping[str, Any]:
    hints = get_type_hints(kind)
    assert is_dataclass(kind), f"{kind} has no plain form"
    return {each.name: hints[each.name] for each in fields(kind) if each.init}


def _expression(plain: object, path: str) -> Expr:
    if isinstance(plain, str):
        try:
            return parse_expression(plain)
        except ParseError:
            pass
    raise PlainError(path, "an expression", plain)


def _ad(plain: object, path: str) -> ClassAd:
    ad = ClassAd()
    for name, text in _members(plain, path).items():
        expression = _expression(text, f"{path}.{name}")
        try:
            ad.put_tree(check_name(name), expression.tree, expression.source)
        except ValueError:
            raise PlainError(path, "a name of an attribute", name) from None
    return ad
