"""Marks of time for pictures: midnights with the names of days, and hours where there is room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAY_S: Final = 86_400
#: Seconds between two marks, the smallest first.
_STEPS: Final = (900, 3_600, 3 * 3_600, 6 * 3_600, 12 * 3_600, _DAY_S, 7 * _DAY_S, 28 * _DAY_S)
#: Marks in a picture at most.
MARKS_MAX: Final = 15


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark, s since a Monday, 00:00."""

    at_s: float
    label: str
    midnight: bool


def ticks(end_s: float) -> list[Tick]:
    """The marks of a run of so many seconds."""
    step = next((each for each in _STEPS if end_s / each <= MARKS_MAX), _STEPS[-1])
    return [_tick(float(at), end_s) for at in range(0, int(end_s) + 1, step)]


def _tick(at_s: float, end_s: float) -> Tick:
    day, seconds = divmod(int(at_s), _DAY_S)
    if seconds:
        return Tick(at_s, f"{seconds // 3600}:{seconds % 3600 // 60:02}", False)
    name = _DAYS[day % 7] if end_s <= 14 * _DAY_S else f"day {day + 1}"
    return Tick(at_s, name, True)
