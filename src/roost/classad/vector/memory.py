"""Caches the values of sub-expressions between evaluations, by what they depend on.

While a part of an expression is evaluated, a `Dependencies` records the columns that it reads and the attributes that
it reads from the matched ad. A part is cached with the versions of its columns, and is valid as long as they do not
change. A part that read nothing from the ad (or only attributes that no ad had) is cached once; otherwise its values
are cached by the attribute values read, and serve all ads with the same values: a START that refers to the owner has
one mask per owner, not per job. If ads rarely agree (sizes, dates), this is detected, and caching pauses for a while.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

import numpy as np

from roost.classad.ad import MISSING, Cell, ClassAd, Missing
from roost.classad.vector.columns import Column
from roost.classad.vector.kinds import Array
from roost.classad.vector.vectors import Operand, Vector

#: Bytes of cached vectors per table; the oldest are dropped first.
MEMORY_BYTES_MAX: Final = 256 * 1024 * 1024
#: Evaluations after which a part that was not worth keeping is watched again.
_VOLATILE_ROUNDS: Final = 256
#: Cached values of one part for different ads; the oldest are dropped first.
ANSWERS_MAX: Final = 256
#: With fewer rows, computing is as fast as a cache lookup.
SHARED_ROWS_MIN: Final = 2048
#: Cached values of a part before its hit rate is checked: at least one hit per this many values is required.
_TRIED: Final = 48
_KEPT_FOR_A_USE: Final = 3


class Dependencies:
    """What the evaluation of one part of an expression read and spent."""

    __slots__ = ("asked", "columns", "deepest", "steps", "volatile")

    def __init__(self, depth: int) -> None:
        self.columns: set[Column] = set()
        #: The values that were read from the matched ad, by name.
        self.asked: dict[str, Cell | Missing] = {}
        #: Whether the value depends on anything but the columns and what was asked.
        self.volatile = False
        #: References open at the deepest point.
        self.deepest = depth
        #: Attribute references entered and steps of functions, in all branches.
        self.steps = 0


class Entry:
    """A cached value with its dependencies."""

    __slots__ = ("asked", "columns", "height", "nbytes", "steps", "value", "versions", "volatile")

    def __init__(self, value: Operand, trace: Dependencies, depth: int) -> None:
        self.value = value
        self.columns = tuple(trace.columns)
        self.versions = [column.version for column in self.columns]
        self.asked = trace.asked
        self.volatile = trace.volatile
        self.height = trace.deepest - depth
        self.steps = trace.steps
        self.nbytes = (value.nbytes if isinstance(value, Vector) else 0) + _ENTRY_BYTES

    def holds(self) -> bool:
        """Whether the columns are unchanged."""
        return [column.version for column in self.columns] == self.versions

    def join(self, trace: Dependencies, depth: int) -> None:
        """Add the dependencies of this value to those of a larger part."""
        trace.columns.update(self.columns)
        trace.asked.update(self.asked)
        trace.volatile |= self.volatile
        trace.steps += self.steps
        trace.deepest = max(trace.deepest, depth + self.height)


class Answers:
    """The values of one part, by the attribute values that it read."""

    __slots__ = ("entries", "kept", "names", "used")

    def __init__(self) -> None:
        #: All names that it has read.
        self.names: tuple[str, ...] = ()
        #: The values of an ad under `names` to the cached value.
        self.entries: dict[tuple[object, ...], Entry] = {}
        self.kept = self.used = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the values."""
        return sum(entry.nbytes for entry in self.entries.values())

    @property
    def useless(self) -> bool:
        """Whether caching was useless."""
        return self.kept >= _TRIED and self.used * _KEPT_FOR_A_USE < self.kept


def said(ad: ClassAd | None, names: tuple[str, ...]) -> tuple[object, ...]:
    """The cells of an ad under some names as a key, distinguished by type and sign of zero; expressions by identity."""
    if ad is None:
        return (MISSING,) * len(names)
    found: list[object] = []
    for name in names:
        cell = ad.cell(name)
        kind = cell.__class__
        if kind is str or cell is MISSING:
            found.append(cell)
        elif kind is int or kind is bool:
            found.append((kind, cell))
        else:
            found.append(cell.hex() if isinstance(cell, float) else id(cell))
    return tuple(found)


class Memory:
    """Cached values of one table, bounded by their bytes."""

    __slots__ = ("answers", "answers_nbytes", "entries", "limit", "nbytes")

    def __init__(self, limit: int = MEMORY_BYTES_MAX) -> None:
        self.entries: dict[Hashable, Entry | int] = {}
        #: Parts that read attributes of ads: they get half of the bytes.
        self.answers: dict[Hashable, Answers] = {}
        self.nbytes = self.answers_nbytes = 0
        self.limit = limit

    def clear(self) -> None:
        """Drop everything."""
        self.entries.clear()
        self.answers.clear()
        self.nbytes = self.answers_nbytes = 0

    def find(self, key: Hashable, ad: ClassAd | None) -> Entry | int | None:
        """The entry under `key` if it is valid for this ad; a number for a part that is currently not cached."""
        answers = self.answers.get(key)
        if answers is not None:
            entry = answers.entries.get(said(ad, answers.names))
            if entry is None:
                return None
            if entry.holds():
                answers.used += 1
                return entry
            self._drop_answers(key)
            return None
        found = self.entries.get(key)
        if found.__class__ is Entry and not found.holds():
            self._drop(key)
            return None
        if found.__class__ is int:
            self.entries[key] = found - 1
            return found or None
        return found

    def keep(self, key: Hashable, entry: Entry, ad: ClassAd | None, rows: int) -> None:
        """Cache an entry for `rows` rows, or record that it cannot be cached."""
        self._drop(key)
        if entry.volatile or (rows < SHARED_ROWS_MIN and any(cell is not MISSING for cell in entry.asked.values())):
            self._drop_answers(key)
            self.entries[key] = _VOLATILE_ROUNDS
        elif entry.asked or key in self.answers:
            self._keep_answer(key, entry, ad)
        else:
            self.entries[key] = entry
            self.nbytes += entry.nbytes
            while self.nbytes > self.limit // 2 and self.entries:
                self._drop(next(iter(self.entries)))

    def _keep_answer(self, key: Hashable, entry: Entry, ad: ClassAd | None) -> None:
        answers = self.answers.get(key)
        if answers is None:
            answers = self.answers[key] = Answers()
        if not entry.asked.keys() <= set(answers.names):
            # The values so far were told less: nothing says for which ads they are right.
            self.answers_nbytes -= answers.nbytes
            answers.entries.clear()
            answers.names = tuple(sorted({*answers.names, *entry.asked}))
        if answers.useless:
            self._drop_answers(key)
            self.entries[key] = _VOLATILE_ROUNDS
            return
        name = said(ad, answers.names)
        # Expressions are told apart by identity: the entry has to hold them all, asked for by it or not.
        if ad is not None:
            entry.asked = {**{each: ad.cell(each) for each in answers.names}, **entry.asked}
        if len(answers.entries) >= ANSWERS_MAX:
            self.answers_nbytes -= answers.entries.pop(next(iter(answers.entries))).nbytes
        answers.entries[name] = entry
        answers.kept += 1
        self.answers_nbytes += entry.nbytes
        while self.answers_nbytes > self.limit // 2 and self.answers:
            self._drop_answers(next(iter(self.answers)))

    def _drop(self, key: Hashable) -> None:
        entry = self.entries.pop(key, None)
        if entry.__class__ is Entry:
            self.nbytes -= entry.nbytes

    def _drop_answers(self, key: Hashable) -> None:
        answers = self.answers.pop(key, None)
        if answers is not None:
            self.answers_nbytes -= answers.nbytes


#: Bytes that an entry takes besides its arrays, about.
_ENTRY_BYTES: Final = 600
#: Most columns whose cells for a selection of rows are cached.
PICKED_MAX: Final = 64


class Rows:
    """Rows of a table over which something is evaluated: all, or those with one expression in a column."""

    __slots__ = ("_picked", "children", "index", "size")

    def __init__(self, size: int, index: Array | None = None) -> None:
        self.size = size
        #: Row numbers in ascending order; None for all.
        self.index = index
        #: Selections from these rows by the expression a column has there.
        self.children: dict[str, Groups] = {}
        #: Cells of columns in these rows, by the column's name: the column, its version, and the cells.
        self._picked: dict[str, tuple[Column, int, Vector]] = {}

    def pick(self, column: Column, total: int) -> Vector:
        """The cells of a column in these rows."""
        if self.index is None:
            return column.vector(total)
        known = self._picked.get(column.key)
        if known is not None and known[0] is column and known[1] == column.version:
            return known[2]
        found = column.vector(total).take(self.index)
        found.memo = {}
        if len(self._picked) >= PICKED_MAX:
            del self._picked[next(iter(self._picked))]
        self._picked[column.key] = column, column.version, found
        return found


class Groups:
    """Rows grouped by the expression that they have in one column."""

    __slots__ = ("plain", "rows", "version")

    def __init__(self, version: int, plain: Array, rows: list[tuple[object, Array, Rows | None]]) -> None:
        self.version = version
        #: Mask of the rows with no expression.
        self.plain = plain
        #: Expression, its rows (a mask of all rows, or an index if they are few) and the latter as `Rows`.
        self.rows = rows


#: An expression that more than one row in so many has is evaluated for all rows: that shares the parts it
#: has in common with others, and slicing columns costs as much as computing on them.
FULL_WIDTH_SHARE: Final = 6


def grouped(rows: Rows, column: Column, cells: Vector, mask: Array, full_width_share: int = FULL_WIDTH_SHARE) -> Groups:
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
        if len(index) * full_width_share > rows.size:
            own = np.zeros(rows.size, bool)
            own[index] = True
            groups.append((expression, own, None))
        else:
            chosen = index if rows.index is None else rows.index.take(index)
            groups.append((expression, index, Rows(len(index), chosen)))
    known = Groups(column.version, ~mask, groups)
    rows.children[column.key] = known
    return known


#: Evaluates a part of an expression.
Compute = Callable[[], Operand]
