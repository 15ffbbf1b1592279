"""The blocks of the page of hooks, and the picture of a fetched job's way, made from the table of hooks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Final, NamedTuple

from roost.node.hook_table import HOOKS, HookRow, RunBy
from roost.starter.scripts import PSEUDO_VARIABLES


def blocks() -> dict[str, dict[str, Iterable[str]]]:
    """Page below docs/ to its blocks: name to lines."""
    return {"reference/hooks.md": {"hooks": _hooks(), "variables": _variables()}}


def _hooks() -> Iterator[str]:
    for row in HOOKS:
        yield from _section(row)
        yield ""


def _section(row: HookRow) -> Iterator[str]:
    by = "a slot" if row.by is RunBy.SLOT else "a starter"
    yield f"### {row.name}\n"
    yield f"Run by {by} when {row.when}.{_own(row)}\n"
    yield "| | |"
    yield "|---|---|"
    yield f"| program | `{row.knob}` |"
    yield f"| called with | {row.argument or 'nothing'} |"
    claim = ", with ClaimId" if row.has_claim else ""
    yield f"| reads | {'the job, `-----`, the slot' if row.has_job else 'the slot'}{claim} |"
    if row.told:
        yield f"| in the job's ad | {row.told} |"
    yield f"| prints | {row.prints} |"
    yield f"| status | {row.status} |"
    yield f"| runs as | {row.as_user} |"
    yield f"| waited for by | {row.waits} |"
    limit = "none" if row.limit_s is None else f"{row.limit_s} s"
    yield f"| at the time limit | {row.late}; `{row.knob}_TIMEOUT`, default {limit} |"
    if row.note:
        yield f"\n{row.note}"


def _own(row: HookRow) -> str:
    return " An addition of Roost's." if row.is_own else ""


def _variables() -> Iterator[str]:
    yield "| | |"
    yield "|---|---|"
    for name, meaning in PSEUDO_VARIABLES.items():
        yield f"| `${name}` | {meaning} |"


# -- the picture -------------------------------------------------------------------------------------------------------


class _Word(NamedTuple):
    """An arrow from one lane to another, or a note over one."""

    source: int
    target: int
    text: str
    #: The answer to a word before it.
    is_answer: bool = False


class _Box(NamedTuple):
    """Words that belong together."""

    title: str
    words: tuple[_Word, ...]


_LANES: Final = ("work source", "hook", "slot", "starter", "job")
_SOURCE, _HOOK, _SLOT, _STARTER, _JOB = range(5)


def _runs(name: str, by: int, tells: str, answer: str = "") -> tuple[_Word, ...]:
    """A hook runs, talks to its source, and ends."""
    words = [_Word(by, _HOOK, name), _Word(_HOOK, _SOURCE, tells)]
    if answer:
        words += [_Word(_SOURCE, _HOOK, answer, True), _Word(_HOOK, by, "ad" if by == _SLOT else "attributes", True)]
    return tuple(words)


_STORY: Final = (
    _Box(
        "START is not FALSE, FetchWorkDelay is over", _runs("FETCH_WORK", _SLOT, "work for this slot?", "item, token")
    ),
    _Box(
        "START and RANK decide",
        (*_runs("REPLY_FETCH accept", _SLOT, "item accepted"), _Word(_SLOT, _STARTER, "claim, job")),
    ),
    _Box(
        "the job is prepared and runs",
        (
            *_runs("PREPARE_JOB", _STARTER, "what does it need?", "files, settings"),
            _Word(_STARTER, _JOB, "start"),
            *_runs("UPDATE_JOB_INFO, repeatedly", _STARTER, "renew the lease"),
        ),
    ),
    _Box(
        "it ends by itself",
        (
            _Word(_JOB, _STARTER, "exit status", True),
            *_runs("JOB_EXIT exit", _STARTER, "result, token"),
            _Word(_STARTER, _SLOT, "ended: more work?", True),
        ),
    ),
    _Box(
        "or it is evicted: PREEMPT, a better job, the owner",
        (
            _Word(_SLOT, _STARTER, "soft kill"),
            *_runs("VACATE_JOB evict", _STARTER, "save its state"),
            _Word(_STARTER, _JOB, "KillSig, then SIGKILL"),
            *_runs("JOB_EXIT evict", _STARTER, "take the item back"),
            _Word(_STARTER, _SLOT, "ended", True),
            *_runs("EVICT_CLAIM", _SLOT, "the slot is lost"),
        ),
    ),
    _Box(
        "or it could not be started",
        (*_runs("STARTER_FAILURE hold", _STARTER, "why"), _Word(_STARTER, _SLOT, "ended", True)),
    ),
)

_LEFT, _GAP, _TOP, _STEP, _PAD = 90, 190, 66, 30, 34
_STYLE: Final = """\
:root { --ink: #22303c; --soft: #6b7683; --line: #c6ced6; --paper: #ffffff; --box: #f3f6f8; --hook: #2a9d73; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6ebef; --soft: #9aa5b1; --line: #46525e; --paper: #161c22; --box: #1e262e; --hook: #5cc9a0; }
}
text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: var(--ink); }
.lane { font-weight: 600; } .title { fill: var(--soft); font-size: 12px; font-style: italic; }
.hook { fill: var(--hook); font-weight: 600; } .life { stroke: var(--line); stroke-dasharray: 2 4; }
.word { stroke: var(--ink); stroke-width: 1.3; } .answer { stroke: var(--soft); stroke-dasharray: 5 3; }
.head { fill: var(--paper); stroke: var(--ink); } .box { fill: var(--box); }
.under { stroke: var(--paper); stroke-width: 4; paint-order: stroke; stroke-linejoin: round; }
.box-under { stroke: var(--box); stroke-width: 5; paint-order: stroke; stroke-linejoin: round; }"""


def picture() -> str:
    """The way of a fetched job between its source and its slot, as SVG."""
    body, bottom = _drawn()
    width, height = _LEFT * 2 + _GAP * (len(_LANES) - 1), bottom + 20
    lives = "\n".join(
        f'<line class="life" x1="{_x(lane)}" y1="46" x2="{_x(lane)}" y2="{bottom}"/>' for lane in range(len(_LANES))
    )
    heads = "\n".join(
        f'<rect class="head" x="{_x(lane) - 62}" y="14" width="124" height="30" rx="7"/>'
        f'<text class="lane" x="{_x(lane)}" y="34" text-anchor="middle">{escape(name)}</text>'
        for lane, name in enumerate(_LANES)
    )
    boxes = "\n".join(each for each in body if 'class="box"' in each)
    words = "\n".join(each for each in body if 'class="box"' not in each)
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"
  aria-label="The way of a fetched job between work source, hooks, slot, starter and job">
<!-- Generated by `make docs`; do not edit. -->
<style>
{_STYLE}
</style>
<defs>
<marker id="tip" viewBox="0 0 8 8" refX="7.2" refY="4" markerWidth="8" markerHeight="8" orient="auto">
<path d="M0,0.6 L8,4 L0,7.4 z" fill="context-stroke"/></marker>
</defs>
<rect width="{width}" height="{height}" style="fill: var(--paper)"/>
{boxes}
{lives}
{heads}
{words}
</svg>
"""


def _x(lane: int) -> int:
    return _LEFT + lane * _GAP


def _drawn() -> tuple[list[str], int]:
    """Boxes and words, and where they end."""
    found: list[str] = []
    y = _TOP
    right = _x(len(_LANES) - 1) + 66
    for box in _STORY:
        height = _PAD + len(box.words) * _STEP
        found.append(f'<rect class="box" x="24" y="{y}" width="{right - 24}" height="{height}" rx="9"/>')
        found.append(f'<text class="title box-under" x="36" y="{y + 17}">{escape(box.title)}</text>')
        for number, word in enumerate(box.words):
            found += _arrow(word, y + _PAD + 16 + number * _STEP)
        y += height + 10
    return found, y


def _arrow(word: _Word, y: int) -> Iterator[str]:
    one, other = _x(word.source), _x(word.target)
    inset = 4 if other > one else -4
    kind = "word answer" if word.is_answer else "word"
    yield f'<line class="{kind}" x1="{one + inset}" y1="{y}" x2="{other - inset}" y2="{y}" marker-end="url(#tip)"/>'
    is_hook = word.target == _HOOK and word.text.split()[0].replace("_", "").isupper()
    style = "hook box-under" if is_hook else "box-under"
    middle = (one + other) // 2
    yield f'<text class="{style}" x="{middle}" y="{y - 7}" text-anchor="middle">{escape(word.text)}</text>'


def pages() -> dict[str, str]:
    """Path below docs/ to text."""
    return {"guides/fetched-work.svg": picture()}
