"""Abstract values: what is known about a value before evaluation.

An `Abstract` says of which types the value can be (the two booleans, UNDEFINED and ERROR count as types of their own),
between which bounds a number lies, what it counts, and which texts a string can be. The result of every operation
contains all possible outcomes; what it excludes cannot happen. Rules report only what is excluded.

Units carry a dimension and a scale, so that ``Memory * 1024`` is a number of KiB if Memory counts MiB. A number whose
unit is not known has unit None, a plain number the unit `PLAIN`.
"""

from __future__ import annotations

import math
from typing import Final

from roost.base.records import dataclass
from roost.policy.model import Unit as CatalogueUnit
from roost.policy.model import ValueKind

INF: Final = math.inf


class Types:
    """Types a value can be of, as bits: plain numbers, because sets of types are constantly joined and intersected."""

    NOTHING: Final = 0
    UNDEFINED: Final = 1
    ERROR: Final = 2
    TRUE: Final = 4
    FALSE: Final = 8
    INTEGER: Final = 16
    REAL: Final = 32
    STRING: Final = 64
    LIST: Final = 128
    AD: Final = 256
    TIME: Final = 512

    BOOLEAN: Final = TRUE | FALSE
    NUMBER: Final = INTEGER | REAL
    #: What counts as a number in arithmetic.
    COUNTABLE: Final = BOOLEAN | NUMBER
    DEFINED: Final = COUNTABLE | STRING | LIST | AD | TIME
    ANYTHING: Final = DEFINED | UNDEFINED | ERROR


@dataclass(frozen=True, slots=True)
class Measure:
    """What a number counts: dimension, and how large one unit of it is in the dimension's base."""

    dimension: str
    scale: float = 1.0
    name: str = ""

    def __str__(self) -> str:
        return self.name or self.dimension


PLAIN: Final = Measure("", 1.0, "plain number")
BYTES: Final = Measure("memory or disk", 1.0, "bytes")
KIB: Final = Measure("memory or disk", 1024.0, "KB")
MIB: Final = Measure("memory or disk", 1024.0**2, "MB")
GIB: Final = Measure("memory or disk", 1024.0**3, "GB")
SECONDS: Final = Measure("time", 1.0, "seconds")
MINUTES: Final = Measure("time", 60.0, "minutes")
HOURS: Final = Measure("time", 3600.0, "hours")
DAYS: Final = Measure("time", 86400.0, "days")
INSTANT: Final = Measure("date", 1.0, "seconds since 1970")
_NAMED: Final = {(m.dimension, m.scale): m for m in (BYTES, KIB, MIB, GIB, SECONDS, MINUTES, HOURS, DAYS)}

MEASURES: Final[dict[CatalogueUnit, Measure | None]] = {
    CatalogueUnit.NONE: None,
    CatalogueUnit.SECONDS: SECONDS,
    CatalogueUnit.INSTANT: INSTANT,
    CatalogueUnit.MINUTES: MINUTES,
    CatalogueUnit.KIB: KIB,
    CatalogueUnit.MIB: MIB,
    CatalogueUnit.BYTES: BYTES,
    CatalogueUnit.CORES: PLAIN,
    CatalogueUnit.LOAD: PLAIN,
    CatalogueUnit.PERCENT: PLAIN,
    CatalogueUnit.COUNT: PLAIN,
}

_TYPES: Final[dict[ValueKind, int]] = {
    ValueKind.BOOLEAN: Types.BOOLEAN,
    ValueKind.INTEGER: Types.INTEGER,
    ValueKind.REAL: Types.NUMBER,
    ValueKind.NUMBER: Types.NUMBER,
    ValueKind.STRING: Types.STRING,
    ValueKind.STRING_LIST: Types.STRING,
    ValueKind.LIST: Types.LIST,
    ValueKind.AD: Types.AD,
    ValueKind.ANY: Types.DEFINED,
}


def types_of(kind: ValueKind) -> int:
    """The types that a catalogue kind stands for."""
    return _TYPES[kind]


@dataclass(frozen=True, slots=True)
class Abstract:
    """A set of values."""

    types: int = Types.ANYTHING
    low: float = -INF
    high: float = INF
    unit: Measure | None = None
    #: The texts a string can be; None if any.
    texts: tuple[str, ...] | None = None
    #: Whether the number is a constant in the text, without any attribute.
    constant: bool = False

    @property
    def can_be_true(self) -> bool:
        """Whether a condition would hold for some value."""
        return bool(self.types & Types.TRUE) or (bool(self.types & Types.NUMBER) and not self.low == self.high == 0)

    @property
    def can_be_false(self) -> bool:
        """Whether a condition would be false for some value."""
        return bool(self.types & Types.FALSE) or (bool(self.types & Types.NUMBER) and self.low <= 0 <= self.high)

    @property
    def can_be_undefined(self) -> bool:
        return bool(self.types & Types.UNDEFINED)

    def only(self, types: int) -> bool:
        """Whether the value is certain to be of one of these types."""
        return bool(self.types) and not self.types & ~types

    def without(self, types: int) -> Abstract:
        """The same, these types excluded."""
        if not self.types & types:
            return self
        return Abstract(self.types & ~types, self.low, self.high, self.unit, self.texts, self.constant)

    def with_(self, types: int) -> Abstract:
        """The same, these types possible as well."""
        return Abstract(self.types | types, self.low, self.high, self.unit, self.texts, self.constant)

    @property
    def interval(self) -> tuple[float, float]:
        """Bounds when taken as a number: booleans are 0 and 1."""
        low, high = (self.low, self.high) if self.types & Types.NUMBER else (INF, -INF)
        if self.types & Types.TRUE:
            low, high = min(low, 1.0), max(high, 1.0)
        if self.types & Types.FALSE:
            low, high = min(low, 0.0), max(high, 0.0)
        return low, high

    @property
    def single(self) -> float | None:
        """The number, if there is only one possible."""
        low, high = self.interval
        return low if low == high and self.only(Types.COUNTABLE) else None


ANYTHING: Final = Abstract()
NOTHING: Final = Abstract(Types.NOTHING)
UNDEFINED: Final = Abstract(Types.UNDEFINED)
ERROR: Final = Abstract(Types.ERROR)
TRUE: Final = Abstract(Types.TRUE, constant=True)
FALSE: Final = Abstract(Types.FALSE, constant=True)
BOOLEAN: Final = Abstract(Types.BOOLEAN)
STRING: Final = Abstract(Types.STRING)


def union(*values: Abstract) -> Abstract:
    """The union of the values."""
    values = tuple([v for v in values if v.types])
    if not values:
        return NOTHING
    if len(values) == 1:
        return values[0]
    types = Types.NOTHING
    for value in values:
        types |= value.types
    numeric = [v for v in values if v.types & Types.NUMBER]
    textual = [v for v in values if v.types & Types.STRING]
    units = {v.unit for v in numeric if v.unit is not None and v.unit != PLAIN}
    texts: tuple[str, ...] | None = ()
    for value in textual:
        texts = None if texts is None or value.texts is None else (*texts, *[t for t in value.texts if t not in texts])
    return Abstract(
        types,
        min([v.low for v in numeric], default=-INF),
        max([v.high for v in numeric], default=INF),
        units.pop() if len(units) == 1 and all(v.unit is not None for v in numeric) else None,
        texts if textual else None,
        all(v.constant for v in values),
    )


def number(low: float, high: float, *, unit: Measure | None = None, integer: bool = False) -> Abstract:
    """A number between bounds."""
    return Abstract(Types.INTEGER if integer else Types.NUMBER, low, high, unit)


_BYTE_STEPS: Final = (1024.0, 1024.0**2, 1024.0**3, 1024.0**4)
_TIME_STEPS: Final = (60.0, 3600.0, 86400.0, 1440.0, 24.0)


def scaled(unit: Measure | None, factor: float, *, divided: bool) -> Measure | None:
    """The unit of a number after it was multiplied or divided by a constant.

    A factor that turns one unit of the dimension into another is taken as a conversion; a multiple of such a factor
    may be one or not, and the unit is then unknown; any other factor leaves the unit alone.
    """
    if unit is None or not unit.dimension or unit.dimension == INSTANT.dimension:
        return unit if unit is not None and not unit.dimension else None
    steps = _BYTE_STEPS if unit.dimension == KIB.dimension else _TIME_STEPS
    size = abs(factor)
    if size in steps:
        scale = unit.scale * size if divided else unit.scale / size
        return _NAMED.get((unit.dimension, scale), Measure(unit.dimension, scale, f"{scale:g} {unit.dimension}"))
    if unit.dimension == KIB.dimension:
        suspicious = size >= 1000 or size in (512.0, 1.0 / 1024)
    else:
        suspicious = size >= 24
    return None if suspicious or size == 0 else unit


def products(unit: Measure | None, other: Measure | None, *, divided: bool) -> Measure | None:
    """The unit of a product or quotient of two numbers, neither of them constant."""
    if unit is None or other is None:
        return None
    if not other.dimension:
        return unit
    if divided and unit == other:
        return PLAIN
    if not divided and not unit.dimension:
        return other
    return None


def times(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    """Bounds of a product."""
    corners = [0.0 if 0.0 in (x, y) else x * y for x in a for y in b]
    return min(corners), max(corners)


def over(a: tuple[float, float], b: tuple[float, float], *, integer: bool) -> tuple[float, float]:
    """Bounds of a quotient."""
    if b[0] <= 0 <= b[1]:
        return -INF, INF
    corners: list[float] = []
    for x in a:
        for y in b:
            if math.isinf(y):
                corners += [0.0] if not math.isinf(x) else [0.0, math.copysign(INF, x) * math.copysign(1.0, y)]
            else:
                quotient = x / y
                corners.append(float(math.trunc(quotient)) if integer and not math.isinf(quotient) else quotient)
    return min(corners), max(corners)
