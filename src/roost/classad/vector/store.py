"""Ads as rows of columns, without anything that evaluates.

Ads with the same names in the same order share one *layout*, which is all a row keeps besides its cells. Rows are
dense: removing one moves the last into its place. An ad is returned as it was stored, including names, spelling and
order.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from roost.classad.ad import MISSING, Cell, ClassAd
from roost.classad.expr import Expr
from roost.classad.state import PLAIN
from roost.classad.values import fold
from roost.classad.vector.columns import Column

_CAPACITY_MIN: Final = 64
#: Ads inserted per batch: few enough to stay in the processor's cache.
_BATCH: Final = 256
#: Classes of cells that need no copy: checking these first avoids a slow instance check.
_SELF_CONTAINED: Final = PLAIN | {Expr}


class Layout:
    """The names of an ad."""

    __slots__ = ("code", "keys", "names", "spelled", "uses")

    def __init__(self, keys: tuple[str, ...], spelled: dict[str, str] | None, code: int) -> None:
        #: Folded names, in order.
        self.keys = keys
        #: Spellings that differ from the shared ones, by folded name.
        self.spelled = spelled
        self.code = code
        #: Rows that have it.
        self.uses = 0


class Store:
    """Ads by key. A stored ad is copied: chained attributes become its own, and it is not nested."""

    def __init__(self) -> None:
        self._keys: list[Hashable] = []
        self._places: dict[Hashable, int] = {}
        self._columns: dict[str, Column] = {}
        self._capacity = _CAPACITY_MIN
        self._layouts: list[Layout | None] = []
        self._free_layouts: list[int] = []
        self._layout_index: dict[object, Layout] = {}
        self._layout_of = np.zeros(self._capacity, np.int32)

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._places

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._keys)

    def keys(self) -> Sequence[Hashable]:
        """The keys in the order of the rows."""
        return tuple(self._keys)

    def place(self, key: Hashable) -> int:
        """The row of a key: its place in results until the next removal. Raises KeyError."""
        return self._places[key]

    # -- changes -------------------------------------------------------------------------------

    def add(self, key: Hashable, ad: ClassAd) -> None:
        """Put in a new ad. Raises KeyError if the key is taken."""
        if key in self._places:
            raise KeyError(f"the table has an ad {key!r} already: use update() or put()")
        self.extend([(key, ad)])

    def update(self, key: Hashable, ad: ClassAd) -> None:
        """Replace an ad, touching only cells that differ. Raises KeyError if there is none."""
        self._replace(self._places[key], ad)

    def put(self, key: Hashable, ad: ClassAd) -> None:
        """Add or replace an ad."""
        row = self._places.get(key)
        if row is None:
            self.add(key, ad)
        else:
            self._replace(row, ad)

    def remove(self, key: Hashable) -> None:
        """Remove an ad; the last row moves to its place. Raises KeyError if there is none."""
        row = self._places.pop(key)
        last = len(self._keys) - 1
        old = self._layout(row)
        if row != last:
            moved = self._layout(last)
            columns = self._columns
            for name in moved.keys:
                columns[name].set(row, columns[name].get(last))
            self._clear(row, set(old.keys).difference(moved.keys))
            self._keys[row] = self._keys[last]
            self._places[self._keys[row]] = row
            self._layout_of[row] = moved.code
            self._clear(last, moved.keys)
        else:
            self._clear(row, old.keys)
        self._keys.pop()
        self._release(old)
        self._size_changed()

    def extend(self, ads: Iterable[tuple[Hashable, ClassAd]]) -> None:
        """Add many ads, faster than one by one. Raises KeyError if a key is taken or comes twice, adding none."""
        ads = list(ads)
        if not ads:
            return
        fresh: dict[Hashable, ClassAd] = {}
        for key, ad in ads:
            if key in self._places or key in fresh:
                raise KeyError(f"two ads with the key {key!r}")
            fresh[key] = ad
        self._grow(len(self._keys) + len(fresh))
        items = list(fresh.items())
        for start in range(0, len(items), _BATCH):
            self._append(items[start : start + _BATCH])
        self._size_changed()

    def _append(self, items: list[tuple[Hashable, ClassAd]]) -> None:
        start = len(self._keys)
        held = [_cells(ad) for _, ad in items]
        layouts: dict[Layout, None] = {}
        for row, ((key, ad), cells) in enumerate(zip(items, held, strict=True), start):
            self._keys.append(key)
            self._places[key] = row
            layout = self._layout_for(ad, cells)
            layout.uses += 1
            layouts[layout] = None
            self._layout_of[row] = layout.code
        if len({layout.keys for layout in layouts}) == 1:
            # Ads with the same names: turned over in one go.
            for name, column in zip(held[0], zip(*[cells.values() for cells in held], strict=True), strict=True):
                self._column(name).extend(start, column)
        else:
            for name in dict.fromkeys(name for layout in layouts for name in layout.keys):
                self._column(name).extend(start, [cells.get(name, MISSING) for cells in held])

    def _replace(self, row: int, ad: ClassAd) -> None:
        cells = _cells(ad)
        columns = self._columns
        for name, cell in cells.items():
            column = columns.get(name)
            if column is None:
                column = self._column(name)
            column.set(row, cell)
        old = self._layout(row)
        new = self._layout_for(ad, cells)
        if old is not new:
            self._clear(row, [name for name in old.keys if name not in cells])
            new.uses += 1
            self._layout_of[row] = new.code
            self._release(old)

    def _clear(self, row: int, names: Iterable[str]) -> None:
        for name in names:
            column = self._columns[name]
            column.set(row, MISSING)
            if not column.used:
                del self._columns[name]

    def _column(self, name: str) -> Column:
        column = self._columns.get(name)
        if column is None:
            column = self._columns[name] = Column(name, self._capacity)
            self._column_added()
        return column

    def _grow(self, rows: int) -> None:
        if rows <= self._capacity:
            return
        # An eighth to spare: growth costs a constant per row, and little memory is unused. A bulk insertion gets no
        # extra.
        self._capacity = max(rows, self._capacity + self._capacity // 8)
        larger = np.zeros(self._capacity, np.int32)
        larger[: len(self._layout_of)] = self._layout_of
        self._layout_of = larger
        for column in self._columns.values():
            column.grow(self._capacity)

    def _size_changed(self) -> None:
        """The number of rows has changed."""

    def _column_added(self) -> None:
        """There is an attribute that no row had before."""

    # -- layouts -------------------------------------------------------------------------------

    def _layout(self, row: int) -> Layout:
        layout = self._layouts[self._layout_of.item(row)]
        assert layout is not None
        return layout

    def _layout_for(self, ad: ClassAd, cells: dict[str, Cell]) -> Layout:
        keys = tuple(cells)
        spelled = None
        if ad.chained is not None or ad.own_spellings is not None:
            plain = ClassAd()
            for name in ad:
                plain.put(name, True)
            spelled = plain.own_spellings
        index: object = keys if spelled is None else (keys, tuple(spelled.items()))
        layout = self._layout_index.get(index)
        if layout is None:
            code = self._free_layouts.pop() if self._free_layouts else len(self._layouts)
            layout = self._layout_index[index] = Layout(keys, spelled, code)
            self._layouts[code : code + 1] = [layout]
        return layout

    def _release(self, layout: Layout) -> None:
        layout.uses -= 1
        if not layout.uses:
            self._layouts[layout.code] = None
            self._free_layouts.append(layout.code)
            spelled = layout.spelled
            del self._layout_index[layout.keys if spelled is None else (layout.keys, tuple(spelled.items()))]

    # -- reading -------------------------------------------------------------------------------

    def ad(self, key: Hashable, names: Container[str] | None = None) -> ClassAd:
        """A copy of an ad, or of what it has under some folded names. Raises KeyError."""
        return self._ad(self._places[key], names)

    def ads(self) -> Iterator[tuple[Hashable, ClassAd]]:
        """Keys and copies of all ads."""
        for row, key in enumerate(list(self._keys)):
            yield key, self._ad(row)

    def value(self, key: Hashable, name: str) -> Cell | None:
        """One cell: a value, an expression, or None if the ad lacks it. Raises KeyError for an unknown key."""
        row = self._places[key]
        column = self._columns.get(fold(name))
        cell = MISSING if column is None else column.get(row)
        if isinstance(cell, ClassAd):
            return cell.copy()
        return None if cell is MISSING else cell

    def cells(self, row: int, names: Iterable[str]) -> dict[str, Cell]:
        """What a row has under some folded names, those that it lacks left out."""
        found: dict[str, Cell] = {}
        for name in names:
            column = self._columns.get(name)
            cell = MISSING if column is None else column.get(row)
            if cell is not MISSING:
                found[name] = cell.copy() if isinstance(cell, ClassAd) else cell
        return found

    def _ad(self, row: int, names: Container[str] | None = None) -> ClassAd:
        layout, columns = self._layout(row), self._columns
        ad = ClassAd()
        ad.own_spellings = None if layout.spelled is None else dict(layout.spelled)
        cells = ad.cells
        for name in layout.keys:
            if names is not None and name not in names:
                continue
            cell = columns[name].get(row)
            if cell.__class__ not in _SELF_CONTAINED and isinstance(cell, ClassAd):
                cell = cell.copy()
                cell.scope = ad
            cells[name] = cell  # type: ignore[assignment]
        return ad

    @property
    def nbytes(self) -> int:
        """Bytes of the columns and of what a row costs besides; keys, strings and expressions do not count."""
        return (
            sum(column.nbytes for column in self._columns.values())
            + self._layout_of.nbytes
            + sum(16 * len(layout.keys) for layout in self._layouts if layout is not None)
        )


def _cells(ad: ClassAd) -> dict[str, Cell]:
    if ad.chained is None:
        return ad.cells
    return {(key := fold(name)): ad.cell(key) for name in ad}  # type: ignore[misc]
