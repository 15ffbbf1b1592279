"""The figures of a run: name, unit, and whether more is better. All code that prints figures uses this module."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from roost.base.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure of a summary."""

    #: Its key in the summary.
    name: str
    meaning: str
    #: "h", "min", "%", or "" for a number.
    unit: str = ""
    #: Whether more is better; None if neither is.
    more: bool | None = None
    digits: int = 2
    #: Whether `compare` shows it.
    compared: bool = True


FIGURES: Final = (
    Figure(name="jobs_started", meaning="jobs started", digits=0, compared=False),
    Figure(name="jobs_completed", meaning="jobs completed", more=True, digits=0),
    Figure(name="goodput_h", meaning="goodput: useful time", unit="h", more=True, digits=1),
    Figure(name="badput_h", meaning="badput: lost time", unit="h", more=False, digits=1),
    Figure(name="goodput_share", meaning="goodput share", unit="%", more=True, digits=1),
    Figure(name="open_h", meaning="unfinished runs at the end", unit="h", digits=1, compared=False),
    Figure(name="utilisation", meaning="utilisation of cores", unit="%", digits=1),
    Figure(name="wait_min_mean", meaning="wait, mean", unit="min", more=False, digits=1),
    Figure(name="wait_min_median", meaning="wait, median", unit="min", more=False, digits=1),
    Figure(name="wait_min_95", meaning="wait, 95 % within", unit="min", more=False, digits=1),
    Figure(name="slowdown_mean", meaning="slowdown, mean", more=False),
    Figure(name="slowdown_median", meaning="slowdown, median", more=False),
    Figure(name="slowdown_95", meaning="slowdown, 95 % within", more=False),
    Figure(name="evictions", meaning="evictions", more=False, digits=0, compared=False),
    Figure(name="evictions_per_job", meaning="evictions per job", more=False),
    Figure(name="suspensions", meaning="suspensions", digits=0),
    Figure(name="suspended_h", meaning="time suspended", unit="h", digits=1),
    Figure(name="owner_interference_s", meaning="owners shared machines", unit="min", more=False, digits=1),
)
#: Figures displayed in a unit other than the one they are stored in.
_SCALES: Final = {"owner_interference_s": 1 / 60}


def value_of(figure: Figure, summary: Mapping[str, Any]) -> float:
    """A figure, in its unit."""
    scale = 100 if figure.unit == "%" else _SCALES.get(figure.name, 1)
    return float(summary[figure.name]) * scale


def is_known(name: str, summary: Mapping[str, Any]) -> bool:
    """Whether a figure is defined: there is no mean wait if no job was started."""
    if name == "goodput_share":
        return bool(summary["goodput_h"] + summary["badput_h"])
    if name.startswith("wait_"):
        return bool(summary["jobs_started"])
    return not name.startswith("slowdown_") or bool(summary["jobs_completed"])


def in_words(name: str, summary: Mapping[str, Any]) -> str:
    """A figure with its unit, in significant digits; a dash if it is undefined."""
    if not is_known(name, summary):
        return "–"
    value = summary[name]
    if name.endswith("_h"):
        return duration(value * 3600)
    if name.endswith("_s"):
        return duration(value)
    if name.startswith("wait_min"):
        return duration(value * 60)
    if name.startswith("slowdown"):
        return f"{value:,.2f}" if value < 10 else f"{value:,.1f}"
    return f"{value:.1%}" if name in ("goodput_share", "utilisation") else f"{value:,}"


def duration(seconds: float) -> str:
    """A duration in a suitable unit."""
    # Non-breaking spaces keep a number and its unit together.
    if seconds < 600:
        return f"{seconds:,.0f}\u00a0s"
    if seconds < 7_200:
        return f"{seconds / 60:,.0f}\u00a0min"
    return f"{seconds / 3600:,.1f}\u00a0h" if seconds < 360_000 else f"{seconds / 3600:,.0f}\u00a0h"


def number(value: float, figure: Figure, sign: str = "") -> str:
    """A value without its unit."""
    return f"{value:{sign},.{figure.digits}f}"


def summary_lines(summary: Mapping[str, Any]) -> Iterator[str]:
    """A summary as text."""
    yield f"{'slots':<26}{summary['slots']:>12,}"
    yield f"{'days':<26}{summary['days']:>12g}"
    yield f"{'jobs submitted':<26}{summary['jobs_submitted']:>12,}"
    for figure in FIGURES:
        known = is_known(figure.name, summary)
        value = f"{number(value_of(figure, summary), figure):>12} {figure.unit}" if known else f"{'–':>12}"
        yield f"{figure.meaning:<26}{value}".rstrip()
    for cause, hours in sorted(summary["badput_h_by_cause"].items(), key=lambda item: -item[1]):
        yield f"  lost {hours:,.1f} h, {summary['evictions_by_cause'].get(cause, 0):,} times: {cause}"
