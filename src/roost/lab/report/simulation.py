"""The report of a simulation as one HTML file that needs nothing else: figures, the pool over time, slot timelines.

The page is ``simulation.html``, a template that escapes inserted values; this module computes what it shows. Pictures
are inline SVG; the title of a span, which browsers show as a tooltip, says what it is and why it began. Many slots are
shown as one small picture (`raster`) with a row for each.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from math import ceil
from typing import Any, Final, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from roost.lab.report.clock_face import Tick, clock, ticks
from roost.lab.report.figures import duration, in_words
from roost.lab.report.palette import COLOURS, OWNER_PRESENT, WAITING
from roost.lab.report.raster import png
from roost.lab.report.timelines import Timelines

#: Width of pictures, px; left margin of pictures of shares, and of timelines.
_WIDTH: Final = 1120
_LEFT: Final = 52
_LEFT_OF_SLOTS: Final = 130
_ROW: Final = 16
#: The pair of most slots in a pool: it must not glare in the dark theme.
_FREE: Final = "Unclaimed/Idle"
_FILLS: Final = COLOURS | {_FREE: "var(--free)"}


class _Area(NamedTuple):
    """A filled area of a picture."""

    points: str
    fill: str
    title: str


class _Level(NamedTuple):
    """A line across a picture, with its label."""

    y: str
    label_y: str
    label: str


class _Chart(NamedTuple):
    """A picture over time."""

    height: int
    areas: list[_Area]
    levels: list[_Level]


class _Mark(NamedTuple):
    """A mark of time; its label is "" if there is no room for it."""

    x: str
    opacity: str
    label_x: str
    label: str


class _AllSlots(NamedTuple):
    """One row for each slot."""

    what: str
    height: int
    #: Base 64.
    png: str


class _Bar(NamedTuple):
    """A part of a slot's row."""

    x: str
    width: str
    fill: str = ""
    title: str = ""


class _Row(NamedTuple):
    """A slot, its spans, and when keys were pressed."""

    name: str
    y: int
    spans: list[_Bar]
    keys: list[_Bar]


class _Cause(NamedTuple):
    """Why work was lost; `share` is relative to the largest cause."""

    cause: str
    evictions: int
    hours: float
    share: float


def html_report(
    title: str,
    command: str,
    outcome: Mapping[str, Any],
    timelines: Timelines,
    presence: Mapping[str, Sequence[tuple[float, float]]],
) -> str:
    """The report. `presence` gives, for each slot, when keys were pressed on its machine, s since the beginning."""
    summary, style = outcome["summary"], files("roost.lab.report").joinpath("simulation.css").read_text("utf-8")
    environment = Environment(loader=PackageLoader("roost.lab", "report"), autoescape=True, undefined=StrictUndefined)
    return environment.get_template("simulation.html").render(
        title=title,
        command=command,
        style=Markup(style.replace("OWNER_PRESENT", OWNER_PRESENT).replace("FREE", COLOURS[_FREE])),
        width=_WIDTH,
        left=_LEFT,
        left_of_slots=_LEFT_OF_SLOTS,
        row_height=_ROW,
        summary=summary,
        digest=outcome["digest"],
        problems=outcome["problems"],
        notes=outcome.get("notes", ()),
        cards=_cards(summary),
        states=[(pair, colour) for pair, colour in _FILLS.items() if pair in timelines.bins],
        ticks=list(_marks(timelines, _LEFT)),
        ticks_of_slots=list(_marks(timelines, _LEFT_OF_SLOTS)),
        shares=_shares(timelines),
        waiting=_waiting(timelines),
        all_slots=_all_slots(timelines),
        sample=_sample(timelines),
        slots=list(_rows(timelines, presence)),
        slots_height=len(timelines.spans) * _ROW,
        causes=_causes(summary),
        transitions=_transitions(timelines),
    )


def _cards(summary: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    def say(name: str) -> str:
        return in_words(name, summary)

    return (
        (f"{summary['jobs_completed']:,}", f"jobs completed of {summary['jobs_submitted']:,}"),
        (say("goodput_h"), "goodput: useful time"),
        (say("badput_h"), "badput: lost time"),
        (say("goodput_share"), "of finished runs' time was useful"),
        (say("utilisation"), "utilisation of all cores"),
        (say("wait_min_median"), f"median wait; 95 % within {say('wait_min_95')}"),
        (say("slowdown_median"), f"median slowdown; 95 % within {say('slowdown_95')}"),
        (f"{summary['evictions_per_job']:,.2f}", f"evictions per job; {summary['evictions']:,} in all"),
        (f"{summary['suspensions']:,}", f"suspensions, {say('suspended_h')} in all"),
        (say("owner_interference_s"), "owners shared their machines with a job"),
    )


# -- pictures ----------------------------------------------------------------------------------------------


def _shares(timelines: Timelines) -> _Chart:
    """Shares of pairs, stacked."""
    height, count = 220, timelines.bin_count
    areas = []
    below = [0.0] * count
    for pair, colour in _FILLS.items():
        if pair not in timelines.bins:
            continue
        shares = timelines.shares(pair)
        above = [low + share for low, share in zip(below, shares, strict=True)]
        points = [*_steps(above, height), *reversed(_steps(below, height))]
        areas.append(_Area(" ".join(points), colour, f"{pair}: {sum(shares) / count:.1%} on average"))
        below = above
    return _Chart(height, areas, [_level(height * (1 - share), f"{share:.0%}", height) for share in (0, 0.5, 1)])


def _steps(values: Sequence[float], height: float) -> list[str]:
    """The corners of a line that is level within each interval; values from 0 to 1."""
    width = (_WIDTH - _LEFT) / len(values)
    points = []
    for index, value in enumerate(values):
        y = height * (1 - min(1.0, value))
        points += [f"{_LEFT + index * width:.1f},{y:.1f}", f"{_LEFT + (index + 1) * width:.1f},{y:.1f}"]
    return points


def _level(y: float, label: str, height: float) -> _Level:
    return _Level(f"{y:.1f}", f"{min(height, max(10.0, y + 4)):.0f}", label)


def _waiting(timelines: Timelines) -> _Chart:
    height = 110
    waiting = timelines.waiting()
    most = max([1.0, *waiting])
    if most >= 4:
        # So that half of it is a whole number, too.
        most = 2.0 * ceil(most / 2)
    corners = [f"{_LEFT},{height}", *_steps([each / most for each in waiting], height), f"{_WIDTH},{height}"]
    levels = [
        _level(height * (1 - value / most), f"{value:,.0f}" if most >= 4 else f"{value:.1f}", height)
        for value in (0.0, most / 2, most)
    ]
    return _Chart(height, [_Area(" ".join(corners), WAITING, "waiting jobs")], levels)


def _marks(timelines: Timelines, left: float) -> Iterator[_Mark]:
    """Marks of time, each with a line through the picture."""
    scale = (_WIDTH - left) / timelines.end_s
    for tick in ticks(timelines.end_s):
        x = left + tick.at_s * scale
        yield _Mark(f"{x:.1f}", _opacity(tick), f"{x + 4:.1f}", tick.label if x < _WIDTH - 30 else "")


def _opacity(tick: Tick) -> str:
    return ".8" if tick.midnight else ".35" if tick.label else ".2"


def _all_slots(timelines: Timelines) -> _AllSlots | None:
    """A row for each slot, if there are more than are shown individually."""
    rows = timelines.rows()
    if len(timelines.slots) == len(timelines.sample):
        return None
    data = b64encode(png(rows, list(COLOURS.values()), clear=list(COLOURS).index(_FREE))).decode("ascii")
    most, all_of_them = timelines.kept, len(timelines.slots)
    what = "All slots" if most == all_of_them else f"{most:,} of {all_of_them:,} slots"
    return _AllSlots(what, max(160, min(520, len(rows))), data)


def _sample(timelines: Timelines) -> str:
    count = len(timelines.sample)
    if count == len(timelines.slots):
        return "All slots."
    return f"{count} of {len(timelines.slots):,} slots, evenly spread over the pool."


def _rows(timelines: Timelines, presence: Mapping[str, Sequence[tuple[float, float]]]) -> Iterator[_Row]:
    """One row per slot; a thin line under it shows when keys are pressed."""
    scale = (_WIDTH - _LEFT_OF_SLOTS) / timelines.end_s
    for place, (slot, spans) in enumerate(timelines.spans.items()):
        bars = []
        for span in spans:
            width = (span.end - span.begin) * scale
            if width < 0.15:
                continue
            title = f"{slot}: {span.pair} for {duration(span.end - span.begin)}, from {clock(span.begin)}"
            title += f"\n{span.why}" if span.why else ""
            title += f"\njob {span.job}" if span.job else ""
            bars.append(_Bar(f"{_LEFT_OF_SLOTS + span.begin * scale:.2f}", f"{width:.2f}", _FILLS[span.pair], title))
        keys = [
            _Bar(f"{_LEFT_OF_SLOTS + begin * scale:.2f}", f"{max(0.4, (end - begin) * scale):.2f}")
            for begin, end in presence.get(slot, ())
        ]
        yield _Row(_short(slot), place * _ROW, bars, keys)


def _short(name: str) -> str:
    return name if len(name) <= 20 else name[:19] + "…"


# -- tables ------------------------------------------------------------------------------------------------


def _causes(summary: Mapping[str, Any]) -> list[_Cause]:
    causes, counts = summary["badput_h_by_cause"], summary["evictions_by_cause"]
    most = max(causes.values(), default=0) or 1
    return [
        _Cause(cause, counts.get(cause, 0), hours, hours / most)
        for cause, hours in sorted(causes.items(), key=lambda item: -item[1])
    ]


def _transitions(timelines: Timelines) -> list[tuple[str, str, str, int]]:
    found = timelines.transitions
    order = sorted(found, key=lambda key: (int("".join(filter(str.isdigit, key[0]))), key))
    return [(*key, found[key]) for key in order]
