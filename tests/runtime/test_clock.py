"""The time zone that a machine's crontabs are read in."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from roost.runtime.clock import Clock

JULY, JANUARY = datetime(2024, 7, 1), datetime(2024, 1, 1)


@pytest.mark.parametrize("name", ["Europe/Berlin", ":Europe/Berlin", "/usr/share/zoneinfo/Europe/Berlin"])
def test_a_zone_that_tz_names_has_its_changes_of_the_clock(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/usr/share/zoneinfo/Europe/Berlin").exists():
        pytest.skip("this machine has no time zones")
    monkeypatch.setenv("TZ", name)
    zone = Clock().zone()
    assert [zone.utcoffset(each) for each in (JANUARY, JULY)] == [timedelta(hours=1), timedelta(hours=2)]


@pytest.mark.parametrize("name", ["", "Nowhere/Nothing", "../etc/passwd", "/etc/passwd"])
def test_what_names_no_zone_leaves_an_offset(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", name)
    assert Clock().zone().utcoffset(JULY) is not None
