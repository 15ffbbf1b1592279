"""Structs of requests as JSON Schema, for the OpenAPI document, and read from the query of a URL."""

from __future__ import annotations

import inspect
import json
import types
from collections.abc import Sequence
from enum import Enum
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from roost.api.problems import Problem
from roost.base.structs import json_name
from roost.wire.errors import WireError
from roost.wire.structs import Between, Matching, OneOf, Struct, read

_T = TypeVar("_T", bound=Struct)

_PLAIN: dict[Any, dict[str, Any]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    type(None): {"type": "null"},
    Any: {},
    object: {},
}


class Schemas:
    """The schemas of structs, by name, in the order in which they are used."""

    def __init__(self) -> None:
        self.components: dict[str, dict[str, Any]] = {}
        self._named: dict[str, type] = {}

    def of(self, kind: Any) -> dict[str, Any]:
        """The schema of a type; structs are named and referenced."""
        origin, inner = get_origin(kind), get_args(kind)
        if kind in _PLAIN:
            return dict(_PLAIN[kind])
        if origin is Annotated:
            return self.of(inner[0]) | _limits(inner[1])
        if origin in (Union, types.UnionType):
            return {"anyOf": [self.of(each) for each in inner]}
        if origin is Literal:
            return {"enum": list(inner)}
        if origin in (list, tuple):
            return {"type": "array", "items": self.of(inner[0])}
        if origin is dict:
            return {"type": "object", "additionalProperties": self.of(inner[1])}
        if issubclass(kind, Enum):
            return {"enum": [each.value for each in kind]}
        return self._struct(kind)

    def _struct(self, kind: type[Struct]) -> dict[str, Any]:
        name = kind.__name__
        if self._named.setdefault(name, kind) is not kind:
            name = f"{kind.__module__.rpartition('.')[2].capitalize()}{name}"
            self._named[name] = kind
        if name not in self.components:
            found: dict[str, Any] = {"type": "object", "description": inspect.getdoc(kind) or ""}
            # Before its fields, because a struct may contain itself.
            self.components[name] = found
            hints = get_type_hints(kind, include_extras=True)
            found["properties"] = {json_name(each): self.of(hints[each]) for each in kind._names}
            if kind._required:
                found["required"] = [json_name(each) for each in kind._names if each in kind._required]
            found["additionalProperties"] = False
        return {"$ref": f"#/components/schemas/{name}"}


def _limits(limit: object) -> dict[str, Any]:
    match limit:
        case Between():
            return {"minimum": limit.least, "maximum": limit.most}
        case Matching():
            return {"pattern": f"^({limit.pattern})$", "description": limit.about}
        case OneOf():
            return {"enum": [each.value if isinstance(each, Enum) else each for each in limit.values()]}
    return {}


def parameters(kind: type[Struct], schemas: Schemas) -> list[dict[str, Any]]:
    """The fields of a struct as parameters of a query."""
    hints = get_type_hints(kind, include_extras=True)
    return [
        {
            "name": json_name(name),
            "in": "query",
            "required": name in kind._required,
            "schema": schemas.of(hints[name]),
        }
        for name in kind._names
    ]


def from_query(kind: type[_T], pairs: Sequence[tuple[str, str]]) -> _T:
    """A struct from the query of a URL. Raises Problem."""
    hints = get_type_hints(kind)
    lists = {json_name(name) for name in kind._names if get_origin(hints[name]) in (list, tuple)}
    texts = {json_name(name) for name in kind._names if str in (hints[name], *get_args(hints[name]))} - lists
    data: dict[str, Any] = {}
    for name, value in pairs:
        if name in lists:
            data.setdefault(name, []).extend(each for each in value.split(",") if each)
        elif name in data:
            raise Problem(422, f"{name} is given twice")
        else:
            data[name] = value if name in texts else _number(value)
    return checked(kind, data, "the query")


def _number(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=lambda word: word)
    except ValueError:
        return text


def checked(kind: type[_T], data: Any, where: str) -> _T:
    """A struct from JSON. Raises Problem."""
    try:
        return read(kind, data, where, strict=True)
    except WireError as error:
        raise Problem(422, str(error)) from None
