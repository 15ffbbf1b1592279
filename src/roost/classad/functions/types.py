"""Type predicates: isUndefined, isError, isString and so on. They are never UNDEFINED or ERROR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roost.classad.functions.registry import builtin
from roost.classad.values import Value, type_name

if TYPE_CHECKING:
    from roost.classad.state import State


def _predicate(name: str, kind: str) -> None:
    @builtin(name, least=1, most=1)
    def test(ctx: State, value: Value) -> Value:
        return type_name(value) == kind


for _name, _kind in (
    ("isUndefined", "undefined"),
    ("isError", "error"),
    ("isString", "string"),
    ("isInteger", "integer"),
    ("isReal", "real"),
    ("isBoolean", "boolean"),
    ("isList", "list"),
    ("isClassAd", "classad"),
    ("isAbstime", "abstime"),
    ("isReltime", "reltime"),
):
    _predicate(_name, _kind)
