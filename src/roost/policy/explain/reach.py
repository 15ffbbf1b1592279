"""The values that parts of an expression can have, if their units may have several: arithmetic of value sets.

A set of values is an integer, one bit per value; `ValueSets` gives each value its bit. The result of an operator on
sets is the set of its results on their members, which is exact as long as the operands do not depend on each other.
Bits 0 to 3 are TRUE, FALSE, UNDEFINED and ERROR; other values, such as numbers and strings, get bits when they first
occur. A set that would have more than `VALUES_MAX` members becomes imprecise: it has the bit `ANY` and every possible
outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias, assert_never

from roost.base.records import dataclass, field
from roost.classad import ERROR, UNDEFINED, Value, unparse_value
from roost.classad.ops import BINARY, UNARY, truth
from roost.classad.syntax import Op
from roost.policy.explain.tree import (
    Against,
    Chain,
    ClauseUnit,
    Counted,
    Fallback,
    IfThenElse,
    Logic,
    Negation,
    parts_of,
)

#: A set of values, one bit each.
Set: TypeAlias = int

TRUE: Final[Set] = 1
FALSE: Final[Set] = 2
UNDEF: Final[Set] = 4
FAILED: Final[Set] = 8
#: Some value that is not tracked.
ANY: Final[Set] = 16
#: The values of a free unit; an ERROR would be a mistake rather than a decision.
FREE: Final[Set] = TRUE | FALSE | UNDEF
_ANYTHING: Final[Set] = ANY | FREE | FAILED

#: Values in one set; sums of many conditions have more.
VALUES_MAX: Final = 16

_TRUTHS: Final[tuple[Value, ...]] = (True, False, UNDEFINED, ERROR)


@dataclass(slots=True)
class ValueSets:
    """Sets of the values that occur in one expression."""

    #: The value of each bit; that of `ANY` stands for nothing.
    _values: list[Value] = field(default_factory=lambda: [*_TRUTHS, UNDEFINED])
    _bits: dict[tuple[type, str], Set] = field(default_factory=dict)
    _made: dict[tuple[object, ...], Set] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for bit, value in enumerate(_TRUTHS):
            self._bits[value.__class__, unparse_value(value)] = 1 << bit

    def single(self, value: Value) -> Set:
        """The set of one value."""
        key = value.__class__, unparse_value(value)
        if key not in self._bits:
            self._bits[key] = 1 << len(self._values)
            self._values.append(value)
        return self._bits[key]

    def truths(self, values: Set) -> Set:
        """The values as conditions."""
        return self._image(("truth",), truth, values)

    def negation(self, values: Set) -> Set:
        """``!x``."""
        return self._image(("not",), UNARY[Op.NOT], values)

    def against(self, op: Op, values: Set, constant: Value) -> Set:
        """``x op constant``."""
        return self._image(("against", op, constant), lambda value: BINARY[op](value, constant), values)

    def joined(self, op: Op, left: Set, right: Set) -> Set:
        """``x && y`` and ``x || y``."""
        return self._product(op, self.truths(left), self.truths(right))

    def counted(self, op: Op, left: Set, right: Set) -> Set:
        """``x + y``, ``x < y`` and the like."""
        return _ANYTHING if (left | right) & ANY else self._product(op, left, right)

    def chosen(self, test: Set, then: Set, otherwise: Set) -> Set:
        """``test ? then : otherwise``."""
        test = self.truths(test)
        return test & ~FREE | test & UNDEF | (then if test & TRUE else 0) | (otherwise if test & FALSE else 0)

    @staticmethod
    def fallback(left: Set, right: Set) -> Set:
        """``left ?: right``."""
        return left & ~UNDEF | right if left & (UNDEF | ANY) else left

    def made(self, logic: Logic, parts: Sequence[Set]) -> Set:
        """The values of a tree whose parts have the given ones."""
        match logic:
            case ClauseUnit():
                raise AssertionError("a unit has no parts")
            case Chain(op=op):
                values = self.truths(parts[0])
                for part in parts[1:]:
                    values = self.joined(op, values, part)
                return values
            case Negation():
                return self.negation(parts[0])
            case Against(op=op, constant=constant):
                return self.against(op, parts[0], constant)
            case IfThenElse():
                return self.chosen(*parts)
            case Fallback():
                return self.fallback(*parts)
            case Counted(op=op):
                return self.counted(op, *parts)
            case _ as never:
                assert_never(never)

    def reach(self, logic: Logic, units: Mapping[ClauseUnit, Set]) -> Set:
        """The values of a tree whose units have the given ones."""
        if isinstance(logic, ClauseUnit):
            return units[logic]
        return self.made(logic, [self.reach(part, units) for part in parts_of(logic)])

    def _members(self, values: Set) -> Iterator[Value]:
        bit = 0
        while values >> bit:
            if values >> bit & 1:
                yield self._values[bit]
            bit += 1

    def _image(self, key: tuple[object, ...], run: Callable[[Value], Value], values: Set) -> Set:
        if values & ANY:
            return FREE | FAILED
        key = (*key, values)
        if key not in self._made:
            self._made[key] = self._gathered(run(value) for value in self._members(values))
        return self._made[key]

    def _product(self, op: Op, left: Set, right: Set) -> Set:
        key = (op, left, right)
        if key not in self._made:
            pairs = ((one, other) for one in self._members(left) for other in self._members(right))
            self._made[key] = self._gathered(BINARY[op](one, other) for one, other in pairs)
        return self._made[key]

    def _gathered(self, values: Iterator[Value]) -> Set:
        gathered = 0
        for value in values:
            gathered |= self.single(value)
            if gathered.bit_count() > VALUES_MAX:
                return _ANYTHING
        return gathered


__all__ = ["ANY", "FAILED", "FALSE", "FREE", "TRUE", "UNDEF", "VALUES_MAX", "Set", "ValueSets"]
