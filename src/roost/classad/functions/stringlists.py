"""Functions on string lists: one string whose items stand between delimiter characters.

Every character of the delimiter argument is a delimiter. Items are trimmed of blanks and empty items do not
count, except in stringListsIntersect, which trims nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from roost.classad.functions.conversion import cut, scanned_number
from roost.classad.functions.registry import builtin
from roost.classad.functions.strings import SPACES
from roost.classad.values import ERROR, UNDEFINED, Value, fold, from_bytes, to_bytes

if TYPE_CHECKING:
    from roost.classad.state import State

#: Delimiters of most functions.
USUAL_DELIMITERS: Final = ", "
#: Delimiters of the membership functions.
_MEMBER_DELIMITERS: Final = ", \t\r\n"
#: Largest and smallest positive number of 32-bit C floats: where stringListMin and stringListMax begin.
_FLOAT_MAX: Final = 3.4028234663852886e38
_FLOAT_MIN: Final = 1.1754943508222875e-38


def _pieces(text: str, delimiters: str) -> list[str]:
    """The text between delimiters, empty pieces included."""
    if not delimiters:
        return [text]
    for other in delimiters[1:]:
        text = text.replace(other, delimiters[0])
    return text.split(delimiters[0])


def _split_bytewise(text: str, delimiters: str) -> list[str]:
    if text.isascii() and delimiters.isascii():
        return _pieces(text, delimiters)
    bytewise = to_bytes(text).decode("latin-1"), to_bytes(delimiters).decode("latin-1")
    return [from_bytes(piece.encode("latin-1")) for piece in _pieces(*bytewise)]


def items_of(ctx: State, text: str, delimiters: str) -> list[str]:
    """The items of a string list."""
    ctx.spend(len(text) // 16 + 1)
    pieces = _split_bytewise(text, delimiters)
    ctx.spend(len(pieces))
    return [item for piece in pieces if (item := piece.strip(SPACES))]


@builtin("stringListSize", least=1, most=2)
def string_list_size(ctx: State, text: Value, delimiters: Value = USUAL_DELIMITERS) -> Value:
    """stringListSize(l[, d])."""
    if not isinstance(text, str) or not isinstance(delimiters, str):
        return ERROR
    return len(items_of(ctx, text, delimiters))


# -- numbers -------------------------------------------------------------------------------------


def _summary(
    name: str,
    empty: Value,
    start: float,
    step: Callable[[float, float], float],
    *,
    divide: bool = False,
) -> None:
    @builtin(name, least=1, most=2)
    def summarize(ctx: State, text: Value, delimiters: Value = USUAL_DELIMITERS) -> Value:
        if not isinstance(text, str) or not isinstance(delimiters, str):
            return ERROR
        items = items_of(ctx, text, delimiters)
        if not items:
            return empty
        total = start
        whole = True
        for item in items:
            number = scanned_number(item)
            if number is None:
                return ERROR
            whole = whole and not item.strip("+-0123456789")
            total = step(total, number)
        if divide:
            total /= len(items)
        return cut(total) if whole else total


_summary("stringListSum", 0.0, 0.0, lambda total, number: number + total)
# Items that are all integers have an integer average, cut toward 0.
_summary("stringListAvg", 0.0, 0.0, lambda total, number: number + total, divide=True)
_summary("stringListMin", UNDEFINED, _FLOAT_MAX, lambda total, number: number if number < total else total)
# Starting above 0 means that a list of negative numbers has the maximum 0, as in the reference library.
_summary("stringListMax", UNDEFINED, _FLOAT_MIN, lambda total, number: number if number > total else total)


# -- membership ----------------------------------------------------------------------------------


def _is_text_or_undefined(value: Value) -> bool:
    return value.__class__ is str or value is UNDEFINED


def _exactly(item: str) -> str:
    return item


def _membership(name: str, key: Callable[[str], str]) -> None:
    @builtin(name, least=2, most=3)
    def is_member(ctx: State, item: Value, text: Value, delimiters: Value = UNDEFINED) -> Value:
        if not all(map(_is_text_or_undefined, (item, text, delimiters))):
            return ERROR
        if item is UNDEFINED and text is UNDEFINED:
            return UNDEFINED
        marks = delimiters if isinstance(delimiters, str) else _MEMBER_DELIMITERS
        items = items_of(ctx, text if isinstance(text, str) else "", marks)
        wanted = key(item if isinstance(item, str) else "")
        return any(key(other) == wanted for other in items)


def _subset(name: str, key: Callable[[str], str]) -> None:
    @builtin(name, least=2, most=3)
    def is_subset(ctx: State, text: Value, other: Value, delimiters: Value = UNDEFINED) -> Value:
        if not all(map(_is_text_or_undefined, (text, other, delimiters))):
            return ERROR
        if text is UNDEFINED and other is UNDEFINED:
            return UNDEFINED
        if not isinstance(text, str) or text == "":
            return True
        marks = delimiters if isinstance(delimiters, str) else _MEMBER_DELIMITERS
        wanted = items_of(ctx, text, marks)
        present = {key(item) for item in items_of(ctx, other if isinstance(other, str) else "", marks)}
        # Text without an item, such as " ", is not the empty string and no subset, as in the reference
        # library.
        return bool(wanted) and all(key(item) in present for item in wanted)


_membership("stringListMember", _exactly)
_membership("stringListIMember", fold)
_subset("stringListSubsetMatch", _exactly)
_subset("stringListISubsetMatch", fold)


@builtin("stringListsIntersect", least=2, most=3)
def string_lists_intersect(ctx: State, a: Value, b: Value, delimiters: Value = "") -> Value:
    """stringListsIntersect(l1, l2[, d]): whether an item is in both; items are not trimmed."""
    arguments = (a, b, delimiters)
    if ERROR in arguments:
        return ERROR
    if UNDEFINED in arguments:
        return UNDEFINED
    if not isinstance(a, str) or not isinstance(b, str) or not isinstance(delimiters, str):
        return ERROR
    marks = delimiters or USUAL_DELIMITERS
    ctx.spend((len(a) + len(b)) // 4 + 1)
    return not (set(_split_bytewise(a, marks)) - {""}).isdisjoint(_split_bytewise(b, marks))
