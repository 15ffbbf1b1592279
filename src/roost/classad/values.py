"""The values of the ClassAd language.

| ClassAd          | Python                                                        |
|------------------|---------------------------------------------------------------|
| undefined, error | `UNDEFINED`, `ERROR`: ordinary values, both false in Python   |
| boolean          | `bool`                                                        |
| integer          | `int`, always within signed 64 bits                           |
| real             | `float`                                                       |
| string           | `str`; bytes that are not UTF-8 are surrogate escapes         |
| absolute time    | `AbsTime`                                                     |
| relative time    | `RelTime`                                                     |
| list             | `ListValue`; its items are evaluated when they are used       |
| ad               | `ClassAd`                                                     |

A string is a sequence of *bytes* in the language (`size("é")` is 2): functions that count or cut go
through `to_bytes` and `from_bytes`; ASCII text has a fast path.

Booleans are integers in Python but not here, so code dispatches on `value.__class__`.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from roost.base.records import dataclass

if TYPE_CHECKING:
    from roost.classad.ad import ClassAd
    from roost.classad.expr import Expr


class Exceptional(Enum):
    """The two values that are not data. Compare with ``is``."""

    UNDEFINED = "undefined"
    ERROR = "error"

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.value


UNDEFINED: Final[Literal[Exceptional.UNDEFINED]] = Exceptional.UNDEFINED
ERROR: Final[Literal[Exceptional.ERROR]] = Exceptional.ERROR


@dataclass(frozen=True, slots=True)
class AbsTime:
    """An instant, with the zone it was written in."""

    #: Seconds since 1970-01-01T00:00:00Z.
    secs: int
    #: Seconds east of UTC of the zone used to print it.
    offset: int = 0


@dataclass(frozen=True, slots=True)
class RelTime:
    """A duration."""

    #: Seconds, with fraction, of either sign.
    secs: float


class ListValue:
    """A list whose items are values or expressions still to be evaluated in `scope`.

    `scope` is the ad in which the list was written, None for a list created by a function.
    """

    __slots__ = ("items", "scope")

    def __init__(self, items: tuple[Value | Expr, ...], scope: ClassAd | None = None) -> None:
        self.items = items
        self.scope = scope

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        return f"ListValue({self.items!r})"


Value: TypeAlias = "Exceptional | bool | int | float | str | AbsTime | RelTime | ListValue | ClassAd"

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1


def wrap(number: int) -> int:
    """`number` modulo 2**64 as a signed 64-bit integer."""
    if INT_MIN <= number <= INT_MAX:
        return number
    return ((number - INT_MIN) & 0xFFFF_FFFF_FFFF_FFFF) + INT_MIN


def to_bytes(text: str) -> bytes:
    """The bytes of a ClassAd string."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        # Half of a surrogate pair, as JSON can spell it: its three bytes.
        return b"".join([_char_bytes(char) for char in text])


def _char_bytes(char: str) -> bytes:
    return char.encode("utf-8", "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass")


def from_bytes(data: bytes) -> str:
    """The ClassAd string of these bytes."""
    return data.decode("utf-8", "surrogateescape")


_LOWER: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def fold(text: str) -> str:
    """`text` with ASCII capitals made small; the key under which names and strings compare equal."""
    return text.lower() if text.isascii() else text.translate(_LOWER)


def type_name(value: Value) -> str:
    """The name of a value's type: undefined, error, boolean, integer, real, string, list, classad, abstime, reltime."""
    if isinstance(value, Exceptional):
        return value.value
    return _TYPE_NAMES.get(value.__class__, "classad")


_TYPE_NAMES: Final[dict[type, str]] = {
    bool: "boolean",
    int: "integer",
    float: "real",
    str: "string",
    ListValue: "list",
    AbsTime: "abstime",
    RelTime: "reltime",
}
