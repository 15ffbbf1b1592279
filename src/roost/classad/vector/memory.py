"""What an evaluation remembers for the next: the values of sub-expressions that depend on the table only.

While a part of an expression is evaluated a `Trace` notes which columns it reads and what it asks the target ad. A
part that took no value from the target is kept with the versions of its columns, and is good as long as those
versions stay and the target still lacks the attributes it was found to lack. So the mask of a START that knows
nothing of jobs is computed once, and again only when one of its columns changes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

import numpy as np

from roost.classad.ad import MISSING, ClassAd
from roost.classad.vector.columns import Column
from roost.classad.vector.kinds import Array
from roost.classad.vector.vectors import Operand, Vector

#: Bytes of remembered vectors a table keeps; the oldest go first.
MEMORY_BYTES_MAX: Final = 256 * 1024 * 1024
#: Evaluations after which a part that depended on the target is watched again.
_VOLATILE_ROUNDS: Final = 256


class Trace:
    """What the evaluation of one part of an expression read and spent."""

    __slots__ = ("columns", "deepest", "lacking", "steps", "volatile")

    def __init__(self, depth: int) -> None:
        self.columns: set[Column] = set()
        #: Attributes that the target ad was asked for and did not have.
        self.lacking: set[str] = set()
        #: Whether the value depends on anything but the columns and what is lacking.
        self.volatile = False
        #: References open at the deepest point.
        self.deepest = depth
        #: Attribute references entered and steps of functions, in all branches.
        self.steps = 0


class Entry:
    """A remembered value, with all that it depends on."""

    __slots__ = ("columns", "height", "lacking", "nbytes", "steps", "value", "versions", "volatile")

    def __init__(self, value: Operand, trace: Trace, depth: int) -> None:
        self.value = value
        self.columns = tuple(trace.columns)
        self.versions = [column.version for column in self.columns]
        self.lacking = trace.lacking
        self.volatile = trace.volatile
        self.height = trace.deepest - depth
        self.steps = trace.steps
        self.nbytes = value.nbytes if isinstance(value, Vector) else 0

    def holds(self, target: ClassAd | None) -> bool:
        """Whether the value is still right."""
        for column, version in zip(self.columns, self.versions, strict=True):
            if column.version != version:
                return False
        return target is None or all(target.cell(key) is MISSING for key in self.lacking)

    def join(self, trace: Trace, depth: int) -> None:
        """Count what this value depends on for a larger part."""
        trace.columns.update(self.columns)
        trace.lacking |= self.lacking
        trace.volatile |= self.volatile
        trace.steps += self.steps
        trace.deepest = max(trace.deepest, depth + self.height)


class Memory:
    """Remembered values of one table, bounded by their bytes."""

    __slots__ = ("entries", "limit", "nbytes")

    def __init__(self, limit: int = MEMORY_BYTES_MAX) -> None:
        self.entries: dict[Hashable, Entry | int] = {}
        self.nbytes = 0
        self.limit = limit

    def clear(self) -> None:
        """Forget everything."""
        self.entries.clear()
        self.nbytes = 0

    def find(self, key: Hashable, target: ClassAd | None) -> Entry | int | None:
        """The entry under `key` if it still holds; a number for a part not worth watching now."""
        entry = self.entries.get(key)
        if entry.__class__ is Entry and not entry.holds(target):
            self._drop(key)
            return None
        if entry.__class__ is int:
            self.entries[key] = entry - 1
            return entry or None
        return entry

    def keep(self, key: Hashable, entry: Entry) -> None:
        """Remember an entry, or that it depends on the target."""
        self._drop(key)
        if entry.volatile:
            self.entries[key] = _VOLATILE_ROUNDS
            return
        self.entries[key] = entry
        self.nbytes += entry.nbytes + _ENTRY_BYTES
        while self.nbytes > self.limit and self.entries:
            self._drop(next(iter(self.entries)))

    def _drop(self, key: Hashable) -> None:
        entry = self.entries.pop(key, None)
        if entry.__class__ is Entry:
            self.nbytes -= entry.nbytes + _ENTRY_BYTES


#: Bytes that an entry takes besides its arrays, about.
_ENTRY_BYTES: Final = 600


class Rows:
    """Rows of a table over which something is evaluated: all, or those with one expression in a column."""

    __slots__ = ("children", "index", "size")

    def __init__(self, size: int, index: Array | None = None) -> None:
        self.size = size
        #: Row numbers in ascending order; None for all.
        self.index = index
        #: Selections from these rows by the expression a column has there.
        self.children: dict[str, Groups] = {}

    def pick(self, column: Column, total: int) -> Vector:
        """The cells of a column in these rows."""
        vector = column.vector(total)
        return vector if self.index is None else vector.take(self.index)


class Groups:
    """Rows told apart by the expression that they have in one column."""

    __slots__ = ("plain", "rows", "version")

    def __init__(self, version: int, plain: Array, rows: list[tuple[object, Array, Rows | None]]) -> None:
        self.version = version
        #: Mask of the rows with no expression.
        self.plain = plain
        #: Expression, its rows (a mask of all rows, or an index if they are few) and the latter as `Rows`.
        self.rows = rows


def grouped(rows: Rows, column: Column, cells: Vector, mask: Array) -> Groups:
    """The groups of `cells`, a column's cells in `rows`, of which `mask` has expressions."""
    known = rows.children.get(column.key)
    if known is not None and known.version == column.version:
        return known
    assert cells.codes is not None and cells.words is not None
    where = np.flatnonzero(mask)
    codes = cells.codes.take(where)
    order = np.argsort(codes, kind="stable")
    bounds = np.flatnonzero(np.diff(codes.take(order), prepend=-1))
    groups: list[tuple[object, Array, Rows | None]] = []
    for start, end in zip(bounds.tolist(), [*bounds.tolist()[1:], len(order)], strict=False):
        index = where.take(order[start:end])
        expression = cells.words.values[cells.codes.item(index.item(0))]
        if len(index) * FULL_WIDTH_SHARE > rows.size:
            own = np.zeros(rows.size, bool)
            own[index] = True
            groups.append((expression, own, None))
        else:
            chosen = index if rows.index is None else rows.index.take(index)
            groups.append((expression, index, Rows(len(index), chosen)))
    known = Groups(column.version, ~mask, groups)
    rows.children[column.key] = known
    return known


#: An expression that more than one row in so many has is evaluated for all rows: that shares the parts it
#: has in common with others, and slicing columns costs as much as computing on them.
FULL_WIDTH_SHARE: Final = 6

#: Evaluates a part of an expression.
Compute = Callable[[], Operand]
