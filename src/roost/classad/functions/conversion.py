"""Conversion between types: the functions int, real, string and bool, and the rules that other functions
share.

The rules are those of the reference library on x86-64 Linux, C casts included: a real outside the range of
the target integer becomes the smallest integer, text is read as C's strtod reads it (leading blanks,
hexadecimal, ``inf``, ``nan``; what follows the number is ignored), and a relative time counts in whole
seconds of 32 bits.

Absolute and relative times are made in `times`.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from roost.classad.functions.registry import builtin
from roost.classad.values import ERROR, INT_MIN, UNDEFINED, AbsTime, Exceptional, RelTime, Value, fold, wrap

if TYPE_CHECKING:
    from roost.classad.state import State

INT32_MIN: Final = -(2**31)

_NUMBER: Final = re.compile(
    r"[ \t\n\v\f\r]*(?P<sign>[+-]?)(?:"
    r"(?P<hex>0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]*)(?:[pP][+-]?[0-9]+)?)"
    r"|(?P<dec>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<inf>[iI][nN][fF](?:[iI][nN][iI][tT][yY])?)"
    r"|(?P<nan>[nN][aA][nN]))",
)


def _magnitude(found: re.Match[str]) -> float:
    if found["dec"] is not None:
        return float(found["dec"])
    if found["hex"] is not None:
        digits = found["hex"]
        if not re.match(r"0[xX]\.?[0-9a-fA-F]", digits):
            return 0.0  # only a point after 0x: the number is the 0 before the x
        try:
            return float.fromhex(digits)
        except OverflowError:
            return math.inf
    return math.inf if found["inf"] is not None else math.nan


def leading_number(text: str) -> float | None:
    """The number at the start of `text`, as C's strtod reads it; None if there is none."""
    found = _NUMBER.match(text)
    if found is None:
        return None
    size = _magnitude(found)
    return -size if found["sign"] == "-" else size


def scanned_number(text: str) -> float | None:
    """The number at the start of `text`, as C's sscanf reads it: ``0x`` and ``infi`` are none there."""
    found = _NUMBER.match(text)
    if found is None:
        return None
    if found["dec"] == "0" and text[found.end() :][:1] in ("x", "X"):
        return None
    if found["inf"] is not None and len(found["inf"]) == 3 and text[found.end() :][:1] in ("i", "I"):
        return None
    size = _magnitude(found)
    return -size if found["sign"] == "-" else size


def cut(number: float) -> int:
    """C's cast of a real to a 64-bit integer."""
    return int(number) if -(2.0**63) <= number < 2.0**63 else INT_MIN


def cut32(number: float) -> int:
    """C's cast of a real to a 32-bit integer."""
    return int(number) if INT32_MIN - 1.0 < number < 2.0**31 else INT32_MIN


def wrap32(number: int) -> int:
    """`number` modulo 2**32 as a signed 32-bit integer."""
    return ((number - INT32_MIN) & 0xFFFF_FFFF) + INT32_MIN


def to_real(value: Value) -> float | Exceptional:
    """`value` as a real; UNDEFINED stays, what has no number is ERROR."""
    match value:
        case bool() | int():
            return float(value)
        case float():
            return value
        case str():
            number = leading_number(value)
            return ERROR if number is None else number
        case AbsTime(secs=whole):
            return float(whole)
        case RelTime(secs=secs):
            return float(cut32(secs))
    return UNDEFINED if value is UNDEFINED else ERROR


def to_integer(value: Value) -> int | Exceptional:
    """`value` as an integer, cut toward 0; UNDEFINED stays, a value without a number is ERROR."""
    match value:
        case bool() | int():
            return int(value)
        case float():
            return cut(value)
        case str():
            number = leading_number(value)
            return ERROR if number is None else cut(number)
        case AbsTime(secs=whole):
            return wrap(whole)
        case RelTime(secs=secs):
            return cut32(secs)
    return UNDEFINED if value is UNDEFINED else ERROR


def to_text(value: Value) -> str | Exceptional:
    """`value` as text in the new form, strings as they are; UNDEFINED and ERROR stay."""
    if isinstance(value, str | Exceptional):
        return value
    from roost.classad.unparse import format_abstime, format_reltime, unparse_value

    if isinstance(value, AbsTime):
        return format_abstime(value)
    if isinstance(value, RelTime):
        whole = cut32(value.secs)
        # The reference library negates this one number in 32 bits, where it has no opposite.
        return "--24855+-3:-14:-8" if whole == INT32_MIN else format_reltime(float(whole))
    return unparse_value(value)


@builtin("int", least=1, most=1)
def convert_to_integer(ctx: State, value: Value) -> Value:
    """int(x)."""
    return to_integer(value)


@builtin("real", least=1, most=1)
def convert_to_real(ctx: State, value: Value) -> Value:
    """real(x)."""
    return to_real(value)


@builtin("string", least=1, most=1)
def convert_to_text(ctx: State, value: Value) -> Value:
    """string(x)."""
    text = to_text(value)
    if isinstance(text, str):
        ctx.spend(len(text) // 32)
    return text


_TRUTH_WORDS: Final = {"true": True, "false": False}


@builtin("bool", least=1, most=1)
def convert_to_boolean(ctx: State, value: Value) -> Value:
    """bool(x): numbers by being other than 0, the words true and false in any case, other text UNDEFINED."""
    match value:
        case bool():
            return value
        case int() | float():
            return value != 0
        case str():
            return _TRUTH_WORDS.get(fold(value), UNDEFINED)
        case RelTime(secs=secs):
            return cut32(secs) != 0
    return UNDEFINED if value is UNDEFINED else ERROR
