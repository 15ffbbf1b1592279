"""The operators on abstract values, and constants.

One function per kind of operator, as in the tables of the language: the possible types, bounds and unit of the result.
`narrow` is the inverse: the remaining values where a comparison holds.
"""

from __future__ import annotations

from math import inf, nextafter
from typing import Final

from roost.base.records import replace
from roost.classad.syntax import Op
from roost.classad.values import ERROR as ERROR_VALUE
from roost.classad.values import UNDEFINED as UNDEFINED_VALUE
from roost.classad.values import AbsTime, RelTime, fold
from roost.policy.lint import abstract
from roost.policy.lint.abstract import PLAIN, Abstract, Measure, Types, over, products, scaled, times

ORDER: Final = frozenset((Op.LT, Op.LE, Op.GT, Op.GE))
COMPARISONS: Final = frozenset((*ORDER, Op.EQ, Op.NE))
IDENTITY: Final = frozenset((Op.IS, Op.ISNT))
ARITHMETIC: Final = frozenset((Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.MOD))
SWAPPED: Final = {Op.LT: Op.GT, Op.GT: Op.LT, Op.LE: Op.GE, Op.GE: Op.LE, Op.EQ: Op.EQ, Op.NE: Op.NE}
NEGATED: Final = {Op.LT: Op.GE, Op.GE: Op.LT, Op.GT: Op.LE, Op.LE: Op.GT, Op.EQ: Op.NE, Op.NE: Op.EQ}


def of_constant(value: object) -> Abstract:
    """A constant in the text."""
    if value is UNDEFINED_VALUE:
        return abstract.UNDEFINED
    if value is ERROR_VALUE:
        return abstract.ERROR
    if isinstance(value, bool):
        return abstract.TRUE if value else abstract.FALSE
    if isinstance(value, int | float):
        return Abstract(Types.INTEGER if isinstance(value, int) else Types.REAL, value, value, PLAIN, constant=True)
    if isinstance(value, str):
        return Abstract(Types.STRING, texts=(value,), constant=True)
    return Abstract(Types.TIME if isinstance(value, AbsTime | RelTime) else Types.DEFINED)


def narrow(known: Abstract, op: Op, limit: Abstract) -> Abstract:
    """`known` where ``known op limit`` holds, as far as the limit is constant."""
    if limit.texts is not None and limit.only(Types.STRING):
        wanted = {fold(text) for text in limit.texts}
        if op is Op.EQ:
            texts = limit.texts if known.texts is None else tuple([t for t in known.texts if fold(t) in wanted])
            types = Types.STRING if known.types & Types.STRING and texts else Types.NOTHING
            return replace(known, types=types | (known.types & (Types.UNDEFINED | Types.ERROR)), texts=texts)
        if op is Op.NE and known.texts is not None and len(wanted) == 1:
            texts = tuple([t for t in known.texts if fold(t) not in wanted])
            return replace(known, types=known.types if texts else known.types & ~Types.STRING, texts=texts)
        return known
    bound = limit.single
    if bound is None or not known.types & Types.NUMBER or known.types & Types.BOOLEAN:
        return known
    low, high = known.low, known.high
    whole = known.types & Types.NUMBER == Types.INTEGER and float(bound).is_integer()
    above, below = (bound + 1, bound - 1) if whole else (nextafter(bound, inf), nextafter(bound, -inf))
    match op:
        case Op.GT:
            low = max(low, above)
        case Op.GE:
            low = max(low, bound)
        case Op.LT:
            high = min(high, below)
        case Op.LE:
            high = min(high, bound)
        case Op.EQ:
            low, high = max(low, bound), min(high, bound)
        case Op.NE:
            low, high = above if low == bound else low, below if high == bound else high
        case _:
            return known
    if low > high:
        return known.without(Types.NUMBER)
    return replace(known, low=low, high=high)


def conjunction(a: Abstract, b: Abstract) -> Abstract:
    """``a && b``."""
    types = Types.NOTHING
    other = Types.STRING | Types.LIST | Types.AD | Types.TIME | Types.ERROR
    goes_on = a.can_be_true or a.can_be_undefined
    if a.can_be_true and b.can_be_true:
        types |= Types.TRUE
    if a.can_be_false or (goes_on and b.can_be_false):
        types |= Types.FALSE
    if (a.can_be_undefined and (b.can_be_true or b.can_be_undefined)) or (a.can_be_true and b.can_be_undefined):
        types |= Types.UNDEFINED
    if a.types & other or (goes_on and b.types & other):
        types |= Types.ERROR
    return Abstract(types, constant=a.constant and b.constant)


def disjunction(a: Abstract, b: Abstract) -> Abstract:
    """``a || b``."""
    types = Types.NOTHING
    other = Types.STRING | Types.LIST | Types.AD | Types.TIME | Types.ERROR
    goes_on = a.can_be_false or a.can_be_undefined
    if a.can_be_true or (goes_on and b.can_be_true):
        types |= Types.TRUE
    if a.can_be_false and b.can_be_false:
        types |= Types.FALSE
    if (a.can_be_undefined and (b.can_be_false or b.can_be_undefined)) or (a.can_be_false and b.can_be_undefined):
        types |= Types.UNDEFINED
    if a.types & other or (goes_on and b.types & other):
        types |= Types.ERROR
    return Abstract(types, constant=a.constant and b.constant)


def unary(op: Op, value: Abstract) -> Abstract:
    """A prefix operator."""
    if op is Op.NOT:
        types = value.types & (Types.UNDEFINED | Types.ERROR)
        if value.can_be_true:
            types |= Types.FALSE
        if value.can_be_false:
            types |= Types.TRUE
        if value.types & (Types.STRING | Types.LIST | Types.AD | Types.TIME):
            types |= Types.ERROR
        return Abstract(types, constant=value.constant)
    types = value.types & (Types.UNDEFINED | Types.ERROR | Types.NUMBER | Types.TIME)
    if value.types & (Types.STRING | Types.LIST | Types.AD | Types.BOOLEAN):
        types |= Types.ERROR
    if op is Op.SUB:
        return Abstract(types, -value.high, -value.low, value.unit, constant=value.constant)
    if op is Op.ADD:
        return Abstract(types, value.low, value.high, value.unit, constant=value.constant)
    return Abstract(types)


def binary(op: Op, a: Abstract, b: Abstract) -> Abstract:
    """An infix operator other than ``&&`` and ``||``."""
    if op in IDENTITY:
        return _identity(op, a, b)
    if op in COMPARISONS:
        return _comparison(op, a, b)
    if op in ARITHMETIC:
        return _arithmetic(op, a, b)
    types = (a.types | b.types) & (Types.UNDEFINED | Types.ERROR)
    if a.types & Types.INTEGER and b.types & Types.INTEGER:
        types |= Types.INTEGER
    if (a.types | b.types) & (Types.DEFINED & ~Types.INTEGER):
        types |= Types.ERROR
    return Abstract(types, constant=a.constant and b.constant)


def _exceptions(a: Abstract, b: Abstract) -> int:
    """UNDEFINED and ERROR as a strict operator passes them on."""
    types = (a.types | b.types) & Types.ERROR
    if (a.can_be_undefined and b.types & ~Types.ERROR) or (b.can_be_undefined and a.types & ~Types.ERROR):
        types |= Types.UNDEFINED
    return types


def _comparison(op: Op, a: Abstract, b: Abstract) -> Abstract:
    types = _exceptions(a, b)
    if a.types & Types.COUNTABLE and b.types & Types.COUNTABLE:
        types |= _ordered(op, a.interval, b.interval)
    if a.types & Types.STRING and b.types & Types.STRING:
        types |= _texts(op, a, b)
    if a.types & Types.TIME and b.types & Types.TIME:
        types |= Types.BOOLEAN
    for x, y in ((a, b), (b, a)):
        if x.types & Types.STRING and y.types & (Types.COUNTABLE | Types.LIST | Types.AD | Types.TIME):
            types |= Types.ERROR
        if x.types & (Types.LIST | Types.AD) and y.types & Types.DEFINED:
            types |= Types.ERROR
        if x.types & Types.TIME and y.types & Types.COUNTABLE:
            types |= Types.ERROR
    return Abstract(types, constant=a.constant and b.constant)


def _ordered(op: Op, a: tuple[float, float], b: tuple[float, float]) -> int:
    """The possible outcomes of a comparison of numbers within bounds."""
    (a_low, a_high), (b_low, b_high) = a, b
    match op:
        case Op.LT:
            yes, no = a_low < b_high, a_high >= b_low
        case Op.LE:
            yes, no = a_low <= b_high, a_high > b_low
        case Op.GT:
            yes, no = a_high > b_low, a_low <= b_high
        case Op.GE:
            yes, no = a_high >= b_low, a_low < b_high
        case _:
            meet = a_low <= b_high and b_low <= a_high
            alone = a_low == a_high == b_low == b_high
            yes, no = (meet, not alone) if op is Op.EQ else (not alone, meet)
    return (Types.TRUE if yes else Types.NOTHING) | (Types.FALSE if no else Types.NOTHING)


def _texts(op: Op, a: Abstract, b: Abstract) -> int:
    if op not in (Op.EQ, Op.NE) or a.texts is None or b.texts is None:
        return Types.BOOLEAN
    left, right = {fold(t) for t in a.texts}, {fold(t) for t in b.texts}
    equal, different = bool(left & right), len(left | right) > 1
    if op is Op.NE:
        equal, different = different, equal
    return (Types.TRUE if equal else Types.NOTHING) | (Types.FALSE if different else Types.NOTHING)


def _identity(op: Op, a: Abstract, b: Abstract) -> Abstract:
    shared = a.types & b.types
    same = bool(shared & ~(Types.NUMBER | Types.STRING | Types.LIST | Types.AD))
    if shared & Types.NUMBER:
        same |= a.low <= b.high and b.low <= a.high
    if shared & Types.STRING:
        same |= a.texts is None or b.texts is None or bool(set(a.texts) & set(b.texts))
    alone = a.types == b.types and a.types in (Types.UNDEFINED, Types.ERROR, Types.TRUE, Types.FALSE)
    alone |= a.only(Types.INTEGER) and b.only(Types.INTEGER) and a.low == a.high == b.low == b.high
    if op is Op.ISNT:
        types = (Types.FALSE if same else Types.NOTHING) | (Types.NOTHING if alone else Types.TRUE)
    else:
        types = (Types.TRUE if same else Types.NOTHING) | (Types.NOTHING if alone else Types.FALSE)
    if shared & (Types.LIST | Types.AD):
        types |= Types.ERROR | Types.BOOLEAN
    return Abstract(types, constant=a.constant and b.constant)


def _arithmetic(op: Op, a: Abstract, b: Abstract) -> Abstract:
    types = _exceptions(a, b)
    bad = Types.STRING | Types.LIST | Types.AD
    if (a.types & bad and b.types & Types.DEFINED) or (b.types & bad and a.types & Types.DEFINED):
        types |= Types.ERROR
    if (a.types | b.types) & Types.TIME:
        types |= Types.TIME | Types.NUMBER | Types.ERROR
    if not (a.types & Types.COUNTABLE and b.types & Types.COUNTABLE):
        return Abstract(types)
    real = (a.types | b.types) & Types.REAL
    if a.types & (Types.INTEGER | Types.BOOLEAN) and b.types & (Types.INTEGER | Types.BOOLEAN):
        types |= Types.INTEGER
    if real:
        types |= Types.REAL
    (low, high), unit = _bounds(op, a, b), _unit(op, a, b)
    divisor = b.interval
    if op in (Op.DIV, Op.MOD) and divisor[0] <= 0 <= divisor[1]:
        types |= Types.ERROR
        if divisor == (0.0, 0.0):
            types &= ~Types.NUMBER
    if op is Op.MOD and real:
        types |= Types.ERROR
    return Abstract(types, low, high, unit, constant=a.constant and b.constant)


def _bounds(op: Op, a: Abstract, b: Abstract) -> tuple[float, float]:
    (a_low, a_high), (b_low, b_high) = a.interval, b.interval
    match op:
        case Op.ADD:
            return a_low + b_low, a_high + b_high
        case Op.SUB:
            return a_low - b_high, a_high - b_low
        case Op.MUL:
            return times((a_low, a_high), (b_low, b_high))
        case Op.DIV:
            whole = not (a.types | b.types) & Types.REAL
            return over((a_low, a_high), (b_low, b_high), integer=whole)
        case _:
            size = max(abs(b_low), abs(b_high))
            return (0.0 if a_low >= 0 else -size), size


def _unit(op: Op, a: Abstract, b: Abstract) -> Measure | None:
    """The unit of the result; None where it is not known."""
    a_unit, b_unit = _counted(a), _counted(b)
    if op is Op.MUL:
        for unit, factor in ((a_unit, b), (b_unit, a)):
            if factor.constant and factor.single is not None:
                return scaled(unit, factor.single, divided=False)
        return products(a_unit, b_unit, divided=False)
    if op is Op.DIV:
        if b.constant and b.single is not None:
            return scaled(a_unit, b.single, divided=True)
        return products(a_unit, b_unit, divided=True)
    if op is Op.MOD:
        return a_unit if a_unit is not None and a_unit.dimension != "date" else None
    if a_unit is None or b_unit is None:
        return a_unit if b.constant else b_unit if a.constant else None
    if a_unit.dimension == b_unit.dimension == "date":
        return abstract.SECONDS if op is Op.SUB else None
    if "date" in (a_unit.dimension, b_unit.dimension):
        return abstract.INSTANT if not (op is Op.SUB and b_unit.dimension == "date") else None
    if not b_unit.dimension:
        return a_unit
    if not a_unit.dimension:
        return b_unit
    return a_unit if a_unit == b_unit else None


def _counted(value: Abstract) -> Measure | None:
    """The unit of a value; truth values are plain numbers."""
    return PLAIN if not value.types & Types.NUMBER and value.types & Types.BOOLEAN else value.unit
