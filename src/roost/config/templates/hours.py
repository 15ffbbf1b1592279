"""Working hours: the names that policies by the clock are made of.

Work that ends at an earlier hour than it begins spans midnight; days that end before they begin span the weekend. A
night belongs to the day on which it begins: with the days 1 to 5, from 22 to 6, Friday's ends on Saturday at 6. The
case is decided at the `use` statement, so the hours must be known there.
"""

from __future__ import annotations

from roost.config.template import Argument, ArgumentKind, Template, template

_BEGIN_TEXT, _END_TEXT = "8", "12+5"

BEGIN = Argument(name="begin", meaning="hour at which work begins", default=_BEGIN_TEXT, kind=ArgumentKind.HOUR)
END = Argument(
    name="end",
    meaning="hour at which work ends; before `begin`: the next day",
    default=_END_TEXT,
    kind=ArgumentKind.HOUR,
)
FIRST = Argument(
    name="first", meaning="first working day, 0 for Sunday; empty for work every day", default="", kind=ArgumentKind.DAY
)
LAST = Argument(name="last", meaning="last working day", default="5", kind=ArgumentKind.DAY)

_MINUTES = "($(1:8)) * 60", "($(2:12+5)) * 60"
_DAYS = "$(3)", "$(4:5)"
_OVER_MIDNIGHT = "$INT(ifThenElse(($(1:8)) > ($(2:12+5)), 1, 0))"
_OVER_WEEKEND = "$INT(ifThenElse(($(3)) > ($(4:5)), 1, 0))"

#: A condition and its negation.
_Pair = tuple[str, str]


def _days(day: str, *, over_weekend: bool) -> _Pair:
    first, last = _DAYS
    inside, outside = ("||", "&&") if over_weekend else ("&&", "||")
    return f"({day} >= {first} {inside} {day} <= {last})", f"({day} < {first} {outside} {day} > {last})"


def _straight(begin: str, end: str, days: _Pair | None) -> _Pair:
    inside, outside = f"(ClockMin >= {begin} && ClockMin < {end})", f"(ClockMin < {begin} || ClockMin >= {end})"
    return (inside, outside) if days is None else (f"( {inside} && {days[0]} )", f"( {outside} || {days[1]} )")


def _over_midnight(begin: str, end: str, days: _Pair | None, days_before: _Pair | None) -> _Pair:
    if days is None or days_before is None:
        return f"(ClockMin >= {begin} || ClockMin < {end})", f"(ClockMin < {begin} && ClockMin >= {end})"
    return (
        f"( (ClockMin >= {begin} && {days[0]}) || (ClockMin < {end} && {days_before[0]}) )",
        f"( (ClockMin < {begin} || {days[1]}) && (ClockMin >= {end} || {days_before[1]}) )",
    )


def _names(*, over_midnight: bool, over_weekend: bool | None) -> list[str]:
    """The assignments for one kind of hours and days; None for work every day."""
    days = before = None
    if over_weekend is not None:
        days = _days("ClockDay", over_weekend=over_weekend)
        before = _days("(ClockDay + 6) % 7", over_weekend=over_weekend)
    begin, end = _MINUTES

    def span(begin: str) -> _Pair:
        return _over_midnight(begin, end, days, before) if over_midnight else _straight(begin, end, days)

    return [
        f"WorkHours = {span(begin)[0]}",
        f"AfterHours = {span(begin)[1]}",
        f"HoursToStart = {span(f'{begin} - 30')[1]}",
        f"HoursToPreempt = {span(f'{begin} - 10')[0]}",
    ]


def _choice(*, over_midnight: bool) -> list[str]:
    """The assignments for each kind of days."""
    lines: list[str] = []
    for condition, over_weekend in (("if ! $(3?)", None), (f"elif {_OVER_WEEKEND}", True), ("else", False)):
        names = _names(over_midnight=over_midnight, over_weekend=over_weekend)
        lines += [condition, *(f"  {name}" for name in names)]
    return [f"  {line}" for line in (*lines, "endif")]


_BODY = "\n".join(
    [f"if {_OVER_MIDNIGHT}", *_choice(over_midnight=True), "else", *_choice(over_midnight=False), "endif"]
)

TEMPLATES: tuple[Template, ...] = (
    template(
        "FEATURE",
        "POLICY_HOURS_TO_START",
        "Names for working hours, which may go over midnight: WorkHours, AfterHours, HoursToStart and HoursToPreempt.",
        "time of day policy",
        _BODY,
        BEGIN,
        END,
        FIRST,
        LAST,
    ),
)
