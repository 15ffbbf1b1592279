"""Functions on absolute and relative times: the clock, fields, splitting, and making times from numbers and
text.

The local zone and the clock come from the evaluation's world. Fields of an absolute time are those of the
*local* zone (getHours), parts of it those of its own zone (splitTime). Numbers that become times pass through
32-bit C integers as in the reference library: ``absTime(5000000000, 0)`` is in 1992. Printing is in
`strftime`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from roost.classad.functions.conversion import cut32, to_integer, wrap32
from roost.classad.functions.registry import builtin
from roost.classad.functions.strftime import (
    BrokenTime,
    Zone,
    broken_time,
    day_count,
    format_broken_time,
    weekday_and_day_of_year,
)
from roost.classad.functions.strings import is_ad
from roost.classad.values import ERROR, UNDEFINED, AbsTime, Exceptional, RelTime, Value, wrap

if TYPE_CHECKING:
    from roost.classad.ad import ClassAd
    from roost.classad.state import State

# -- the clock -----------------------------------------------------------------------------------


@builtin("time", least=0, most=0, pure=False)
def epoch_time(ctx: State) -> Value:
    """time(): whole epoch seconds."""
    return math.floor(ctx.world.now())


@builtin("currentTime", least=0, most=0, pure=False)
def current_time(ctx: State) -> Value:
    """currentTime(): now, in the local zone."""
    now = math.floor(ctx.world.now())
    return AbsTime(now, ctx.world.zone_offset(now))


@builtin("timeZoneOffset", least=0, most=0, pure=False)
def time_zone_offset(ctx: State) -> Value:
    """timeZoneOffset(): the local zone's distance east of UTC."""
    return RelTime(float(ctx.world.zone_offset(math.floor(ctx.world.now()))))


@builtin("dayTime", least=0, most=0, pure=False)
def day_time(ctx: State) -> Value:
    """dayTime(): the time since local midnight."""
    now = math.floor(ctx.world.now())
    return RelTime(float((now + ctx.world.zone_offset(now)) % 86400))


# -- fields --------------------------------------------------------------------------------------


def _local(ctx: State, secs: int) -> BrokenTime:
    return broken_time(secs + ctx.world.zone_offset(secs))


def _remainder(number: int, divisor: int) -> int:
    """C's ``%``: the sign is that of `number`."""
    return int(math.fmod(number, divisor))


def _quotient(number: int, divisor: int) -> int:
    """C's ``/``, cut toward 0."""
    return abs(number) // divisor * (1 if number >= 0 else -1)


def _field(
    name: str,
    of_instant: Callable[[BrokenTime], int] | None,
    of_duration: Callable[[int], int] | None,
) -> None:
    """Enter a function that takes one number out of a time; None where that kind of time has none."""

    @builtin(name, least=1, most=1, pure=False)
    def get(ctx: State, time: Value) -> Value:
        if isinstance(time, AbsTime) and of_instant is not None:
            return of_instant(_local(ctx, time.secs))
        if isinstance(time, RelTime) and of_duration is not None:
            return of_duration(cut32(time.secs))
        return ERROR


_field("getYear", lambda t: t.year, None)
_field("getMonth", lambda t: t.month, None)
_field("getDayOfYear", lambda t: t.day_of_year, None)
_field("getDayOfMonth", lambda t: t.day, None)
_field("getDayOfWeek", lambda t: t.weekday, None)
_field("getDays", None, lambda secs: _quotient(secs, 86400))
_field("getHours", lambda t: t.hour, lambda secs: _quotient(_remainder(secs, 86400), 3600))
_field("getMinutes", lambda t: t.minute, lambda secs: _quotient(_remainder(secs, 3600), 60))
_field("getSeconds", lambda t: t.second, lambda secs: _remainder(secs, 60))


# -- splitting and printing ----------------------------------------------------------------------


def _instant(ctx: State, time: Value) -> AbsTime | None:
    """A number or absolute time as an absolute time; None for anything else."""
    if isinstance(time, AbsTime):
        return time
    if time.__class__ is int:
        return AbsTime(time, ctx.world.zone_offset(time))
    if isinstance(time, float):
        secs = cut32(time)
        return AbsTime(secs, ctx.world.zone_offset(secs))
    return None


def _ad_of(attributes: dict[str, Value]) -> ClassAd:
    from roost.classad.ad import ClassAd

    return ClassAd(attributes)


@builtin("splitTime", least=1, most=1, pure=False)
def split_time(ctx: State, time: Value) -> Value:
    """splitTime(t): an ad with the parts of a time; a number is epoch seconds."""
    if time is UNDEFINED:
        return UNDEFINED
    if isinstance(time, RelTime):
        return _ad_of(_parts_of_duration(time.secs))
    instant = _instant(ctx, time)
    if instant is None:
        return ERROR
    parts = broken_time(instant.secs + instant.offset)
    return _ad_of(
        {
            "Type": "AbsoluteTime",
            "Year": parts.year,
            "Month": parts.month,
            "Day": parts.day,
            "Hours": parts.hour,
            "Minutes": parts.minute,
            "Seconds": parts.second,
            "Offset": instant.offset,
        }
    )


def _parts_of_duration(secs: float) -> dict[str, Value]:
    """Days to seconds; the sign of a negative time is on its first part that is not 0."""
    size = abs(secs)
    whole = cut32(size)
    fraction = size - math.floor(size) if math.isfinite(size) else math.nan
    days = _quotient(whole, 86400)
    hours = _quotient(_remainder(whole, 86400), 3600)
    minutes = _quotient(_remainder(whole, 3600), 60)
    seconds = _remainder(whole, 60) + fraction
    if secs < 0:
        if days > 0:
            days = -days
        elif hours > 0:
            hours = -hours
        elif minutes > 0:
            minutes = -minutes
        else:
            seconds = -seconds
    return {"Type": "RelativeTime", "Days": days, "Hours": hours, "Minutes": minutes, "Seconds": seconds}


#: Bytes that a formatted time may have, as in the reference library.
_FORMATTED_BYTES_MAX: Final = 1022


@builtin("formatTime", least=0, most=2, pure=False)
def format_time(ctx: State, *arguments: Value) -> Value:
    """formatTime([t[, format]]): as C's strftime, in the C locale. An ad is taken as from splitTime."""
    pattern: Value = arguments[1] if len(arguments) == 2 else "%c"
    if not arguments:
        now = math.floor(ctx.world.now())
        parts = _local(ctx, now)
    else:
        time = arguments[0]
        if is_ad(time):
            parts = _parts_of_ad(ctx, time)
        else:
            instant = _instant(ctx, time)
            if instant is None:
                return ERROR
            parts = broken_time(instant.secs + instant.offset)
    if not isinstance(pattern, str):
        return ERROR
    ctx.spend(len(pattern))
    zone = Zone(ctx.world.zone_offset, ctx.world.zone_name)
    return format_broken_time(parts, pattern, zone, _FORMATTED_BYTES_MAX)


def _parts_of_ad(ctx: State, ad: Value) -> BrokenTime:
    """The parts that an ad gives as integers; the others are 0, or January."""
    from roost.classad.lookup import subscript_value

    def part(name: str, default: int) -> int:
        value = subscript_value(ctx, ad, name)
        return wrap32(value) if isinstance(value, int) and value.__class__ is int else default

    year, month, day = part("Year", 1900), part("Month", 1), part("Day", 0)
    weekday, day_of_year = weekday_and_day_of_year(year, month, day)
    return BrokenTime(
        year=year,
        month=month,
        day=day,
        hour=part("Hours", 0),
        minute=part("Minutes", 0),
        second=part("Seconds", 0),
        weekday=weekday,
        day_of_year=day_of_year,
    )


@builtin("interval", least=1, most=1)
def interval(ctx: State, value: Value) -> Value:
    """interval(secs): ``days+hh:mm:ss`` without its leading parts that are 0."""
    number = to_integer(value)
    if isinstance(number, Exceptional):
        return ERROR
    secs = wrap32(number)
    days, hours = _quotient(secs, 86400), _quotient(_remainder(secs, 86400), 3600)
    minutes, seconds = _quotient(_remainder(secs, 3600), 60), _remainder(secs, 60)
    # Only the first part shown has a sign.
    if days:
        return f"{days}+{abs(hours):02d}:{abs(minutes):02d}:{abs(seconds):02d}"
    if hours:
        return f"{hours}:{abs(minutes):02d}:{abs(seconds):02d}"
    if minutes:
        return f"{minutes}:{abs(seconds):02d}"
    return str(seconds)


# -- making times --------------------------------------------------------------------------------


@builtin("absTime", least=0, most=2, pure=False)
def absolute_time(ctx: State, *arguments: Value) -> Value:
    """absTime([t[, offset]]): an instant from epoch seconds and the distance of its zone east of UTC, in
    seconds.

    The parser reads a string literal as a date; a computed string is handed back, as the reference library does.
    """
    if not arguments:
        return current_time(ctx)
    time = arguments[0]
    offset = None
    if len(arguments) == 2:
        offset = _seconds(arguments[1])
        if offset is None:
            return ERROR
    if time is UNDEFINED or isinstance(time, AbsTime):
        return time
    if isinstance(time, str):
        return time
    secs = _seconds(time)
    if secs is None:
        return ERROR
    if offset is None:
        offset = ctx.world.zone_offset(secs)
    if offset == -1 and time.__class__ is int:
        from roost.classad.state import EvaluationFailed

        raise EvaluationFailed
    return AbsTime(secs, offset)


def _seconds(value: Value) -> int | None:
    """A number or relative time as whole seconds of 32 bits; None for anything else."""
    if value.__class__ is int:
        return wrap32(value)
    if isinstance(value, float):
        return cut32(value)
    return cut32(value.secs) if isinstance(value, RelTime) else None


@builtin("relTime", least=1, most=1)
def relative_time(ctx: State, value: Value) -> Value:
    """relTime(x): a duration from seconds. The parser reads a string literal ``days+hh:mm:ss``; a computed one is 0."""
    match value:
        case bool():
            return ERROR
        case int():
            return RelTime(float(wrap32(value)))
        case float():
            return RelTime(value)
        case str():
            return RelTime(0.0)
        case AbsTime(secs=secs):
            return RelTime(float(wrap(secs)))
        case RelTime():
            return value
    return UNDEFINED if value is UNDEFINED else ERROR


_ZONE: Final = re.compile(r"([+-])([0-9]{2}):?([0-9]{2})\Z")
_YEAR: Final = re.compile(r"[^0-9]*([0-9].{3})", re.DOTALL)
_PART: Final = re.compile(r"[^0-9]*([0-9].)", re.DOTALL)
_DIGITS: Final = re.compile(r"[0-9]+")


def _digits(text: str) -> int:
    """The number at the start of `text`."""
    found = _DIGITS.match(text)
    return int(found[0]) if found else 0


def read_absolute_time(text: str, zone_offset: Callable[[float], int]) -> AbsTime | Exceptional:
    """The instant that a text names, ERROR if it names none.

    The text is four digits of a year, then up to five pairs of digits (month, day, hours, minutes, seconds)
    with anything but digits around them, then an optional zone: Z, ±hhmm or ±hh:mm. Without a zone it is
    local time. A missing day counts as 0, the last day of the month before, as in the reference library.
    """
    offset: int | None = None
    stripped = text.rstrip(" \t\n\v\f\r")
    if len(stripped) > 1 and stripped[-1] in "zZ":
        offset = 0
        text = stripped[:-1]
    elif len(text) > 5 and (zone := _ZONE.search(text[-6:])):
        distance = int(zone[2]) * 3600 + int(zone[3]) * 60
        offset = -distance if zone[1] == "-" else distance
        text = text[: -len(zone[0])]
    found = _YEAR.match(text)
    if found is None:
        return ERROR
    year, at = _digits(found[1]), found.end()
    parts: list[int] = []
    while len(parts) < 5 and (found := _PART.match(text, at)):
        parts.append(_digits(found[1]))
        at = found.end()
    if _DIGITS.search(text, at):
        return ERROR
    month, day, hour, minute, second = parts + [1, 0, 0, 0, 0][len(parts) :]
    secs = day_count(year, month, day) * 86400 + hour * 3600 + minute * 60 + second
    local = secs - zone_offset(secs)
    if local == -1:
        return ERROR  # C's mktime says so that it has failed
    if offset is None:
        offset = zone_offset(local)
    return AbsTime(secs - offset, offset)


_BLANK_RUN: Final = re.compile(r"[ \t\n\v\f\r]+")
#: A relative time, read from its end: seconds, minutes, hours, days, sign. Every run of blanks is one blank.
_REVERSED_DURATION: Final = re.compile(
    r" ?(?:(?=[sS0-9])[sS]? ?(?P<secs>[0-9]*(?:\.[0-9]*)?))?"
    r" ?(?:[mM:] ?(?P<minutes>[0-9]*))?"
    r" ?(?:[hH:] ?(?P<hours>[0-9]*))?"
    r" ?(?:[dD+] ?(?P<days>[0-9]*))?"
    r" ?(?P<sign>-)? ?\Z"
)


def read_relative_time(text: str) -> RelTime | Exceptional:
    """The duration that a text ``[-][[[days+]hh:]mm:]ss[.fff]`` or ``[-][days d][hh h][mm m][ss s]``
    names."""
    found = _REVERSED_DURATION.match(_BLANK_RUN.sub(" ", text)[::-1])
    if found is None:
        return ERROR

    def part(name: str, factor: int) -> int:
        digits = (found[name] or "")[::-1]
        return wrap32(cut32(float(digits)) * factor) if digits else 0

    seconds = (found["secs"] or "")[::-1]
    whole = wrap32(wrap32(part("days", 86400) + part("hours", 3600)) + part("minutes", 60))
    secs = whole + (float(seconds) if seconds.strip(".") else 0.0)
    return RelTime(-secs if found["sign"] else secs)
