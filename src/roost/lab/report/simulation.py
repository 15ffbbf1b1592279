"""The report of a simulation as one HTML file that needs nothing else: figures, the pool over time, slot timelines.

Pictures are inline SVG; what a span is and why it began is its title, which browsers show under the pointer. Many
slots are shown as one small picture (`raster`) with a row for each.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import ceil
from typing import Any, Final

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
#: What most of a pool is: in the dark it must not shine.
_FREE: Final = "Unclaimed/Idle"
_FILLS: Final = COLOURS | {_FREE: "var(--free)"}

_STYLE: Final = """
:root{--ink:#1d2730;--soft:#5d6b77;--paper:#fbfaf7;--card:#fff;--line:#e2ded5;--keys:OWNER_PRESENT;
--free:FREE;color-scheme:light dark}
@media(prefers-color-scheme:dark){:root{--ink:#e8e6e1;--soft:#a3adb5;--paper:#171b1f;--card:#20262b;--line:#343c43;
--keys:#c9a27c;--free:#39434c}}
*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1240px;margin:0 auto;padding:36px 40px 64px}h1{font-size:27px;margin:0 0 2px;letter-spacing:-.01em}
h2{font-size:18px;margin:36px 0 4px}.sub,.note{color:var(--soft);margin:0 0 12px}.note{font-size:13px}
code{font:13px ui-monospace,monospace;overflow-wrap:anywhere}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(200px,1fr));gap:12px;margin-top:24px}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:13px 16px}
.card b{display:block;font-size:25px;font-weight:650;letter-spacing:-.02em}.card span{color:var(--soft);font-size:13px}
.panel{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:16px;overflow-x:auto}
.panel svg{width:100%;min-width:680px;height:auto;display:block}.keys{fill:var(--keys);background:var(--keys)}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;margin:10px 0 0;font-size:13px;color:var(--soft)}
.legend i{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:6px;border:1px solid var(--line)}
svg text{fill:var(--soft);font:11px system-ui,sans-serif}svg .grid{stroke:var(--line);stroke-width:1}
table{border-collapse:collapse;width:100%;font-size:14px}td,th{text-align:left;padding:5px 10px;
border-bottom:1px solid var(--line)}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}th{color:var(--soft);
font-weight:500}.bar{height:9px;border-radius:4px;background:#ee7733}.bad{border-color:#c1272d}
footer{margin-top:40px;color:var(--soft);font-size:13px}
@media(max-width:640px){main{padding:20px 14px 40px}.cards{grid-template-columns:1fr 1fr}}
@page{size:A4 landscape;margin:12mm}
@media print{:root{--ink:#000;--soft:#444;--paper:#fff;--card:#fff;--line:#ccc;--keys:OWNER_PRESENT;--free:FREE;
color-scheme:light}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}body{font-size:11px}main{max-width:none;padding:0}
.cards{grid-template-columns:repeat(5,1fr);gap:8px}.card b{font-size:18px}.panel{overflow:visible}
.panel svg{min-width:0;max-height:165mm}.card,.panel,tr{break-inside:avoid}
.panel:has(table){break-inside:auto}td,th{padding:2px 10px}h2,.note{break-after:avoid}
.pointer{display:none}}
"""


def html_report(
    title: str,
    command: str,
    outcome: Mapping[str, Any],
    timelines: Timelines,
    presence: Mapping[str, Sequence[tuple[float, float]]],
) -> str:
    """The report. `presence` gives, for each slot, when keys were pressed on its machine, s since the beginning."""
    summary = outcome["summary"]
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)}</title>",
        '<meta name=viewport content="width=device-width"><style>',
        _STYLE.replace("OWNER_PRESENT", OWNER_PRESENT).replace("FREE", COLOURS[_FREE]),
        "</style><main>",
        f"<h1>{escape(title)}</h1><p class=sub>Slots: {summary['slots']:,}. ",
        f"Days, from a Monday on: {summary['days']:g}. "
        f"Jobs: {summary['jobs_submitted']:,}. Digest <code>{outcome['digest']}</code></p>",
        *_problems(outcome["problems"]),
        *(f"<p class=note>{escape(note[0].upper() + note[1:])}.</p>" for note in outcome.get("notes", ())),
        *_cards(summary),
        "<h2>The pool over time</h2><p class=note>Share of all cores, by the state of their slot.</p><div class=panel>",
        *_area(timelines),
        *_legend(timelines),
        "</div><h2>Jobs that wait</h2><p class=note>Submitted and not running: waiting for the first time, or again ",
        "after an eviction.</p><div class=panel>",
        *_waiting(timelines),
        "</div>",
        *_all_slots(timelines),
        "<h2>Slot by slot</h2><p class=note>",
        _sample(timelines),
        "<span class=pointer> Point at a bar to see what it is and why it began.</span></p><div class=panel>",
        *_gantt(timelines, presence),
        *_legend(timelines, owner=True),
        "</div>",
        *_causes(summary),
        *_transitions(timelines),
        f"<footer>Repeat this run: <code>{escape(command)} --out DIR</code></footer></main></html>",
    ]
    return "".join(parts)


def _problems(problems: Sequence[str]) -> Iterator[str]:
    if problems:
        yield f"<div class='panel bad'><b>{len(problems)} invariants were violated</b><ul>"
        yield from (f"<li>{escape(each)}" for each in problems)
        yield "</ul></div>"


def _cards(summary: Mapping[str, Any]) -> Iterator[str]:
    def say(name: str) -> str:
        return in_words(name, summary)

    figures = (
        (f"{summary['jobs_completed']:,}", f"jobs completed of {summary['jobs_submitted']:,}"),
        (say("goodput_h"), "goodput: time that counts"),
        (say("badput_h"), "badput: time thrown away"),
        (say("goodput_share"), "of the time that ended runs took counts"),
        (say("utilisation"), "utilisation of all cores"),
        (say("wait_min_median"), f"median wait; 95 % within {say('wait_min_95')}"),
        (say("slowdown_median"), f"median slowdown; 95 % within {say('slowdown_95')}"),
        (f"{summary['evictions_per_job']:,.2f}", f"evictions per job; {summary['evictions']:,} in all"),
        (f"{summary['suspensions']:,}", f"suspensions, {say('suspended_h')} in all"),
        (say("owner_interference_s"), "owners shared their machine with a job"),
    )
    yield "<div class=cards>"
    for figure, meaning in figures:
        yield f"<div class=card><b>{figure}</b><span>{meaning}</span></div>"
    yield "</div>"


# -- pictures ----------------------------------------------------------------------------------------------


def _area(timelines: Timelines) -> Iterator[str]:
    """Shares of pairs, stacked."""
    height, count = 220, timelines.bin_count
    yield f'<svg width={_WIDTH} height={height + 24} viewBox="0 0 {_WIDTH} {height + 24}">'
    below = [0.0] * count
    for pair, colour in _FILLS.items():
        if pair not in timelines.bins:
            continue
        shares = timelines.shares(pair)
        above = [low + share for low, share in zip(below, shares, strict=True)]
        points = [*_steps(above, height), *reversed(_steps(below, height))]
        title = f"{pair}: {sum(shares) / count:.1%} on average"
        yield f'<polygon points="{" ".join(points)}" fill="{colour}"><title>{title}</title></polygon>'
        below = above
    for share in (0, 0.5, 1):
        yield from _height(height * (1 - share), f"{share:.0%}", height)
    yield from _times(timelines, _LEFT, height)
    yield "</svg>"


def _steps(values: Sequence[float], height: float) -> list[str]:
    """The corners of a line that is level within each interval; values from 0 to 1."""
    width = (_WIDTH - _LEFT) / len(values)
    points = []
    for index, value in enumerate(values):
        y = height * (1 - min(1.0, value))
        points += [f"{_LEFT + index * width:.1f},{y:.1f}", f"{_LEFT + (index + 1) * width:.1f},{y:.1f}"]
    return points


def _height(y: float, label: str, height: float) -> Iterator[str]:
    yield f'<line class=grid x1={_LEFT} x2={_WIDTH} y1={y:.1f} y2={y:.1f} opacity=".5"/>'
    yield f'<text x={_LEFT - 8} y="{min(height, max(10.0, y + 4)):.0f}" text-anchor=end>{label}</text>'


def _waiting(timelines: Timelines) -> Iterator[str]:
    height = 110
    waiting = timelines.waiting()
    most = max([1.0, *waiting])
    if most >= 4:
        # Its half is a whole number, too.
        most = 2.0 * ceil(most / 2)
    yield f'<svg width={_WIDTH} height={height + 24} viewBox="0 0 {_WIDTH} {height + 24}">'
    corners = [f"{_LEFT},{height}", *_steps([each / most for each in waiting], height), f"{_WIDTH},{height}"]
    yield f'<polygon points="{" ".join(corners)}" fill="{WAITING}"><title>jobs that wait</title></polygon>'
    for value in (0.0, most / 2, most):
        yield from _height(height * (1 - value / most), f"{value:,.0f}" if most >= 4 else f"{value:.1f}", height)
    yield from _times(timelines, _LEFT, height)
    yield "</svg>"


def _times(timelines: Timelines, left: float, height: float) -> Iterator[str]:
    """Marks of time, each with a line through the picture."""
    scale = (_WIDTH - left) / timelines.end_s
    for tick in ticks(timelines.end_s):
        x = left + tick.at_s * scale
        yield f"<line class=grid x1={x:.1f} x2={x:.1f} y1=0 y2={height} opacity={_opacity(tick)} />"
        if tick.label and x < _WIDTH - 30:
            yield f"<text x={x + 4:.1f} y={height + 15}>{tick.label}</text>"


def _opacity(tick: Tick) -> str:
    return ".8" if tick.midnight else ".35" if tick.label else ".2"


def _all_slots(timelines: Timelines) -> Iterator[str]:
    """A row for each slot, where there are more than are shown one by one."""
    rows = timelines.rows()
    if len(timelines.slots) == len(timelines.sample):
        return
    data = b64encode(png(rows, list(COLOURS.values()), clear=list(COLOURS).index(_FREE))).decode("ascii")
    width, height = _WIDTH - _LEFT, max(160, min(520, len(rows)))
    most, all_of_them = timelines.kept, len(timelines.slots)
    what = "All slots" if most == all_of_them else f"{most:,} of {all_of_them:,} slots"
    yield f"<h2>{what}</h2><p class=note>A row for each slot, in the colour of the state that it was in longest; some "
    yield "rows for a partitionable one, in the colours of its parts.</p>"
    yield f'<div class=panel><svg width={_WIDTH} height={height + 24} viewBox="0 0 {_WIDTH} {height + 24}">'
    yield f'<rect x={_LEFT} y=0 width={width} height={height} fill="var(--free)"/>'
    yield f'<image href="data:image/png;base64,{data}" x={_LEFT} y=0 width={width} height={height} '
    yield 'preserveAspectRatio="none" style="image-rendering:pixelated"/>'
    yield from _times(timelines, _LEFT, height)
    yield "</svg>"
    yield from _legend(timelines)
    yield "</div>"


def _sample(timelines: Timelines) -> str:
    count = len(timelines.sample)
    if count == len(timelines.slots):
        return "All slots."
    return f"{count} of {len(timelines.slots):,} slots, evenly spread over the pool."


def _gantt(timelines: Timelines, presence: Mapping[str, Sequence[tuple[float, float]]]) -> Iterator[str]:
    """One row per slot; a thin line under it shows when keys are pressed."""
    height = len(timelines.spans) * _ROW
    scale = (_WIDTH - _LEFT_OF_SLOTS) / timelines.end_s
    yield f'<svg width={_WIDTH} height={height + 24} viewBox="0 0 {_WIDTH} {height + 24}">'
    for place, (slot, spans) in enumerate(timelines.spans.items()):
        y = place * _ROW
        yield f"<text x={_LEFT_OF_SLOTS - 8} y={y + 11} text-anchor=end>{escape(_short(slot))}</text>"
        for span in spans:
            width = (span.end - span.begin) * scale
            if width < 0.15:
                continue
            title = f"{slot}: {span.pair} for {duration(span.end - span.begin)}, from {clock(span.begin)}"
            title += f"\n{span.why}" if span.why else ""
            title += f"\njob {span.job}" if span.job else ""
            yield (
                f"<rect x={_LEFT_OF_SLOTS + span.begin * scale:.2f} y={y + 1} width={width:.2f} height={_ROW - 5} "
                f'fill="{_FILLS[span.pair]}"><title>{escape(title)}</title></rect>'
            )
        for begin, end in presence.get(slot, ()):
            yield (
                f"<rect x={_LEFT_OF_SLOTS + begin * scale:.2f} y={y + _ROW - 4} "
                f"width={max(0.4, (end - begin) * scale):.2f} height=2 class=keys />"
            )
    yield from _times(timelines, _LEFT_OF_SLOTS, height)
    yield "</svg>"


def _short(name: str) -> str:
    return name if len(name) <= 20 else name[:19] + "…"


def _legend(timelines: Timelines, *, owner: bool = False) -> Iterator[str]:
    yield "<div class=legend>"
    for pair, colour in _FILLS.items():
        if pair in timelines.bins:
            yield f'<span><i style="background:{colour}"></i>{pair}</span>'
    if owner:
        yield "<span><i class=keys></i>keys are being pressed</span>"
    yield "</div>"


# -- tables ------------------------------------------------------------------------------------------------


def _causes(summary: Mapping[str, Any]) -> Iterator[str]:
    causes = summary["badput_h_by_cause"]
    if not causes:
        return
    most = max(causes.values()) or 1
    yield "<h2>Why work was thrown away</h2><div class=panel><table>"
    yield "<tr><th>cause<th class=n>evictions<th class=n>hours<th>"
    for cause, hours in sorted(causes.items(), key=lambda item: -item[1]):
        count = summary["evictions_by_cause"].get(cause, 0)
        yield f"<tr><td>{escape(cause)}<td class=n>{count:,}<td class=n>{hours:,.1f}"
        yield f'<td style="width:40%"><div class=bar style="width:{hours / most:.0%}"></div>'
    yield "</table></div>"


def _transitions(timelines: Timelines) -> Iterator[str]:
    yield "<h2>Transitions</h2><p class=note>Numbers are those of the manual's diagram.</p><div class=panel><table>"
    yield "<tr><th>number<th>from → to<th class=n>how often"
    found = timelines.transitions
    for number, source, target in sorted(found, key=lambda key: (int("".join(filter(str.isdigit, key[0]))), key)):
        yield f"<tr><td>{number}<td>{source} → {target}<td class=n>{found[number, source, target]:,}"
    yield "</table></div>"
