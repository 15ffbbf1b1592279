"""Functions on numbers: rounding, powers, quantization, random numbers.

Results are those of C doubles and 64-bit integers; see `conversion` for what happens out of range.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from roost.classad.functions.conversion import cut, to_real, wrap32
from roost.classad.functions.registry import builtin
from roost.classad.values import ERROR, ListValue, Value, wrap

if TYPE_CHECKING:
    from roost.classad.state import State


def _rounding(names: tuple[str, ...], rounded: Callable[[float], int]) -> None:
    @builtin(*names, least=1, most=1)
    def run(ctx: State, value: Value) -> Value:
        if value.__class__ is int:
            return value
        number = to_real(value)
        if not isinstance(number, float):
            return ERROR
        return cut(float(rounded(number))) if math.isfinite(number) else cut(number)


_rounding(("floor",), math.floor)
_rounding(("ceil", "ceiling"), math.ceil)
# Half goes to the even neighbour.
_rounding(("round",), round)


def real_power(base: float, exponent: float) -> float:
    """C's pow: never an exception, NaN or an infinity instead."""
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf
    except ValueError:
        if base == 0:
            return math.copysign(math.inf, base) if exponent % 2 == 1 else math.inf
        return math.nan


@builtin("pow", least=2, most=2)
def power(ctx: State, base: Value, exponent: Value) -> Value:
    """pow(b, e): an integer if both are integers and e is not negative.

    The reference library computes that integer as a real plus one half, cut toward 0, so that ``pow(-3, 3)``
    is -26 and results beyond 2**53 are rounded.
    """
    if base.__class__ is int and exponent.__class__ is int and exponent >= 0:
        return cut(real_power(float(base), float(exponent)) + 0.5)
    x, y = to_real(base), to_real(exponent)
    if not isinstance(x, float) or not isinstance(y, float):
        return ERROR
    return real_power(x, y)


#: A real step nearer to 0 than this counts as 0.
_NO_STEP: Final = 1e-8


@builtin("quantize", least=2, most=2)
def quantize(ctx: State, value: Value, step: Value) -> Value:
    """quantize(a, b): the smallest multiple of b not below a; with a list, its first item not below a."""
    number = to_real(value)
    if not isinstance(number, float):
        return ERROR
    if isinstance(step, ListValue):
        last: Value = 0.0
        for item in ctx.items_here(step):
            ctx.spend(1)
            bound = to_real(item)
            if not isinstance(bound, float):
                return ERROR
            if bound >= number:
                return item
            last = item
        step = last
    size = to_real(step)
    if not isinstance(size, float):
        return ERROR
    if step.__class__ is int:
        return _quantize_by_integer(value, number, int(size) if step == 0 else step)
    if -_NO_STEP <= size <= _NO_STEP:
        return value
    return _ceiling(_quotient(number, size)) * size


def _quantize_by_integer(value: Value, number: float, step: int) -> Value:
    if step == 0:
        return value
    if value.__class__ is not int:
        return _ceiling(number / step) * step
    dividend = wrap(value + step - 1)
    quotient = abs(dividend) // abs(step)
    if (dividend < 0) != (step < 0):
        quotient = -quotient
    return wrap(quotient * step)


def _ceiling(number: float) -> float:
    """C's ceil, which keeps the sign of a zero."""
    return math.copysign(float(math.ceil(number)), number) if math.isfinite(number) else number


def _quotient(number: float, size: float) -> float:
    try:
        return number / size
    except OverflowError:
        return math.copysign(math.inf, number) * math.copysign(1.0, size)


@builtin("random", least=0, most=1, pure=False)
def random_number(ctx: State, limit: Value = 1.0) -> Value:
    """random([n]): an integer 0 … n-1 for an integer n, a real 0 ≤ r < n for a real n.

    A limit that is not positive fails the whole evaluation.
    """
    if not isinstance(limit, int | float) or limit.__class__ is bool:
        return ERROR
    if isinstance(limit, int):
        # The reference library takes the limit as a 32-bit integer.
        limit = wrap32(limit)
    if limit <= 0:
        from roost.classad.state import EvaluationFailed

        raise EvaluationFailed
    drawn = ctx.world.random() * limit
    return int(drawn) if isinstance(limit, int) else drawn
