"""Frozen JSON structs: requests, replies, and their parts.

A struct lists its fields as annotations, with defaults where it has some:

    class Take(Struct):
        names: tuple[str, ...]
        limit: Count = 0

A field is a `bool`, `int`, `float`, `str`, another struct, an `IntEnum` or `StrEnum`, a `Literal`, a tuple or list of
one of these, a dict from names to one of these, or any of several (``X | None``). `Annotated` with `Between`,
`Matching` or `OneOf` narrows it; a dict with values of any type says with `JsonForm` what it is. Nothing is checked
when a struct is made; `roost.wire.structs.read` checks what comes from outside. A core returns a struct as its answer
where the answer goes to a user unchanged.

Commands import this module, which therefore imports nothing slow: a record of `records` would cost a command more than
the rest of its startup.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar, dataclass_transform

_S = TypeVar("_S", bound="Struct")


class Between:
    """Bounds of a number, both inclusive."""

    def __init__(self, least: float, most: float) -> None:
        self.least = least
        self.most = most

    def problem(self, value: Any) -> str:
        """What is wrong with a value; "" for nothing."""
        return "" if self.least <= value <= self.most else f"not between {self.least:.15g} and {self.most:.15g}"


class Matching:
    """A pattern that a whole string must match, and its description."""

    def __init__(self, pattern: str, about: str) -> None:
        self.pattern = pattern
        self.about = about

    def problem(self, value: Any) -> str:
        """What is wrong with a value; "" for nothing."""
        return "" if re.fullmatch(self.pattern, value, re.ASCII) else f"not {self.about}"


class OneOf:
    """The allowed values of a string or number, imported when first needed."""

    def __init__(self, values: Callable[[], tuple[object, ...]]) -> None:
        self.values = values

    def problem(self, value: Any) -> str:
        """What is wrong with a value; "" for nothing."""
        known = self.values()
        return "" if value in known else f"not one of {', '.join(map(str, known))}"


class JsonForm:
    """A JSON object in a form of its own, which another reader checks: an ad, or a plan of a cluster.

    `needs`: names of members that are checked here already, and their types.
    """

    def __init__(self, about: str, **needs: type) -> None:
        self.about = about
        self.needs = needs

    def problem(self, value: Any) -> str:
        """What is wrong with a value; "" for nothing."""
        for name, kind in self.needs.items():
            if type(value.get(name)) is not kind:
                return f"not {self.about}: {name} is missing, or has the wrong type"
        return ""


#: A number of items; each use documents what 0 means.
Count: TypeAlias = Annotated[int, Between(0, 2**31 - 1)]


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Struct:
    """Base class of all requests and replies."""

    #: Names of all fields, and of the fields without a default.
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
        """What is wrong with the combination of individually valid fields; "" for nothing."""
        return ""


def _values(struct: Any) -> list[Any]:
    return [getattr(struct, name) for name in struct._names]


def json_name(name: str) -> str:
    """The name of a field in JSON: ``from_`` is ``from``, which is a reserved word in Python."""
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
    """A copy with some fields changed."""
    return type(struct)(**(struct.__dict__ | changes))


def _data(value: object, *, whole: bool = False) -> object:
    if isinstance(value, Struct):
        return whole_data_of(value) if whole else data_of(value)
    if isinstance(value, tuple | list):
        return [_data(each, whole=whole) for each in value]
    if isinstance(value, dict):
        return {name: _data(each, whole=whole) for name, each in value.items()}
    return value.value if isinstance(value, Enum) else value
