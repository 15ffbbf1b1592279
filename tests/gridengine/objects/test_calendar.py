"""What calendars say of a time."""

from __future__ import annotations

from datetime import datetime

import pytest

from roost.gridengine.objects.calendar import Calendar, State

#: Monday
DAY = "2026-11-23"


@pytest.mark.parametrize(
    ("year", "week", "time", "state"),
    [
        ("NONE", "NONE", f"{DAY}T12:00", State.ON),
        ("NONE", "mon-fri=8-18=suspended", f"{DAY}T08:00", State.SUSPENDED),
        ("NONE", "mon-fri=8-18=suspended", f"{DAY}T18:00", State.ON),
        ("NONE", "mon-fri=20-6", f"{DAY}T05:59", State.OFF),
        ("NONE", "mon-fri=20-6", f"{DAY}T06:00", State.ON),
        ("NONE", "mon-fri=20-6", "2026-11-28T05:00", State.ON),
        ("NONE", "fri-mon=22-6=suspended", f"{DAY}T23:00", State.SUSPENDED),
        ("NONE", "off", f"{DAY}T01:00", State.OFF),
        ("NONE", "6-20=suspended", f"{DAY}T07:00", State.SUSPENDED),
        # on beats suspended, and suspended off
        ("NONE", "mon=0-24=off mon=10-12=on mon=11-14=suspended", f"{DAY}T11:30", State.ON),
        ("NONE", "mon=0-24=off mon=10-12=on mon=11-14=suspended", f"{DAY}T13:00", State.SUSPENDED),
        ("NONE", "mon=0-24=off mon=10-12=on mon=11-14=suspended", f"{DAY}T15:00", State.OFF),
        # a date of the year part is not looked up in the week part
        ("23.11.2026=8-9=suspended", "mon=off", f"{DAY}T12:00", State.ON),
        ("23.11.2026=8-9=suspended", "mon=off", f"{DAY}T08:30", State.SUSPENDED),
        ("24.dec.2026-1.1.2027", "NONE", "2026-12-31T00:00", State.OFF),
        ("31.2.2026", "NONE", "2026-03-01T00:00", State.ON),
    ],
)
def test_state(year: str, week: str, time: str, state: State) -> None:
    assert Calendar(name="c", year=year, week=week).state_at(datetime.fromisoformat(time)) is state


def test_the_next_change_comes_with_its_state() -> None:
    calendar = Calendar(name="c", week="mon-fri=8-18=suspended")
    assert calendar.next_change(datetime.fromisoformat("2026-11-27T09:00")) == (
        datetime.fromisoformat("2026-11-27T18:00"),
        State.ON,
    )
    assert calendar.next_change(datetime.fromisoformat("2026-11-27T18:00")) == (
        datetime.fromisoformat("2026-11-30T08:00"),
        State.SUSPENDED,
    )
    assert Calendar(name="c").next_change(datetime.fromisoformat("2026-11-27T18:00")) is None
