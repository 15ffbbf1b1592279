"""Any function of values over vectors: once for each distinct combination of arguments, not once for each row.

Columns of a pool repeat: fifty thousand slots have three values of Arch and a dozen of Memory. So operations without a
NumPy operator are still evaluated in bulk, by the same function as in the scalar evaluator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from roost.classad.vector.kinds import BOOL, CODED, DEFER, DEFERRED, ERR, INT, MIXED, REAL, UNDEF, Array, value_of
from roost.classad.vector.vectors import Operand, Vector, gather, kinds_in


def apply_distinct(function: Callable[..., Operand], arguments: Sequence[Operand], size: int) -> Operand:
    """``function(*arguments)`` for each row; `function` must depend on its arguments only and may give DEFERRED.

    Rows with a DEFERRED argument are DEFERRED. Without a vector among the arguments the result is a value.
    """
    codes: Array | None = None
    #: For each code, the values of the vector arguments so far.
    combinations: list[tuple[Any, ...]] = [()]
    for argument in arguments:
        if isinstance(argument, Vector):
            own, values = _encode(argument)
            own, used = _dense(own, len(values))
            if codes is None:
                codes, combinations = own, [(values[code],) for code in used]
                continue
            count = len(used)
            codes, pairs = _dense(codes.astype(np.int64) * count + own, len(combinations) * count)
            combinations = [(*combinations[pair // count], values[used[pair % count]]) for pair in pairs]
    spots = [isinstance(argument, Vector) for argument in arguments]
    results = [_call(function, arguments, spots, found) for found in combinations]
    if codes is None or len(results) == 1:
        return results[0]
    return gather(results, codes)


def _call(
    function: Callable[..., Operand], arguments: Sequence[Operand], spots: list[bool], found: tuple[Any, ...]
) -> Operand:
    varying = iter(found)
    values = [next(varying) if spot else argument for spot, argument in zip(spots, arguments, strict=True)]
    if any(value is DEFERRED for value in values):
        return DEFERRED
    return function(*values)


def _dense(codes: Array, bound: int) -> tuple[Array, list[int]]:
    """Codes below `bound` renumbered without gaps, and which those in use were."""
    if bound > 4 * len(codes) + 1024:
        used, dense = np.unique(codes, return_inverse=True)
        return dense, used.tolist()
    seen = np.zeros(bound, bool)
    seen[codes] = True
    used = np.flatnonzero(seen)
    if len(used) == bound:
        return codes, list(range(bound))
    number = np.zeros(bound, np.int32)
    number[used] = np.arange(len(used), dtype=np.int32)
    return number.take(codes), used.tolist()


def _encode(vector: Vector) -> tuple[Array, Sequence[Any]]:
    """A code for each row, and the value of each code. Equal values of one kind have one code."""
    if vector.kind != MIXED:
        return _encode_kind(vector, vector.kind)
    assert vector.kinds is not None
    codes = np.zeros(vector.size, np.int32)
    values: list[Any] = []
    for kind in kinds_in(vector.present):
        index = np.flatnonzero(vector.kinds == kind)
        if len(index):
            own, found = _encode_kind(vector.take(index, kind), kind)
            codes[index] = own + len(values)
            values.extend(found)
    return codes, values


def _encode_kind(vector: Vector, kind: int) -> tuple[Array, Sequence[Any]]:
    if kind in (UNDEF, ERR):
        return np.zeros(vector.size, np.int32), [value_of(kind)]
    if kind == DEFER:
        return np.zeros(vector.size, np.int32), [DEFERRED]
    if kind == BOOL:
        assert vector.bools is not None
        return vector.bools.astype(np.int8), [False, True]
    if kind in CODED:
        assert vector.codes is not None and vector.words is not None
        return vector.codes, vector.words.values
    if kind == REAL:
        # By bits: 0.0 and -0.0 are not the same argument, one NaN is as good as another.
        assert vector.reals is not None
        bits, codes = np.unique(np.ascontiguousarray(vector.reals).view(np.int64), return_inverse=True)
        return codes, bits.view(np.float64).tolist()
    assert kind == INT and vector.ints is not None
    whole, codes = np.unique(vector.ints, return_inverse=True)
    return codes, whole.tolist()
