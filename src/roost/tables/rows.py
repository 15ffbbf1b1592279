"""The rows of a table: their fields, their lookup, and the flaws that a table can have."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Set
from enum import Enum
from typing import Any, Protocol, TypeVar


class Row(Protocol):
    """A row, reduced to the fields that every table has."""

    @property
    def number(self) -> Any:
        """The number used in the documentation; several rows may share one."""

    @property
    def source(self) -> Any:
        """The state that it leads from."""

    @property
    def target(self) -> Any:
        """The state that it leads to."""

    @property
    def on(self) -> tuple[Any, ...]:
        """Triggers; any one is enough."""

    @property
    def when(self) -> tuple[Any, ...]:
        """Guards, all of which must hold."""


_Row = TypeVar("_Row", bound=Row)
_State = TypeVar("_State", bound=Hashable)


def by_source(rows: Iterable[_Row], states: Iterable[_State]) -> Mapping[_State, tuple[_Row, ...]]:
    """Return the rows that lead from each state, in table order."""
    rows = tuple(rows)
    return {state: tuple(row for row in rows if row.source == state) for state in states}


def flaws(rows: Iterable[Row], *, states: Iterable[Any], start: Set[Any], ends: Set[Any]) -> list[str]:
    """Return the flaws of a table, one sentence each.

    `start`: the states in which a machine begins; `ends`: its final states.
    """
    rows, states = tuple(rows), tuple(states)
    targets, sources = {row.target for row in rows}, {row.source for row in rows}
    found = [f"no row leads to {state}" for state in states if state not in targets and state not in start]
    found += [f"no row leads from {state}" for state in states if state not in sources and state not in ends]
    found += [f"a row leads from {state}, an end" for state in states if state in sources and state in ends]
    return [*found, *_never_taken(rows)]


def unused(words: type[Enum], used: Iterable[tuple[Enum, ...]]) -> set[Enum]:
    """Return the triggers, guards or entries that no row of a table names."""
    return set(words) - {word for each in used for word in each}


def _never_taken(rows: tuple[Row, ...]) -> Iterator[str]:
    for place, row in enumerate(rows):
        for earlier in rows[:place]:
            hides = set(row.on) <= set(earlier.on) and set(earlier.when) <= set(row.when)
            if earlier.source == row.source and hides:
                yield f"row {row.number} from {row.source} is never taken: row {earlier.number} comes first"
