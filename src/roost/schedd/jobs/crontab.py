"""When a recurring job runs next: the five fields of a crontab, as HTCondor reads them.

A field is a list of numbers, ranges and ``*``, each with a step after a slash. A step chooses its *multiples* within
the range, as in HTCondor (``1-31/2`` are the even days; Unix's cron would take the odd ones). If only one of the two
day fields is restricted, it selects the days; if both are, a day that matches either is selected. HTCondor clamps a
number that is out of range, or treats it as ``*``; here such a field is an error.

Times are those of a wall clock in a time zone that is passed in. If clocks are put forward, a time that does not exist
that day becomes the first minute that does. If they are put back, a time that occurs twice counts once. Neither applies
to fields whose hour is ``*``: they go by minutes, not by the clock's hours.

Algorithm: days are tried one by one from yesterday on, because a clock that is put back over midnight returns to an
earlier day. On a day without a clock change the times are sums; on the others each time is looked up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import Final

from roost.base.records import dataclass
from roost.classad import UNDEFINED, ClassAd, Value, unparse_value
from roost.classad.ad import has_any
from roost.classad.values import fold
from roost.classad.world import World

#: Attribute to its minimum and maximum.
FIELDS: Final[Mapping[str, tuple[int, int]]] = {
    "CronMinute": (0, 59),
    "CronHour": (0, 23),
    "CronDayOfMonth": (1, 31),
    "CronMonth": (1, 12),
    "CronDayOfWeek": (0, 7),
}
#: Their names, folded.
KEYS: Final = frozenset(fold(name) for name in FIELDS)
_DAYS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
#: Number of days after which every schedule has matched: 29 February is missing for at most eight years.
_SEARCH_DAYS: Final = 366 * 9
#: Maximum number of items in the list of one field.
ITEMS_MAX: Final = 100
_ITEM: Final = re.compile(r"(?:\*|(\d{1,4})(?:-(\d{1,4}))?)(?:/(\d{1,4}))?\Z", re.ASCII)


class CronError(ValueError):
    """An invalid field; the message names it, its value and what is expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CronTab:
    """A schedule."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    #: 0 is Sunday.
    weekdays: frozenset[int]

    def fits_day(self, day: date) -> bool:
        """Whether the job runs on a day at all."""
        if day.month not in self.months:
            return False
        by_date, by_week = day.day in self.days, (day.weekday() + 1) % 7 in self.weekdays
        return by_date or by_week if len(self.days) < 31 and len(self.weekdays) < 7 else by_date and by_week

    @property
    def every_hour(self) -> bool:
        """Whether the clock's hour does not matter."""
        return len(self.hours) == 24

    def next_after(self, now: float, zone: tzinfo) -> int:
        """The first instant after `now` at which the job runs; both epoch s."""
        day = _local(now, zone).date() - timedelta(days=1)
        best: int | None = None
        for _ in range(_SEARCH_DAYS):
            if self.fits_day(day):
                found = min((at for at in self._of_day(day, zone) if at > now), default=None)
                if found is not None and (best is None or found < best):
                    best = found
            day += timedelta(days=1)
            # The day after one with a match may begin before that match if clocks were put back over midnight.
            if best is not None and _epoch(datetime.combine(day, time()), zone) > best:
                return best
        assert best is not None, "a schedule that was read has a day in nine years"
        return best

    def _of_day(self, day: date, zone: tzinfo) -> Iterator[int]:
        """The instants of a day, unordered."""
        first, last = datetime.combine(day, time()), datetime.combine(day + timedelta(days=1), time(fold=1))
        steady = zone.utcoffset(first) == zone.utcoffset(last)
        midnight = _epoch(first, zone)
        for hour in self.hours:
            for minute in self.minutes:
                if steady:
                    yield midnight + hour * 3600 + minute * 60
                else:
                    yield from self._around_change(datetime.combine(day, time(hour, minute)), zone)

    def _around_change(self, wall: datetime, zone: tzinfo) -> Iterator[int]:
        """The instants at which a clock that is changed that day shows a time."""
        early, late = _epoch(wall, zone), _epoch(wall.replace(fold=1), zone)
        if early <= late:
            yield early
            if self.every_hour and late > early:
                yield late
        elif not self.every_hour:
            # In the gap: read with either offset, it is before or after the change.
            yield _end_of_gap(late, early, zone)


def _local(at: float, zone: tzinfo) -> datetime:
    return datetime.fromtimestamp(at, UTC).astimezone(zone)


def _epoch(wall: datetime, zone: tzinfo) -> int:
    return int(wall.replace(tzinfo=zone).timestamp())


def _end_of_gap(before: int, after: int, zone: tzinfo) -> int:
    """The first whole minute with the offset of `after`, which differs from that of `before`."""
    offset = _local(after, zone).utcoffset()
    while after - before > 60:
        middle = before + (after - before) // 120 * 60
        if _local(middle, zone).utcoffset() == offset:
            after = middle
        else:
            before = middle
    return after


def crontab(fields: Mapping[str, str]) -> CronTab:
    """The schedule from fields by attribute; a missing or empty field is ``*``. Raises CronError."""
    return _crontab(tuple(fields.get(name, "").strip() or "*" for name in FIELDS))


@lru_cache(maxsize=1024)
def _crontab(texts: tuple[str, ...]) -> CronTab:
    given = dict(zip(FIELDS, texts, strict=True))
    minutes, hours, days, months, weekdays = (_numbers(name, text) for name, text in given.items())
    weekdays = frozenset(day % 7 for day in weekdays)
    if len(weekdays) == 7 and not any(day <= _DAYS[month - 1] for day in days for month in months):
        raise CronError(
            f"CronDayOfMonth = {given['CronDayOfMonth']} with CronMonth = {given['CronMonth']}: no such day exists"
        )
    return CronTab(
        minutes=tuple(sorted(minutes)), hours=tuple(sorted(hours)), days=days, months=months, weekdays=weekdays
    )


def _numbers(name: str, text: str) -> frozenset[int]:
    low, high = FIELDS[name]
    items = "".join(text.split()).split(",")
    if len(items) > ITEMS_MAX:
        raise CronError(f"{name} has {len(items)} members; the limit is {ITEMS_MAX}")
    found: set[int] = set()
    for item in items:
        read = _ITEM.match(item)
        if read is None:
            raise CronError(f"{name} = {text}: {item!r} is neither *, a number nor a range, with or without a step")
        first, last, step = read[1], read[2], read[3]
        begin = low if first is None else int(first)
        end = int(last) if last is not None else high if first is None else begin
        if begin < low or end > high:
            raise CronError(f"{name} = {text}: {item!r} is not in the range {low} to {high}")
        if begin > end:
            raise CronError(f"{name} = {text}: {item!r} is reversed: it begins after its end")
        if step is not None and int(step) == 0:
            raise CronError(f"{name} = {text}: {item!r} has a step of 0")
        found.update(number for number in range(begin, end + 1) if number % int(step or 1) == 0)
    if not found:
        raise CronError(f"{name} = {text}: it matches no number from {low} to {high}")
    return frozenset(found)


def has_crontab(ad: ClassAd) -> bool:
    """Whether a job has a crontab."""
    return has_any(ad, KEYS)


def next_start(ad: ClassAd, now: float, zone: tzinfo, world: World) -> int | None:
    """The next start of a job that is idle from `now` on, epoch s; None if it has no crontab. Raises CronError."""
    values = {name: ad.eval(name, None, world) for name in FIELDS if name in ad}
    fields = {name: _text(name, value) for name, value in values.items() if value is not UNDEFINED}
    return crontab(fields).next_after(now, zone) if fields else None


def _text(name: str, value: Value) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise CronError(f"{name} = {unparse_value(value)} is neither a string nor a number")
