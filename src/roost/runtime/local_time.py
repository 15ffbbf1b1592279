"""Times of Grid Engine's commands: ``[[CC]YY]MMDDhhmm[.SS]`` in the local time of this machine."""

from __future__ import annotations

import time

from roost.gridengine.commands.errors import BAD_VALUE, Failure


def date_time(at: int) -> str:
    """An instant, epoch s, as ``CCYYMMDDhhmm.SS``."""
    return time.strftime("%Y%m%d%H%M.%S", time.localtime(at))


def read_instant(text: str) -> int:
    """The instant of ``[[CC]YY]MMDDhhmm[.SS]``, epoch s. Raises ValueError with Grid Engine's words.

    As there, a day that its month does not have is one of the next month.
    """
    digits, dot, seconds = text.partition(".")
    if len(digits) not in (8, 10, 12) or not (digits + seconds).isdecimal() or (dot and len(seconds) != 2):
        raise ValueError("Invalid format of date/hour-minute field.")
    month, day, hour, minute = (int(digits[at : at + 2 or None]) for at in (-8, -6, -4, -2))
    second = int(seconds or 0)
    for name, value, least, most in (
        ("month", month, 1, 12), ("day", day, 1, 31), ("hour", hour, 0, 23), ("minute", minute, 0, 59),
        ("seconds", second, 0, 59),
    ):  # fmt: skip
        if not least <= value <= most:
            raise ValueError(f"Invalid {name} specification.")
    year = time.localtime().tm_year if len(digits) == 8 else int(digits[:-8])
    year += 0 if year > 99 else 2000 if year < 70 else 1900
    try:
        return int(time.mktime((year, month, day, hour, minute, second, 0, 0, -1)))
    except OverflowError:
        raise ValueError("Invalid format of date/hour-minute field.") from None


def instant(text: str, option: str = "a", command: str = "qsub") -> int:
    """The instant of the value of an option, epoch s. Raises Failure."""
    try:
        return read_instant(text)
    except ValueError as problem:
        words = f'{command}: Wrong date/time format "{text}" specified to -{option} option'
        raise Failure(f"\n{problem}\n{words}", BAD_VALUE) from None
