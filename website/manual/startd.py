"""The generated blocks of the pages on slots: states and transitions, and problems with a layout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from roost.base.diagnostics import code_table
from roost.startd.layout.problems import CODES
from roost.startd.states import PAIRS, Activity, Pair, State
from roost.startd.transitions import TRANSITIONS, Transition
from roost.tables.pages import diagram, table

_STATES: Final = {
    State.OWNER: "The machine's owner is using it, or it must not run jobs for another reason. Every slot "
    "begins in this state.",
    State.UNCLAIMED: "It would run a job, but no queue has claimed it yet. Benchmarks are run from here.",
    State.MATCHED: "The negotiator has promised it to a queue that has not requested it yet. No other queue "
    "can claim it.",
    State.CLAIMED: "A queue, or work that a hook fetched, holds it for one job after another.",
    State.PREEMPTING: "A claim is being ended: the job has been told to leave (Vacating) or is being killed (Killing).",
    State.BACKFILL: "It runs the machine's backfill work, and can be claimed at any time.",
    State.DRAINED: "It has been emptied to drain the machine. Retiring: other slots are not empty yet. Idle: all are.",
}

_CLAIMED: Final = {
    Activity.IDLE: "no job runs",
    Activity.BUSY: "a job runs",
    Activity.SUSPENDED: "the job is suspended and keeps its claim",
    Activity.RETIRING: "the job runs on, and the claim ends when it does or when its retirement is over",
    Activity.CLEANING: "the job has ended; its starter has not exited yet",
}


def blocks() -> dict[str, dict[str, Iterable[str]]]:
    """Page below docs/ to its blocks: name to lines."""
    transitions = (_table(state) for state in State)
    return {
        "concepts/slot-states.md": {"states": _states(), "diagram": [_diagram()], "transitions": transitions},
        "concepts/slots.md": {"problems": code_table(CODES)},
    }


def _states() -> Iterator[str]:
    yield "| State | Activities | |\n|---|---|---|"
    rows = []
    for state in State:
        activities = ", ".join(pair.activity for pair in PAIRS if pair.state is state)
        rows.append(f"| {state} | {activities} | {_STATES[state]} |")
    yield "\n".join(rows) + "\n"
    claimed = "; ".join(f"**{activity}**: {meaning}" for activity, meaning in _CLAIMED.items())
    yield f"Within Claimed, {claimed}.\n"


def _diagram() -> str:
    states = []
    for state in State:
        states.append(f"    state {state} {{")
        states += [f"        {_name(pair)} : {pair.activity}" for pair in PAIRS if pair.state is state]
        states.append("    }")
    return "\n".join([*diagram(_edges(), start=("Owner_Idle",), states=states), ""])


def _edges() -> list[tuple[str, str, str]]:
    """The arrows of the diagram: from, to and label.

    A transition from all activities of a state, or to all of them, is one arrow of the whole state. Arrows are in the
    order of the states that they lead to: drawn so, their labels do not cover each other.
    """
    order = list(State)
    rows = {
        (row.source, row.target, f"{row.number} ({row.letter})" if row.letter else row.number) for row in TRANSITIONS
    }

    def place(row: tuple[Pair, Pair, str]) -> tuple[int, int, int, int, str]:
        source, target, label = row
        states = order.index(target.state), order.index(source.state)
        return *states, PAIRS.index(source), PAIRS.index(target), label

    found = []
    for source, target, label in sorted(rows, key=place):
        begin, end = _name(source), _name(target)
        if source.state is not target.state:
            if all((each, target, label) in rows for each in _pairs(source.state)):
                begin = _whole(source)
            if all((source, each, label) in rows for each in _pairs(target.state)):
                end = _whole(target)
        found.append((begin, end, label))
    return list(dict.fromkeys(found))


def _pairs(state: State) -> list[Pair]:
    return [pair for pair in PAIRS if pair.state is state]


def _whole(pair: Pair) -> str:
    """The name of the state of a pair; of the pair where it is the only one."""
    return str(pair.state) if len(_pairs(pair.state)) > 1 else _name(pair)


def _name(pair: Pair) -> str:
    return f"{pair.state}_{pair.activity}"


def _table(state: State) -> str:
    rows = (_line(row) for row in TRANSITIONS if row.source.state is state)
    lines = table(("#", "", "From", "To", "When", "What is done"), rows)
    return "\n".join([f"### From {state}", "", *lines, ""])


def _line(row: Transition) -> tuple[object, ...]:
    when = " or ".join(row.on)
    if row.when:
        when += ": " + ", and ".join(row.when)
    done = "; ".join(row.entry) or "–"
    return row.number, row.letter, row.source, row.target, when, done
