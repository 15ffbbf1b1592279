"""Functions on strings: joining, cutting, case, comparison, versions, splitting.

Strings are bytes: functions that count or cut work on `to_bytes`, with a fast path for ASCII text. Functions that
join or compare first convert each argument to text (`conversion.to_text`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeGuard

from roost.base.records import replace
from roost.classad.functions.conversion import to_text, wrap32
from roost.classad.functions.registry import FUNCTIONS, builtin
from roost.classad.limits import LIST_ITEMS_MAX, STRING_BYTES_MAX
from roost.classad.values import ERROR, UNDEFINED, ListValue, Value, from_bytes, to_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roost.classad.ad import ClassAd
    from roost.classad.compiler import Compiler
    from roost.classad.state import Code, State
    from roost.classad.syntax import Call

#: Bytes that C calls space.
SPACES: Final = " \t\n\v\f\r"
#: Bytes covered by one step of fuel if the work is a single pass in C.
_BYTES_A_STEP: Final = 256


def spend_for(ctx: State, *texts: str) -> None:
    """Pay for one pass over these strings."""
    size = sum(map(len, texts))
    if size > _BYTES_A_STEP:
        ctx.spend(size // _BYTES_A_STEP)


def _one_by_one(compiler: Compiler, call: Call) -> Code:
    """strcat stops at the first argument that is UNDEFINED or ERROR: the rest is not evaluated."""
    codes = [compiler.compile(argument) for argument in call.args]

    def run(state: State) -> Value:
        values: list[Value] = []
        for code in codes:
            value = to_text(code(state))
            if value.__class__ is not str:
                return value
            values.append(value)
        return concatenate(state, *values)

    return run


# -- joining -------------------------------------------------------------------------------------


@builtin("strcat", least=0, most=None)
def concatenate(ctx: State, *values: Value) -> Value:
    """strcat(a, …): the first UNDEFINED or ERROR from the left decides."""
    parts: list[str] = []
    size = 0
    for value in values:
        text = to_text(value)
        if text.__class__ is not str:
            return text
        parts.append(text)
        size += len(text)
        if size > STRING_BYTES_MAX:
            return ERROR
    joined = "".join(parts)
    spend_for(ctx, joined)
    return joined


FUNCTIONS["strcat"] = replace(FUNCTIONS["strcat"], special=_one_by_one)


@builtin("join", least=0, most=None)
def join(ctx: State, *values: Value) -> Value:
    """join(sep, a, …), join(sep, list), join(list): UNDEFINED items are left out."""
    if 1 <= len(values) <= 2 and isinstance(values[-1], ListValue):
        separator = values[0] if len(values) == 2 else ""
        return _join(ctx, separator, ctx.items_here(values[-1]))
    if not values:
        return ""
    return _join(ctx, values[0], values[1:])


def _join(ctx: State, first: Value, items: Iterable[Value]) -> Value:
    separator = to_text(first)
    if separator is ERROR:
        return ERROR
    undefined = separator is UNDEFINED
    glue = separator if isinstance(separator, str) else ""
    out: list[str] = []
    size = 0
    any_defined = False
    for item in items:
        ctx.spend(1)
        text = to_text(item)
        if text is ERROR:
            return ERROR
        if not isinstance(text, str):
            undefined = True
            continue
        any_defined = True
        # Leading empty items take no separator: it goes only behind text already there.
        if size:
            out.append(glue)
            size += len(glue)
        out.append(text)
        size += len(text)
        if size > STRING_BYTES_MAX:
            return ERROR
    if undefined and not any_defined:
        return UNDEFINED
    joined = "".join(out)
    spend_for(ctx, joined)
    return joined


# -- case and cutting ----------------------------------------------------------------------------


@builtin("toUpper", least=1, most=1)
def to_upper(ctx: State, value: Value) -> Value:
    """toUpper(x): ASCII letters only."""
    text = to_text(value)
    if not isinstance(text, str):
        return text
    spend_for(ctx, text)
    return text.upper() if text.isascii() else from_bytes(to_bytes(text).upper())


@builtin("toLower", least=1, most=1)
def to_lower(ctx: State, value: Value) -> Value:
    """toLower(x): ASCII letters only."""
    text = to_text(value)
    if not isinstance(text, str):
        return text
    spend_for(ctx, text)
    return text.lower() if text.isascii() else from_bytes(to_bytes(text).lower())


@builtin("substr", least=2, most=3)
def substring(ctx: State, text: Value, offset: Value, *length: Value) -> Value:
    """substr(s, offset[, length]): a negative offset counts from the end, a negative length drops characters from the
    end."""
    if text is UNDEFINED or offset is UNDEFINED or (length and length[0] is UNDEFINED):
        return UNDEFINED
    if not isinstance(text, str) or not _is_integer(offset) or not all(map(_is_integer, length)):
        return ERROR
    spend_for(ctx, text)
    numbers = (offset, *length)
    if text.isascii():
        start, end = _window(len(text), *numbers)  # type: ignore[arg-type]
        return text[start:end]
    data = to_bytes(text)
    start, end = _window(len(data), *numbers)  # type: ignore[arg-type]
    return from_bytes(data[start:end])


def _is_integer(value: Value) -> bool:
    return value.__class__ is int


def _window(size: int, offset: int, length: int | None = None) -> tuple[int, int]:
    """Start and end of a substring; the numbers count as 32-bit integers, as in the reference library."""
    offset = wrap32(offset)
    start = max(0, size + offset) if offset < 0 else min(offset, size)
    if length is None:
        return start, size
    length = wrap32(length)
    if length < 0:
        return start, max(start, size + length)
    return start, min(size, start + length)


@builtin("size", least=1, most=1)
def size_of(ctx: State, value: Value) -> Value:
    """size(x): bytes of a string, items of a list, attributes of an ad."""
    match value:
        case str():
            return len(value) if value.isascii() else len(to_bytes(value))
        case ListValue():
            return len(value)
    if value is UNDEFINED:
        return UNDEFINED
    return len(value) if is_ad(value) else ERROR


def is_ad(value: Value) -> TypeGuard[ClassAd]:
    """Whether `value` is an ad."""
    from roost.classad.ad import ClassAd

    return isinstance(value, ClassAd)


# -- comparison ----------------------------------------------------------------------------------


def _pair(a: Value, b: Value) -> tuple[bytes, bytes] | None:
    """Both values as bytes of their text; None if either has none."""
    x, y = to_text(a), to_text(b)
    if isinstance(x, str) and isinstance(y, str):
        return to_bytes(x), to_bytes(y)
    return None


def _sign(a: bytes, b: bytes) -> int:
    return (a > b) - (a < b)


@builtin("strcmp", least=2, most=2)
def compare_strings(ctx: State, a: Value, b: Value) -> Value:
    """strcmp(a, b): -1, 0 or 1."""
    if a is UNDEFINED or b is UNDEFINED:
        return UNDEFINED
    pair = _pair(a, b)
    return ERROR if pair is None else _sign(*pair)


@builtin("stricmp", least=2, most=2)
def compare_strings_any_case(ctx: State, a: Value, b: Value) -> Value:
    """stricmp(a, b): -1, 0 or 1, ASCII letters without regard to case."""
    if a is UNDEFINED or b is UNDEFINED:
        return UNDEFINED
    pair = _pair(a, b)
    return ERROR if pair is None else _sign(pair[0].lower(), pair[1].lower())


def _is_digit(byte: int) -> bool:
    return 48 <= byte <= 57


def _run(data: bytes, start: int, accepted: bytes) -> int:
    """How many bytes from `start` on are among `accepted`."""
    end = start
    while end < len(data) and data[end] in accepted:
        end += 1
    return end - start


def compare_naturally(a: bytes, b: bytes) -> int:
    """Order of two strings in which runs of digits count as numbers; the sign matters.

    The size of the result is that of the reference library: the distance of the first two bytes that differ
    (as signed bytes), or of the lengths of two runs of digits. A number with more leading zeros comes first,
    as a fraction would.
    """
    a, b = a + b"\0", b + b"\0"
    at = 0
    while at < len(a) - 1 and a[at] == b[at]:
        at += 1
    x, y = a[at], b[at]
    if x == y:
        return 0
    distance = (x - (x & 128) * 2) - (y - (y & 128) * 2)
    start = at
    while start > 0 and _is_digit(a[start - 1]):
        start -= 1
    if start == at and not (_is_digit(x) and _is_digit(y)):
        return distance
    zeros_a, zeros_b = _leading_zeros(a, start), _leading_zeros(b, start)
    if zeros_a != zeros_b:
        return zeros_b - zeros_a
    if zeros_a:
        return distance
    return (_run(a, start, b"0123456789") - _run(b, start, b"0123456789")) or distance


def _leading_zeros(data: bytes, start: int) -> int:
    """Zeros before another digit; the last zero of a run that is all zeros is a digit and not a leading
    one."""
    zeros = _run(data, start, b"0")
    if zeros and not _is_digit(data[start + zeros]):
        zeros -= 1
    return zeros


def _versions(ctx: State, a: Value, b: Value) -> Value:
    """Natural order of two versions as an integer, or what stands for it."""
    if a is UNDEFINED or b is UNDEFINED:
        return UNDEFINED
    pair = _pair(a, b)
    if pair is None:
        return ERROR
    ctx.spend(min(map(len, pair)) // 8 + 1)
    return compare_naturally(*pair)


@builtin("versioncmp", least=2, most=2)
def compare_versions(ctx: State, a: Value, b: Value) -> Value:
    """versioncmp(a, b): negative, 0 or positive."""
    return _versions(ctx, a, b)


@builtin("versionLE", least=2, most=2)
def version_le(ctx: State, a: Value, b: Value) -> Value:
    """versionLE(a, b)."""
    order = _versions(ctx, a, b)
    return order <= 0 if isinstance(order, int) else order


@builtin("versionLT", least=2, most=2)
def version_lt(ctx: State, a: Value, b: Value) -> Value:
    """versionLT(a, b)."""
    order = _versions(ctx, a, b)
    return order < 0 if isinstance(order, int) else order


@builtin("versionGE", least=2, most=2)
def version_ge(ctx: State, a: Value, b: Value) -> Value:
    """versionGE(a, b)."""
    order = _versions(ctx, a, b)
    return order >= 0 if isinstance(order, int) else order


@builtin("versionGT", least=2, most=2)
def version_gt(ctx: State, a: Value, b: Value) -> Value:
    """versionGT(a, b)."""
    order = _versions(ctx, a, b)
    return order > 0 if isinstance(order, int) else order


@builtin("versionEQ", least=2, most=2)
def version_eq(ctx: State, a: Value, b: Value) -> Value:
    """versionEQ(a, b)."""
    order = _versions(ctx, a, b)
    return order == 0 if isinstance(order, int) else order


@builtin("version_in_range", least=3, most=3)
def version_in_range(ctx: State, version: Value, least: Value, most: Value) -> Value:
    """version_in_range(v, min, max): an UNDEFINED bound is UNDEFINED, an UNDEFINED version is ERROR."""
    if least is UNDEFINED or most is UNDEFINED:
        return UNDEFINED
    if version is UNDEFINED:
        return ERROR
    low, high = _versions(ctx, least, version), _versions(ctx, version, most)
    if isinstance(low, int) and isinstance(high, int):
        return low <= 0 and high <= 0
    return ERROR


# -- splitting -----------------------------------------------------------------------------------


@builtin("split", least=1, most=2)
def split(ctx: State, text: Value, *separators: Value) -> Value:
    """split(s[, separators]): blanks run together, but two equal other separators in a row hold an empty
    item."""
    marks = separators[0] if separators else ", \t"
    if text.__class__ is not str or marks.__class__ is not str:
        return ERROR
    if text.isascii() and marks.isascii():
        items = _split(ctx, text, marks)
    else:
        # One character a byte, so that a separator is one byte as in the reference library.
        bytewise = to_bytes(text).decode("latin-1"), to_bytes(marks).decode("latin-1")
        items = [from_bytes(item.encode("latin-1")) for item in _split(ctx, *bytewise)]
    return ERROR if len(items) > LIST_ITEMS_MAX else ListValue(tuple(items))


def _split(ctx: State, text: str, marks: str) -> list[str]:
    items: list[str] = []
    last_mark = ""
    start = 0
    ctx.spend(len(text))
    for at, char in enumerate(text):
        if char not in marks:
            continue
        if at > start:
            items.append(text[start:at])
        elif char == last_mark:
            items.append("")
        if char not in SPACES:
            last_mark = char
        start = at + 1
    if start < len(text):
        items.append(text[start:])
    return items


@builtin("splitUserName", least=1, most=1)
def split_user_name(ctx: State, name: Value) -> Value:
    """splitUserName("user@domain"): without an @ all of it is the user."""
    if not isinstance(name, str):
        return ERROR
    user, _, domain = name.partition("@")
    return ListValue((user, domain))


@builtin("splitSlotName", least=1, most=1)
def split_slot_name(ctx: State, name: Value) -> Value:
    """splitSlotName("slot@machine"): without an @ all of it is the machine."""
    if not isinstance(name, str):
        return ERROR
    slot, at, machine = name.partition("@")
    return ListValue((slot, machine)) if at else ListValue(("", name))
