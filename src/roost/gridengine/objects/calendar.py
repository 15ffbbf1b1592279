"""Calendars: when queues are disabled or suspended.

``year`` lists dates, ``week`` weekdays; each entry has days, then optionally times of day, then optionally a state,
separated by `=`. By default the days are the whole week, the times the whole day, and the state is off. If entries of
one part overlap, on takes precedence over suspended, and suspended over off. A date in the year part is not looked up
in the week part. A range of times such as 20-6 means 20-24 and 0-6 of each of the days. All times are local to the cell
and are passed as naive `datetime` values.
"""

from __future__ import annotations

import datetime
import re
from enum import StrEnum
from functools import cached_property
from typing import Final

from roost.base.records import dataclass
from roost.gridengine.objects.rows import attribute
from roost.gridengine.objects.values import TEXT, is_none

DAY_S: Final = 86_400
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_STATES: Final = {"on": "on", "off": "off", "suspend": "suspended", "suspended": "suspended"}
YEARS: Final = (1970, 2037)


class State(StrEnum):
    """The state of a calendar at a time."""

    ON = "on"
    #: the queue accepts no new jobs (state D)
    OFF = "off"
    #: jobs of the queue are suspended (state C)
    SUSPENDED = "suspended"


_STRENGTH: Final = {State.ON: 2, State.SUSPENDED: 1, State.OFF: 0}


class _Bad(Exception):
    """A part of an entry is invalid; the text is Grid Engine's."""


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open interval of seconds of the day."""

    first_s: int
    last_s: int


@dataclass(frozen=True, slots=True)
class DateRange:
    """An inclusive range of dates by year, month and day; 31.2. is a date that never occurs."""

    first: tuple[int, int, int]
    last: tuple[int, int, int]

    def holds(self, day: datetime.date) -> bool:
        """Whether a date is in the range."""
        return self.first <= (day.year, day.month, day.day) <= self.last


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of a calendar."""

    #: weekdays from 0, Monday; empty for entries of the year part
    weekdays: frozenset[int]
    dates: tuple[DateRange, ...]
    times: tuple[Span, ...]
    state: State

    def holds(self, day: datetime.date) -> bool:
        """Whether the entry covers a date."""
        return day.weekday() in self.weekdays or any([each.holds(day) for each in self.dates])


@dataclass(frozen=True, slots=False, kw_only=True)
class Calendar:
    """A calendar; ``year`` and ``week`` are as written."""

    name: str
    year: str = attribute(TEXT, "NONE", "Dates, with times and states.")
    week: str = attribute(TEXT, "NONE", "Weekdays, with times and states.")

    @cached_property
    def rules(self) -> tuple[tuple[Rule, ...], tuple[Rule, ...]]:
        """The entries of the year part and of the week part."""
        return _part(self.year, yearly=True), _part(self.week, yearly=False)

    def state_at(self, now: datetime.datetime) -> State:
        """The state at a local time."""
        yearly, weekly = self.rules
        rules = [rule for rule in yearly if rule.holds(now.date())]
        if not rules:
            rules = [rule for rule in weekly if rule.holds(now.date())]
        second = now.hour * 3600 + now.minute * 60 + now.second
        said = [rule.state for rule in rules for span in rule.times if span.first_s <= second < span.last_s]
        return max(said, key=_STRENGTH.__getitem__, default=State.ON)

    def next_change(self, now: datetime.datetime, days_max: int = 366) -> tuple[datetime.datetime, State] | None:
        """The next time at which the state differs, and that state; None if there is none within `days_max`."""
        present = self.state_at(now)
        edges = sorted(
            {0, *(edge for part in self.rules for rule in part for s in rule.times for edge in (s.first_s, s.last_s))}
        )
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        for day in range(days_max + 1):
            for edge in edges:
                when = midnight + datetime.timedelta(days=day, seconds=edge)
                if when > now and self.state_at(when) is not present:
                    return when, self.state_at(when)
        return None


def _bounded(text: str, first: int, last: int, what: str) -> int:
    if not first <= int(text) <= last:
        raise _Bad(f'"{text}" outside of range {first}-{last} of {what}')
    return int(text)


def _word(text: str, known: tuple[str, ...]) -> int | None:
    lowered = text.casefold()
    if len(lowered) < 3:
        return None
    return next((place for place, word in enumerate(known) if word.startswith(lowered)), None)


def _time(text: str) -> int:
    parts = text.split(":")
    hour = _bounded(parts[0], 0, 24, "hour specification")
    minute = _bounded(parts[1], 0, 59, "minute specification") if len(parts) > 1 else 0
    second = _bounded(parts[2], 0, 59, "seconds specification") if len(parts) > 2 else 0
    return hour * 3600 + minute * 60 + second


_TIMES = re.compile(r"\d+(:\d+){0,2}-\d+(:\d+){0,2}(,\d+(:\d+){0,2}-\d+(:\d+){0,2})*")


def _times(text: str) -> tuple[Span, ...]:
    spans: list[Span] = []
    for part in text.split(","):
        first, last = (_time(each) for each in part.split("-"))
        if first == last:
            raise _Bad("range begin is equal to end - use 0-24 instead")
        if first < last:
            spans.append(Span(first, last))
        else:
            spans.extend(span for span in (Span(first, DAY_S), Span(0, last)) if span.first_s < span.last_s)
    return tuple(spans)


def _date(text: str) -> tuple[int, int, int]:
    parts = text.split(".")
    if not text[:1].isdigit():
        raise _Bad(f'"{text}" is not a state specifier')
    if not parts[0].isdigit() or len(parts) == 1:
        raise _Bad('missing "." after day')
    if len(parts) != 3 or not parts[2].isdigit():
        raise _Bad('missing "." after month')
    day = _bounded(parts[0], 1, 31, "day")
    month = _bounded(parts[1], 1, 12, "month") if parts[1].isdigit() else None
    if month is None:
        word = _word(parts[1], _MONTHS)
        if word is None:
            # Grid Engine gives no reason here.
            raise _Bad("")
        month = word + 1
    return _bounded(parts[2], *YEARS, "year"), month, day


def _dates(text: str) -> tuple[DateRange, ...]:
    ranges = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        dates = DateRange(_date(first), _date(last if dash else first))
        if dash and dates.first > dates.last:
            raise _Bad("first yearday in range must be before second yearday")
        ranges.append(dates)
    return tuple(ranges)


def _weekdays(text: str) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        ends = [(_word(word, _WEEKDAYS), word) for word in part.split("-", 1)]
        for place, word in ends:
            if place is None and word[:1].isdigit() and "-" not in part:
                raise _Bad("missing '-' in daytime range")
            if place is None:
                raise _Bad(f'"{word}" is not a weekday')
        first, last = ends[0][0] or 0, ends[-1][0] or 0
        found.update((first + step) % 7 for step in range((last - first) % 7 + 1))
    return frozenset(found)


def _rule(text: str, yearly: bool) -> Rule:
    """One entry: days, times and state, each optional."""
    parts = text.split("=")
    weekdays: frozenset[int] = frozenset()
    dates: tuple[DateRange, ...] = ()
    if yearly:
        dates = _dates(parts.pop(0))
    elif _TIMES.fullmatch(parts[0]) or parts[0].casefold() in _STATES:
        weekdays = frozenset(range(7))
    else:
        if not parts[0].strip(","):
            raise _Bad('got "=" without daytime_range/state')
        weekdays = _weekdays(parts.pop(0))
    times = _times(parts.pop(0)) if parts and _TIMES.fullmatch(parts[0]) else (Span(0, DAY_S),)
    state = State.OFF
    if parts:
        word = parts.pop(0)
        if not word:
            raise _Bad('got "=" without daytime_range/state')
        if word[0].isdigit():
            raise _Bad("missing '-' in daytime range")
        if word.casefold() not in _STATES:
            raise _Bad(f'"{word}" is not a state specifier')
        state = State(_STATES[word.casefold()])
    if parts:
        raise _Bad("unrecognized token at end")
    return Rule(weekdays, dates, times, state)


def _part(text: str, yearly: bool) -> tuple[Rule, ...]:
    return () if is_none(text) else tuple(_rule(entry, yearly) for entry in text.split())


def complaints(calendar: Calendar) -> list[tuple[str, str]]:
    """What is wrong with a calendar: the attribute, and Grid Engine's words."""
    found = []
    try:
        _part(calendar.year, yearly=True)
    except _Bad as bad:
        # Grid Engine swaps the name and the reason here.
        found.append(("year", f'error in disabled_year of calendar "{bad}": {calendar.name}'))
    try:
        _part(calendar.week, yearly=False)
    except _Bad as bad:
        found.append(("week", f'error in disabled_week of calendar "{calendar.name}": {bad}'))
    return found
