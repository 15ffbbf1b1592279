"""The tables of attributes: each object's class is its table, each field a row.

`attribute` declares a field with its value type, its default as text, a check and a sentence for the reference page.
`rows_of` returns a class's rows in order; `roost.gridengine.objects.text` reads and prints objects according to them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from roost.base import records
from roost.gridengine.objects.values import T, ValueType

_ROW: Final = "row"

#: returns Grid Engine's message if the value is not allowed
Check = Callable[[Any], str | None]


@records.dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One attribute of an object."""

    name: str
    type: ValueType[Any]
    #: the text in a new object
    default: str
    doc: str
    check: Check | None
    #: what to write instead of a value that the check refuses
    remedy: str
    #: reported by the running system rather than configured: kept when read, and otherwise left out
    reported: bool


def attribute(
    type: ValueType[T],
    default: str,
    doc: str,
    *,
    check: Check | None = None,
    remedy: str = "",
    reported: bool = False,
) -> T:
    """Declare a field of an object."""
    row = {"type": type, "default": default, "doc": doc, "check": check, "remedy": remedy, "reported": reported}
    field: Any = records.field(default=type.parse(default), metadata={_ROW: row})
    return field  # type: ignore[no-any-return]


@cache
def rows_of(cls: type) -> tuple[Row, ...]:
    """The rows of an object's class, in the order in which they are printed."""
    return tuple(
        Row(name=field.name, **field.metadata[_ROW]) for field in dataclasses.fields(cls) if _ROW in field.metadata
    )
