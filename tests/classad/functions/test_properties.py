"""Properties of single functions, most of them against the standard library."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from roost.classad.functions import lookup
from roost.classad.functions.conversion import leading_number, scanned_number, wrap32
from roost.classad.functions.environment import quote_argument, split_arguments
from roost.classad.functions.strftime import broken_time, day_count, format_broken_time, weekday_and_day_of_year
from roost.classad.functions.strings import compare_naturally
from roost.classad.functions.times import read_absolute_time, read_relative_time
from roost.classad.state import State
from roost.classad.unparse import format_abstime, format_reltime
from roost.classad.values import INT_MAX, INT_MIN, AbsTime, ListValue, RelTime, Value, to_bytes

PLAIN = st.text(st.characters(min_codepoint=1, max_codepoint=0x2FF, exclude_categories=["Cs"]), max_size=20)
INSTANTS = st.integers(-62_135_596_800, 253_402_300_799)


def call(name: str, *arguments: Value) -> Value:
    function = lookup(name)
    assert function is not None and function.eager is not None
    return function.eager(State(), *arguments)


@given(st.lists(PLAIN, max_size=5))
def test_arguments_survive_quoting(arguments: list[str]) -> None:
    text = call("listToArgs", ListValue(tuple(arguments)))
    assert isinstance(text, str)
    assert split_arguments(State(), text) == arguments
    assert text == " ".join(map(quote_argument, arguments))


@given(st.dictionaries(st.text("AbC_", min_size=1, max_size=3), PLAIN, max_size=4))
def test_environments_survive_merging(environment: dict[str, str]) -> None:
    text = " ".join(quote_argument(f"{name}={value}") for name, value in environment.items())
    merged = call("mergeEnvironment", text)
    assert isinstance(merged, str)
    assert split_arguments(State(), merged) == [f"{name}={environment[name]}" for name in sorted(environment)]
    assert call("mergeEnvironment", merged) == merged


@given(PLAIN, PLAIN)
def test_natural_order_is_antisymmetric(a: str, b: str) -> None:
    one, other = compare_naturally(to_bytes(a), to_bytes(b)), compare_naturally(to_bytes(b), to_bytes(a))
    assert one == -other
    assert (one == 0) == (a == b)


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_natural_order_of_numbers_is_that_of_numbers(a: int, b: int) -> None:
    order = compare_naturally(b"v%d.x" % a, b"v%d.x" % b)
    assert (order > 0) - (order < 0) == (a > b) - (a < b)


@given(
    st.floats(),
    PLAIN.filter(lambda text: not text[:1].isalnum() and text[:1] not in (".", "_", "+", "-", "(")),
)
def test_numbers_are_read_from_the_start_of_a_text(number: float, rest: str) -> None:
    for read in (leading_number, scanned_number):
        found = read(f" {number!r}{rest}")
        assert found is not None and (found == number or (math.isnan(found) and math.isnan(number)))


@given(st.integers(INT_MIN, INT_MAX))
def test_32_bits_wrap(number: int) -> None:
    assert wrap32(number) == int.from_bytes((number & 0xFFFF_FFFF).to_bytes(4, "big"), "big", signed=True)


@given(INSTANTS)
def test_the_calendar_is_that_of_the_standard_library(secs: int) -> None:
    wanted = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=secs)
    parts = broken_time(secs)
    found = (parts.year, parts.month, parts.day, parts.hour, parts.minute, parts.second)
    assert found == (wanted.year, wanted.month, wanted.day, wanted.hour, wanted.minute, wanted.second)
    assert day_count(*found[:3]) == secs // 86400
    weekday_and_day = (wanted.isoweekday() % 7, wanted.timetuple().tm_yday - 1)
    assert (parts.weekday, parts.day_of_year) == weekday_and_day == weekday_and_day_of_year(*found[:3])


@given(st.integers(-2_208_988_800, 253_402_300_799))
def test_printing_is_that_of_the_standard_library(secs: int) -> None:
    pattern = "%a %A %b %B %d %H %I %j %m %M %p %S %U %w %W %y %Y %G %V %u %F %T %D %R %e %C %%"
    wanted = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=secs)).strftime(pattern)
    assert format_broken_time(broken_time(secs), pattern, lambda _: 0, 1000) == wanted


@given(INSTANTS, st.integers(-14 * 60, 14 * 60).map(lambda minutes: minutes * 60))
def test_printed_instants_are_read_again(secs: int, offset: int) -> None:
    instant = AbsTime(secs, offset)
    text = format_abstime(instant)
    # The instant one second before 1970 is C's sign of an error.
    if text[:1].isdigit() and len(text) == 25 and secs + offset != -1:
        assert read_absolute_time(text, lambda _: 0) == instant


@given(st.integers(-(2**31) + 1, 2**31 - 1))
def test_printed_durations_are_read_again(secs: int) -> None:
    assert read_relative_time(format_reltime(float(secs))) == RelTime(float(secs))


@given(PLAIN, st.integers(-30, 30), st.integers(-30, 30))
def test_substr_cuts_bytes_like_a_slice(text: str, offset: int, length: int) -> None:
    data = to_bytes(text)
    start = max(0, len(data) + offset) if offset < 0 else min(offset, len(data))
    end = max(start, len(data) + length) if length < 0 else start + length
    found = call("substr", text, offset, length)
    assert isinstance(found, str) and to_bytes(found) == data[start:end]


@given(st.integers(-(10**6), 10**6), st.integers(1, 1000))
def test_quantize_gives_the_next_multiple(number: int, step: int) -> None:
    found = call("quantize", number, step)
    # The quotient is cut toward zero, so a negative number may be raised by up to two steps.
    assert isinstance(found, int) and found % step == 0 and number <= found < number + 2 * step
    if number >= 0:
        assert found < number + step
