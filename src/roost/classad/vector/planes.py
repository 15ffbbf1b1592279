"""Vectors as conditions: three-valued truth in two planes of bits.

One plane says *may be true*, the other *may be false*; both are set for UNDEFINED and none for ERROR. So the
three-valued operators become bit operations on whole columns (`logic`).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from roost.classad.ops import truth
from roost.classad.values import UNDEFINED
from roost.classad.vector.kinds import BOOL, DEFER, DEFERRED, ERR, INT, MIXED, REAL, UNDEF, value_of
from roost.classad.vector.vectors import Operand, Vector, boolean, kinds_in


class Planes(NamedTuple):
    """Operands as conditions, in three planes; all arrays of bool, or single bools.

    true: may be true; false: may be false (both: UNDEFINED, neither: ERROR); deferred: None if no row is.
    """

    true: Any
    false: Any
    deferred: Any = None


_CONSTANT_PLANES: Final = {
    True: Planes(np.True_, np.False_),
    False: Planes(np.False_, np.True_),
    UNDEFINED: Planes(np.True_, np.True_),
}


def planes(operand: Operand) -> Planes:
    """The truth of each row, by the rule for conditions."""
    if not isinstance(operand, Vector):
        if operand is DEFERRED:
            return Planes(np.False_, np.False_, np.True_)
        return _CONSTANT_PLANES.get(truth(operand), Planes(np.False_, np.False_))  # type: ignore[arg-type]
    if operand.kind != MIXED:
        return _planes_of_kind(operand, operand.kind)
    kinds = operand.kinds
    assert kinds is not None
    true = np.zeros(operand.size, bool)
    false = np.zeros(operand.size, bool)
    deferred = None
    for kind in kinds_in(operand.present):
        mask = kinds == kind
        part = _planes_of_kind(operand, kind)
        true |= mask & part.true
        false |= mask & part.false
        if kind == DEFER:
            deferred = mask
    return Planes(true, false, deferred)


def _planes_of_kind(vector: Vector, kind: int) -> Planes:
    if kind == BOOL:
        assert vector.bools is not None
        return Planes(vector.bools, ~vector.bools)
    if kind in (INT, REAL):
        numbers = vector.ints if kind == INT else vector.reals
        assert numbers is not None
        true = numbers != 0
        return Planes(true, ~true)
    if kind == UNDEF:
        return Planes(np.True_, np.True_)
    return Planes(np.False_, np.False_, np.True_ if kind == DEFER else None)


def from_planes(size: int, parts: Planes) -> Operand:
    """The vector of conditions; a value if all planes are single."""
    true, false, deferred = parts
    if np.ndim(true) == 0 and np.ndim(false) == 0 and np.ndim(deferred) == 0:
        if deferred:
            return DEFERRED
        if true and false:
            return UNDEFINED
        return bool(true) if true or false else value_of(ERR)
    definite = true ^ false
    bools = true & definite
    if definite.all() and (deferred is None or not deferred.any()):
        return boolean(np.broadcast_to(bools, size))
    # ERROR 2, true or false 3, UNDEFINED 1.
    kinds = np.full(size, ERR, np.uint8)
    kinds += definite
    kinds -= true & false
    present = 1 << BOOL | 1 << UNDEF | 1 << ERR
    if deferred is not None:
        np.copyto(kinds, DEFER, where=deferred)
        present |= 1 << DEFER
    return Vector(size, MIXED, kinds=kinds, present=present, bools=np.broadcast_to(bools, size))
