"""When a job of a crontab runs next: a table, and a comparison with a search that looks at minute after minute."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.schedd.jobs.crontab import FIELDS, CronError, CronTab, crontab

BERLIN, LORD_HOWE, SANTIAGO, HAVANA = (
    ZoneInfo(name) for name in ("Europe/Berlin", "Australia/Lord_Howe", "America/Santiago", "America/Havana")
)


def tab(line: str) -> CronTab:
    """A schedule written as in a crontab."""
    return crontab(dict(zip(FIELDS, line.split(), strict=True)))


def at(text: str, zone: tzinfo = UTC, fold: int = 0) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).timestamp())


@pytest.mark.parametrize(
    ("line", "now", "then"),
    [
        ("* * * * *", "2024-05-01T10:00:00", "2024-05-01T10:01:00"),
        ("* * * * *", "2024-05-01T10:00:59", "2024-05-01T10:01:00"),
        ("0 * * * *", "2024-05-01T09:30:00", "2024-05-01T10:00:00"),
        ("0 * * * *", "2024-05-01T10:00:00", "2024-05-01T11:00:00"),
        ("23 0-23/2 * * *", "2024-05-01T22:24:00", "2024-05-02T00:23:00"),
        ("15,20,25 3 * * *", "2024-05-01T03:20:00", "2024-05-01T03:25:00"),
        ("10-30/7 * * * *", "2024-05-01T03:00:00", "2024-05-01T03:14:00"),
        ("*/10,*/6 0-11 18 1 *", "2024-01-18T00:06:00", "2024-01-18T00:10:00"),
        ("*/10,*/6 0-11 18 1 *", "2024-01-18T11:54:00", "2025-01-18T00:00:00"),
        ("0 0 31 * *", "2024-04-01T00:00:00", "2024-05-31T00:00:00"),
        ("0 0 29 2 *", "2096-03-01T00:00:00", "2104-02-29T00:00:00"),
        # Day of month or day of week, where both restrict: 2024-05-07 is a Tuesday.
        ("30 20 10-20 5 2", "2024-05-01T00:00:00", "2024-05-07T20:30:00"),
        ("30 20 10-20 5 2", "2024-05-08T00:00:00", "2024-05-10T20:30:00"),
        ("0 0 * * 7", "2024-05-01T00:00:00", "2024-05-05T00:00:00"),
        ("0 0 * * 0", "2024-05-01T00:00:00", "2024-05-05T00:00:00"),
        ("0 0 13 * *", "2024-05-14T00:00:00", "2024-06-13T00:00:00"),
        # Any day of the week will do, so it is not left to the day of the month.
        ("0 0 1-31 * 5", "2024-05-01T00:00:00", "2024-05-03T00:00:00"),
    ],
)
def test_the_next_time_is_the_first_that_fits_all_fields(line: str, now: str, then: str) -> None:
    assert tab(line).next_after(at(now), UTC) == at(then)


@pytest.mark.parametrize(
    ("line", "zone", "now", "then"),
    [
        ("30 2 * * *", BERLIN, at("2024-03-30T12:00", BERLIN), at("2024-03-31T03:00", BERLIN)),
        ("30 * * * *", BERLIN, at("2024-03-31T01:30", BERLIN), at("2024-03-31T03:30", BERLIN)),
        ("30 2 * * *", BERLIN, at("2024-10-26T12:00", BERLIN), at("2024-10-27T02:30", BERLIN)),
        ("30 2 * * *", BERLIN, at("2024-10-27T02:30", BERLIN), at("2024-10-28T02:30", BERLIN)),
        ("30 * * * *", BERLIN, at("2024-10-27T02:30", BERLIN), at("2024-10-27T02:30", BERLIN, fold=1)),
        ("15 2 * * *", LORD_HOWE, at("2024-10-05T12:00", LORD_HOWE), at("2024-10-06T02:30", LORD_HOWE)),
        ("0 0 * * *", SANTIAGO, at("2024-09-07T12:00", SANTIAGO), at("2024-09-08T01:00", SANTIAGO)),
        ("0 0 8 9 *", SANTIAGO, at("2024-09-07T12:00", SANTIAGO), at("2024-09-08T01:00", SANTIAGO)),
    ],
)
def test_a_clock_that_is_changed_loses_no_daily_time_and_doubles_none(
    line: str, zone: tzinfo, now: int, then: int
) -> None:
    assert tab(line).next_after(now, zone) == then


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("CronMinute", "60", "CronMinute = 60: '60' is not in the range 0 to 59"),
        ("CronHour", "-1", "CronHour = -1: '-1' is neither"),
        ("CronDayOfMonth", "0", "not in the range 1 to 31"),
        ("CronMonth", "JAN", "'JAN' is neither"),
        ("CronDayOfWeek", "8", "not in the range 0 to 7"),
        ("CronMinute", "30-10", "begins after its end"),
        ("CronMinute", "*/0", "a step of 0"),
        ("CronMinute", "1-2/5", "no number from 0 to 59"),
        ("CronMinute", "1,,2", "'' is neither"),
        ("CronMinute", "1-2-3", "'1-2-3' is neither"),
        ("CronMinute", "99999", "'99999' is neither"),
        ("CronMinute", "٣", "is neither"),
        ("CronMinute", ",".join(["1"] * 101), "has 101 members"),
        ("CronDayOfMonth", "30", ""),
    ],
)
def test_a_mistake_names_field_and_value(name: str, text: str, said: str) -> None:
    if not said:
        assert crontab({name: text})
        return
    with pytest.raises(CronError) as caught:
        crontab({name: text})
    assert said in str(caught.value) and name in str(caught.value)


def test_a_day_that_never_comes_is_a_mistake_unless_a_day_of_the_week_does() -> None:
    with pytest.raises(CronError, match="CronDayOfMonth = 30 with CronMonth = 2: no such day exists"):
        tab("0 0 30 2 *")
    assert tab("0 0 30 2 1").next_after(at("2024-02-01T00:00"), UTC) == at("2024-02-05T00:00")


def test_blanks_and_missing_fields_mean_what_they_say() -> None:
    assert crontab({"CronMinute": " 1 , 2 ", "CronHour": ""}) == crontab({"CronMinute": "1,2"})


# -- against a search minute by minute ---------------------------------------------------------------------


def numbers(text: str, low: int, high: int) -> set[int]:
    """The numbers of a field that is right, found by trying all."""
    found = set()
    for item in text.split(","):
        span, _, step = item.partition("/")
        first, _, last = span.partition("-")
        for number in range(low, high + 1):
            inside = span == "*" or int(first) <= number <= int(last or first)
            if inside and (not step or number % int(step) == 0):
                found.add(number)
    return found


def slow_next(fields: dict[str, str], now: int, zone: tzinfo, within_days: int) -> int | None:
    """The first minute after `now` whose wall clock fits, or in which the clock jumps over a time that does."""
    minutes, hours, days, months, weekdays = (numbers(fields[name], *FIELDS[name]) for name in FIELDS)
    weekdays = {day % 7 for day in weekdays}
    hourly = len(hours) == 24

    def fits(wall: datetime) -> bool:
        by_date, by_week = wall.day in days, wall.isoweekday() % 7 in weekdays
        day = by_date and by_week if len(days) == 31 or len(weekdays) == 7 else by_date or by_week
        return day and wall.month in months and wall.hour in hours and wall.minute in minutes

    at = now - now % 60
    before = datetime.fromtimestamp(at, zone)
    for _ in range(within_days * 1440):
        at += 60
        wall = datetime.fromtimestamp(at, zone)
        if fits(wall) and (hourly or wall.fold == 0):
            return at
        jumped = before.replace(tzinfo=None) + timedelta(minutes=1)
        while not hourly and jumped < wall.replace(tzinfo=None):
            if fits(jumped):
                return at
            jumped += timedelta(minutes=1)
        before = wall
    return None


@st.composite
def fields(draw: st.DrawFn) -> dict[str, str]:
    def item(low: int, high: int) -> str:
        first = draw(st.integers(low, high))
        last = draw(st.integers(first, high))
        return draw(
            st.sampled_from(["*", str(first), f"{first}-{last}", f"*/{max(1, last - first)}", f"{first}-{last}/2"])
        )

    found = {}
    for name, (low, high) in FIELDS.items():
        text = "*"
        if draw(st.booleans()):
            text = ",".join(item(low, high) for _ in range(draw(st.integers(1, 3))))
        found[name] = text
    return found


#: Days around changes of clocks, over midnight too, and an ordinary one.
STARTS = [
    (BERLIN, "2024-03-30T12:00"), (BERLIN, "2024-10-26T12:00"), (LORD_HOWE, "2024-04-06T12:00"),
    (LORD_HOWE, "2024-10-05T12:00"), (SANTIAGO, "2024-04-06T12:00"), (SANTIAGO, "2024-09-07T12:00"),
    (HAVANA, "2024-11-02T12:00"), (HAVANA, "2024-03-09T12:00"), (UTC, "2024-02-28T12:00"),
]  # fmt: skip


@given(fields(), st.sampled_from(STARTS), st.integers(0, 2 * 86400))
@settings(max_examples=300, deadline=None)
def test_it_is_what_a_search_minute_by_minute_finds(
    given_fields: dict[str, str], start: tuple[tzinfo, str], later_s: int
) -> None:
    zone, text = start
    now = at(text, zone) + later_s
    try:
        schedule = crontab(given_fields)
    except CronError:
        empty = any(not numbers(given_fields[name], *FIELDS[name]) for name in FIELDS)
        assert empty or min(numbers(given_fields["CronDayOfMonth"], 1, 31)) > 29
        return
    found, days = schedule.next_after(now, zone), 3
    wanted = slow_next(given_fields, now, zone, days)
    assert found > now and found % 60 == 0
    if wanted is None:
        assert found > now - now % 60 + days * 86400
    else:
        assert found == wanted
