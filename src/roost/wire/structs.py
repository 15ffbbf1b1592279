"""Frozen structs for requests and replies, and how they are read from JSON: `read` checks everything that comes.

A struct lists its fields as annotations, with defaults where it has some:

    class Take(Struct):
        names: tuple[str, ...]
        limit: Count = 0

A field is a `bool`, `int`, `float`, `str`, another struct, an `IntEnum` or `StrEnum`, a `Literal`, a tuple or list of
one of these, a dict from names to one of these, or any of several (``X | None``). `Annotated` with `Between`,
`Matching` or `OneOf` narrows it. What JSON has to be for each is checked when it is read, and what is wrong is told
with the name of the field. Ads and records of decisions stay JSON objects (`Any` as the type of a value).

Commands import this module, which therefore imports nothing that takes time: a message class of `messages`, or a
record of `classad`, would cost a command more than the rest of its start. Annotations are looked at when a struct is
first read.
"""

from __future__ import annotations

import functools
import re
import types
from collections.abc import Callable, Hashable
from enum import Enum
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from roost.wire.errors import WireError

_T = TypeVar("_T")
_S = TypeVar("_S", bound="Struct")
_Reader: TypeAlias = Callable[[Any], Any]

#: Characters of a wrong value that an error shows.
_SHOWN_MAX: Final = 60
_INTEGER_MAX: Final = 2**63 - 1
#: More is infinite, and no number is neither more nor less.
_NUMBER_MAX: Final = 1.7976931348623157e308


class Between:
    """Of a number: its bounds, both included."""

    def __init__(self, least: float, most: float) -> None:
        self.least = least
        self.most = most

    def problem(self, value: Any) -> str:
        """What is wrong with a value; "" for nothing."""
        return "" if self.least <= value <= self.most else f"not between {self.least:.15g} and {self.most:.15g}"


class Matching:
    """Of a string: a pattern for all of it, and what that describes."""

    def __init__(self, pattern: str, about: str) -> None:
        self.pattern = pattern
        self.about = about

    def problem(self, value: Any) -> str:
        """What is wrong with a value; "" for nothing."""
        return "" if re.fullmatch(self.pattern, value, re.ASCII) else f"not {self.about}"


class OneOf:
    """Of a string or number: the values that it can have, imported when they are first needed."""

    def __init__(self, values: Callable[[], tuple[object, ...]]) -> None:
        self.values = values

    def problem(self, value: Any) -> str:
        """What is wrong with a value; "" for nothing."""
        known = self.values()
        return "" if value in known else f"not one of {', '.join(map(str, known))}"


#: How many of something; what 0 means is said where it is used.
Count: TypeAlias = Annotated[int, Between(0, 2**31 - 1)]


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Struct:
    """What all requests and replies have in common."""

    #: Names of the fields, and of those that have no default.
    _names: ClassVar[tuple[str, ...]] = ()
    _required: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = [name for name in cls.__dict__.get("__annotations__", {}) if not name.startswith("_")]  # noqa: RUF063
        cls._names = (*cls._names, *own)
        cls._required = frozenset(name for name in cls._names if not hasattr(cls, name))

    def __init__(self, **given: Any) -> None:
        if unknown := given.keys() - set(self._names):
            raise TypeError(f"{type(self).__name__} has no field {min(unknown)!r}")
        if missing := self._required - given.keys():
            raise TypeError(f"{type(self).__name__} needs {min(missing)!r}")
        self.__dict__.update(given)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        return other.__class__ is self.__class__ and _values(self) == _values(other)

    def __hash__(self) -> int:
        return hash(tuple(_values(self)))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({shown})"

    def _problem(self) -> str:
        """What is wrong with fields that were each right by themselves; "" for nothing."""
        return ""


def _values(struct: Any) -> list[Any]:
    return [getattr(struct, name) for name in struct._names]


def data_of(struct: Struct) -> dict[str, object]:
    """A struct as JSON; fields that have their default are left out."""
    return {
        name: _data(value)
        for name, value in struct.__dict__.items()
        if name in struct._required or value != getattr(type(struct), name)
    }


def replaced(struct: _S, **changes: Any) -> _S:
    """The same but for some fields."""
    return type(struct)(**(struct.__dict__ | changes))


def _data(value: object) -> object:
    if isinstance(value, Struct):
        return data_of(value)
    if isinstance(value, tuple | list):
        return [_data(each) for each in value]
    if isinstance(value, dict):
        return {name: _data(each) for name, each in value.items()}
    return value


def read(kind: type[_T], data: object, where: str, *, strict: bool) -> _T:
    """The value of that type that JSON is. Raises WireError, which names the field.

    A strict reader refuses fields that it does not know. Another one skips them, so that a newer writer can add some.
    """
    try:
        value: _T = _reader(cast(Hashable, kind), strict)(data)
    except _Mismatch as problem:
        raise WireError(f"{where}{problem.path}: {problem.text}") from None
    return value


class _Mismatch(Exception):
    """A value that a field cannot have."""

    def __init__(self, text: str, path: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.path = path


def _at(reader: _Reader, value: object, step: str) -> Any:
    try:
        return reader(value)
    except _Mismatch as problem:
        raise _Mismatch(problem.text, step + problem.path) from None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…"


# -- readers, one a type -------------------------------------------------------------------------------------------


@functools.cache
def _reader(kind: Hashable, strict: bool) -> _Reader:
    """What checks a JSON value and makes of it one of that type."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        kind = object
    if kind in _PLAIN:
        return _plain(kind)
    if origin is Annotated:
        return _narrowed(_reader(inner[0], strict), inner[1])
    if origin in (Union, types.UnionType):
        return _either([_reader(each, strict) for each in inner])
    if origin is Literal:
        return _one_of(dict.fromkeys(inner))
    if origin in (tuple, list):
        return _sequence(origin, inner[0], _reader(inner[0], strict))
    if origin is dict:
        return _mapping(inner[1], _reader(inner[1], strict))
    assert isinstance(kind, type), kind
    if issubclass(kind, Enum):
        return _one_of({each.value: each for each in kind})
    assert issubclass(kind, Struct), kind
    return _struct(kind, strict)


_PLAIN: Final = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a string",
    type(None): "null",
    object: "",
}


def _plain(kind: type) -> _Reader:
    def read(value: Any) -> Any:
        found = value.__class__
        if kind is object or (found is kind and kind is not float and kind is not int):
            return value
        if kind is int and found is int and -_INTEGER_MAX <= value <= _INTEGER_MAX:
            return value
        if kind is float and found in (int, float) and abs(value) <= _NUMBER_MAX:
            return float(value)
        raise _Mismatch(f"{_shown(value)} is not {_PLAIN[kind]}")

    return read


def _narrowed(reader: _Reader, limit: Between | Matching | OneOf) -> _Reader:
    def read(value: Any) -> Any:
        value = reader(value)
        if problem := limit.problem(value):
            raise _Mismatch(f"{_shown(value)} is {problem}")
        return value

    return read


def _either(readers: list[_Reader]) -> _Reader:
    def read(value: Any) -> Any:
        problems = []
        for reader in readers:
            try:
                return reader(value)
            except _Mismatch as problem:
                problems.append(problem)
        # The one that came furthest knows best what is wrong.
        raise max(problems, key=lambda each: len(each.path))

    return read


def _one_of(known: dict[Any, Any]) -> _Reader:
    kinds = {type(each) for each in known}

    def read(value: Any) -> Any:
        if value.__class__ not in kinds or value not in known:
            raise _Mismatch(f"{_shown(value)} is not one of {', '.join(map(str, known))}")
        return known[value] if known[value] is not None else value

    return read


def _sequence(origin: type, kind: Any, reader: _Reader) -> _Reader:
    plain = {str} if kind is str else {dict} if kind == dict[str, Any] else None

    def read(value: Any) -> Any:
        if not isinstance(value, list):
            raise _Mismatch(f"{_shown(value)} is not a list")
        if plain is not None and plain.issuperset(map(type, value)):
            # Long lists are of ads, or names.
            return value if origin is list else tuple(value)
        try:
            return origin([reader(each) for each in value])
        except _Mismatch:
            # The place of the wrong one is looked for only where there is one.
            return origin([_at(reader, each, f"[{at}]") for at, each in enumerate(value)])

    return read


def _mapping(kind: Any, reader: _Reader) -> _Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _Mismatch(f"{_shown(value)} is not an object")
        return value if kind in (object, Any) else {name: _at(reader, each, f".{name}") for name, each in value.items()}

    return read


def _struct(kind: type[Struct], strict: bool) -> _Reader:
    hints = get_type_hints(kind, include_extras=True)
    readers = {name: _reader(hints[name], strict) for name in kind._names}

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _Mismatch(f"{_shown(value)} is not an object")
        if strict and (unknown := value.keys() - readers.keys()):
            raise _Mismatch(f"there is no such field; known are {', '.join(readers) or 'none'}", f".{min(unknown)}")
        if missing := kind._required - value.keys():
            raise _Mismatch("this field is missing", f".{min(missing)}")
        struct = kind(**{name: _at(readers[name], each, f".{name}") for name, each in value.items() if name in readers})
        if problem := struct._problem():
            raise _Mismatch(problem)
        return struct

    return read


__all__ = ["Between", "Count", "Matching", "OneOf", "Struct", "data_of", "read", "replaced"]
