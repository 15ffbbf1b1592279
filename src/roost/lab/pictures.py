"""The pictures of a simulation as PNG files. They take matplotlib (the extra ``lab``); without it there are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from roost.lab.palette import COLOURS, OWNER_PRESENT
from roost.lab.timelines import Timelines

_INK: Final = "#1d2730"
_SOFT: Final = "#5d6b77"


def can_draw() -> bool:
    """Whether matplotlib is there."""
    return find_spec("matplotlib") is not None


def draw(
    out: Path,
    title: str,
    summary: Mapping[str, Any],
    timelines: Timelines,
    presence: Mapping[str, Sequence[tuple[float, float]]],
) -> list[Path]:
    """Draw ``timeline.png`` and ``metrics.png`` into a directory."""
    import_module("matplotlib").use("Agg")
    pyplot = import_module("matplotlib.pyplot")

    pyplot.rcParams.update({"font.size": 9, "axes.edgecolor": "#d8d3c8", "text.color": _INK, "axes.labelcolor": _SOFT,
                            "xtick.color": _SOFT, "ytick.color": _SOFT, "figure.facecolor": "#fbfaf7"})  # fmt: skip
    made = [out / "timeline.png", out / "metrics.png"]
    for path, figure in zip(
        made, (_timeline(pyplot, title, timelines, presence), _metrics(pyplot, title, summary)), strict=True
    ):
        figure.savefig(path, dpi=150)
        pyplot.close(figure)
    return made


def _timeline(
    pyplot: Any, title: str, timelines: Timelines, presence: Mapping[str, Sequence[tuple[float, float]]]
) -> Any:
    rows = len(timelines.spans)
    figure, (top, low) = pyplot.subplots(
        2,
        1,
        figsize=(13, 3.6 + 0.2 * rows),
        sharex=True,
        height_ratios=(2.4, max(1.0, 0.2 * rows)),
        layout="constrained",
    )
    figure.suptitle(title, x=0.01, ha="left", fontsize=14, fontweight="bold")
    days = timelines.end_s / 86_400
    xs = [(index + 0.5) * timelines.bin_s / 86_400 for index in range(timelines.bin_count)]
    pairs = [pair for pair in COLOURS if pair in timelines.bins]
    shares = [timelines.shares(pair) for pair in pairs]
    top.stackplot(xs, shares, colors=[COLOURS[pair] for pair in pairs], labels=pairs, linewidth=0)
    top.set(ylim=(0, 1), ylabel="share of all slots")
    top.legend(loc="upper left", bbox_to_anchor=(1.0, 1.02), frameon=False, fontsize=8)
    for place, (slot, spans) in enumerate(timelines.spans.items()):
        for pair in pairs:
            bars = [(s.begin / 86_400, (s.end - s.begin) / 86_400) for s in spans if s.pair == pair]
            low.broken_barh(bars, (place - 0.3, 0.62), facecolors=COLOURS[pair], linewidth=0)
        there = [(begin / 86_400, (end - begin) / 86_400) for begin, end in presence.get(slot, ())]
        low.broken_barh(there, (place + 0.36, 0.12), facecolors=OWNER_PRESENT, linewidth=0)
    low.set(ylim=(rows - 0.4, -0.6), xlim=(0, days), yticks=range(rows), yticklabels=list(timelines.spans))
    low.tick_params(axis="y", labelsize=7, length=0)
    names = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    low.set_xticks(range(int(days) + 1), [names[day % 7] for day in range(int(days) + 1)])
    low.set_xlabel("dark lines: keys are being pressed", fontsize=8)
    for axes in (top, low):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _metrics(pyplot: Any, title: str, summary: Mapping[str, Any]) -> Any:
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(13, 3.9), width_ratios=(1.1, 1), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=14, fontweight="bold")
    causes = summary["badput_h_by_cause"]
    names = ["goodput", *(f"lost: {cause}" for cause in causes), "open at the end", "suspended"]
    hours = [summary["goodput_h"], *causes.values(), summary["open_h"], summary["suspended_h"]]
    colours = ["#2a9d73", *["#ee7733"] * len(causes), "#8fb8d6", "#f2b134"]
    bars = left.barh(range(len(names)), hours, color=colours, height=0.62)
    left.set_yticks(range(len(names)), names)
    left.invert_yaxis()
    left.set_xlim(0, max([*hours, 1]) * 1.15)
    left.bar_label(bars, [f"{each:,.0f} h" for each in hours], padding=4, color=_INK)
    left.set_title("where the hours went", loc="left", fontsize=10, color=_SOFT)
    left.spines[["top", "right", "left"]].set_visible(False)
    left.tick_params(axis="y", length=0)
    right.axis("off")
    figures = (
        ("jobs completed", f"{summary['jobs_completed']:,} of {summary['jobs_submitted']:,}"),
        ("utilisation", f"{summary['utilisation']:.1%}"),
        ("of ended runs' time counts", f"{summary['goodput_share']:.1%}"),
        ("wait, median / 95 %", f"{summary['wait_min_median']:,.1f} / {summary['wait_min_95']:,.0f} min"),
        ("slowdown, median / 95 %", f"{summary['slowdown_median']:,.2f} / {summary['slowdown_95']:,.1f}"),
        ("evictions per job", f"{summary['evictions_per_job']:,.2f}"),
        ("owners shared their machine", f"{summary['owner_interference_s'] / 3600:,.1f} h"),
    )
    for place, (name, figure_text) in enumerate(figures):
        right.text(0.08, 0.92 - place * 0.145, name, color=_SOFT, fontsize=10, transform=right.transAxes)
        right.text(0.98, 0.92 - place * 0.145, figure_text, ha="right", fontsize=12, fontweight="bold",
                   transform=right.transAxes)  # fmt: skip
    return figure
