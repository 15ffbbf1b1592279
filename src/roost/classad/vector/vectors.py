"""Columns of values within an evaluation, and merging of pieces.

A `Vector` holds one value per row. In the common case all rows are of one kind, and the vector is one NumPy array;
otherwise `kinds` says for each row which of the arrays counts; the others have garbage there. A part of an
expression that is the same for all rows is not a vector but the value itself: an *operand* is either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from roost.classad.values import Value
from roost.classad.vector.kinds import (
    BOOL,
    CODED,
    DEFER,
    DEFERRED,
    ERR,
    INT,
    KINDS,
    MIXED,
    REAL,
    UNDEF,
    Array,
    Dictionary,
    Marker,
    kind_of,
    value_of,
)


class Vector:
    """One value per row; shapes are (size,)."""

    __slots__ = ("bools", "codes", "ints", "kind", "kinds", "memo", "present", "reals", "size", "words")

    def __init__(
        self,
        size: int,
        kind: int,
        *,
        kinds: Array | None = None,
        present: int | None = None,
        bools: Array | None = None,
        ints: Array | None = None,
        reals: Array | None = None,
        codes: Array | None = None,
        words: Dictionary | None = None,
    ) -> None:
        self.size = size
        #: The kind of all rows, or MIXED.
        self.kind = kind
        #: uint8; None unless MIXED.
        self.kinds = kinds
        #: Bit set of the kinds that may occur.
        self.present = 1 << kind if present is None else present
        #: bool, int64, float64, int32: whichever kinds occur.
        self.bools = bools
        self.ints = ints
        self.reals = reals
        self.codes = codes
        self.words = words
        #: Results of comparing a column with constants; None for a short-lived vector.
        self.memo: dict[Any, Vector] | None = None

    def where(self, kind: int) -> Array:
        """Mask of the rows of a kind."""
        if self.kinds is None:
            return np.full(self.size, self.kind == kind)
        mask: Array = self.kinds == kind
        return mask

    def has(self, kind: int) -> bool:
        """Whether rows of that kind may occur."""
        return bool(self.present >> kind & 1)

    def kinds_array(self) -> Array:
        """The kinds as an array, uint8."""
        return np.full(self.size, self.kind, np.uint8) if self.kinds is None else self.kinds

    def take(self, index: Array, kind: int | None = None) -> Vector:
        """The rows at `index`, which are all of `kind` if that is given."""
        if kind is None and self.kinds is None:
            kind = self.kind
        picked = Vector(len(index), MIXED if kind is None else kind, present=self.present if kind is None else None)
        if kind is None:
            assert self.kinds is not None
            picked.kinds = self.kinds.take(index)
        for name in PAYLOADS if kind is None else (_PAYLOAD_OF[kind],):
            payload = getattr(self, name) if name else None
            if payload is not None:
                setattr(picked, name, payload.take(index))
        picked.words = self.words
        return picked if kind is not None else settled(picked)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        arrays = (self.kinds, self.bools, self.ints, self.reals, self.codes)
        return sum(array.nbytes for array in arrays if array is not None)


#: A vector, a value that all rows share, or a marker.
Operand: TypeAlias = "Vector | Value | Marker"

PAYLOADS: Final = ("bools", "ints", "reals", "codes")
_PLAIN_PAYLOADS: Final = {BOOL: "bools", INT: "ints", REAL: "reals"}
#: Name of the array of each kind; "" for kinds that have none.
_PAYLOAD_OF: Final = tuple(_PLAIN_PAYLOADS.get(kind, "codes" if kind in CODED else "") for kind in range(KINDS))
_DTYPES: Final = {
    "kinds": np.dtype("u1"),
    "bools": np.dtype(bool),
    "ints": np.dtype("i8"),
    "reals": np.dtype("f8"),
    "codes": np.dtype("i4"),
}
_DTYPE_OF_KIND: Final = {BOOL: "?", INT: "i8", REAL: "f8"}


def kinds_in(present: int) -> Iterator[int]:
    """The kinds of a bit set."""
    for kind in range(KINDS):
        if present >> kind & 1:
            yield kind


def operand_kind(operand: Operand) -> int:
    """The kind of all rows of an operand, or MIXED."""
    return operand.kind if isinstance(operand, Vector) else kind_of(operand)


def longest_text(operand: Operand) -> int:
    """Characters of the longest string that the operand may hold."""
    if isinstance(operand, Vector):
        return 0 if operand.words is None else operand.words.longest()
    return len(operand) if isinstance(operand, str) else 0


def boolean(bools: Array) -> Vector:
    """The vector of true and false rows."""
    return Vector(len(bools), BOOL, bools=bools)


def settled(vector: Vector) -> Vector:
    """`vector`, marked as having one kind if all its rows do."""
    kinds = vector.kinds
    if kinds is None or not vector.size:
        return vector
    first = int(kinds[0])
    if not (kinds == first).all():
        return vector
    payload = _PAYLOAD_OF[first]
    alike = Vector(vector.size, first)
    if payload:
        setattr(alike, payload, getattr(vector, payload))
        alike.words = vector.words if payload == "codes" else None
    return alike


# -- building ------------------------------------------------------------------------------------


class Piece(NamedTuple):
    """Some rows of a vector to be put together."""

    #: bool mask over all rows, or the index of the rows.
    where: Array
    value: Operand
    #: Whether `value` has a row for each row in `where` only.
    compact: bool = False


def merge(size: int, pieces: Sequence[Piece]) -> Vector:
    """The vector that has each piece's rows; each row is in exactly one piece."""
    if all(operand_kind(piece.value) == BOOL and not piece.compact for piece in pieces):
        return _merge_conditions(size, pieces)
    values = [piece.value if isinstance(piece.value, Vector) else _single(piece.value) for piece in pieces]
    present = 0
    for value in values:
        present |= value.present
    kind = values[0].kind if all(value.kind == values[0].kind for value in values) else MIXED
    out = Vector(size, kind, present=present)
    codes = _CodeBook()
    for piece, value in zip(pieces, values, strict=True):
        spread = not isinstance(piece.value, Vector)
        if kind == MIXED:
            _put(out, "kinds", piece, value.kind if value.kinds is None else value.kinds)
        for name in ("bools", "ints", "reals"):
            payload = getattr(value, name)
            if payload is not None:
                _put(out, name, piece, payload[0] if spread else payload)
        if value.codes is not None:
            translated = codes.translate(value)
            _put(out, "codes", piece, translated[0] if spread else translated)
    out.words = codes.words
    return settled(out)


def _merge_conditions(size: int, pieces: Sequence[Piece]) -> Vector:
    """`merge` of nothing but true and false rows, told apart by masks: policies, nearly always."""
    out = np.zeros(size, bool)
    for where, value, _ in pieces:
        if where.dtype != np.bool_:
            out[where] = value.bools if isinstance(value, Vector) else value
        elif isinstance(value, Vector):
            out |= where & value.bools
        elif value is True:
            out |= where
    return boolean(out)


def _put(out: Vector, name: str, piece: Piece, source: Any) -> None:
    """Write rows of one array of `out`; those of other pieces are zero in what is written, or not touched."""
    target = getattr(out, name)
    if target is None:
        target = np.zeros(out.size, _DTYPES[name])
        setattr(out, name, target)
    where = piece.where
    if where.dtype != np.bool_:
        target[where] = source
    elif piece.compact:
        target[np.flatnonzero(where)] = source
    elif target.itemsize == 1:
        # Bits instead of a masked copy: twenty times faster, because there is no branch per row.
        bits = np.asarray(source, target.dtype).view(np.uint8)
        target.view(np.uint8)[:] |= bits & np.negative(where.view(np.int8)).view(np.uint8)
    else:
        whole = np.dtype(f"i{target.itemsize}")
        target.view(whole)[:] |= np.asarray(source, target.dtype).view(whole) * where


def _single(value: Operand) -> Vector:
    """A value as a vector of one row."""
    return gather([value], None)


class _CodeBook:
    """Joins the words of several vectors."""

    def __init__(self) -> None:
        self.words: Dictionary | None = None
        self._index: dict[str, int] | None = None

    def translate(self, vector: Vector) -> Array:
        """The codes of a vector in the joint words."""
        words, codes = vector.words, vector.codes
        assert words is not None and codes is not None
        if self.words is None:
            self.words = words
            return codes
        if self.words is words:
            return codes
        if self._index is None:
            # A copied list: that of the first vector belongs to a column.
            self.words = Dictionary(list(self.words.values))
            self._index = {value: code for code, value in enumerate(self.words.values) if value.__class__ is str}
        values, index = self.words.values, self._index
        mapped = np.zeros(max(1, len(words.values)), np.int32)
        for code, value in enumerate(words.values):
            place = index.get(value) if value.__class__ is str else None
            if place is None:
                place = len(values)
                values.append(value)
                if value.__class__ is str:
                    index[value] = place
            mapped[code] = place
        return mapped.take(codes)


def gather(values: Sequence[Operand], codes: Array | None) -> Vector:
    """The vector whose row i is ``values[codes[i]]``; without codes, whose rows are the values."""
    kinds = [kind_of(value) for value in values]
    present = 0
    for kind in kinds:
        present |= 1 << kind
    size = len(values) if codes is None else len(codes)
    out = Vector(size, kinds[0] if len(set(kinds)) == 1 else MIXED, present=present)
    if out.kind == MIXED:
        out.kinds = _spread(np.array(kinds, np.uint8), codes)
    for kind in kinds_in(present):
        if kind in _DTYPE_OF_KIND:
            plain = [value if own == kind else 0 for value, own in zip(values, kinds, strict=True)]
            setattr(out, _PAYLOAD_OF[kind], _spread(np.array(plain, _DTYPE_OF_KIND[kind]), codes))
    if any(present >> kind & 1 for kind in CODED):
        words: list[Any] = []
        index: dict[Any, int] = {}
        places = []
        for value in values:
            name = value if value.__class__ is str else id(value)
            if name not in index:
                index[name] = len(words)
                words.append(value)
            places.append(index[name])
        out.words = Dictionary(words)
        out.codes = _spread(np.array(places, np.int32), codes)
    return out


def _spread(array: Array, codes: Array | None) -> Array:
    return array if codes is None else array.take(codes)


def values_of(vector: Vector) -> list[Any]:
    """The rows as Python values."""
    if vector.kind != MIXED:
        return _values_of_kind(vector, vector.kind)
    assert vector.kinds is not None
    out: list[Any] = [None] * vector.size
    for kind in kinds_in(vector.present):
        index = np.flatnonzero(vector.kinds == kind)
        if not len(index):
            continue
        for row, value in zip(index.tolist(), _values_of_kind(vector.take(index, kind), kind), strict=True):
            out[row] = value
    return out


def _values_of_kind(vector: Vector, kind: int) -> list[Any]:
    if kind in (UNDEF, ERR):
        return [value_of(kind)] * vector.size
    if kind == DEFER and vector.codes is None:
        return [DEFERRED] * vector.size
    if kind in CODED:
        assert vector.words is not None and vector.codes is not None
        values = vector.words.values
        return [values[code] for code in vector.codes.tolist()]
    payload: Array = getattr(vector, _PAYLOAD_OF[kind])
    return payload.tolist()  # type: ignore[no-any-return]
