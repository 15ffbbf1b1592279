"""What a cell of a table, or of the result of an expression over it, can be."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final, TypeAlias

import numpy as np

from roost.classad.ad import ClassAd
from roost.classad.expr import Expr
from roost.classad.values import UNDEFINED, Exceptional, ListValue, Value, fold

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


class CellKind(IntEnum):
    """The state of one cell, kept as a byte.

    Results handed out have only UNDEFINED … OTHER. MISSING and EXPRESSION occur in the table, DEFERRED within an
    evaluation and for cells that only the scalar evaluator understands (nested ads, lists of expressions).
    """

    MISSING = 0
    UNDEFINED = 1
    ERROR = 2
    BOOLEAN = 3
    INTEGER = 4
    REAL = 5
    STRING = 6
    #: A time, or a list of plain values.
    OTHER = 7
    #: The scalar evaluator must decide this row.
    DEFERRED = 8
    EXPRESSION = 9


# Plain integers: member access of an enum costs as much as an array operation on a thousand rows.
MISSING: Final = int(CellKind.MISSING)
UNDEF: Final = int(CellKind.UNDEFINED)
ERR: Final = int(CellKind.ERROR)
BOOL: Final = int(CellKind.BOOLEAN)
INT: Final = int(CellKind.INTEGER)
REAL: Final = int(CellKind.REAL)
STRING: Final = int(CellKind.STRING)
OTHER: Final = int(CellKind.OTHER)
DEFER: Final = int(CellKind.DEFERRED)
EXPR: Final = int(CellKind.EXPRESSION)
#: Number of kinds.
KINDS: Final = len(CellKind)

#: The kind of a vector whose cells differ in kind.
MIXED: Final = 255

#: Kinds whose cells are codes into a `Dictionary`.
CODED: Final = frozenset((STRING, OTHER, DEFER, EXPR))


class Marker:
    """A value that is none of the language's."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


#: Stands for a value that only the scalar evaluator can find.
DEFERRED: Final = Marker("DEFERRED")
#: Stands for an attribute that does not exist.
ABSENT: Final = Marker("ABSENT")

_KIND_OF_CLASS: Final = {bool: BOOL, int: INT, float: REAL, str: STRING, Expr: EXPR}


def kind_of(value: object) -> int:
    """The kind of a value, a cell or a marker."""
    kind = _KIND_OF_CLASS.get(value.__class__)
    if kind is not None:
        return kind
    if isinstance(value, Exceptional):
        return UNDEF if value is UNDEFINED else ERR
    if isinstance(value, ListValue):
        return OTHER if is_plain(value) else DEFER
    if isinstance(value, ClassAd) or value is DEFERRED:
        return DEFER
    return MISSING if isinstance(value, Marker) else OTHER


def is_plain(value: object) -> bool:
    """Whether a value means the same wherever it is used: no ad, and no list with an expression or ad in it."""
    if isinstance(value, ListValue):
        return all(is_plain(item) for item in value.items)
    return not isinstance(value, Expr | ClassAd)


class Dictionary:
    """The distinct strings (and other objects) of a column; cells hold positions in `values`.

    Only ever grows, so that codes taken earlier stay good. The indexes are made when first asked for.
    """

    __slots__ = ("_folded", "_index", "_longest", "_seen", "values")

    def __init__(self, values: list[Any]) -> None:
        self.values = values
        self._folded: list[str] = []
        self._index: dict[str, list[int]] = {}
        self._longest = self._seen = 0

    def longest(self) -> int:
        """Characters of the longest string."""
        if self._seen < len(self.values):
            fresh, self._seen = self.values[self._seen :], len(self.values)
            self._longest = max([self._longest, *[len(value) for value in fresh if value.__class__ is str]])
        return self._longest

    def folded(self) -> list[str]:
        """The strings with ASCII capitals made small; "" for what is not a string."""
        if len(self._folded) < len(self.values):
            for code in range(len(self._folded), len(self.values)):
                value = self.values[code]
                is_text = value.__class__ is str
                self._folded.append(fold(value) if is_text else "")
                if is_text:
                    self._index.setdefault(self._folded[code], []).append(code)
        return self._folded

    def codes_like(self, text: str) -> list[int]:
        """Codes of the strings equal to `text` without regard to case."""
        self.folded()
        return self._index.get(fold(text), [])

    def codes_of(self, text: str) -> list[int]:
        """Codes of exactly that string."""
        return [code for code in self.codes_like(text) if self.values[code] == text]

    def texts(self) -> list[str]:
        """The strings; "" for what is not a string."""
        return [value if value.__class__ is str else "" for value in self.values]


def value_of(kind: int) -> Value:
    """The value of a kind that has only one."""
    return UNDEFINED if kind == UNDEF else Exceptional.ERROR
