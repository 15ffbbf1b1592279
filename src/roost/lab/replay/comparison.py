"""In what a scenario on real daemons differs from the same in simulation.

Compared are the transitions of each slot in their order: number, from, to and reason have to be the same. Their times
may differ by `tolerance_s`, and so may the time since the transition before: in the simulation a message takes up to a
quarter of a second and jobs are matched every few seconds; a real pool matches as soon as it can, and then the whole
rest of a job's stay is earlier by as much. What a machine that is not used finds by looking may be a whole look later.
What happens that shortly before the end may still be missing. A claim may come before the word that the slot is
matched, so 6 with 9 counts as 5 and 32 with 9 as 31, and the match of a slot that only has a part cut off (6, 8, 1)
counts as nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final

from roost.lab.durations import shown
from roost.lab.scenario import Scenario
from roost.model.reasons import Reason
from roost.startd.timers import IDLE_LOOK_S
from roost.startd.work import Taken

#: Beside a poll and a cycle: messages, and the death of a process that is killed, s.
_SLACK_S: Final = 3.0
#: Transitions shown before and after the first that differs.
_BEFORE: Final = 4
_AFTER: Final = 4

#: What polls find at a machine that nobody uses: one that just misses a poll there comes with the next.
_POLLED_SELDOM: Final = frozenset(("1", "2", "3", "7"))

#: A match to what comes in its and the claim's place where the claim was faster.
_AT_ONCE: Final = {"6": "5", "32": "31"}

#: Slot to its transitions.
Timelines = dict[str, list[Taken]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first transition in which the two worlds do not agree about a slot."""

    slot: str
    #: When, s since the beginning of the scenario.
    at_s: float
    #: What each does there; "" for nothing.
    simulated: str
    real: str
    #: Both around it, line by line.
    lines: tuple[str, ...]


def tolerance_s(scenario: Scenario, polling_s: float = 5.0) -> float:
    """By how much times may differ."""
    return polling_s + scenario.cycle_s + _SLACK_S


def timelines(taken: Iterable[tuple[str, Taken]]) -> Timelines:
    """Transitions by slot; a match and the claim that follows it are one."""
    found: Timelines = {}
    for slot, each in taken:
        mine = found.setdefault(slot, [])
        at_once = _AT_ONCE.get(mine[-1].number) if mine and each.number == "9" else None
        if at_once is not None:
            mine[-1] = replace(each, number=at_once, source=mine[-1].source)
        else:
            mine.append(each)
        if [row.number for row in mine[-3:]] == ["6", "8", "1"] and mine[-2].reason is Reason.CLAIM_MOVED:
            del mine[-3:]
    return found


def differences(
    scenario: Scenario, start: float, simulated: Iterable[tuple[str, Taken]], real: Iterable[tuple[str, Taken]]
) -> list[Difference]:
    """The first difference of each slot that has one."""
    ours, theirs = timelines(simulated), timelines(real)
    found = []
    for slot in sorted(ours | theirs):
        one, other = ours.get(slot, []), theirs.get(slot, [])
        place = _first(scenario, start, one, other)
        if place is not None:
            found.append(_difference(slot, start, one, other, place))
    return found


def _first(scenario: Scenario, start: float, one: Sequence[Taken], other: Sequence[Taken]) -> int | None:
    usual_s = tolerance_s(scenario)
    before: tuple[float, float] | None = None
    for place, (a, b) in enumerate(zip_longest(one, other)):
        seldom = any(each is not None and each.number in _POLLED_SELDOM for each in (a, b))
        within_s = usual_s + IDLE_LOOK_S if seldom else usual_s
        if a is None or b is None or _what(a) != _what(b):
            last = start + scenario.end_s - within_s
            times = [each.at for each in (a, b) if each is not None]
            return place if min(times) < last else None
        apart = abs(a.at - b.at)
        since = apart if before is None else abs((a.at - before[0]) - (b.at - before[1]))
        if min(apart, since) > within_s:
            return place
        before = (a.at, b.at)
    return None


def _what(taken: Taken) -> tuple[str, str, str, str]:
    return taken.number, str(taken.source), str(taken.target), str(taken.reason)


def _difference(slot: str, start: float, one: Sequence[Taken], other: Sequence[Taken], place: int) -> Difference:
    a = one[place] if place < len(one) else None
    b = other[place] if place < len(other) else None
    return Difference(
        slot=slot,
        at_s=min(each.at for each in (a, b) if each is not None) - start,
        simulated=_text(a, start),
        real=_text(b, start),
        lines=tuple(_lines(start, one, other, place)),
    )


def _lines(start: float, one: Sequence[Taken], other: Sequence[Taken], place: int) -> Iterator[str]:
    first = max(0, place - _BEFORE)
    rows = [
        (index, _text(one[index] if index < len(one) else None, start), _text(
            other[index] if index < len(other) else None, start
        ))
        for index in range(first, min(place + _AFTER + 1, max(len(one), len(other))))
    ]  # fmt: skip
    width = max(len("simulation"), *(len(left) for _, left, _ in rows))
    yield f"  {'simulation':<{width}}   real daemons"
    if first:
        yield f"  … {first} alike before"
    for index, left, right in rows:
        yield f"{'>' if index == place else ' '} {left:<{width}} | {right}".rstrip()


def _text(taken: Taken | None, start: float) -> str:
    if taken is None:
        return ""
    return f"{shown(taken.at - start):>9} {taken.number:>3} {taken.source} → {taken.target}: {taken.reason}"
