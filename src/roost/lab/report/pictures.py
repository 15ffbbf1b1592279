"""The pictures of a simulation as PNG files. They require matplotlib (the extra ``lab``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from roost.lab.report.clock_face import ticks
from roost.lab.report.figures import duration, in_words
from roost.lab.report.palette import COLOURS, OWNER_PRESENT, WAITING
from roost.lab.report.timelines import Timelines

_INK: Final = "#1d2730"
_SOFT: Final = "#5d6b77"
_STYLE: Final = {
    "font.size": 9,
    "axes.edgecolor": "#d8d3c8",
    "axes.titlecolor": _INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": _INK,
    "axes.labelcolor": _SOFT,
    "xtick.color": _SOFT,
    "ytick.color": _SOFT,
    "figure.facecolor": "#fbfaf7",
    "font.family": ["DejaVu Sans"],
}
#: Height of a slot's row, inches.
_ROW_INCHES: Final = 0.19
#: Height of the header above the pictures, inches.
_HEAD_INCHES: Final = 0.72


def can_draw() -> bool:
    """Whether matplotlib is installed."""
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
    made = [out / "timeline.png", out / "metrics.png"]
    heading = f"{title}   slots: {summary['slots']:,}, days: {summary['days']:g}, jobs: {summary['jobs_submitted']:,}"
    with pyplot.rc_context(_STYLE):
        figures = (_timeline(pyplot, heading, timelines, presence), _metrics(pyplot, heading, summary))
        for path, figure in zip(made, figures, strict=True):
            figure.savefig(path, dpi=150)
            pyplot.close(figure)
    return made


def _head(figure: Any, heading: str) -> None:
    """Draw title and facts in a strip at the top."""
    title, _, rest = heading.partition("   ")
    height = figure.get_figheight()
    figure.get_layout_engine().set(rect=(0.008, 0.0, 0.984, 1 - _HEAD_INCHES / height))
    figure.text(0.014, 1 - 0.16 / height, title, fontsize=14, fontweight="bold", va="top")
    figure.text(0.014, 1 - 0.44 / height, rest, color=_SOFT, fontsize=9, va="top")


def _timeline(
    pyplot: Any, heading: str, timelines: Timelines, presence: Mapping[str, Sequence[tuple[float, float]]]
) -> Any:
    rows = len(timelines.spans)
    whole = timelines.rows() if len(timelines.sample) < len(timelines.slots) else []
    heights = [2.3, 1.0, *([3.4] if whole else []), max(0.5, _ROW_INCHES * rows)]
    figure, axes = pyplot.subplots(
        len(heights), 1, figsize=(13, sum(heights) + 0.5 * len(heights) + 0.8), height_ratios=heights,
        sharex=True, layout="constrained",
    )  # fmt: skip
    _head(figure, heading)
    days = timelines.end_s / 86_400
    _shares(axes[0], timelines)
    _waiting(axes[1], timelines)
    if whole:
        _raster(axes[2], timelines, whole, days)
    low = axes[-1]
    _gantt(low, timelines, presence)
    marks = [tick for tick in ticks(timelines.end_s) if tick.at_s <= timelines.end_s]
    low.set_xlim(0, days)
    named = [tick for tick in marks if tick.label]
    low.set_xticks([tick.at_s / 86_400 for tick in named], [tick.label for tick in named])
    low.set_xticks([tick.at_s / 86_400 for tick in marks if not tick.label], minor=True)
    low.set_xlabel("time of the pool, which begins on a Monday at 00:00", fontsize=8)
    return figure


def _edges(timelines: Timelines) -> list[float]:
    """Borders of intervals, days."""
    inner = [index * timelines.bin_s / 86_400 for index in range(timelines.bin_count)]
    return [*inner, timelines.end_s / 86_400]


def _shares(axes: Any, timelines: Timelines) -> None:
    pairs = [pair for pair in COLOURS if pair in timelines.bins]
    shares = [timelines.shares(pair) for pair in pairs]
    xs = _edges(timelines)
    axes.stackplot(
        xs, [[100 * each for each in (*row, row[-1])] for row in shares],
        colors=[COLOURS[pair] for pair in pairs], labels=pairs, linewidth=0, step="post",
    )  # fmt: skip
    axes.set(ylim=(0, 100), ylabel="% of cores", title="Cores by the state of their slot")
    axes.plot([], [], color=OWNER_PRESENT, linewidth=2, label="keyboard in use")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.02), frameon=False, fontsize=8)


def _waiting(axes: Any, timelines: Timelines) -> None:
    axes.stairs(timelines.waiting(), _edges(timelines), fill=True, color=WAITING)
    axes.set(ylim=(0, None), ylabel="jobs", title="Waiting jobs")


def _raster(axes: Any, timelines: Timelines, rows: Sequence[bytes], days: float) -> None:
    colours = import_module("matplotlib.colors")
    numpy = import_module("numpy")
    palette = colours.ListedColormap(list(COLOURS.values()))
    cells = numpy.frombuffer(b"".join(rows), dtype=numpy.uint8).reshape(len(rows), -1)
    width = timelines.bin_count * timelines.bin_s / 86_400
    axes.imshow(
        cells, aspect="auto", cmap=palette, vmin=-0.5, vmax=len(COLOURS) - 0.5, interpolation="nearest",
        extent=(0, max(days, width), len(rows), 0),
    )  # fmt: skip
    kept, there = timelines.kept, len(timelines.slots)
    many = f"{kept:,} of {there:,}" if kept < there else f"All {there:,}"
    some = "some rows each" if len(rows) > kept else "a row each"
    axes.set(title=f"{many} slots, {some}", ylabel="row", ylim=(len(rows), 0))


def _gantt(axes: Any, timelines: Timelines, presence: Mapping[str, Sequence[tuple[float, float]]]) -> None:
    rows = len(timelines.spans)
    for place, (slot, spans) in enumerate(timelines.spans.items()):
        for pair in dict.fromkeys(span.pair for span in spans):
            bars = [(s.begin / 86_400, (s.end - s.begin) / 86_400) for s in spans if s.pair == pair]
            axes.broken_barh(bars, (place - 0.34, 0.6), facecolors=COLOURS[pair], linewidth=0)
        there = [(begin / 86_400, (end - begin) / 86_400) for begin, end in presence.get(slot, ())]
        axes.broken_barh(there, (place + 0.3, 0.13), facecolors=OWNER_PRESENT, linewidth=0)
    axes.set(ylim=(rows - 0.45, -0.55), yticks=range(rows), yticklabels=list(timelines.spans))
    axes.tick_params(axis="y", labelsize=7, length=0)
    sample, slots = len(timelines.sample), len(timelines.slots)
    some = f"{sample} of {slots:,} slots, evenly spread" if sample < slots else "Slot by slot"
    axes.set_title(some)


def _metrics(pyplot: Any, heading: str, summary: Mapping[str, Any]) -> Any:
    causes = dict(sorted(summary["badput_h_by_cause"].items(), key=lambda item: -item[1])[:8])
    names = ["goodput", *(f"lost: {_wrapped(cause)}" for cause in causes), "unfinished at the end", "suspended"]
    hours = [summary["goodput_h"], *causes.values(), summary["open_h"], summary["suspended_h"]]
    figure, (left, right) = pyplot.subplots(
        1, 2, figsize=(13, 1.9 + max(2.9, 0.48 * len(names))), width_ratios=(1.1, 1), layout="constrained"
    )
    _head(figure, heading)
    colours = ["#2a9d73", *["#ee7733"] * len(causes), "#8fb8d6", "#f2b134"]
    bars = left.barh(range(len(names)), hours, color=colours, height=0.62)
    left.set_yticks(range(len(names)), names)
    left.invert_yaxis()
    left.set_xlim(0, (max(hours) or 1) * 1.2)
    left.xaxis.set_major_formatter("{x:,.10g}")
    left.bar_label(bars, [duration(each * 3600) for each in hours], padding=4)
    left.set(title="How slot hours were spent", xlabel="hours")
    left.tick_params(axis="y", length=0)
    _figures(right, summary)
    return figure


def _wrapped(cause: str) -> str:
    """Two lines at most."""
    if len(cause) <= 30:
        return cause
    cut = cause.rfind(" ", 0, 30)
    cut = cut if cut > 0 else 30
    rest = cause[cut:].strip()
    return f"{cause[:cut]}\n{rest if len(rest) <= 36 else rest[:35] + '…'}"


def _figures(axes: Any, summary: Mapping[str, Any]) -> None:
    axes.axis("off")
    figures = (
        ("jobs completed", f"{summary['jobs_completed']:,} of {summary['jobs_submitted']:,}"),
        ("utilisation of cores", in_words("utilisation", summary)),
        ("useful share of finished runs' time", in_words("goodput_share", summary)),
        ("median wait", in_words("wait_min_median", summary)),
        ("95th percentile of wait", in_words("wait_min_95", summary)),
        ("median slowdown", in_words("slowdown_median", summary)),
        ("95th percentile of slowdown", in_words("slowdown_95", summary)),
        ("evictions per job", f"{summary['evictions_per_job']:,.2f}"),
        ("owners shared their machines for", in_words("owner_interference_s", summary)),
    )
    for place, (name, text) in enumerate(figures):
        y = 0.96 - place * 0.115
        axes.text(0.1, y, name, color=_SOFT, fontsize=10, transform=axes.transAxes, va="center")
        axes.text(
            0.99, y, text, ha="right", fontsize=12, fontweight="bold", transform=axes.transAxes, va="center"
        )  # fmt: skip
