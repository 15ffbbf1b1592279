"""One attribute of all ads of a table.

A dense column has a byte of state for each row and one typed array for each kind of value that occurs: int64, float64,
bool, and int32 codes into the distinct strings, expressions and other objects. The usual column has one kind, so a
number costs 9 bytes a row, a string 5 (and the distinct strings), a boolean 2. An attribute that few ads have is
sparse, a dict of its rows: an ad with thousands of unique names costs no more than elsewhere.

`version` changes when a cell does; setting a cell to its current value does not change it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from roost.classad.ad import MISSING as NOTHING
from roost.classad.ad import Cell, ClassAd, Missing
from roost.classad.expr import Expr
from roost.classad.vector.kinds import (
    BOOL,
    CODED,
    DEFER,
    EXPR,
    INT,
    KINDS,
    MISSING,
    MIXED,
    REAL,
    STRING,
    Array,
    Dictionary,
    kind_of,
    value_of,
)
from roost.classad.vector.vectors import Vector

#: A column becomes dense when more than one row in so many has the attribute.
SPARSE_SHARE: Final = 16
#: Unused strings are dropped when there are more than twice as many strings as rows, plus this many.
UNUSED_WORDS_MAX: Final = 64

_PAYLOADS: Final = {BOOL: ("bools", "?"), INT: ("ints", "i8"), REAL: ("reals", "f8")}
#: Where `kinds` is among the views.
_KIND_VIEW: Final = -1
_TYPES: Final = {int: INT, float: REAL, bool: BOOL, str: STRING, Expr: EXPR}


class Column:
    """The cells of one attribute, by row."""

    __slots__ = (
        "_vector", "_views", "bools", "capacity", "codes", "counts", "index", "ints", "key", "kinds", "reals", "sparse",
        "version", "words",
    )  # fmt: skip

    def __init__(self, key: str, capacity: int) -> None:
        #: The folded name.
        self.key = key
        self.capacity = capacity
        self.version = 0
        #: Number of rows of each kind other than MISSING.
        self.counts = [0] * KINDS
        #: Row to cell while the column is sparse; None once it is dense.
        self.sparse: dict[int, Cell] | None = {}
        self.kinds: Array | None = None
        self.bools: Array | None = None
        self.ints: Array | None = None
        self.reals: Array | None = None
        self.codes: Array | None = None
        self.words = Dictionary([])
        #: Code of each word: by the text of a string, the tree of an expression, the identity of anything else.
        self.index: dict[Any, int] = {}
        self._vector: Vector | None = None
        #: Views of the arrays that exist, by kind, and of `kinds` itself.
        self._views: dict[int | None, Any] = {}

    @property
    def used(self) -> int:
        """Rows that have the attribute."""
        return sum(self.counts)

    # -- cells ---------------------------------------------------------------------------------

    def get(self, row: int) -> Cell | Missing:
        """The cell of a row; MISSING if it has none. A nested ad is the table's own: copy it."""
        if self.sparse is not None:
            return self.sparse.get(row, NOTHING)
        assert self.kinds is not None
        kind = self.kinds.item(row)
        if kind in _PAYLOADS:
            return getattr(self, _PAYLOADS[kind][0]).item(row)  # type: ignore[no-any-return]
        if kind in CODED:
            assert self.codes is not None
            return self.words.values[self.codes.item(row)]  # type: ignore[no-any-return]
        return NOTHING if kind == MISSING else value_of(kind)

    def set(self, row: int, cell: Cell | Missing) -> bool:
        """Set or (with MISSING) clear a cell, and return whether it changed. A nested ad is copied."""
        kind = _TYPES.get(cell.__class__)
        view = self._views.get(kind)
        if view is not None and self._views[_KIND_VIEW][row] == kind:
            # The common case of an update: a cell that stays as it is.
            old = view[row] if kind in _PAYLOADS else self.words.values[view[row]]
            if old is cell or (old == cell and kind != EXPR and (kind != REAL or old)):
                return False
        old = self.get(row)
        if old is cell or same_cell(old, cell):
            return False
        self.version += 1
        self._vector = None
        if old is not NOTHING:
            self.counts[kind_of(old)] -= 1
        kind = MISSING if cell is NOTHING else kind_of(cell)
        if kind != MISSING:
            self.counts[kind] += 1
        if kind == DEFER and isinstance(cell, ClassAd):
            cell = cell.copy()
        if self.sparse is None:
            self._write(row, kind, cell)
        elif kind == MISSING:
            del self.sparse[row]
        else:
            self.sparse[row] = cell  # type: ignore[assignment]
            if len(self.sparse) * SPARSE_SHARE > self.capacity:
                self._densify()
        return True

    def _write(self, row: int, kind: int, cell: Any) -> None:
        assert self.kinds is not None
        self.kinds[row] = kind
        if kind in _PAYLOADS:
            name, dtype = _PAYLOADS[kind]
            self._payload(name, dtype)[row] = cell
        elif kind in CODED:
            self._payload("codes", "i4")[row] = self._code(cell)
            if len(self.words.values) > 2 * self.used + UNUSED_WORDS_MAX:
                self._drop_unused_words()

    def _payload(self, name: str, dtype: str) -> Array:
        array: Array | None = getattr(self, name)
        if array is None:
            array = np.zeros(self.capacity, dtype)
            setattr(self, name, array)
            self._make_views()
        return array

    def _make_views(self) -> None:
        """Reading one element through a memoryview is several times faster than through the array."""
        arrays = {_KIND_VIEW: self.kinds, BOOL: self.bools, INT: self.ints, REAL: self.reals}
        arrays |= {STRING: self.codes, EXPR: self.codes}
        self._views = {kind: memoryview(array) for kind, array in arrays.items() if array is not None}  # type: ignore[arg-type]

    def _code(self, cell: Any) -> int:
        index = self.index
        if cell.__class__ is str:
            code = index.get(cell)
            name: object = cell
        else:
            # Expressions are interned by text: their identity mostly does, and saves walking the tree.
            name = id(cell)
            code = index.get(name)
            if code is None and cell.__class__ is Expr:
                try:
                    code = index.get(cell.tree)
                    name = cell.tree
                except RecursionError:
                    pass  # a tree too deep to compare is a separate word
        if code is None:
            code = len(self.words.values)
            self.words.values.append(cell)
            index[name] = code
            if cell.__class__ is Expr:
                index[id(cell)] = code
        return code

    def _drop_unused_words(self) -> None:
        assert self.kinds is not None and self.codes is not None
        coded = np.isin(self.kinds, list(CODED))
        used, dense = np.unique(self.codes[coded], return_inverse=True)
        kept = [self.words.values[code] for code in used.tolist()]
        self.words = Dictionary([])
        self.index = {}
        for cell in kept:
            self._code(cell)
        # An array of its own: vectors made before look at the old one.
        codes = np.zeros_like(self.codes)
        codes[coded] = dense
        self.codes = codes
        self._make_views()

    def _densify(self) -> None:
        sparse = self.sparse
        assert sparse is not None
        self.sparse = None
        self.kinds = np.zeros(self.capacity, np.uint8)
        self._make_views()
        for row, cell in sparse.items():
            self._write(row, kind_of(cell), cell)

    # -- rows ----------------------------------------------------------------------------------

    def grow(self, capacity: int) -> None:
        """Make room for `capacity` rows."""
        self.capacity = capacity
        for name in ("kinds", "bools", "ints", "reals", "codes"):
            array = getattr(self, name)
            if array is not None:
                larger = np.zeros(capacity, array.dtype)
                larger[: len(array)] = array
                setattr(self, name, larger)
        self._make_views()
        self._vector = None

    def extend(self, start: int, cells: Sequence[Cell | Missing]) -> None:
        """Set new rows from `start` on."""
        self.version += 1
        self._vector = None
        kinds = {_TYPES.get(kind, -1) for kind in set(map(type, cells))}
        if len(kinds) > 1 or -1 in kinds or len(cells) < _BULK_MIN:
            for row, cell in enumerate(cells, start):
                if cell is not NOTHING:
                    self.set(row, cell)
            return
        if self.sparse is not None:
            self._densify()
        (kind,) = kinds
        rows = slice(start, start + len(cells))
        assert self.kinds is not None
        self.kinds[rows] = kind
        self.counts[kind] += len(cells)
        if kind in _PAYLOADS:
            name, dtype = _PAYLOADS[kind]
            self._payload(name, dtype)[rows] = np.array(cells, dtype)
        else:
            code = self._code
            self._payload("codes", "i4")[rows] = [code(cell) for cell in cells]

    def vector(self, size: int) -> Vector:
        """The first `size` rows, which must be all; shares memory with the column, holds until the next change."""
        found = self._vector
        if found is not None and found.size == size:
            return found
        if self.sparse is not None:
            dense = Column(self.key, size)
            for row, cell in self.sparse.items():
                dense.set(row, cell)
            if dense.sparse is not None:
                dense._densify()
            found = dense.vector(size)
        else:
            found = self._make_vector(size)
        found.memo = {}
        self._vector = found
        return found

    def _make_vector(self, size: int) -> Vector:
        assert self.kinds is not None
        present = sum(1 << kind for kind, count in enumerate(self.counts) if count)
        kind = present.bit_length() - 1
        if self.used < size:
            kind, present = MIXED if present else MISSING, present | 1 << MISSING
        elif present != 1 << kind:
            kind = MIXED
        vector = Vector(size, kind, present=present, kinds=self.kinds[:size] if kind == MIXED else None)
        for name in ("bools", "ints", "reals", "codes"):
            array = getattr(self, name)
            if array is not None:
                setattr(vector, name, array[:size])
        vector.words = self.words
        return vector

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays; distinct strings and expressions, shared with the rest of the program, do not count."""
        arrays = (self.kinds, self.bools, self.ints, self.reals, self.codes)
        return sum(array.nbytes for array in arrays if array is not None)


#: Fewer cells than this are set one by one.
_BULK_MIN: Final = 8


def same_cell(x: object, y: object) -> bool:
    """Whether two cells are the same value or expression, with type and sign of zero."""
    kind = x.__class__
    if kind is not y.__class__:
        return False
    if kind is float:
        return (x == y and math.copysign(1.0, x) == math.copysign(1.0, y)) or (x != x and y != y)  # type: ignore[arg-type]
    if kind is Expr:
        try:
            return x.tree == y.tree  # type: ignore[attr-defined, no-any-return]
        except RecursionError:
            return False
    if isinstance(x, ClassAd):
        return False
    return x == y
