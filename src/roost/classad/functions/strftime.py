"""C's strftime in the C locale, and the calendar arithmetic it needs.

Implemented here because the parts of a time may be out of range (month 14, hour 30): the standard library refuses such
times and follows the process's locale. The output is that of glibc: flags ``_ - 0 ^ #``, widths, unknown conversions
unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from roost.base.records import dataclass
from roost.classad.values import from_bytes, to_bytes

_DAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
#: Widths of fields are cut to this, more than any result may have.
_WIDTH_MAX: Final = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenTime:
    """A time in parts; no part need be in its usual range."""

    year: int
    #: 1 is January.
    month: int
    day: int
    hour: int
    minute: int
    second: int
    #: 0 is Sunday.
    weekday: int
    #: 0 is the first of January.
    day_of_year: int


def day_count(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01, in the proleptic Gregorian calendar; month and day may be out of range."""
    year += (month - 1) // 12
    month = (month - 1) % 12 + 1
    # Years that begin in March have their leap day at their end.
    shifted = year - (month <= 2)
    era, year_of_era = divmod(shifted, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5
    leap_days = year_of_era // 4 - year_of_era // 100
    return era * 146097 + year_of_era * 365 + leap_days + day_of_year + day - 719469


def broken_time(secs: int) -> BrokenTime:
    """The parts of an instant that is `secs` seconds after 1970-01-01T00:00:00, both in the same zone."""
    days, rest = divmod(secs, 86400)
    # A day is in the year that the mean length of years says, or in a neighbour.
    year = 1970 + days * 400 // 146097
    while day_count(year, 1, 1) > days:
        year -= 1
    while day_count(year + 1, 1, 1) <= days:
        year += 1
    month = 12
    while day_count(year, month, 1) > days:
        month -= 1
    return BrokenTime(
        year=year,
        month=month,
        day=days - day_count(year, month, 1) + 1,
        hour=rest // 3600,
        minute=rest // 60 % 60,
        second=rest % 60,
        weekday=(days + 4) % 7,
        day_of_year=days - day_count(year, 1, 1),
    )


def _cut(number: int, divisor: int) -> int:
    """C's ``/``."""
    return abs(number) // divisor * (1 if number >= 0 else -1)


def weekday_and_day_of_year(year: int, month: int, day: int) -> tuple[int, int]:
    """Weekday and day of the year of a date whose parts may be out of range, as the reference library
    counts."""
    fixed = _fixed_day(year, month, day)
    return fixed - _cut(fixed, 7) * 7, fixed - _fixed_day(year, 1, 1)


def _fixed_day(year: int, month: int, day: int) -> int:
    before = year - 1
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    correction = 0 if month <= 2 else -1 if leap else -2
    leaps = _cut(before, 4) - _cut(before, 100) + _cut(before, 400)
    return 365 * before + leaps + _cut(367 * month - 362, 12) + correction + day


# -- printing ------------------------------------------------------------------------------------

_CONVERSION: Final = re.compile(r"%([_\-0^#]*)([0-9]*)([EO]?)([^EO]?)", re.DOTALL)

_SHORTHANDS: Final = {
    "c": "%a %b %e %H:%M:%S %Y",
    "D": "%m/%d/%y",
    "F": "%Y-%m-%d",
    "h": "%b",
    "R": "%H:%M",
    "r": "%I:%M:%S %p",
    "T": "%H:%M:%S",
    "X": "%H:%M:%S",
    "x": "%m/%d/%y",
}


def _name(names: tuple[str, ...], index: int) -> str:
    return names[index] if 0 <= index < len(names) else "?"


def _iso_week(t: BrokenTime) -> tuple[int, int]:
    """Year and number of the ISO week."""

    def week_day(day_of_year: int) -> int:
        return day_of_year - (day_of_year - t.weekday + 382) % 7 + 3

    def length(year: int) -> int:
        return 366 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 365

    year, days = t.year, week_day(t.day_of_year)
    if days < 0:
        year -= 1
        days = week_day(t.day_of_year + length(year))
    elif (later := week_day(t.day_of_year - length(year))) >= 0:
        year += 1
        days = later
    return year, days // 7 + 1


#: Numeric conversions: the number, digits, and padding.
_NUMBERS: Final[dict[str, tuple[Callable[[BrokenTime], int], int, str]]] = {
    "C": (lambda t: t.year // 100, 1, "0"),
    "d": (lambda t: t.day, 2, "0"),
    "e": (lambda t: t.day, 2, " "),
    "G": (lambda t: _iso_week(t)[0], 1, "0"),
    "g": (lambda t: _iso_week(t)[0] % 100, 2, "0"),
    "H": (lambda t: t.hour, 2, "0"),
    "I": (lambda t: _twelve(t.hour), 2, "0"),
    "j": (lambda t: t.day_of_year + 1, 3, "0"),
    "k": (lambda t: t.hour, 2, " "),
    "l": (lambda t: _twelve(t.hour), 2, " "),
    "M": (lambda t: t.minute, 2, "0"),
    "m": (lambda t: t.month, 2, "0"),
    "S": (lambda t: t.second, 2, "0"),
    "U": (lambda t: _cut(t.day_of_year - t.weekday + 7, 7), 2, "0"),
    "u": (lambda t: (t.weekday - 1) % 7 + 1, 1, "0"),
    "V": (lambda t: _iso_week(t)[1], 2, "0"),
    "W": (lambda t: _cut(t.day_of_year - (t.weekday + 6) % 7 + 7, 7), 2, "0"),
    "w": (lambda t: t.weekday, 1, "0"),
    "Y": (lambda t: t.year, 1, "0"),
    "y": (lambda t: t.year % 100, 2, "0"),
}

_TEXTS: Final[dict[str, Callable[[BrokenTime], str]]] = {
    "A": lambda t: _name(_DAYS, t.weekday),
    "a": lambda t: _name(_DAYS, t.weekday)[:3],
    "B": lambda t: _name(_MONTHS, t.month - 1),
    "b": lambda t: _name(_MONTHS, t.month - 1)[:3],
    "n": lambda t: "\n",
    "P": lambda t: "pm" if t.hour > 11 else "am",
    "p": lambda t: "PM" if t.hour > 11 else "AM",
    "t": lambda t: "\t",
    "%": lambda t: "%",
}


def _twelve(hour: int) -> int:
    return hour - 12 if hour > 12 else hour or 12


@dataclass(frozen=True, slots=True)
class Zone:
    """The local zone."""

    #: Seconds east of UTC at an instant.
    offset: Callable[[float], int]
    #: Its name outside of summer.
    name: Callable[[], str]


def format_broken_time(time: BrokenTime, pattern: str, zone: Zone, bytes_max: int) -> str:
    """`time` formatted by `pattern`. A result longer than `bytes_max` bytes ends before the first part that does not
    fit."""
    out = bytearray()
    at = 0
    for found in _CONVERSION.finditer(pattern):
        out += to_bytes(pattern[at : found.start()])
        piece = to_bytes(_convert(time, found, zone))
        at = found.end()
        if len(out) + len(piece) > bytes_max:
            return from_bytes(bytes(out[:bytes_max]))
        out += piece
    out += to_bytes(pattern[at:])
    return from_bytes(bytes(out[:bytes_max]))


def _convert(time: BrokenTime, found: re.Match[str], zone: Zone) -> str:
    flags, digits, modifier, letter = found.groups()
    width = min(int(digits[-5:]), _WIDTH_MAX) if digits else 0
    fill = next((flag for flag in reversed(flags) if flag in "_-0"), "")
    if letter in _NOT_WITH.get(modifier, ""):
        text = found[0]
    elif letter in _NUMBERS:
        get, least, usual = _NUMBERS[letter]
        number = get(time)
        return _padded(number, width if fill == "-" else max(width, least), _FILLS.get(fill, usual))
    elif letter == "s":
        return _padded(_epoch(time, zone.offset), width, _FILLS.get(fill, "0"))
    elif letter in _SHORTHANDS:
        text = format_broken_time(time, _SHORTHANDS[letter], zone, _WIDTH_MAX)
    elif letter in _TEXTS:
        text = _TEXTS[letter](time)
    elif letter == "z":
        text = "+0000"
    elif letter == "Z":
        text = zone.name()
    else:
        text = found[0]
    if "^" in flags and letter not in "pP":
        text = text.upper()
    if "#" in flags and letter not in _SHORTHANDS:
        text = text.lower() if letter in "pZ" else text.upper()
    return text.rjust(width, "0" if fill == "0" else " ")


_FILLS: Final = {"_": " ", "0": "0", "-": " "}
#: Conversions that do not go with a modifier; the text then stands as it is.
_NOT_WITH: Final = {"E": "AaBbDdeFGgHhIjkMmlSUVWw%", "O": "AacDFXxY%"}


def _padded(number: int, width: int, fill: str) -> str:
    if number < 0 and fill == "0":
        return "-" + str(-number).rjust(width - 1, "0")
    return str(number).rjust(width, fill)


def _epoch(time: BrokenTime, zone_offset: Callable[[float], int]) -> int:
    """Epoch seconds of local time; as in C it counts as standard time, in summer too."""
    secs = day_count(time.year, time.month, time.day) * 86400
    secs += time.hour * 3600 + time.minute * 60 + time.second
    seasons = (secs, day_count(time.year, 1, 1) * 86400, day_count(time.year, 7, 1) * 86400)
    return secs - min(map(zone_offset, seasons))
