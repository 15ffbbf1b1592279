"""A table of ads, and expressions evaluated for all of them at once.

An expression is compiled once to functions of NumPy arrays (`compiler`) and evaluated by a `Run`. The scalar evaluator
handles the rest row by row, so the results are always exactly its results. Cycles, special scopes and nested ads are
handled that way, and cost as much as without a table.

A table belongs to one thread. It gets the time and random numbers only from the world passed to it; the clock is read
once per evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Final

import numpy as np

from roost.classad.ad import MISSING, Cell, ClassAd
from roost.classad.evaluation import evaluate
from roost.classad.expr import Expr, parse_expression
from roost.classad.limits import EVALUATION_FUEL
from roost.classad.syntax import Node
from roost.classad.values import UNDEFINED, Value, fold
from roost.classad.vector.columns import Column
from roost.classad.vector.compiler import compile_vector
from roost.classad.vector.kinds import ABSENT, DEFER, DEFERRED, EXPR, Array
from roost.classad.vector.kinds import MISSING as ABSENT_CELL
from roost.classad.vector.logic import replaced
from roost.classad.vector.memory import MEMORY_BYTES_MAX, Dependencies, Memory, Rows
from roost.classad.vector.result import Parted, Partition, Result, frozen, matching, undecided
from roost.classad.vector.run import DEPTH_MAX, Code, Run
from roost.classad.vector.store import Store
from roost.classad.vector.vectors import Operand, Piece, gather, merge
from roost.classad.world import WORLD, World

#: Compiled expressions cached per table; beyond that, the cache is cleared.
COMPILED_MAX: Final = 4096
#: Most groups of rows in `evaluate_apart`; with more, it evaluates all rows together.
GROUPS_MAX: Final = 12
#: Up to this many rows, the scalar evaluator is faster than compiling Requirements that are used once.
SCALAR_ROWS: Final = 32


class Table(Store):
    """Ads by key, in columns. `ads` are (key, ad) pairs; keys are any hashable values.

    Rows are numbered by the order of `keys()`; all results are in that order.
    """

    def __init__(
        self, ads: Iterable[tuple[Hashable, ClassAd]] = (), *, memory_bytes_max: int = MEMORY_BYTES_MAX
    ) -> None:
        super().__init__()
        self._rows = Rows(0)
        self._memory = Memory(memory_bytes_max)
        self._compiled: dict[int, tuple[Expr, Code]] = {}
        self._compiled_trees: dict[Node, Code] = {}
        #: Requirements that were evaluated once, on few rows, by identity: compiled at the second use.
        self._met: dict[int, Expr] = {}
        #: Column to its rows told apart: the column, its version and the table's rows at the time, and the groups.
        self._parted: dict[str, tuple[Column, int, Rows, list[Rows], Partition]] = {}
        self.extend(ads)

    # -- evaluating ----------------------------------------------------------------------------

    def evaluate(self, expression: str | Expr, target: ClassAd | None = None, world: World = WORLD) -> Result:
        """The value of an expression in each ad, matched with `target` if given. Raises ParseError for a bad text."""
        expression = _parsed(expression)
        world = Moment(world)
        found = self._compute(self._run(target, world), self._code(expression), on_row=True)
        return self._finish(found, lambda row: evaluate(expression, row, target, world))

    def evaluate_for(self, ad: ClassAd, expression: str | Expr, world: World = WORLD) -> Result:
        """The value of an expression in `ad` matched with each row: MY is the ad, TARGET the row."""
        expression = _parsed(expression)
        world = Moment(world)
        found = self._compute(self._run(ad, world), self._code(expression), on_row=False)
        return self._finish(found, lambda row: evaluate(expression, ad, row, world))

    def match(self, ad: ClassAd, world: World = WORLD) -> Array:
        """Mask of the rows that accept `ad` and are accepted by it: both Requirements are true. Shape (rows,)."""
        size = len(self)
        wanted = ad.cell("requirements")
        if wanted is MISSING or not size:
            return np.zeros(size, bool)
        world = Moment(world)
        run = self._run(ad, world)
        theirs = self._compute(run, self._cell_code(wanted), on_row=False)
        mask, unknown = matching(theirs, size), undecided(theirs, size)
        if unknown is None and not mask.any():
            return mask
        ours = self._compute(run, _own("requirements"), on_row=True)
        accepted, unsure = matching(ours, size), undecided(ours, size)
        if unknown is None and unsure is None:
            mask &= accepted
            return mask
        unknown = np.zeros(size, bool) if unknown is None else unknown
        unsure = np.zeros(size, bool) if unsure is None else unsure
        still_open = (mask | unknown) & (accepted | unsure) & (unknown | unsure)
        mask &= accepted
        for row in np.flatnonzero(still_open).tolist():
            mask[row] = self._ad(row).symmetric_match(ad, world)
        return mask

    def sides(self, ad: ClassAd, world: World = WORLD) -> tuple[Array, Array]:
        """The parts of `match`: masks of the rows that `ad` accepts, and of those that accept `ad`."""
        world = Moment(world)
        wanted = ad.cell("requirements")
        once = self._is_new(wanted)
        run = self._run(ad, world)
        if wanted is MISSING:
            theirs = np.zeros(len(self), bool)
        else:
            found = DEFERRED if once else self._compute(run, self._cell_code(wanted), on_row=False)
            theirs = self._decided(found, lambda row: ad.eval("Requirements", row, world))
        found = DEFERRED if once else self._compute(run, _own("requirements"), on_row=True)
        return theirs, self._decided(found, lambda row: _own_value(row, "Requirements", ad, world))

    def attribute(self, name: str, target: ClassAd | None = None, world: World = WORLD) -> Result:
        """The value that each ad's own attribute has, matched with `target` if given; UNDEFINED where there is none."""
        world = Moment(world)
        found = self._compute(self._run(target, world), _own(fold(name)), on_row=True)
        return self._finish(found, lambda row: row.eval(name, target, world))

    def evaluate_apart(self, expression: Expr, by: str, target: ClassAd | None = None, world: World = WORLD) -> Parted:
        """`evaluate` for the rows of each expression in column `by` on its own. Good until the table changes.

        Where what differs between rows is one expression of theirs (a RANK), parts that would be of mixed kinds are
        of one kind in each group, which is several times faster.
        """
        groups, partition = self._apart(fold(by))
        if len(groups) < 2 or len(groups) > GROUPS_MAX:
            return Parted([self.evaluate(expression, target, world)])
        world = Moment(world)
        answers: list[Result] = []
        for rows in groups:
            run = self._run(target, world)
            run.rows = rows
            found = self._compute(run, self._code(expression), on_row=True)
            if undecided(found, rows.size) is not None:
                return Parted([self.evaluate(expression, target, world)])
            answers.append(Result(found, rows.size))
        return Parted(answers, partition)

    def _apart(self, key: str) -> tuple[list[Rows], Partition | None]:
        """The rows by the expression that they have in a column; those that have none are together."""
        column = self._columns.get(key)
        if column is None or not len(self):
            return [], None
        known = self._parted.get(key)
        if known is not None and known[0] is column and known[1] == column.version and known[2] is self._rows:
            return known[3], known[4]
        cells = column.vector(len(self))
        codes = np.full(len(self), -1, np.int32)
        if cells.has(EXPR) and cells.codes is not None:
            np.copyto(codes, cells.codes, where=cells.where(EXPR))
        found = [Rows(len(index), index) for index in (np.flatnonzero(codes == each) for each in np.unique(codes))]
        partition = Partition([rows.index for rows in found if rows.index is not None])
        self._parted[key] = column, column.version, self._rows, found, partition
        return found, partition

    def lacking(self, name: str) -> Array:
        """Mask of the rows that have no attribute of that name. Shape (rows,)."""
        column = self._columns.get(fold(name))
        return np.ones(len(self), bool) if column is None else column.vector(len(self)).where(ABSENT_CELL)

    def expressions(self) -> Iterator[tuple[str, Expr]]:
        """Folded name and expression of all attributes that are expressions, each once; also some of former ads."""
        for key, column in self._columns.items():
            if column.counts[EXPR]:
                sparse = column.sparse
                for cell in (
                    column.words.values if sparse is None else list({id(x): x for x in sparse.values()}.values())
                ):
                    if isinstance(cell, Expr):
                        yield key, cell

    def nested(self) -> frozenset[str]:
        """Folded names under which some ad has a value that only the scalar evaluator supports, such as an ad."""
        return frozenset(key for key, column in self._columns.items() if column.counts[DEFER])

    def everywhere(self) -> frozenset[str]:
        """Folded names that all ads have."""
        return frozenset(key for key, column in self._columns.items() if column.used == len(self))

    def rank(self, ad: ClassAd, world: World = WORLD, rows: Array | None = None) -> Array:
        """The Rank of `ad` for each row, or those of `rows`, as its target: float64, 0.0 if it is not a number."""
        cell = ad.cell("rank")
        if cell is MISSING:
            return np.zeros(len(self) if rows is None else len(rows))
        if isinstance(cell, Expr):
            found = self.evaluate_for(ad, cell, world)
        else:
            found = Result(cell, len(self))
        return found.numbers if rows is None else found.numbers_at(rows, 0.0)

    # -- within --------------------------------------------------------------------------------

    def _run(self, ad: ClassAd | None, world: World) -> Run:
        shadows = ad is not None and any(ad.cell(scope) is not MISSING for scope in ("my", "target"))
        memory = Memory(0) if shadows else self._memory
        return Run(columns=self._columns, rows=self._rows, memory=memory, compiled=self._code, ad=ad, world=world)

    def _compute(self, run: Run, code: Code, *, on_row: bool) -> Operand:
        """The result of `code`, DEFERRED for rows (or all) that it cannot decide."""
        if not len(self):
            return UNDEFINED
        run.on_row = on_row
        run.trace = trace = Dependencies(0)
        try:
            with np.errstate(all="ignore"):
                found = code(run)
        except RecursionError:
            return DEFERRED
        # Each row has spent at most this; beyond the limits the scalar evaluator must count exactly.
        if trace.steps > EVALUATION_FUEL or trace.deepest > DEPTH_MAX:
            return DEFERRED
        return found

    def _decided(self, found: Operand, scalar: Callable[[ClassAd], Value]) -> Array:
        """Mask of the rows whose value is true or a number other than 0."""
        size = len(self)
        mask, unknown = matching(found, size), undecided(found, size)
        if unknown is not None:
            for row in np.flatnonzero(unknown).tolist():
                value = scalar(self._ad(row))
                mask[row] = value is True or (value.__class__ in (int, float) and value != 0)
        return mask

    def _finish(self, found: Operand, scalar: Callable[[ClassAd], Value]) -> Result:
        size = len(self)
        mask = undecided(found, size)
        if mask is None:
            return Result(frozen(found), size)
        index = np.flatnonzero(mask)
        values = gather([scalar(self._ad(row)) for row in index.tolist()], None)
        pieces = [Piece(index, values, compact=True)]
        if len(index) < size:
            pieces.append(Piece(~mask, found))
        return Result(merge(size, pieces), size)

    def _is_new(self, cell: object) -> bool:
        """Whether it is an expression used for the first time, on few rows, and so not worth compiling."""
        if len(self) > SCALAR_ROWS or not isinstance(cell, Expr) or id(cell) in self._compiled or id(cell) in self._met:
            return False
        if len(self._met) >= COMPILED_MAX:
            self._met.clear()
        self._met[id(cell)] = cell
        return True

    def _cell_code(self, cell: Cell) -> Code:
        if isinstance(cell, Expr):
            return self._code(cell)
        return lambda run: DEFERRED if isinstance(cell, ClassAd) else cell

    def _code(self, expression: Expr) -> Code:
        """The vector code of an expression: found by identity, for texts are interned, else by the tree."""
        known = self._compiled.get(id(expression))
        if known is not None:
            return known[1]
        if len(self._compiled) >= COMPILED_MAX:
            self._compiled.clear()
            self._compiled_trees.clear()
        try:
            code = self._compiled_trees.get(expression.tree)
            if code is None:
                code = self._compiled_trees[expression.tree] = compile_vector(expression.tree)
        except RecursionError:
            code = _deferred
        self._compiled[id(expression)] = expression, code
        return code

    def _size_changed(self) -> None:
        self._rows = Rows(len(self))
        self._memory.clear()

    def _column_added(self) -> None:
        # Something remembered may have found the attribute missing.
        self._memory.clear()


def _own(key: str) -> Code:
    def code(run: Run) -> Operand:
        found = run.row(key)
        return UNDEFINED if found is ABSENT else replaced(found, ABSENT_CELL, lambda: UNDEFINED)

    return code


def _own_value(ad: ClassAd, name: str, target: ClassAd, world: World) -> Value:
    """The value of an ad's own attribute; an attribute that it lacks is not looked up in the target."""
    return UNDEFINED if ad.cell(fold(name)) is MISSING else ad.eval(name, target, world)


def _deferred(run: Run) -> Operand:
    return DEFERRED


def _parsed(expression: str | Expr) -> Expr:
    return parse_expression(expression) if isinstance(expression, str) else expression


class Moment:
    """A world whose clock stands still, so that all rows see one instant."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._now: float | None = None

    def now(self) -> float:
        """The instant of the first request for the time."""
        if self._now is None:
            self._now = self._world.now()
        return self._now

    def random(self) -> float:
        """The world's next number."""
        return self._world.random()

    def zone_offset(self, epoch: float) -> int:
        """The world's zone."""
        return self._world.zone_offset(epoch)

    def zone_name(self) -> str:
        """The world's zone."""
        return self._world.zone_name()

    def home_of(self, user: str) -> str | None:
        """The world's answer."""
        return self._world.home_of(user)

    def user_map(self, name: str) -> Mapping[str, str] | None:
        """The world's answer."""
        return self._world.user_map(name)
