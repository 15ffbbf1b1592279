"""Comparison of a requested and an offered value."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Final

from roost.gridengine.objects.complex import Complex
from roost.gridengine.scheduling.expression import satisfies

_COMPARE: Final[dict[str, Callable[[float, float], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "EXCL": operator.eq,
}


def related(definition: Complex, left: float | str, right: float | str) -> bool:
    """Whether ``left relation right``; for texts, the left one is the expression."""
    if isinstance(left, float) and isinstance(right, float):
        return _COMPARE[definition.relation](left, right)
    return satisfies(definition.type, str(left), str(right)) != (definition.relation == "!=")
