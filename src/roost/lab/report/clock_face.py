"""Time axis marks for pictures: midnights with the names of days, hours and minutes if there is room, weeks if not.

Marks with labels are spaced so that labels do not overlap; minor marks between them show, for example, days within
weeks.
"""

from __future__ import annotations

from typing import Final

from roost.base.records import dataclass

_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_HOUR_S: Final = 3_600
_DAY_S: Final = 86_400
_WEEK_S: Final = 7 * _DAY_S
#: Seconds between two marks, the smallest first.
_STEPS: Final = (
    1, 5, 10, 30, 60, 120, 300, 600, 900, 1_800, _HOUR_S, 3 * _HOUR_S, 6 * _HOUR_S, 12 * _HOUR_S, _DAY_S,
    _WEEK_S, 4 * _WEEK_S, 13 * _WEEK_S, 26 * _WEEK_S, 52 * _WEEK_S,
)  # fmt: skip
#: Most marks with a label in a picture, except the one at the end.
MARKS_MAX: Final = 15
#: Most marks without a label.
MINOR_MAX: Final = 120


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark, s since a Monday, 00:00."""

    at_s: float
    #: "" for a small mark between two others.
    label: str
    midnight: bool


def clock(at_s: float) -> str:
    """An instant in words: ``Tue 9:30:05``; from the second week on with the number of the week."""
    day, seconds = divmod(int(at_s), _DAY_S)
    week = f" of week {day // 7 + 1}" if day >= 7 else ""
    return f"{_DAYS[day % 7]}{week} {seconds // _HOUR_S}:{seconds % _HOUR_S // 60:02}:{seconds % 60:02}"


def ticks(end_s: float) -> list[Tick]:
    """The marks for a run of `end_s` seconds."""
    step = next((each for each in _STEPS if end_s / each <= MARKS_MAX), _STEPS[-1])
    inner = _DAY_S if step >= _WEEK_S else step
    if end_s / inner > MINOR_MAX:
        inner = step
    return [_tick(at, step) for at in range(0, int(end_s) + 1, inner)]


def _tick(at: int, step: int) -> Tick:
    if at % step:
        return Tick(float(at), "", False)
    day, seconds = divmod(at, _DAY_S)
    if step >= _WEEK_S:
        return Tick(float(at), f"week {at // _WEEK_S + 1}", True)
    if not seconds:
        return Tick(float(at), _DAYS[day % 7], True)
    clock = f"{seconds // _HOUR_S}:{seconds % _HOUR_S // 60:02}"
    return Tick(float(at), clock if step >= 60 else f"{clock}:{seconds % 60:02}", False)
