"""Reading structs from JSON: `read` validates all input.

The JSON type of each field is checked, and errors name the field. Ads stay JSON objects.
Annotations are evaluated when a struct is first read, because commands import this module and most make one request.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Hashable
from enum import Enum
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from roost.base.structs import (
    Between,
    Count,
    JsonForm,
    Matching,
    OneOf,
    Struct,
    data_of,
    json_name,
    replaced,
    whole_data_of,
)
from roost.wire.errors import WireError

# -- values in a form of their own: whatever else is sent or answered has typed fields ------------------------------

#: An ad: name to bool, int, float, str or ``{"expr": text}``, which `ads.ad_from` reads.
AdData: TypeAlias = Annotated[dict[str, Any], JsonForm("an ad")]
#: The allocation of a job in a Grid Engine cell, an ad (`roost.gridengine.pool.tasks`).
TaskData: TypeAlias = Annotated[dict[str, Any], JsonForm("the ad of a task", Instance=str, Slots=int)]
#: A plan of a cluster, in the form of `schedd.submit.ClusterPlan.to_data`. It has its own version, since the queue
#: stores it on disk in this form, and `ClusterPlan.from_data` validates all of it.
PlanData: TypeAlias = Annotated[dict[str, Any], JsonForm("a plan of a cluster")]
#: A record of a decision. `audit.audit_from` reads each on its own, since an invalid one must not hold up the others.
AuditData: TypeAlias = Annotated[dict[str, Any], JsonForm("a record of a decision")]

_T = TypeVar("_T")
_Reader: TypeAlias = Callable[[Any], Any]

#: Maximum number of characters of an invalid value in an error.
_SHOWN_MAX: Final = 60
_INTEGER_MAX: Final = 2**63 - 1
#: A larger number is infinite, and NaN compares with none.
_NUMBER_MAX: Final = 1.7976931348623157e308


def read(kind: type[_T], data: object, where: str, *, strict: bool) -> _T:
    """Read a value of that type from JSON. Raises WireError, which names the field.

    A strict reader refuses unknown fields. Any other reader skips them, so a newer writer can add some.
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
    """The function that checks a JSON value and converts it to a type."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        kind = object
    if kind in _PLAIN:
        return _plain(kind)
    if origin is Annotated:
        if isinstance(inner[1], JsonForm) and not inner[1].needs:
            return _reader(inner[0], strict)
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


def _narrowed(reader: _Reader, limit: Between | JsonForm | Matching | OneOf) -> _Reader:
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
        # The alternative that got furthest has the most precise error.
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
    plain = {str} if kind is str else {dict} if _is_opaque(kind) else None

    def read(value: Any) -> Any:
        if not isinstance(value, list):
            raise _Mismatch(f"{_shown(value)} is not a list")
        if plain is not None and plain.issuperset(map(type, value)):
            # Long lists consist of ads or names.
            return value if origin is list else tuple(value)
        try:
            return origin([reader(each) for each in value])
        except _Mismatch:
            # The position of the invalid item is determined only if there is one.
            return origin([_at(reader, each, f"[{at}]") for at, each in enumerate(value)])

    return read


def _is_opaque(kind: Any) -> bool:
    """Whether nothing about a JSON object is checked here."""
    return get_origin(kind) is Annotated and isinstance(form := get_args(kind)[1], JsonForm) and not form.needs


def _mapping(kind: Any, reader: _Reader) -> _Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _Mismatch(f"{_shown(value)} is not an object")
        return value if kind in (object, Any) else {name: _at(reader, each, f".{name}") for name, each in value.items()}

    return read


def _struct(kind: type[Struct], strict: bool) -> _Reader:
    hints = get_type_hints(kind, include_extras=True)
    readers = {json_name(name): (name, _reader(hints[name], strict)) for name in kind._names}
    required = {json_name(name) for name in kind._required}

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _Mismatch(f"{_shown(value)} is not an object")
        if strict and (unknown := value.keys() - readers.keys()):
            raise _Mismatch(
                f"there is no such field; the fields are {', '.join(readers) or 'none'}", f".{min(unknown)}"
            )
        if missing := required - value.keys():
            raise _Mismatch("this field is missing", f".{min(missing)}")
        fields = {}
        for name, each in value.items():
            if name in readers:
                field, reader = readers[name]
                fields[field] = _at(reader, each, f".{name}")
        struct = kind(**fields)
        if problem := struct._problem():
            raise _Mismatch(problem)
        return struct

    return read


__all__ = [
    "Between",
    "Count",
    "JsonForm",
    "Matching",
    "OneOf",
    "Struct",
    "data_of",
    "read",
    "replaced",
    "whole_data_of",
]
