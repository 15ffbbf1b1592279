"""The report of a simulation as one HTML file that needs nothing else: figures, the pool over time, slot timelines.

Pictures are inline SVG; what a span is and why it began is its title, which browsers show under the pointer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

from roost.lab.palette import COLOURS, OWNER_PRESENT
from roost.lab.timelines import Timelines

#: Width of pictures, px; left margin of timelines.
_WIDTH: Final = 1120
_LEFT: Final = 110
_ROW: Final = 15

_STYLE: Final = """
:root{--ink:#1d2730;--soft:#5d6b77;--paper:#fbfaf7;--card:#fff;--line:#e2ded5}
@media(prefers-color-scheme:dark){:root{--ink:#e8e6e1;--soft:#a3adb5;--paper:#171b1f;--card:#20262b;--line:#343c43}}
*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1200px;margin:0 auto;padding:36px 40px 64px}h1{font-size:27px;margin:0 0 2px;letter-spacing:-.01em}
h2{font-size:18px;margin:36px 0 10px}.sub{color:var(--soft);margin:0 0 24px}code{font:13px ui-monospace,monospace}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(165px,1fr));gap:12px}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:13px 16px}
.card b{display:block;font-size:25px;font-weight:650;letter-spacing:-.02em}.card span{color:var(--soft);font-size:13px}
.panel{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:16px;overflow-x:auto}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;margin:10px 0 0;font-size:13px;color:var(--soft)}
.legend i{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:6px;border:1px solid var(--line)}
svg text{fill:var(--soft);font:11px system-ui,sans-serif}svg .grid{stroke:var(--line);stroke-width:1}
table{border-collapse:collapse;width:100%;font-size:14px}td,th{text-align:left;padding:5px 10px;
border-bottom:1px solid var(--line)}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}th{color:var(--soft);
font-weight:500}.bar{height:9px;border-radius:4px;background:#ee7733}footer{margin-top:40px;color:var(--soft);font-size:13px}
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
        _STYLE,
        "</style><main>",
        f"<h1>{escape(title)}</h1><p class=sub>{summary['slots']} slots, {summary['days']:g} days, ",
        f"{summary['jobs_submitted']} jobs. Digest <code>{outcome['digest']}</code></p>",
        *_cards(summary),
        "<h2>The pool over time</h2><div class=panel>",
        *_area(timelines),
        *_legend(timelines),
        "</div><h2>Slots</h2><div class=panel>",
        *_gantt(timelines, presence),
        *_legend(timelines, owner=True),
        "</div>",
        *_causes(summary),
        *_transitions(summary),
        f"<footer>Repeat this run: <code>{escape(command)}</code></footer></main></html>",
    ]
    return "".join(parts)


def _cards(summary: Mapping[str, Any]) -> Iterator[str]:
    figures = (
        (f"{summary['goodput_h']:,.0f} h", "goodput: time that counts"),
        (f"{summary['badput_h']:,.0f} h", "badput: time thrown away"),
        (f"{summary['goodput_share']:.1%}", "of the time that ended runs took counts"),
        (f"{summary['utilisation']:.1%}", "utilisation of all slots"),
        (f"{summary['jobs_completed']:,}", f"jobs completed of {summary['jobs_submitted']:,}"),
        (f"{summary['wait_min_median']:,.1f} min", f"median wait; 95 % within {summary['wait_min_95']:,.0f} min"),
        (f"{summary['slowdown_median']:,.2f}", f"median slowdown; 95 % within {summary['slowdown_95']:,.1f}"),
        (f"{summary['evictions_per_job']:,.2f}", f"evictions per job; {summary['evictions']:,} in all"),
        (f"{summary['suspensions']:,}", f"suspensions, {summary['suspended_h']:,.0f} h in all"),
        (_duration(summary["owner_interference_s"]), "owners shared their machine with a job"),
    )
    yield "<div class=cards>"
    for figure, meaning in figures:
        yield f"<div class=card><b>{figure}</b><span>{meaning}</span></div>"
    yield "</div>"


def _duration(seconds: float) -> str:
    if seconds < 600:
        return f"{seconds:,.0f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 36_000 else f"{seconds / 3600:,.1f} h"


def _area(timelines: Timelines) -> Iterator[str]:
    """Shares of pairs, stacked."""
    height, left, count = 220, 46, timelines.bin_count
    width = _WIDTH - left
    yield f'<svg width={_WIDTH} height={height + 24} viewBox="0 0 {_WIDTH} {height + 24}">'
    below = [0.0] * count
    xs = [left + width * (index + 0.5) / count for index in range(count)]
    xs[0], xs[-1] = float(left), float(_WIDTH)
    for pair, colour in COLOURS.items():
        if pair not in timelines.bins:
            continue
        above = [low + share for low, share in zip(below, timelines.shares(pair), strict=True)]
        points = [f"{x:.1f},{height * (1 - y):.1f}" for x, y in zip(xs, above, strict=True)]
        points += [f"{x:.1f},{height * (1 - y):.1f}" for x, y in zip(reversed(xs), reversed(below), strict=True)]
        yield f'<polygon points="{" ".join(points)}" fill="{colour}"><title>{pair}</title></polygon>'
        below = above
    for share in (0, 0.5, 1):
        y = height * (1 - share) + (10 if share == 1 else 0)
        yield f'<text x={left - 8} y="{y:.0f}" text-anchor=end>{share:.0%}</text>'
    yield from _days(timelines, left, height)
    yield "</svg>"


def _days(timelines: Timelines, left: float, height: float) -> Iterator[str]:
    """Midnights and noons."""
    names = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    scale = (_WIDTH - left) / timelines.end_s
    hours = 24 if timelines.end_s > 2.5 * 86_400 else 6
    for step in range(int(timelines.end_s // (hours * 3600)) + 1):
        hour = step * hours
        x = left + hour * 3600 * scale
        label = names[hour // 24 % 7] if hour % 24 == 0 else f"{hour % 24}:00"
        yield f"<line class=grid x1={x:.1f} x2={x:.1f} y1=0 y2={height} opacity=.6 />"
        if x < _WIDTH - 30:
            yield f"<text x={x + 4:.1f} y={height + 15}>{label}</text>"


def _gantt(timelines: Timelines, presence: Mapping[str, Sequence[tuple[float, float]]]) -> Iterator[str]:
    """One row a slot; a thin dark line under it shows when keys are pressed."""
    height = len(timelines.spans) * _ROW
    scale = (_WIDTH - _LEFT) / timelines.end_s
    yield f'<svg width={_WIDTH} height={height + 24} viewBox="0 0 {_WIDTH} {height + 24}">'
    for place, (slot, spans) in enumerate(timelines.spans.items()):
        y = place * _ROW
        yield f"<text x={_LEFT - 8} y={y + 10} text-anchor=end>{escape(slot)}</text>"
        for span in spans:
            width = (span.end - span.begin) * scale
            if width < 0.15:
                continue
            title = f"{slot}: {span.pair}, {_duration(span.end - span.begin)}"
            title += f"\n{span.why}" if span.why else ""
            title += f"\njob {span.job}" if span.job else ""
            yield (
                f"<rect x={_LEFT + span.begin * scale:.2f} y={y + 1} width={width:.2f} height={_ROW - 5} "
                f'fill="{COLOURS[span.pair]}"><title>{escape(title)}</title></rect>'
            )
        for begin, end in presence.get(slot, ()):
            yield (
                f"<rect x={_LEFT + begin * scale:.2f} y={y + _ROW - 4} width={max(0.4, (end - begin) * scale):.2f} "
                f'height=2 fill="{OWNER_PRESENT}"/>'
            )
    yield from _days(timelines, _LEFT, height)
    yield "</svg>"


def _legend(timelines: Timelines, *, owner: bool = False) -> Iterator[str]:
    yield "<div class=legend>"
    for pair, colour in COLOURS.items():
        if pair in timelines.bins:
            yield f'<span><i style="background:{colour}"></i>{pair}</span>'
    if owner:
        yield f'<span><i style="background:{OWNER_PRESENT}"></i>keys are being pressed</span>'
        if len(timelines.slots) > len(timelines.spans):
            yield f"<span>the first {len(timelines.spans)} of {len(timelines.slots)} slots</span>"
    yield "</div>"


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


def _transitions(summary: Mapping[str, Any]) -> Iterator[str]:
    from roost.startd.transitions import TRANSITIONS

    rows = {row.number: f"{row.source} → {row.target}" for row in reversed(TRANSITIONS)}
    yield "<h2>Transitions</h2><div class=panel><table><tr><th>number<th>from → to<th class=n>how often"
    for number, count in summary["transitions"].items():
        yield f"<tr><td>{number}<td>{rows.get(number, '')}<td class=n>{count:,}"
    yield "</table></div>"
