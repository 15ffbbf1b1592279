"""The result of an expression for each row."""

from __future__ import annotations

import numpy as np

from roost.classad.values import Value
from roost.classad.vector.kinds import BOOL, DEFER, DEFERRED, INT, OTHER, REAL, STRING, Array
from roost.classad.vector.planes import planes
from roost.classad.vector.vectors import PAYLOADS, Operand, Vector, gather, values_of


class Result:
    """One value per row, in the order of the table's keys at the time. Independent of later changes of the table."""

    __slots__ = ("_vector", "size")

    def __init__(self, operand: Operand, size: int) -> None:
        self.size = size
        self._vector = operand

    def __len__(self) -> int:
        return self.size

    @property
    def state(self) -> Array:
        """The kind of each value (see `CellKind`), uint8, shape (rows,)."""
        return np.minimum(self._whole().kinds_array(), OTHER)

    @property
    def values(self) -> Array:
        """The values, shape (rows,): int64, float64 or bool where all are of that kind, else Python objects."""
        vector = self._whole()
        payload = {BOOL: vector.bools, INT: vector.ints, REAL: vector.reals}.get(vector.kind)
        if payload is not None:
            return payload.copy()
        out = np.empty(self.size, object)
        for row, value in enumerate(self.to_list()):
            # One by one: NumPy would look into lists and ads.
            out[row] = value
        return out

    @property
    def is_single(self) -> bool:
        """Whether all rows are known to have the same value."""
        return not isinstance(self._vector, Vector)

    def number_or(self, otherwise: float) -> float:
        """The number that all rows have, where `is_single`."""
        value = self._vector
        if value.__class__ not in (bool, int, float) or value != value:
            return otherwise
        return float(value)

    @property
    def is_true(self) -> bool:
        """Whether the value is the same in all rows, and true; known without looking at rows."""
        return self._vector is True

    def texts(self) -> tuple[Array, list[str]]:
        """The strings as numbers: for each row the place of its text in the list, -1 where it is not a string."""
        vector = self._whole()
        if vector.codes is None or vector.words is None or not vector.has(STRING):
            return np.full(self.size, -1, np.int32), []
        if vector.kind == STRING:
            return vector.codes.copy(), vector.words.texts()
        return np.where(vector.where(STRING), vector.codes, -1).astype(np.int32), vector.words.texts()

    def numbers_or(self, otherwise: float) -> Array:
        """`numbers` with another value for NaN and for values that are not numbers."""
        if not isinstance(self._vector, Vector):
            return np.full(self.size, self.number_or(otherwise))
        vector, found = self._whole(), self.numbers
        if vector.kind not in (BOOL, INT, REAL):
            kinds = vector.kinds_array()
            found[(kinds < BOOL) | (kinds > REAL)] = otherwise
        if vector.reals is not None and np.isnan(found).any():
            found[np.isnan(found)] = otherwise
        return found

    def numbers_at(self, rows: Array, otherwise: float) -> Array:
        """`numbers_or` of some rows only."""
        vector = self._vector
        if not isinstance(vector, Vector):
            return np.full(len(rows), self.number_or(otherwise))
        payload = {BOOL: vector.bools, INT: vector.ints, REAL: vector.reals}.get(vector.kind)
        if payload is None:
            return self.numbers_or(otherwise).take(rows)
        found: Array = payload.take(rows).astype(np.float64, copy=False)
        if vector.kind == REAL and np.isnan(found).any():
            found[np.isnan(found)] = otherwise
        return found

    def to_list(self) -> list[Value]:
        """The values as from the scalar evaluator."""
        return values_of(self._whole())

    @property
    def true(self) -> Array:
        """Mask of the rows that count as a match: true, or a number other than 0. Shape (rows,)."""
        return matching(self._vector, self.size)

    @property
    def numbers(self) -> Array:
        """The values as a rank, float64: booleans as 0 and 1, what is not a number as 0. Shape (rows,)."""
        vector = self._whole()
        if vector.kind == REAL and vector.reals is not None:
            return vector.reals.copy()
        payload = {BOOL: vector.bools, INT: vector.ints}.get(vector.kind)
        if payload is not None:
            return payload.astype(np.float64)
        out = np.zeros(self.size)
        for kind, payload in ((BOOL, vector.bools), (INT, vector.ints), (REAL, vector.reals)):
            if payload is not None and vector.has(kind):
                np.copyto(out, payload, where=vector.where(kind))
        return out

    def _whole(self) -> Vector:
        vector = self._vector
        if not isinstance(vector, Vector):
            vector = self._vector = gather([vector], np.zeros(self.size, np.intp))
        return vector


class Partition:
    """Rows of a table divided into groups."""

    __slots__ = ("bounds", "place", "size")

    def __init__(self, groups: list[Array]) -> None:
        self.size = sum(len(index) for index in groups)
        ends = np.cumsum([len(index) for index in groups]).tolist()
        #: First place of each group, and that after its last, where groups stand one after the other.
        self.bounds = list(zip([0, *ends[:-1]], ends, strict=True))
        #: Place of each row there, shape (rows,).
        self.place = np.empty(self.size, np.intp)
        self.place[np.concatenate(groups)] = np.arange(self.size)


class Parted:
    """The results of an expression by group of rows. Valid until the table changes."""

    __slots__ = ("_partition", "_parts")

    def __init__(self, parts: list[Result], partition: Partition | None = None) -> None:
        self._parts = parts
        #: None if there is but one part.
        self._partition = partition

    def singles(self, otherwise: float) -> tuple[float, ...] | None:
        """The number of each group, if each has only one; see `Result.number_or`."""
        if not all(part.is_single for part in self._parts):
            return None
        return tuple(part.number_or(otherwise) for part in self._parts)

    def numbers_or(self, otherwise: float) -> Array:
        """As `Result.numbers_or`, of all rows in the table's order."""
        if self._partition is None:
            return self._parts[0].numbers_or(otherwise)
        return self._flat(self._partition, otherwise).take(self._partition.place)

    def numbers_at(self, rows: Array, otherwise: float) -> Array:
        """`numbers_or` of some rows."""
        if self._partition is None:
            return self._parts[0].numbers_at(rows, otherwise)
        return self._flat(self._partition, otherwise).take(self._partition.place.take(rows))

    def _flat(self, partition: Partition, otherwise: float) -> Array:
        flat = np.empty(partition.size)
        for (start, end), part in zip(partition.bounds, self._parts, strict=True):
            flat[start:end] = part.number_or(otherwise) if part.is_single else part.numbers_or(otherwise)
        return flat


def matching(operand: Operand, size: int) -> Array:
    """Mask of the rows that are true or a number other than 0; rows still DEFERRED are not in it."""
    if not isinstance(operand, Vector):
        return np.full(size, operand is True or (operand.__class__ in (int, float) and operand != 0))
    if operand.kind == BOOL and operand.bools is not None:
        return operand.bools.copy()
    true, false, _ = planes(operand)
    return np.broadcast_to(true & ~false, size).copy()


def undecided(operand: Operand, size: int) -> Array | None:
    """Mask of the rows that are DEFERRED; None if there are none."""
    if not isinstance(operand, Vector):
        return np.ones(size, bool) if operand is DEFERRED else None
    if not operand.has(DEFER):
        return None
    mask = operand.where(DEFER)
    return mask if mask.any() else None


def frozen(operand: Operand) -> Operand:
    """`operand` with copied arrays, since the table's may change."""
    if not isinstance(operand, Vector):
        return operand
    copy = Vector(operand.size, operand.kind, present=operand.present, words=operand.words)
    for name in ("kinds", *PAYLOADS):
        array: Array | None = getattr(operand, name)
        if array is not None:
            setattr(copy, name, array.copy())
    return copy
