"""One evaluation of an expression over a table: the current ad, name resolution, and computed values.

There are two *sides*: the row (of the table) and the ad matched with it. Code is run on one of them, as the scalar
evaluator has a current ad: a name is looked up on that side, then on the other, and an expression that is found is run
on the side where it was found. Rows are grouped by what they have: a plain value, one of several expressions, or no
such attribute.

Unsupported cases are DEFERRED to the scalar evaluator: special scopes, nested ads, circular references, chains
of references beyond what that evaluator tries without marks. DEFERRED is contagious where its value would
matter and nowhere else; in the end only the rows for which it mattered are evaluated one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, NamedTuple, TypeAlias

from roost.classad.ad import MISSING, Cell, ClassAd
from roost.classad.expr import Expr
from roost.classad.state import MATCH_NAMES, SPECIAL_NAMES, State
from roost.classad.values import UNDEFINED
from roost.classad.vector import kinds
from roost.classad.vector.columns import Column
from roost.classad.vector.kinds import ABSENT, DEFERRED, kind_of
from roost.classad.vector.logic import replaced
from roost.classad.vector.memory import Dependencies, Entry, Memory, Rows, grouped
from roost.classad.vector.vectors import Operand, Piece, Vector, merge
from roost.classad.world import World

#: Compiled code of a part of an expression.
Code: TypeAlias = "Callable[[Run], Operand]"


class VectorPart(NamedTuple):
    """Code and, if it does not depend on ads, its value (else ABSENT)."""

    code: Code
    value: Operand = ABSENT


#: References open at once; the scalar evaluator restarts with marks beyond it.
DEPTH_MAX: Final = 40


class Run:
    """The state of one evaluation."""

    __slots__ = (
        "ad", "columns", "compiled", "context", "depth", "known", "memory", "on_row", "pending", "rows", "total",
        "trace", "world",
    )  # fmt: skip

    def __init__(
        self,
        *,
        columns: dict[str, Column],
        rows: Rows,
        memory: Memory,
        compiled: Callable[[Expr], Code],
        ad: ClassAd | None,
        world: World,
    ) -> None:
        self.columns = columns
        self.rows = rows
        #: Rows of the table.
        self.total = rows.size
        self.memory = memory
        #: Gives the code of an expression.
        self.compiled = compiled
        #: The ad matched with each row; None if rows are evaluated alone.
        self.ad = ad
        self.world = world
        #: The state passed to functions of values.
        self.context = State(None, None, world)
        #: Whether the row is the current ad.
        self.on_row = True
        #: Values of attributes found in this evaluation.
        self.known: dict[Hashable, Entry] = {}
        #: Attributes whose expressions are being evaluated.
        self.pending: set[tuple[bool, str]] = set()
        self.depth = 0
        self.trace = Dependencies(0)

    # -- names ---------------------------------------------------------------------------------

    def name(self, key: str) -> Operand:
        """An unscoped name."""
        if self.on_row:
            return self._or(self.row(key), lambda: self._elsewhere(key))
        cell = self._asked(key)
        if cell is not MISSING:
            return self._ad(key, cell)  # type: ignore[arg-type]
        special = self._special(key)
        return self._or(self.row(key), lambda: UNDEFINED) if special is None else special

    def _elsewhere(self, key: str) -> Operand:
        """An unscoped name that the row lacks."""
        special = self._special(key)
        if special is not None:
            return special
        cell = self._asked(key)
        return UNDEFINED if cell is MISSING else self._ad(key, cell)  # type: ignore[arg-type]

    def my(self, key: str) -> Operand:
        """``MY.name``."""
        return self._scoped(key, "my", self.on_row)

    def other(self, key: str) -> Operand:
        """``TARGET.name``."""
        if self.ad is None:
            self.trace.volatile = True
            return DEFERRED if "target" in self.columns else UNDEFINED
        return self._scoped(key, "target", not self.on_row)

    def _scoped(self, key: str, scope: str, in_row: bool) -> Operand:
        if self.shadowed(scope):
            return DEFERRED
        if in_row:
            return self._or(self.row(key), lambda: self._special_or_undefined(key))
        cell = self._asked(key)
        return self._special_or_undefined(key) if cell is MISSING else self._ad(key, cell)  # type: ignore[arg-type]

    def shadowed(self, scope: str) -> bool:
        """Whether an attribute called MY or TARGET changes what the scope means."""
        if self.on_row:
            return scope in self.columns
        # An ad that has such an attribute is never matched by what is remembered of others.
        return self.ad is not None and self.ad.cell(scope) is not MISSING

    def _special_or_undefined(self, key: str) -> Operand:
        special = self._special(key)
        return UNDEFINED if special is None else special

    def _special(self, key: str) -> Operand | None:
        """A special name, which has a meaning without being defined; None for all others."""
        if key == "currenttime":
            self.trace.volatile = True
            return int(self.world.now())
        return DEFERRED if key in SPECIAL_NAMES or key in MATCH_NAMES else None

    def _or(self, found: Operand, otherwise: Callable[[], Operand]) -> Operand:
        """`found` with the rows that lack the attribute taken from `otherwise`."""
        return otherwise() if found is ABSENT else replaced(found, kinds.MISSING, otherwise)

    # -- the matched ad ------------------------------------------------------------------------

    def _asked(self, key: str) -> Cell | object:
        """What the ad has under `key`."""
        cell = MISSING if self.ad is None else self.ad.cell(key)
        self.trace.asked[key] = cell
        if isinstance(cell, ClassAd):
            # It may change while its identity stays the same.
            self.trace.volatile = True
        return cell

    def _ad(self, key: str, cell: Cell) -> Operand:
        if cell.__class__ is Expr:
            return self._attribute(key, False, lambda: self._enter(cell, False))
        return DEFERRED if kind_of(cell) == kinds.DEFER else cell  # type: ignore[return-value]

    # -- the row -------------------------------------------------------------------------------

    def row(self, key: str) -> Operand:
        """The attribute of the rows, of kind MISSING where there is none; ABSENT if no row has it."""
        column = self.columns.get(key)
        if column is None:
            return ABSENT
        if self.rows.index is None:
            cells = column.vector(self.total)
            if not cells.has(kinds.EXPR):
                self.trace.columns.add(column)
                return cells
        return self._attribute(key, True, lambda: self._resolve(key, column))

    def _resolve(self, key: str, column: Column) -> Operand:
        """The cells of a column in the current rows, expressions evaluated."""
        self.trace.columns.add(column)
        rows = self.rows
        cells = rows.pick(column, self.total)
        if not cells.has(kinds.EXPR):
            return cells
        mask = cells.where(kinds.EXPR)
        groups = grouped(rows, column, cells, mask)
        pieces = []
        for expression, where, few in groups.rows:
            if few is not None:
                self.rows = few
            value = self._enter(expression, True)  # type: ignore[arg-type]
            self.rows = rows
            pieces.append(Piece(where, value, few is not None))
        if len(pieces) == 1 and not pieces[0].compact and pieces[0].where.all():
            return pieces[0].value
        if groups.plain.any():
            pieces.append(Piece(groups.plain, cells))
        return merge(rows.size, pieces) if pieces else cells

    # -- evaluating ----------------------------------------------------------------------------

    def _enter(self, expression: Expr, on_row: bool) -> Operand:
        """The value of an expression found on one side."""
        if self.depth >= DEPTH_MAX:
            self.trace.volatile = True
            return DEFERRED
        code = self.compiled(expression)
        side, self.on_row = self.on_row, on_row
        self.depth += 1
        self.trace.steps += 1
        self.trace.deepest = max(self.trace.deepest, self.depth)
        value = code(self)
        self.depth -= 1
        self.on_row = side
        return value

    def _attribute(self, key: str, on_row: bool, compute: Callable[[], Operand]) -> Operand:
        """The value of an attribute, computed once in an evaluation; remembered where it depends on rows only."""
        place = (self.rows, on_row, key)
        entry: Entry | int | None = self.known.get(place)
        if entry is None and on_row:
            entry = self.memory.find(place, self.ad)
        if isinstance(entry, Entry):
            entry.join(self.trace, self.depth)
            return entry.value
        if (on_row, key) in self.pending:
            # Circular, unless the scalar evaluator never comes this way.
            self.trace.volatile = True
            return DEFERRED
        self.pending.add((on_row, key))
        entry = self._watch(compute)
        self.pending.discard((on_row, key))
        self.known[place] = entry
        if on_row:
            self.memory.keep(place, entry, self.ad, self.rows.size)
        return entry.value

    def remember(self, part: int, code: Code) -> Operand:
        """The value of a part of an expression, from memory if it depends on the rows only."""
        place = (self.rows, self.on_row, part)
        entry = self.memory.find(place, self.ad)
        if entry.__class__ is int:
            return code(self)
        if entry is not None:
            entry.join(self.trace, self.depth)  # type: ignore[union-attr]
            return entry.value  # type: ignore[union-attr]
        entry = self._watch(lambda: code(self))
        self.memory.keep(place, entry, self.ad, self.rows.size)
        return entry.value

    def _watch(self, compute: Callable[[], Operand]) -> Entry:
        outer = self.trace
        self.trace = Dependencies(self.depth)
        entry = Entry(compute(), self.trace, self.depth)
        self.trace = outer
        entry.join(outer, self.depth)
        if isinstance(entry.value, Vector) and entry.value.memo is None and not entry.volatile:
            entry.value.memo = {}
        return entry
