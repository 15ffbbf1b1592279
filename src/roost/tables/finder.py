"""The first row whose triggers and guards allow it, where guards evaluate policy.

The machines of slots and of starters search their tables so. What a table's rows are, and what taking one does, is
theirs; how the row is found is here. It is the innermost loop of everything that is simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Set
from enum import Enum
from functools import cache
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, TypeVar

from roost.policy.decision import Decision
from roost.tables.rows import Row


class Verdict(NamedTuple):
    """What a guard found."""

    holds: bool
    decisions: tuple[Decision, ...] = ()


YES: Final = Verdict(True)
NO: Final = Verdict(False)


def plain(holds: bool) -> Verdict:
    """Of a guard that asks for no expression."""
    return YES if holds else NO


class Work(Protocol):
    """A step in progress, as far as finding a row goes."""

    @property
    def state(self) -> Any:
        """Whose `pair` says which rows there are."""

    @property
    def raised(self) -> Set[Any]:
        """Triggers for the first row of the step."""

    @property
    def evaluating(self) -> bool:
        """Whether the policy is evaluated."""


_Row = TypeVar("_Row", bound=Row)
_Work = TypeVar("_Work", bound=Work)
_Pair = TypeVar("_Pair", bound=Hashable)
_Guard = TypeVar("_Guard", bound=Enum)
#: A row and the functions of its guards.
_Tried: TypeAlias = tuple[_Row, tuple[Callable[[_Work], Verdict], ...]]


def row_finder(
    rows: Mapping[_Pair, tuple[_Row, ...]],
    guards: Mapping[_Guard, Callable[[_Work], Verdict]],
    *,
    always: Enum,
    evaluating: Enum,
) -> Callable[[_Work], tuple[_Row, tuple[Decision, ...]] | None]:
    """A function that gives the row to be taken in a step, with the evaluations that decided; None for none.

    `always` is the trigger that is always there, `evaluating` the one of evaluating the policy.
    """
    coupled = frozenset({always})
    polled = frozenset({always, evaluating})

    def triggered(pair: _Pair, triggers: frozenset[Enum]) -> tuple[_Tried[_Row, _Work], ...]:
        return tuple(
            (row, tuple(guards[guard] for guard in row.when)) for row in rows[pair] if not triggers.isdisjoint(row.on)
        )

    by_coupling = {pair: triggered(pair, coupled) for pair in rows}
    by_polling = {pair: triggered(pair, polled) for pair in rows}

    @cache
    def by_triggers(pair: _Pair, raised: frozenset[Enum], evaluates: bool) -> tuple[_Tried[_Row, _Work], ...]:
        """There are few sets of them."""
        return triggered(pair, raised | (polled if evaluates else coupled))

    def first_row(work: _Work) -> tuple[_Row, tuple[Decision, ...]] | None:
        pair = work.state.pair
        if work.raised:
            found = by_triggers(pair, frozenset(work.raised), work.evaluating)
        else:
            found = (by_polling if work.evaluating else by_coupling)[pair]
        for row, conditions in found:
            decisions: tuple[Decision, ...] = ()
            for condition in conditions:
                holds, asked = condition(work)
                if asked:
                    decisions += asked
                if not holds:
                    break
            else:
                return row, decisions
        return None

    return first_row
