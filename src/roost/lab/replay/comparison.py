"""How a scenario on real daemons differs from the same scenario in simulation.

Compared are the statuses of each job in its queue with hold codes, the rows that each node of a DAG takes, and the
transitions of each slot in order: number, from, to and reason must be the same. Their times may differ by
`tolerance_s`, and so may the time since the preceding transition: in the simulation a message takes up to 25 ms and
matching follows that much later; a real pool matches at once, which shifts the rest of a job's run by as much. A change
that an idle machine detects by polling may be a whole polling interval later. Changes that shortly before the end may
be missing.

A claim may arrive before the notice of the match, so 6 with 9 counts as 5 and 32 with 9 as 31; the match of a slot from
which a dynamic slot is created (6, 8, 1) is ignored, as are the benchmarks that it ended if they start again (3).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final

from roost.base.records import replace
from roost.lab.inputs.durations import shown
from roost.lab.node_changes import NodeChange
from roost.lab.scenario.outcome import ReplayDifference
from roost.lab.scenario.values import Scenario
from roost.model.reasons import Reason
from roost.schedd.status import JobStatus
from roost.sim.queue.job_changes import JobChange
from roost.startd.timers import IDLE_LOOK_S
from roost.startd.work import Taken

#: Allowance in addition to a poll and a cycle: messages, and the death of a killed process, s.
_SLACK_S: Final = 3.0
#: Transitions shown before and after the first that differs.
_BEFORE: Final = 4
_AFTER: Final = 4

#: Transitions found by polls of an idle machine: a change that just misses one poll is found by the next.
_POLLED_SELDOM: Final = frozenset(("1", "2", "3", "7"))

#: A match to the single transition that replaces it and the claim if the claim was faster.
_AT_ONCE: Final = {"6": "5", "32": "31"}

#: Slot to its transitions.
Timelines = dict[str, list[Taken]]


def tolerance_s(scenario: Scenario, polling_s: float = 5.0) -> float:
    """The tolerance for times."""
    return polling_s + scenario.cycle_s + _SLACK_S


def timelines(taken: Iterable[tuple[str, Taken]]) -> Timelines:
    """Transitions by slot; a match and the following claim are merged."""
    found: Timelines = {}
    for slot, each in taken:
        mine = found.setdefault(slot, [])
        at_once = _AT_ONCE.get(mine[-1].number) if mine and each.number == "9" else None
        if at_once is not None:
            mine[-1] = replace(each, number=at_once, source=mine[-1].source)
        elif each.number == "3" and mine and mine[-1].number == "3":
            mine[-1] = each
        else:
            mine.append(each)
        if [row.number for row in mine[-3:]] == ["6", "8", "1"] and mine[-2].reason is Reason.CLAIM_MOVED:
            del mine[-3:]
    return found


def differences(
    scenario: Scenario, start: float, simulated: Iterable[tuple[str, Taken]], real: Iterable[tuple[str, Taken]]
) -> list[ReplayDifference]:
    """The first difference of each slot that has one."""
    ours, theirs = timelines(simulated), timelines(real)
    found = []
    for slot in sorted(ours | theirs):
        one, other = ours.get(slot, []), theirs.get(slot, [])
        place = _first(scenario, start, one, other)
        if place is not None:
            found.append(_difference(slot, start, one, other, place))
    return found


def job_differences(
    scenario: Scenario, start: float, simulated: Iterable[JobChange], real: Iterable[JobChange]
) -> list[ReplayDifference]:
    """The first difference of each job that has one."""
    return _differing(scenario, start, "job ", _by_job(simulated), _by_job(real))


def node_differences(
    scenario: Scenario, start: float, simulated: Iterable[NodeChange], real: Iterable[NodeChange]
) -> list[ReplayDifference]:
    """The first difference of each DAG and of each node that has one."""
    ours, theirs = _by_node(simulated), _by_node(real)
    return _differing(scenario, start, "", ours, theirs)


_Change = JobChange | NodeChange
#: Changes in the order of time.
_Changes = Sequence[_Change]


def _differing(
    scenario: Scenario, start: float, kind: str, ours: Mapping[str, _Changes], theirs: Mapping[str, _Changes]
) -> list[ReplayDifference]:
    found = []
    for name in sorted({*ours, *theirs}):
        one, other = ours.get(name, ()), theirs.get(name, ())
        place = _first_change(scenario, start, one, other)
        if place is not None:
            left, right = ([f"{shown(each.at - start):>9} {each}" for each in changes] for changes in (one, other))
            times = [changes[place].at for changes in (one, other) if place < len(changes)]
            found.append(_difference_of(f"{kind}{name}", min(times) - start, left, right, place))
    return found


def _by_node(changes: Iterable[NodeChange]) -> dict[str, list[NodeChange]]:
    found: dict[str, list[NodeChange]] = {}
    for each in changes:
        found.setdefault(f"{'node' if '.' in each.name else 'DAG'} {each.name}", []).append(each)
    return found


def _by_job(changes: Iterable[JobChange]) -> dict[str, list[JobChange]]:
    """Changes by job. Transferring output depends on its size, and counts as running."""
    found: dict[str, list[JobChange]] = {}
    for each in changes:
        status = JobStatus.RUNNING if each.status is JobStatus.TRANSFERRING_OUTPUT else each.status
        mine = found.setdefault(each.job, [])
        if not mine or mine[-1].status is not status:
            mine.append(replace(each, status=status))
    return found


def _first_change(scenario: Scenario, start: float, one: _Changes, other: _Changes) -> int | None:
    within_s = tolerance_s(scenario)
    before: tuple[float, float] | None = None
    pairs: Iterable[tuple[_Change | None, _Change | None]] = zip_longest(one, other)
    for place, (a, b) in enumerate(pairs):
        if a is None or b is None or str(a) != str(b):
            times = [each.at for each in (a, b) if each is not None]
            return place if min(times) < start + scenario.end_s - within_s else None
        apart = abs(a.at - b.at)
        since = apart if before is None else abs((a.at - before[0]) - (b.at - before[1]))
        if min(apart, since) > within_s + IDLE_LOOK_S:
            return place
        before = (a.at, b.at)
    return None


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


def _difference(slot: str, start: float, one: Sequence[Taken], other: Sequence[Taken], place: int) -> ReplayDifference:
    times = [taken[place].at for taken in (one, other) if place < len(taken)]
    left, right = ([_text(each, start) for each in taken] for taken in (one, other))
    return _difference_of(slot, min(times) - start, left, right, place)


def _difference_of(slot: str, at_s: float, one: list[str], other: list[str], place: int) -> ReplayDifference:
    return ReplayDifference(
        slot=slot,
        at_s=at_s,
        simulated=one[place] if place < len(one) else "",
        real=other[place] if place < len(other) else "",
        lines=tuple(_lines(one, other, place)),
    )


def _lines(one: list[str], other: list[str], place: int) -> Iterator[str]:
    first = max(0, place - _BEFORE)
    rows = [
        (index, one[index] if index < len(one) else "", other[index] if index < len(other) else "")
        for index in range(first, min(place + _AFTER + 1, max(len(one), len(other))))
    ]
    width = max(len("simulation"), *(len(left) for _, left, _ in rows))
    yield f"  {'simulation':<{width}}   real daemons"
    if first:
        yield f"  … {first} alike before"
    for index, left, right in rows:
        yield f"{'>' if index == place else ' '} {left:<{width}} | {right}".rstrip()


def _text(taken: Taken, start: float) -> str:
    return f"{shown(taken.at - start):>9} {taken.number:>3} {taken.source} → {taken.target}: {taken.reason}"
