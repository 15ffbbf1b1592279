"""Times of templates: the partial timestamps of drmaa_start_time and drmaa_deadline_time, and durations."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import Final

from roost.compat.drmaa.core.codes import Code, DrmaaError

_STAMP: Final = re.compile(
    r"(?:(?:(?:(\d\d)?(\d\d)/)?(\d\d)/)?(\d\d)\s+)?(\d\d):(\d\d)(?::(\d\d))?(?:\s+([+-])(\d\d):(\d\d))?\Z"
)
_LENGTH: Final = re.compile(r"(?:(?:(\d+):)?(\d+):)?(\d+)\Z")
#: Days searched for the next one with a given date: 29 February may be 8 years away.
_DAYS_MAX: Final = 366 * 8 + 2


def instant(text: str, attribute: str, now: float) -> int:
    """The next instant that matches ``[[[[CC]YY/]MM/]DD] hh:mm[:ss] [{-|+}UU:uu]``, epoch s. Raises DrmaaError.

    `now`: epoch s. Without an offset the time is local.
    """
    found = _STAMP.match(text.strip())
    if found is None:
        form = "[[[[CC]YY/]MM/]DD] hh:mm[:ss] [{-|+}UU:uu]"
        raise DrmaaError(Code.INVALID_ATTRIBUTE_FORMAT, f"{attribute}: {text!r} is not of the form {form}")
    century, year, month, day, hour, minute, second, sign, hours, minutes = found.groups()
    try:
        zone = None
        if sign:
            zone = timezone((1 if sign == "+" else -1) * timedelta(hours=int(hours), minutes=int(minutes)))
        today = datetime.fromtimestamp(now, zone)
        clock = today.replace(hour=int(hour), minute=int(minute), second=min(int(second or 0), 59), microsecond=0)
        at = _dated(clock, today, century, year, month, day)
    except (ValueError, OverflowError) as problem:
        raise DrmaaError(Code.INVALID_ATTRIBUTE_VALUE, f"{attribute}: {text!r}: {problem}") from None
    return int(at.timestamp())


def _dated(
    clock: datetime, today: datetime, century: str | None, year: str | None, month: str | None, day: str | None
) -> datetime:
    """The time of day on the next day that matches the given parts of the date. Raises ValueError."""
    if year is not None and month is not None and day is not None:
        first = int(century) if century is not None else today.year // 100
        return clock.replace(year=first * 100 + int(year), month=int(month), day=int(day))
    for days in range(_DAYS_MAX):
        at = clock + timedelta(days=days)
        fits = (day is None or at.day == int(day)) and (month is None or at.month == int(month))
        if fits and at >= today.replace(microsecond=0):
            return at
    raise ValueError("there is no such day")


def seconds(text: str, attribute: str) -> int:
    """The seconds of ``[[h:]m:]s``. Raises DrmaaError."""
    found = _LENGTH.match(text.strip())
    if found is None:
        raise DrmaaError(Code.INVALID_ATTRIBUTE_FORMAT, f"{attribute}: {text!r} is not of the form [[h:]m:]s")
    hours, minutes, rest = (int(part or 0) for part in found.groups())
    return hours * 3600 + minutes * 60 + rest
