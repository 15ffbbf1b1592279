"""The strict operators and ``is`` on vectors: the rows of the tables in `ops`, a whole column at a time.

A kernel takes two operands that each are of one kind. Operands of mixed kinds are split: each possible pair of kinds
goes through the kernel, and the results are merged by masks. So each rule is written once. Values NumPy does not know
(times, lists) go through the scalar operator, once for each distinct pair.

Integers are int64 and wrap. Integer against real is double against double, as in `ops`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from roost.classad.ops import BINARY, UNARY, sortable
from roost.classad.syntax import Op
from roost.classad.values import ERROR, INT_MAX, INT_MIN, UNDEFINED, fold
from roost.classad.vector.distinct import apply_distinct
from roost.classad.vector.kinds import BOOL, DEFER, DEFERRED, ERR, INT, MIXED, OTHER, REAL, STRING, UNDEF, Array
from roost.classad.vector.planes import Planes, from_planes, planes
from roost.classad.vector.vectors import Operand, Piece, Vector, boolean, kinds_in, merge, operand_kind

#: Works on operands of one kind each: the operator, then each operand with its kind.
Kernel: TypeAlias = Callable[[Op, Operand, int, Operand, int], Operand]

_NUMERIC: Final = frozenset((BOOL, INT, REAL))
_COMPARE: Final[dict[Op, Callable[[Any, Any], Any]]] = {
    Op.EQ: np.equal,
    Op.NE: np.not_equal,
    Op.LT: np.less,
    Op.LE: np.less_equal,
    Op.GT: np.greater,
    Op.GE: np.greater_equal,
}
_MIRROR: Final = {Op.EQ: Op.EQ, Op.NE: Op.NE, Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE}
#: Results of comparing one column with constants that are kept.
_MEMO_MAX: Final = 32


def binary(op: Op, x: Operand, y: Operand) -> Operand:
    """A strict operator or ``is`` on two operands."""
    one, other = isinstance(x, Vector), isinstance(y, Vector)
    if not one and not other:
        if x is DEFERRED or y is DEFERRED:
            return DEFERRED
        return BINARY[op](x, y)  # type: ignore[arg-type]
    if one and not other and x.memo is not None and y.__class__ in _MEMO_CLASSES:  # type: ignore[union-attr]
        return _remembered(op, x, y)  # type: ignore[arg-type]
    return _compute(op, x, y)


_MEMO_CLASSES: Final = frozenset((bool, int, float, str))


def _remembered(op: Op, x: Vector, y: Any) -> Operand:
    """A comparison of a column with a constant: jobs of a pool repeat the same comparisons."""
    if op not in _COMPARE and op is not Op.IS and op is not Op.ISNT:
        return _compute(op, x, y)
    memo = x.memo
    assert memo is not None
    key = (op, y.__class__, y)
    found: Operand | None = memo.get(key)
    if found is None:
        found = _compute(op, x, y)
        if isinstance(found, Vector):
            while len(memo) >= _MEMO_MAX:
                del memo[next(iter(memo))]
            memo[key] = found
    return found


def _compute(op: Op, x: Operand, y: Operand) -> Operand:
    kernel = _KERNELS[op]
    kx, ky = operand_kind(x), operand_kind(y)
    if kx != MIXED and ky != MIXED:
        return kernel(op, x, kx, y, ky)
    size = x.size if isinstance(x, Vector) else y.size  # type: ignore[union-attr]
    pieces = []
    for kind_x, mask_x in _split(x, kx):
        for kind_y, mask_y in _split(y, ky):
            mask = mask_x & mask_y
            if mask.any():
                pieces.append(Piece(mask, kernel(op, x, kind_x, y, kind_y)))
    return merge(size, pieces)


def _split(operand: Operand, kind: int) -> list[tuple[int, Any]]:
    """Each kind that may occur, with the mask of its rows: `True` for all."""
    if kind != MIXED:
        return [(kind, True)]
    assert isinstance(operand, Vector) and operand.kinds is not None
    return [(each, operand.kinds == each) for each in kinds_in(operand.present)]


def unary(op: Op, x: Operand) -> Operand:
    """A prefix operator on an operand."""
    if not isinstance(x, Vector):
        return DEFERRED if x is DEFERRED else UNARY[op](x)  # type: ignore[arg-type]
    if op is Op.NOT:
        true, false, deferred = planes(x)
        return from_planes(x.size, Planes(false, true, deferred))
    if x.kind != MIXED:
        return _unary_of_kind(op, x, x.kind)
    return merge(x.size, [Piece(mask, _unary_of_kind(op, x, kind)) for kind, mask in _split(x, MIXED) if mask.any()])


def _unary_of_kind(op: Op, x: Vector, kind: int) -> Operand:
    if kind == DEFER:
        return DEFERRED
    if kind == INT and x.ints is not None:
        if op is Op.SUB:
            return Vector(x.size, INT, ints=np.negative(x.ints))
        return Vector(x.size, INT, ints=x.ints if op is Op.ADD else ~x.ints)
    if kind == REAL and op is not Op.INVERT and x.reals is not None:
        return Vector(x.size, REAL, reals=-x.reals if op is Op.SUB else x.reals)
    if kind == OTHER:
        return apply_distinct(UNARY[op], [_only(x, kind)], x.size)
    return UNDEFINED if kind == UNDEF else ERROR


# -- kernels -------------------------------------------------------------------------------------


def _exceptional(kx: int, ky: int) -> Operand | None:
    """The result of a strict operator that an operand's kind alone decides."""
    if kx == DEFER or ky == DEFER:
        return DEFERRED
    if kx == ERR or ky == ERR:
        return ERROR
    return UNDEFINED if kx == UNDEF or ky == UNDEF else None


def _only(x: Operand, kind: int) -> Operand:
    """An operand seen as being of one kind: rows of other kinds are garbage."""
    if not isinstance(x, Vector) or x.kind == kind:
        return x
    if kind in (STRING, OTHER):
        assert x.kinds is not None and x.codes is not None
        # Garbage codes may be out of range.
        codes = np.where(x.kinds == kind, x.codes, x.codes[np.argmax(x.kinds == kind)])
        return Vector(x.size, kind, codes=codes, words=x.words)
    return Vector(x.size, kind, bools=x.bools, ints=x.ints, reals=x.reals)


def _scalar(op: Op, x: Operand, kx: int, y: Operand, ky: int) -> Operand:
    size = x.size if isinstance(x, Vector) else y.size  # type: ignore[union-attr]
    return apply_distinct(BINARY[op], [_only(x, kx), _only(y, ky)], size)


def _ints(x: Any, kind: int) -> Any:
    """A boolean or integer operand as integers."""
    if not isinstance(x, Vector):
        return int(x)
    return x.ints if kind == INT else x.bools.astype(np.int64)  # type: ignore[union-attr]


def _reals(x: Any, kind: int) -> Any:
    """A numeric operand as reals."""
    if not isinstance(x, Vector):
        return float(x)
    if kind == REAL:
        return x.reals
    return (x.ints if kind == INT else x.bools).astype(np.float64)  # type: ignore[union-attr]


def _compare(op: Op, x: Operand, kx: int, y: Operand, ky: int) -> Operand:
    if kx in _NUMERIC and ky in _NUMERIC:
        if kx == REAL or ky == REAL:
            return boolean(_COMPARE[op](_reals(x, kx), _reals(y, ky)))
        return boolean(_COMPARE[op](_ints(x, kx), _ints(y, ky)))
    decided = _exceptional(kx, ky)
    if decided is not None:
        return decided
    if kx == STRING and ky == STRING:
        return _compare_texts(op, x, y)
    return _scalar(op, x, kx, y, ky) if kx == OTHER and ky == OTHER else ERROR


def _identical(op: Op, x: Operand, kx: int, y: Operand, ky: int) -> Operand:
    if kx == DEFER or ky == DEFER:
        return DEFERRED
    if kx != ky:
        return op is Op.ISNT
    if kx in (UNDEF, ERR):
        return op is Op.IS
    if kx == OTHER:
        return _scalar(op, x, kx, y, ky)
    if kx == STRING:
        same = _same_texts(x, y)
    elif kx == REAL:
        same = np.equal(_reals(x, kx), _reals(y, ky))
    else:
        same = np.equal(_ints(x, kx), _ints(y, ky))
    return boolean(same if op is Op.IS else ~same)


def _arithmetic(op: Op, x: Operand, kx: int, y: Operand, ky: int) -> Operand:
    if kx in _NUMERIC and ky in _NUMERIC:
        if kx == REAL or ky == REAL:
            return ERROR if op is Op.MOD else _compute_reals(op, _reals(x, kx), _reals(y, ky))
        return _compute_ints(op, _ints(x, kx), _ints(y, ky))
    decided = _exceptional(kx, ky)
    if decided is not None:
        return decided
    return _scalar(op, x, kx, y, ky) if kx == OTHER or ky == OTHER else ERROR


_ON_REALS: Final[dict[Op, Callable[[Any, Any], Any]]] = {
    Op.ADD: np.add,
    Op.SUB: np.subtract,
    Op.MUL: np.multiply,
    Op.DIV: np.true_divide,
}


def _compute_reals(op: Op, x: Any, y: Any) -> Operand:
    result = _ON_REALS[op](x, y)
    endless = result == np.inf
    vector = Vector(len(result), REAL, reals=result)
    return merge(len(result), [Piece(~endless, vector), Piece(endless, ERROR)]) if endless.any() else vector


def _compute_ints(op: Op, x: Any, y: Any) -> Operand:
    if op is not Op.DIV and op is not Op.MOD:
        result = _ON_REALS[op](x, y)
        return Vector(len(result), INT, ints=result)
    zero = np.equal(y, 0)
    if zero.all():
        return ERROR
    # The processor never divides by 0 or -1: MIN / -1 overflows.
    minus = np.equal(y, -1)
    divisor = np.where(zero | minus, 1, y)
    if op is Op.MOD:
        result = np.fmod(x, divisor)
    else:
        result = np.floor_divide(x, divisor)
        # Toward 0, where NumPy goes down.
        result = result + ((result * divisor != x) & (np.less(x, 0) != np.less(divisor, 0)))
        result = np.where(minus, np.where(np.equal(x, INT_MIN), INT_MAX, np.negative(x)), result)
    vector = Vector(len(result), INT, ints=np.asarray(result, np.int64))
    return merge(len(result), [Piece(~zero, vector), Piece(zero, ERROR)]) if zero.any() else vector


_ON_BITS: Final[dict[Op, Callable[[Any, Any], Any]]] = {
    Op.BIT_AND: np.bitwise_and,
    Op.BIT_OR: np.bitwise_or,
    Op.BIT_XOR: np.bitwise_xor,
}


def _bitwise(op: Op, x: Operand, kx: int, y: Operand, ky: int) -> Operand:
    decided = _exceptional(kx, ky)
    if decided is not None:
        return decided
    if kx != INT or ky != INT:
        return ERROR
    if op not in _ON_BITS:
        # Shifts have special rules for negative numbers, and are rare.
        return _scalar(op, x, kx, y, ky)
    result = _ON_BITS[op](_ints(x, kx), _ints(y, ky))
    return Vector(len(result), INT, ints=result)


_KERNELS: Final[dict[Op, Kernel]] = {
    **dict.fromkeys(_COMPARE, _compare),
    Op.IS: _identical,
    Op.ISNT: _identical,
    **dict.fromkeys((Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.MOD), _arithmetic),
    **dict.fromkeys((Op.BIT_AND, Op.BIT_OR, Op.BIT_XOR, Op.SHL, Op.SHR, Op.USHR), _bitwise),
}


# -- strings -------------------------------------------------------------------------------------


def _rows_with(vector: Vector, codes: list[int]) -> Array:
    """Mask of the rows that have one of `codes`."""
    assert vector.codes is not None and vector.words is not None
    if not codes:
        return np.zeros(vector.size, bool)
    if len(codes) <= _FEW_CODES:
        mask: Array = vector.codes == codes[0]
        for code in codes[1:]:
            mask |= vector.codes == code
        return mask
    wanted = np.zeros(len(vector.words.values), bool)
    wanted[codes] = True
    return wanted.take(vector.codes, mode="clip")


#: Up to this many codes, comparing is faster than a lookup.
_FEW_CODES: Final = 6


def _compare_texts(op: Op, x: Operand, y: Operand) -> Operand:
    if not isinstance(x, Vector):
        return _compare_texts(_MIRROR[op], y, x)
    if not isinstance(y, Vector):
        assert x.words is not None and x.codes is not None and isinstance(y, str)
        if op in (Op.EQ, Op.NE):
            mask = _rows_with(x, x.words.codes_like(y))
            return boolean(mask if op is Op.EQ else ~mask)
        folded, *texts = sortable(fold(y), *x.words.folded())
        # 0 below the constant, 1 equal to it, 2 above.
        order = [(text > folded) + (text >= folded) for text in texts]  # type: ignore[operator]
        return boolean(_COMPARE[op](np.array(order, np.int8), 1).take(x.codes, mode="clip"))
    assert x.words is not None and y.words is not None
    one, other = x.words.folded(), y.words.folded()
    if op in (Op.EQ, Op.NE):
        return boolean(_COMPARE[op](*_ranks(x, y, one, other)))
    both = sortable(*one, *other)
    return boolean(_COMPARE[op](*_ranks(x, y, both[: len(one)], both[len(one) :])))


def _same_texts(x: Operand, y: Operand) -> Array:
    if not isinstance(x, Vector):
        x, y = y, x
    assert isinstance(x, Vector) and x.words is not None
    if not isinstance(y, Vector):
        return _rows_with(x, x.words.codes_of(y))  # type: ignore[arg-type]
    assert y.words is not None
    one, other = _ranks(x, y, x.words.texts(), y.words.texts())
    same: Array = one == other
    return same


def _ranks(x: Vector, y: Vector, one: Sequence[Any], other: Sequence[Any]) -> tuple[Array, Array]:
    """For each row of both the place of its text, `one` and `other` by code, among the distinct texts in order."""
    assert x.codes is not None and y.codes is not None
    rank = {text: place for place, text in enumerate(sorted({*one, *other}))}
    places = np.array([rank[text] for text in one], np.int32), np.array([rank[text] for text in other], np.int32)
    return places[0].take(x.codes, mode="clip"), places[1].take(y.codes, mode="clip")
