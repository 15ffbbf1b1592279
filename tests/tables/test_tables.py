"""What holds of every table of transitions: nothing in it is unreachable, hidden, or named and not there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final, cast

import pytest

from roost.dag import rules, table
from roost.dag.states import NodeState
from roost.schedd.claims import claim_transitions as claim
from roost.schedd.claims.held_claims import Stage
from roost.schedd.jobs import job_transitions as job
from roost.schedd.status import JobStatus
from roost.startd import entries as slot_entries
from roost.startd import guards as slot_guards
from roost.startd import states as slots
from roost.startd import transitions as slot
from roost.starter import entries as starter_entries
from roost.starter import guards as starter_guards
from roost.starter import states as starters
from roost.starter import transitions as starter
from roost.tables.finder import Verdict, row_finder
from roost.tables.pages import diagram
from roost.tables.pages import table as page_table
from roost.tables.rows import by_source, flaws, unused


@dataclass(frozen=True)
class Table:
    """A table, and what its rows name."""

    rows: tuple[Any, ...]
    states: tuple[Any, ...]
    start: frozenset[Any]
    ends: frozenset[Any]
    on: type[Enum]
    guard: type[Enum]
    guards: frozenset[Any]
    entry: type[Enum] | None = None
    entries: frozenset[Any] = frozenset()


class NoGuard(Enum):
    """Of a table without guards."""


TABLES: Final = {
    "slot": Table(
        slot.TRANSITIONS, slots.PAIRS, frozenset((slots.OWNER,)), frozenset(), slot.On, slot.Guard,
        frozenset(slot_guards.GUARDS), slot.Entry, frozenset(slot_entries.ENTRIES),
    ),
    "starter": Table(
        starter.TRANSITIONS, starters.PAIRS, frozenset((starters.SANDBOX,)), frozenset((starters.DONE,)), starter.On,
        starter.Guard, frozenset(starter_guards.GUARDS), starter.Entry, frozenset(starter_entries.ENTRIES),
    ),
    "node": Table(
        table.ROWS, tuple(NodeState), frozenset((NodeState.NOT_READY,)),
        frozenset((NodeState.DONE, NodeState.ERROR, NodeState.FUTILE)), table.On, table.Guard, frozenset(rules.GUARDS),
        table.Entry, frozenset(rules.ENTRIES),
    ),
    "job": Table(
        job.TRANSITIONS, tuple(JobStatus), job.START, frozenset((JobStatus.GONE,)), job.On, job.Guard,
        frozenset(job.GUARDS),
    ),
    "claim": Table(
        claim.CLAIM_TRANSITIONS, tuple(Stage), claim.CLAIM_START, frozenset((Stage.OVER,)), claim.ClaimOn, NoGuard,
        frozenset(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_no_flaw(name: str) -> None:
    each = TABLES[name]
    assert flaws(each.rows, states=each.states, start=each.start, ends=each.ends) == []


@pytest.mark.parametrize("name", TABLES)
def test_every_word_of_a_table_stands_in_a_row_and_has_a_function(name: str) -> None:
    each = TABLES[name]
    assert unused(each.on, (row.on for row in each.rows)) == set()
    assert unused(each.guard, (row.when for row in each.rows)) == set()
    assert each.guards == set(each.guard)
    if each.entry is not None:
        assert unused(each.entry, (row.entry for row in each.rows)) == set()
        assert each.entries == set(each.entry)


@dataclass(frozen=True)
class Toy:
    """A row of a lamp."""

    number: int
    source: str
    target: str
    on: tuple[str, ...]
    when: tuple[str, ...] = ()


LAMP: Final = (Toy(1, "off", "on", ("press", "voice"), ("power",)), Toy(2, "on", "off", ("press",)))


def test_rows_are_looked_up_by_state() -> None:
    first, second = LAMP
    assert by_source(LAMP, ("off", "on", "broken")) == {"off": (first,), "on": (second,), "broken": ()}


class Press(Enum):
    """What makes a row of a door be tried."""

    PUSH = "push"
    PULL = "pull"
    LOOK = "look"
    DRAUGHT = "draught"


@pytest.mark.parametrize("weight", [0, 1, 2])
@pytest.mark.parametrize("raised", [(), (Press.PUSH,), (Press.PULL,), (Press.PULL, Press.PUSH)])
@pytest.mark.parametrize("looks", [False, True])
def test_the_first_row_is_taken_that_has_a_trigger_and_whose_guards_hold(
    weight: int, raised: tuple[Press, ...], looks: bool
) -> None:
    light, heavy = cast("Any", "light"), cast("Any", "heavy")
    guards = {
        Press.PUSH: lambda found: Verdict(found < 1, (light,)),
        Press.PULL: lambda found: Verdict(found < 2, (heavy,)),
    }
    rows: Any = (
        Toy(1, "shut", "open", (Press.PUSH,), (Press.PULL, Press.PUSH)),  # type: ignore[arg-type]
        Toy(2, "shut", "ajar", (Press.PULL, Press.PUSH), (Press.PULL,)),  # type: ignore[arg-type]
        Toy(3, "shut", "shut", (Press.LOOK,), (Press.PUSH,)),  # type: ignore[arg-type]
        Toy(4, "shut", "torn", (Press.DRAUGHT,)),  # type: ignore[arg-type]
    )
    find: Any = row_finder(by_source(rows, ("shut", "open")), guards, always=Press.DRAUGHT, evaluating=Press.LOOK)
    expected, why = rows[3], ()
    if looks and weight < 1:
        expected, why = rows[2], (light,)
    if raised and weight < 2:
        expected, why = rows[1], (heavy,)
    if Press.PUSH in raised and weight < 1:
        expected, why = rows[0], (heavy, light)
    assert find(weight, "shut", raised, looks) == (expected, why)
    assert find(weight, "open", raised, looks) is None
    assert row_finder(by_source(rows, ("shut",)), guards)(weight, "shut") is None


def test_flaws_of_a_table_are_found() -> None:
    def found(*rows: Toy, ends: frozenset[str] = frozenset()) -> list[str]:
        return flaws(rows, states=("off", "on"), start=frozenset(("off",)), ends=ends)

    first, second = LAMP
    assert found(*LAMP) == []
    assert found(first) == ["no row leads from on"]
    assert found(first, ends=frozenset(("on",))) == []
    assert found(*LAMP, ends=frozenset(("on",))) == ["a row leads from on, an end"]
    assert found(second, ends=frozenset(("off",))) == ["no row leads to on"]
    hidden = replace(first, number=3, on=("voice",), when=("power", "dark"))
    assert found(*LAMP, hidden) == ["row 3 from off is never taken: row 1 comes first"]
    assert found(hidden, *LAMP) == []


def test_a_diagram_has_one_arrow_for_a_pair_of_states() -> None:
    edges = [("off", "on", "press"), ("on", "off", "press"), ("off", "on", "voice"), ("off", "on", "press")]
    assert list(diagram(edges, start=("off",), ends=("on",))) == [
        "```mermaid",
        "stateDiagram-v2",
        "    [*] --> off",
        "    off --> on : press, voice",
        "    on --> off : press",
        "    on --> [*]",
        "```",
    ]


def test_a_table_of_a_page_has_a_line_for_each_row() -> None:
    assert list(page_table(("#", ""), [(1, "a"), (2, "")])) == ["| # |  |", "|---|---|", "| 1 | a |", "| 2 |  |"]
