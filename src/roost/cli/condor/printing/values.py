"""Values as the tables see them, and their texts.

A value is a bool, an int, a float, a str, or `Code`: the text of any other value, such as UNDEFINED, ERROR, a list or a
time. Most values from a pool are plain, and are printed without the ClassAd language.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias


class Code(str):
    """The text of a value that is not a boolean, number or string."""

    __slots__ = ()


Value: TypeAlias = "bool | int | float | str | Code"

UNDEFINED: Final = Code("undefined")
ERROR: Final = Code("error")

#: Formats of a real of 16 digits that needs no exponent: with a point, and without.
_PLAIN_REAL: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def text_of(value: Value) -> str:
    """The form of ``%v``: strings bare, all else as in an ad."""
    kind = value.__class__
    if kind is bool:
        return "true" if value else "false"
    if isinstance(value, float):
        return _real(value)
    return str(value)


def quoted(value: Value) -> str:
    """The form of ``%V``: as in an ad."""
    if value.__class__ is str:
        return '"' + str(value).replace('"', '\\"') + '"'
    return text_of(value)


def _real(value: float) -> str:
    text = f"{value:.16G}"
    plain = _PLAIN_REAL.fullmatch(text)
    if plain is not None:
        return text if plain.group(1) else f"{text}.0"
    from roost.classad.unparse import format_real_old

    return format_real_old(value)


def whole(value: Value) -> int | None:
    """The value as an integer; None if it is not a number."""
    if isinstance(value, float):
        return int(value) if abs(value) < 2**63 else None
    return int(value) if isinstance(value, int) else None


def real(value: Value) -> float | None:
    """The value as a real; None if it is not a number."""
    return float(value) if isinstance(value, int | float) else None
