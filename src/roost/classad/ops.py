"""The semantics of each operator for each kind of operand.

Strict operators check their operands in this order: any ERROR gives ERROR, else any UNDEFINED gives UNDEFINED,
else the row for the operands' types; no row is ERROR. The logical operators and ``is`` are not strict and have separate
rows. This module is the specification of the evaluator: the compiled code has shortcuts for the most common operands
and uses this module for the rest.

Numbers: booleans count as 1 and 0; integers are 64 bits and wrap; a real on either side makes both real. A real
result of +infinity is ERROR, while -infinity and NaN pass, as in the reference library.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from roost.classad.syntax import Op
from roost.classad.values import (
    ERROR,
    INT_MAX,
    INT_MIN,
    UNDEFINED,
    AbsTime,
    Exceptional,
    ListValue,
    RelTime,
    Value,
    fold,
    to_bytes,
    wrap,
)

#: An operator on two values.
BinaryOp: TypeAlias = Callable[[Value, Value], Value]
#: An operator on one value.
UnaryOp: TypeAlias = Callable[[Value], Value]


#: Characters of a long string: comparing two such costs fuel.
LONG_TEXT_CHARS: Final = 1024

#: Characters of two long strings that are compared for one step of fuel.
_CHARS_A_STEP: Final = 64


# -- logic ---------------------------------------------------------------------------------------


def truth(value: Value) -> Exceptional | bool:
    """A value as a condition: numbers by being other than 0; strings, lists, ads and times are ERROR."""
    kind = value.__class__
    if kind is bool:
        return value  # type: ignore[return-value]
    if kind is int or kind is float:
        return value != 0
    return UNDEFINED if value is UNDEFINED else ERROR


def logical_and(x: Value, y: Value) -> Value:
    """``x && y``: False decides from either side, but ERROR on the left is ERROR."""
    a = truth(x)
    if a is False or a is ERROR:
        return a
    b = truth(y)
    if a is True or b is not True:
        return b
    return UNDEFINED


def logical_or(x: Value, y: Value) -> Value:
    """``x || y``: True decides from either side, but ERROR on the left is ERROR."""
    a = truth(x)
    if a is True or a is ERROR:
        return a
    b = truth(y)
    if a is False or b is not False:
        return b
    return UNDEFINED


def logical_not(x: Value) -> Value:
    """``!x``."""
    a = truth(x)
    return a if isinstance(a, Exceptional) else not a


# -- comparison ----------------------------------------------------------------------------------


def _order(x: Value, y: Value) -> Value | tuple[float, float] | tuple[int, int] | tuple[str, str] | None:
    """The pair to compare, or the value that a comparison of `x` and `y` has whatever the operator."""
    if x is ERROR or y is ERROR:
        return ERROR
    if x is UNDEFINED or y is UNDEFINED:
        return UNDEFINED
    a, b = x.__class__, y.__class__
    if a in _NUMERIC and b in _NUMERIC:
        if a is float or b is float:
            return float(x), float(y)  # type: ignore[arg-type]
        return int(x), int(y)  # type: ignore[arg-type]
    if a is str and b is str:
        return _texts(x, y)  # type: ignore[arg-type]
    if a is AbsTime and b is AbsTime:
        return x.secs, y.secs  # type: ignore[union-attr]
    if a is RelTime and b is RelTime:
        return x.secs, y.secs  # type: ignore[union-attr]
    return ERROR


def _texts(x: str, y: str) -> tuple[str, str]:
    """Two strings as they compare, in any case. Text beyond the length of the shorter one does not affect the
    result."""
    if len(x) > LONG_TEXT_CHARS or len(y) > LONG_TEXT_CHARS:
        # They are ordered by their bytes, up to four a character.
        end = 4 * min(len(x), len(y)) + 1
        x, y = x[:end], y[:end]
    return fold(x), fold(y)


def text_steps(chars: int) -> int:
    """Steps of fuel that comparing two strings costs, the shorter of which has so many characters."""
    return chars // _CHARS_A_STEP if chars > LONG_TEXT_CHARS else 0


def _comparison(compare: Callable[[object, object], bool]) -> BinaryOp:
    def run(x: Value, y: Value) -> Value:
        pair = _order(x, y)
        if pair.__class__ is tuple:
            return compare(pair[0], pair[1])
        return pair  # type: ignore[return-value]

    return run


def sortable(*texts: str) -> Sequence[str] | Sequence[bytes]:
    """Keys that sort folded strings by their bytes: the strings themselves, unless some may not be UTF-8."""
    return texts if all(map(str.isascii, texts)) else [to_bytes(text) for text in texts]


def _ordering(compare: Callable[[object, object], bool]) -> BinaryOp:
    def run(x: Value, y: Value) -> Value:
        pair = _order(x, y)
        if pair.__class__ is not tuple:
            return pair  # type: ignore[return-value]
        a, b = sortable(*pair) if x.__class__ is str else pair
        return compare(a, b)

    return run


equal: Final = _comparison(lambda a, b: a == b)
not_equal: Final = _comparison(lambda a, b: a != b)
less: Final = _ordering(lambda a, b: a < b)  # type: ignore[operator]
less_equal: Final = _ordering(lambda a, b: a <= b)  # type: ignore[operator]
greater: Final = _ordering(lambda a, b: a > b)  # type: ignore[operator]
greater_equal: Final = _ordering(lambda a, b: a >= b)  # type: ignore[operator]


def identical(x: Value, y: Value) -> Value:
    """``x is y``: the same type and value, and zone; two lists or two ads are ERROR, as in the reference library."""
    a, b = x.__class__, y.__class__
    if a in _SCALAR or b in _SCALAR:
        return a is b and x == y
    return ERROR if (a is ListValue) == (b is ListValue) else False


def not_identical(x: Value, y: Value) -> Value:
    """``x isnt y``."""
    same = identical(x, y)
    return same if same is ERROR else not same


# -- arithmetic ----------------------------------------------------------------------------------


def _finite(result: float) -> Value:
    return ERROR if result == math.inf else result


def _add_int(x: int, y: int) -> Value:
    return wrap(x + y)


def _sub_int(x: int, y: int) -> Value:
    return wrap(x - y)


def _mul_int(x: int, y: int) -> Value:
    return wrap(x * y)


def _div_int(x: int, y: int) -> Value:
    if y == 0:
        return ERROR
    if x == INT_MIN and y == -1:
        return INT_MAX
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def _mod_int(x: int, y: int) -> Value:
    if y == 0:
        return ERROR
    rest = abs(x) % abs(y)
    return -rest if x < 0 else rest


def _add_real(x: float, y: float) -> Value:
    return _finite(x + y)


def _sub_real(x: float, y: float) -> Value:
    return _finite(x - y)


def _mul_real(x: float, y: float) -> Value:
    return _finite(x * y)


def _div_real(x: float, y: float) -> Value:
    if y == 0.0:
        if x == 0.0 or x != x:
            return math.nan
        return _finite(math.copysign(math.inf, x) * math.copysign(1.0, y))
    return _finite(x / y)


def _mod_real(x: float, y: float) -> Value:
    return ERROR


def _arithmetic(
    on_int: Callable[[int, int], Value],
    on_real: Callable[[float, float], Value],
    on_time: BinaryOp,
) -> BinaryOp:
    """A strict arithmetic operator from its rows for integers, reals and times."""

    def run(x: Value, y: Value) -> Value:
        a, b = x.__class__, y.__class__
        if a in _NUMERIC and b in _NUMERIC:
            if a is float or b is float:
                return on_real(float(x), float(y))  # type: ignore[arg-type]
            return on_int(int(x), int(y))  # type: ignore[arg-type]
        if x is ERROR or y is ERROR:
            return ERROR
        if x is UNDEFINED or y is UNDEFINED:
            return UNDEFINED
        return on_time(x, y)

    return run


def _add_time(x: Value, y: Value) -> Value:
    match x, y:
        case AbsTime(), RelTime():
            return AbsTime(x.secs + _whole(y.secs), x.offset)
        case RelTime(), AbsTime():
            return AbsTime(y.secs + _whole(x.secs), y.offset)
        case RelTime(), RelTime():
            return RelTime(x.secs + y.secs)
    return ERROR


def _sub_time(x: Value, y: Value) -> Value:
    match x, y:
        case AbsTime(), AbsTime():
            return RelTime(float(x.secs - y.secs))
        case AbsTime(), RelTime():
            return AbsTime(x.secs - _whole(y.secs), x.offset)
        case RelTime(), RelTime():
            return RelTime(x.secs - y.secs)
    return ERROR


def _mul_time(x: Value, y: Value) -> Value:
    if isinstance(x, RelTime) and y.__class__ in (int, float):
        return RelTime(x.secs * y)
    if isinstance(y, RelTime) and x.__class__ in (int, float):
        return RelTime(x * y.secs)
    return ERROR


def _div_time(x: Value, y: Value) -> Value:
    if isinstance(x, RelTime) and y.__class__ in (int, float):
        quotient = _div_real(x.secs, float(y))
        return RelTime(quotient) if isinstance(quotient, float) else RelTime(math.inf)
    return ERROR


def _no_time(x: Value, y: Value) -> Value:
    return ERROR


def _whole(secs: float) -> int:
    """Seconds truncated to a 32-bit integer, as in the reference library."""
    return int(secs) if -(2.0**31) <= secs < 2.0**31 else -(2**31)


add: Final = _arithmetic(_add_int, _add_real, _add_time)
subtract: Final = _arithmetic(_sub_int, _sub_real, _sub_time)
multiply: Final = _arithmetic(_mul_int, _mul_real, _mul_time)
divide: Final = _arithmetic(_div_int, _div_real, _div_time)
modulo: Final = _arithmetic(_mod_int, _mod_real, _no_time)


def negate(x: Value) -> Value:
    """``-x``: numbers and relative times; a boolean is ERROR."""
    kind = x.__class__
    if kind is int:
        return wrap(-x)  # type: ignore[operator, arg-type]
    if kind is float:
        return -x  # type: ignore[operator]
    if isinstance(x, RelTime):
        return RelTime(-x.secs)
    return UNDEFINED if x is UNDEFINED else ERROR


def plus(x: Value) -> Value:
    """``+x``: numbers and relative times as they are."""
    kind = x.__class__
    if kind is int or kind is float or kind is RelTime:
        return x
    return UNDEFINED if x is UNDEFINED else ERROR


# -- bits ----------------------------------------------------------------------------------------


def _bitwise(on_int: Callable[[int, int], int]) -> BinaryOp:
    def run(x: Value, y: Value) -> Value:
        if x.__class__ is int and y.__class__ is int:
            return on_int(x, y)
        if x is ERROR or y is ERROR:
            return ERROR
        if x is UNDEFINED or y is UNDEFINED:
            return UNDEFINED
        return ERROR

    return run


_MASK: Final = 2**64 - 1


def _shift_right(a: int, b: int) -> int:
    if a >= 0:
        return a >> (b & 63)
    return a >> max(0, min(b, 63))


def _shift_right_logical(a: int, b: int) -> int:
    if a >= 0:
        return a >> (b & 63)
    return wrap((a & _MASK) >> (b & 63)) if b & 63 else 0


# The reference library shifts as the processor does, by the count modulo 64, but for negative numbers: it moves
# those to the right bit by bit, and without sign not at all by a multiple of 64, which gives 0.
bit_and: Final = _bitwise(lambda a, b: a & b)
bit_or: Final = _bitwise(lambda a, b: a | b)
bit_xor: Final = _bitwise(lambda a, b: a ^ b)
shift_left: Final = _bitwise(lambda a, b: wrap(((a & _MASK) << (b & 63)) & _MASK))
shift_right: Final = _bitwise(_shift_right)
shift_right_logical: Final = _bitwise(_shift_right_logical)


def invert(x: Value) -> Value:
    """``~x``: integers only."""
    if x.__class__ is int:
        return ~x
    return UNDEFINED if x is UNDEFINED else ERROR


# -- tables --------------------------------------------------------------------------------------

_NUMERIC: Final = frozenset((bool, int, float))
_SCALAR: Final = frozenset((bool, int, float, str, AbsTime, RelTime, Exceptional))

#: Every infix operator.
BINARY: Final[dict[Op, BinaryOp]] = {
    Op.OR: logical_or,
    Op.AND: logical_and,
    Op.BIT_OR: bit_or,
    Op.BIT_XOR: bit_xor,
    Op.BIT_AND: bit_and,
    Op.EQ: equal,
    Op.NE: not_equal,
    Op.IS: identical,
    Op.ISNT: not_identical,
    Op.LT: less,
    Op.LE: less_equal,
    Op.GT: greater,
    Op.GE: greater_equal,
    Op.SHL: shift_left,
    Op.SHR: shift_right,
    Op.USHR: shift_right_logical,
    Op.ADD: add,
    Op.SUB: subtract,
    Op.MUL: multiply,
    Op.DIV: divide,
    Op.MOD: modulo,
}

#: The operators that compare two values.
COMPARISONS: Final = frozenset((Op.EQ, Op.NE, Op.IS, Op.ISNT, Op.LT, Op.LE, Op.GT, Op.GE))

#: Every prefix operator.
UNARY: Final[dict[Op, UnaryOp]] = {
    Op.SUB: negate,
    Op.ADD: plus,
    Op.NOT: logical_not,
    Op.INVERT: invert,
}

__all__ = [
    "BINARY",
    "COMPARISONS",
    "LONG_TEXT_CHARS",
    "UNARY",
    "BinaryOp",
    "ListValue",
    "UnaryOp",
    "sortable",
    "text_steps",
    "truth",
]
