"""Three-valued logic and choice on vectors: ``&&``, ``||``, ``?:``, ``? :``.

Conditions are computed in two planes of bits, *may be true* and *may be false*; both set is UNDEFINED, none is ERROR.
So the tables of `ops`, with their precedence of ERROR on the left, become a few bit operations on whole columns.
The ordinary case, no row UNDEFINED or ERROR, is one operation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from roost.classad.ops import truth
from roost.classad.values import ERROR, UNDEFINED
from roost.classad.vector.kinds import BOOL, DEFERRED, MIXED, UNDEF, Array
from roost.classad.vector.planes import Planes, from_planes, planes
from roost.classad.vector.vectors import Operand, Piece, Vector, boolean, kinds_in, merge, operand_kind

#: Computes an operand when it is needed.
Later = Callable[[], Operand]


def logical(x: Operand, y: Operand, conjunction: bool) -> Operand:
    """``x && y``, or ``x || y``; `x` must not decide the result alone (see `decided`)."""
    if not isinstance(x, Vector):
        if x is not DEFERRED and truth(x) is conjunction:  # type: ignore[arg-type]
            return condition(y)
    elif x.kind == BOOL:
        if isinstance(y, Vector) and y.kind == BOOL:
            return boolean(x.bools & y.bools if conjunction else x.bools | y.bools)  # type: ignore[operator]
        if y is conjunction:
            return x
        if y is (not conjunction):
            return y
    size = x.size if isinstance(x, Vector) else y.size if isinstance(y, Vector) else 1
    parts = (
        _conjunction(planes(x), planes(y)) if conjunction else _flip(_conjunction(_flip(planes(x)), _flip(planes(y))))
    )
    return from_planes(size, parts)


def decided(x: Operand, conjunction: bool) -> bool:
    """Whether no row's right side would be evaluated."""
    if not isinstance(x, Vector):
        if x is DEFERRED:
            return True
        value = truth(x)  # type: ignore[arg-type]
        return value is ERROR or value is (not conjunction)
    if x.kind == BOOL:
        assert x.bools is not None
        return not x.bools.any() if conjunction else bool(x.bools.all())
    return False


def _conjunction(x: Planes, y: Planes) -> Planes:
    true = x.true & y.true
    false = (x.false & ~x.true) | (x.true & y.false) | (x.false & y.true)
    deferred = x.deferred
    if y.deferred is not None:
        # The right side counts where the left is true or UNDEFINED.
        later = y.deferred & x.true
        deferred = later if deferred is None else deferred | later
    return Planes(true, false, deferred)


def _flip(parts: Planes) -> Planes:
    return Planes(parts.false, parts.true, parts.deferred)


def condition(x: Operand) -> Operand:
    """The truth of an operand: true, false, UNDEFINED or ERROR."""
    if isinstance(x, Vector):
        return x if x.kind == BOOL else from_planes(x.size, planes(x))
    return DEFERRED if x is DEFERRED else truth(x)  # type: ignore[arg-type]


def choose(test: Operand, then: Later, otherwise: Later) -> Operand:
    """``test ? then : otherwise``; a branch that no row takes is not computed."""
    if not isinstance(test, Vector):
        value = condition(test)
        if value is True:
            return then()
        return otherwise() if value is False else value
    true, false, deferred = (_whole(plane, test.size) for plane in planes(test))
    pieces: list[Piece] = []
    branches: tuple[tuple[Array, Later], ...] = (
        (true & ~false, then),
        (false & ~true, otherwise),
        (true & false, lambda: UNDEFINED),
        (~(true | false) & ~deferred, lambda: ERROR),
        (deferred, lambda: DEFERRED),
    )
    for mask, branch in branches:
        if mask.any():
            pieces.append(Piece(mask, branch()))
    if len(pieces) == 1:
        return pieces[0].value
    return merge(test.size, pieces)


def _whole(plane: Any, size: int) -> Any:
    if plane is None:
        return np.zeros(size, bool)
    return plane if np.ndim(plane) else np.full(size, plane)


def otherwise(x: Operand, y: Later) -> Operand:
    """``x ?: y``."""
    return replaced(x, UNDEF, y)


def replaced(x: Operand, kind: int, y: Later) -> Operand:
    """`x` with the rows of `kind` taken from `y`; `y` is not computed if there are none."""
    if not isinstance(x, Vector):
        return y() if kind == UNDEF and x is UNDEFINED else x
    if not x.has(kind):
        return x
    if x.kind == kind:
        return y()
    mask = x.where(kind)
    if not mask.any():
        return x
    instead = y()
    out = merge(x.size, [Piece(~mask, x), Piece(mask, instead)])
    if out.kind == MIXED and operand_kind(instead) not in (kind, MIXED):
        out.present &= ~(1 << kind)
    return out


def by_kind(x: Operand, answers: Mapping[int, Operand], otherwise: Operand) -> Operand:
    """For each row the answer to its kind."""
    if operand_kind(x) != MIXED:
        return answers.get(operand_kind(x), otherwise)
    assert isinstance(x, Vector) and x.kinds is not None
    pieces = []
    for kind in kinds_in(x.present):
        mask = x.kinds == kind
        if mask.any():
            pieces.append(Piece(mask, answers.get(kind, otherwise)))
    return merge(x.size, pieces)
