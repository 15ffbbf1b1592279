"""Expressions over two tables: for each row of one matched with each row of the other.

A `Run` has one ad on the other side; here both sides are columns. Most parts of an expression read one side only: they
are computed for its rows, and only parts that combine the two sides are computed for the pairs. The distinction is made
by trying: a part is first computed with only one side's rows, and an access to the other side aborts that (`Wide`). A
pair's place is ``left row * rows on the right + right row``.

It pays off if there are many rows on both sides and no cached results: a few changed slots against all jobs. Nothing is
cached beyond the life of the object, and the results are those of the scalar evaluator, which decides DEFERRED pairs
one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from enum import Enum
from typing import Final

import numpy as np

from roost.classad.ad import ClassAd
from roost.classad.evaluation import evaluate
from roost.classad.expr import Expr
from roost.classad.values import UNDEFINED, Value, fold
from roost.classad.vector.columns import Column
from roost.classad.vector.kinds import ABSENT, CODED, DEFERRED, EXPR, Array, Dictionary
from roost.classad.vector.kinds import MISSING as ABSENT_CELL
from roost.classad.vector.logic import replaced
from roost.classad.vector.memory import Entry, Memory, Rows, grouped
from roost.classad.vector.result import Result, undecided
from roost.classad.vector.run import Code, Run
from roost.classad.vector.table import Moment, Table
from roost.classad.vector.vectors import PAYLOADS, Operand, Piece, Vector, gather, merge
from roost.classad.world import World


class Side(Enum):
    """The side whose expression is evaluated: MY is its ad, TARGET that of the other side."""

    LEFT = True
    RIGHT = False


class Wide(Exception):
    """An expression needs a side whose rows are not available."""


class RowPairs:
    """Rows of both sides, each of one with each of the other; or of one side alone."""

    __slots__ = ("left", "right", "size")

    def __init__(self, left: Rows | None, right: Rows | None) -> None:
        self.left = left
        self.right = right
        #: Number of pairs, or of rows where there is one side.
        self.size = (1 if left is None else left.size) * (1 if right is None else right.size)

    def rows(self, of_left: bool) -> Rows | None:
        """The rows of a side; None if only the other is available."""
        return self.left if of_left else self.right

    @property
    def is_narrow(self) -> bool:
        """Whether it is one side alone."""
        return self.left is None or self.right is None

    def spread(self, values: Array, of_left: bool) -> Array:
        """One value for each row of a side, for each pair."""
        if self.left is None or self.right is None:
            return values
        out = np.empty((self.left.size, self.right.size), values.dtype)
        out[:] = values[:, None] if of_left else values
        return out.ravel()

    def index(self, chosen: Array, of_left: bool) -> Array:
        """The pairs of some rows of a side, which `chosen` gives by their place among them; ascending."""
        if self.left is None or self.right is None:
            return chosen
        width = self.right.size
        if of_left:
            return (chosen[:, None] * width + np.arange(width)).ravel()
        return (np.arange(self.left.size)[:, None] * width + chosen).ravel()


class PairRun(Run):
    """The state of evaluating something for pairs; the row of a `Run` is the left side."""

    __slots__ = ("others", "others_total", "parts", "place", "places", "wide")

    def __init__(self, left: Table, right: Table, place: RowPairs, world: World) -> None:
        super().__init__(
            columns=left._columns, rows=place, memory=Memory(0), compiled=right._code, ad=ClassAd(), world=world  # type: ignore[arg-type]
        )  # fmt: skip
        self.total = len(left)
        self.others = right._columns
        self.others_total = len(right)
        #: Places by their rows, so that each is one object.
        self.places: dict[tuple[Rows | None, Rows | None], RowPairs] = {}
        #: Values computed for one side only.
        self.parts: dict[Hashable, Entry] = {}
        #: Parts that cannot be computed from one side alone: the side, and the part.
        self.wide: set[Hashable] = set()

    def at(self, left: Rows | None, right: Rows | None) -> RowPairs:
        """The place of these rows."""
        found = self.places.get((left, right))
        if found is None:
            found = self.places[left, right] = RowPairs(left, right)
        return found

    # -- names ---------------------------------------------------------------------------------

    def name(self, key: str) -> Operand:
        """An unscoped name."""
        return self._or(self.of(self.on_row, key), lambda: self._elsewhere(key))

    def _elsewhere(self, key: str) -> Operand:
        special = self._special(key)
        return self._or(self.of(not self.on_row, key), lambda: UNDEFINED) if special is None else special

    def other(self, key: str) -> Operand:
        """``TARGET.name``."""
        return self._scoped(key, "target", not self.on_row)

    def _scoped(self, key: str, scope: str, in_row: bool) -> Operand:
        if self.shadowed(scope):
            return DEFERRED
        return self._or(self.of(in_row, key), lambda: self._special_or_undefined(key))

    def shadowed(self, scope: str) -> bool:
        """Whether an attribute called MY or TARGET changes what the scope means."""
        return scope in (self.columns if self.on_row else self.others)

    # -- cells ---------------------------------------------------------------------------------

    def of(self, left: bool, key: str) -> Operand:
        """The attribute of one side's rows, of kind MISSING where there is none; ABSENT if no row has it."""
        column = (self.columns if left else self.others).get(key)
        if column is None:
            return ABSENT
        place: RowPairs = self.rows  # type: ignore[assignment]
        rows = place.rows(left)
        if rows is None:
            raise Wide
        cells = self._cells(rows, column, left)
        if not cells.has(EXPR):
            return _spread(cells, place, left)
        return self._attribute(
            key, left, lambda: self._shared((left, key), left, lambda: self._resolved(column, cells, left))
        )

    def _cells(self, rows: Rows, column: Column, left: bool) -> Vector:
        total = self.total if left else self.others_total
        if rows.index is None:
            return column.vector(total)
        key = (rows, left, column.key)
        known = self.parts.get(key)
        if known is None:
            known = self.parts[key] = Entry(_tight(rows.pick(column, total)), self.trace, self.depth)
        return known.value  # type: ignore[return-value]

    def _resolved(self, column: Column, cells: Vector, left: bool) -> Operand:
        """The cells of a column, expressions evaluated: each for its rows."""
        place: RowPairs = self.rows  # type: ignore[assignment]
        rows = place.rows(left)
        if rows is None:
            raise Wide
        groups = grouped(rows, column, cells, cells.where(EXPR), full_width_share=1)
        pieces = []
        for expression, index, few in groups.rows:
            assert few is not None and isinstance(expression, Expr)
            if few.size == rows.size:
                return self._enter(expression, left)
            self.rows = self.at(few, place.right) if left else self.at(place.left, few)  # type: ignore[assignment]
            value = self._enter(expression, left)
            self.rows = place  # type: ignore[assignment]
            pieces.append(Piece(place.index(index, left), value, True))
        if groups.plain.any():
            plain = np.flatnonzero(groups.plain)
            inside = self.at(Rows(len(plain)), place.right) if left else self.at(place.left, Rows(len(plain)))
            pieces.append(Piece(place.index(plain, left), _spread(cells.take(plain), inside, left), True))
        return merge(place.size, pieces)

    # -- evaluating ----------------------------------------------------------------------------

    def remember(self, part: int, code: Code) -> Operand:
        """The value of a part of an expression, computed for one side alone where that is enough."""
        return self._shared((self.on_row, part), self.on_row, lambda: code(self))

    def _shared(self, what: Hashable, first: bool, compute: Callable[[], Operand]) -> Operand:
        """What `compute` gives; by one side alone if that is enough, `first` the side that is more likely so."""
        place: RowPairs = self.rows  # type: ignore[assignment]
        if place.is_narrow:
            return self._once((place, what), compute)
        for left in (first, not first):
            if (left, what) in self.wide:
                continue
            narrow = self.at(place.left, None) if left else self.at(None, place.right)
            found = self._tried(narrow, what, compute)
            if found is not ABSENT:
                return _spread(found, place, left)
            self.wide.add((left, what))
        return compute()

    def _once(self, name: Hashable, compute: Callable[[], Operand]) -> Operand:
        entry = self.parts.get(name)
        if entry is None:
            entry = self.parts[name] = self._watch(compute)
        else:
            entry.join(self.trace, self.depth)
        return entry.value

    def _tried(self, narrow: RowPairs, what: Hashable, compute: Callable[[], Operand]) -> Operand:
        """What `compute` gives with the rows of one side; ABSENT if it asks for the other."""
        before = self.rows, self.on_row, self.depth, self.trace, self.pending
        self.rows, self.pending = narrow, set(self.pending)  # type: ignore[assignment]
        try:
            return self._once((narrow, what), compute)
        except Wide:
            return ABSENT
        finally:
            self.rows, self.on_row, self.depth, self.trace, self.pending = before


class Pairs:
    """Each row of `left` with some rows of `right`. Valid until one of the tables changes.

    `rows` are ascending row numbers. Results have a value for each pair, see the module.
    """

    def __init__(self, left: Table, right: Table, rows: Array, world: World) -> None:
        self.shape: Final = (len(left), len(rows))
        self._left, self._right, self._rows = left, right, rows
        self._world = Moment(world)
        place = RowPairs(Rows(len(left)), Rows(len(rows), rows))
        self._run = PairRun(left, right, place, self._world)
        self._ads: dict[tuple[bool, int], ClassAd] = {}

    def evaluate(self, expression: Expr, side: Side) -> Result:
        """The value of an expression in the ads of one side."""
        found = self._compute(lambda run: run.compiled(expression)(run), side)
        return self._finish(found, side, lambda my, target: evaluate(expression, my, target, self._world))

    def attribute(self, name: str, side: Side) -> Result:
        """The value of an attribute that the ads of one side have themselves; UNDEFINED where there is none."""
        found = self._compute(_own(fold(name), side), side)
        return self._finish(found, side, lambda my, target: my.eval(name, target, self._world))

    def accepting(self, side: Side) -> Array:
        """Mask of the pairs in which the ad of that side accepts the other. Shape (left rows, rows)."""
        return self.attribute("Requirements", side).true.reshape(self.shape)

    def _compute(self, code: Code, side: Side) -> Operand:
        if not self.shape[0] or not self.shape[1]:
            return UNDEFINED
        return self._right._compute(self._run, code, on_row=side.value)

    def _finish(self, found: Operand, side: Side, scalar: Callable[[ClassAd, ClassAd], Value]) -> Result:
        size = self.shape[0] * self.shape[1]
        mask = undecided(found, size)
        if mask is None:
            return Result(found, size)
        index = np.flatnonzero(mask)
        values = gather([scalar(*self._pair(at, side)) for at in index.tolist()], None)
        pieces = [Piece(index, values, compact=True)]
        if len(index) < size:
            pieces.append(Piece(~mask, found))
        return Result(merge(size, pieces), size)

    def _pair(self, at: int, side: Side) -> tuple[ClassAd, ClassAd]:
        """The ads of a pair, that of `side` first."""
        left, right = divmod(at, self.shape[1])
        found = self._ad(True, left), self._ad(False, self._rows.item(right))
        return found if side is Side.LEFT else (found[1], found[0])

    def _ad(self, left: bool, row: int) -> ClassAd:
        found = self._ads.get((left, row))
        if found is None:
            found = self._ads[left, row] = (self._left if left else self._right)._ad(row)
        return found


def _own(key: str, side: Side) -> Code:
    def code(run: Run) -> Operand:
        found = run.of(side.value, key)  # type: ignore[attr-defined]
        return UNDEFINED if found is ABSENT else replaced(found, ABSENT_CELL, lambda: UNDEFINED)

    return code


def _spread(value: Operand, place: RowPairs, of_left: bool) -> Operand:
    """The value of one side's rows, for each pair of a place."""
    if not isinstance(value, Vector) or place.is_narrow:
        return value
    wide = Vector(place.size, value.kind, present=value.present, words=value.words)
    for name in ("kinds", *PAYLOADS):
        array: Array | None = getattr(value, name)
        if array is not None:
            setattr(wide, name, place.spread(array, of_left))
    return wide


def _tight(cells: Vector) -> Vector:
    """`cells` with no more words than they have: those of a column are for all of its rows."""
    words, codes = cells.words, cells.codes
    if words is None or codes is None or len(words.values) <= cells.size or not any(map(cells.has, CODED)):
        return cells
    used, dense = np.unique(np.minimum(codes, len(words.values) - 1), return_inverse=True)
    tight = Vector(
        cells.size, cells.kind, present=cells.present, words=Dictionary([words.values[at] for at in used.tolist()])
    )
    for name in ("kinds", *PAYLOADS):
        setattr(tight, name, getattr(cells, name))
    tight.codes = dense.astype(np.int32, copy=False)
    return tight
