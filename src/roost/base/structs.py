"""Frozen structs of JSON: what a request, its reply, or a part of one is made of.

A struct lists its fields as annotations, with defaults where it has some:

    class Take(Struct):
        names: tuple[str, ...]
        limit: Count = 0

A field is a `bool`, `int`, `float`, `str`, another struct, an `IntEnum` or `StrEnum`, a `Literal`, a tuple or list of
one of these, a dict from names to one of these, or any of several (``X | None``). `Annotated` with `Between`,
`Matching` or `OneOf` narrows it. Nothing is checked when a struct is made; `roost.wire.structs.read` checks what comes
from outside. A core gives a struct as its answer where the answer goes to a user as it is.

Commands import this module, which therefore imports nothing that takes time: a record of `records` would cost a command
more than the rest of its start.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar, dataclass_transform

_S = TypeVar("_S", bound="Struct")


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


def json_name(name: str) -> str:
    """The name of a field in JSON: ``from_`` is ``from``, which no name of Python's can be."""
    return name.removesuffix("_")


def data_of(struct: Struct) -> dict[str, object]:
    """A struct as JSON; fields that have their default are left out."""
    return {
        json_name(name): _data(value)
        for name, value in struct.__dict__.items()
        if name in struct._required or value != getattr(type(struct), name)
    }


def whole_data_of(struct: Struct) -> dict[str, object]:
    """A struct as JSON with all of its fields, for programs that read what a command prints."""
    return {json_name(name): _data(getattr(struct, name), whole=True) for name in struct._names}


def replaced(struct: _S, **changes: Any) -> _S:
    """The same but for some fields."""
    return type(struct)(**(struct.__dict__ | changes))


def _data(value: object, *, whole: bool = False) -> object:
    if isinstance(value, Struct):
        return whole_data_of(value) if whole else data_of(value)
    if isinstance(value, tuple | list):
        return [_data(each, whole=whole) for each in value]
    if isinstance(value, dict):
        return {name: _data(each, whole=whole) for name, each in value.items()}
    return value.value if isinstance(value, Enum) else value
