"""The first row whose triggers and guards allow it. Every machine with a table looks up its rows here.

The machine decides what its rows are and what taking one does. A guard may evaluate policy, and returns the evaluations
with its answer (`Verdict`). This is the innermost loop of every simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
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
    """The result of a guard that evaluates no expression."""
    return YES if holds else NO


_Row = TypeVar("_Row", bound=Row, covariant=True)
_Subject = TypeVar("_Subject", contravariant=True)
_State = TypeVar("_State", bound=Hashable)
_Guard = TypeVar("_Guard", bound=Enum)
_AnyRow = TypeVar("_AnyRow", bound=Row)
_AnySubject = TypeVar("_AnySubject")
#: A row and the functions of its guards.
_Tried: TypeAlias = tuple[_AnyRow, tuple[Callable[[_AnySubject], Verdict], ...]]


class Finder(Protocol[_Row, _Subject]):
    """A compiled search of a table."""

    def __call__(
        self, subject: _Subject, state: Any, raised: Collection[Enum] = (), evaluates: bool = False, /
    ) -> tuple[_Row, tuple[Decision, ...]] | None:
        """Return the row to take from a state, and the evaluations that decided; None if no row applies.

        `subject`: what the guards examine; `raised`: the triggers; `evaluates`: whether to evaluate the policy.
        """


def row_finder(
    rows: Mapping[_State, tuple[_AnyRow, ...]],
    guards: Mapping[_Guard, Callable[[_AnySubject], Verdict]],
    *,
    always: Enum | None = None,
    evaluating: Enum | None = None,
) -> Finder[_AnyRow, _AnySubject]:
    """Compile the search of a table, by state. `guards`: each guard's function.

    `always` is the trigger that is always raised, `evaluating` the one raised when the policy is evaluated; None where
    the table has no such trigger.
    """
    coupled = frozenset[Enum]() if always is None else frozenset({always})
    polled = coupled if evaluating is None else coupled | {evaluating}

    def triggered(state: _State, triggers: frozenset[Enum]) -> tuple[_Tried[_AnyRow, _AnySubject], ...]:
        return tuple(
            (row, tuple(guards[guard] for guard in row.when)) for row in rows[state] if not triggers.isdisjoint(row.on)
        )

    by_coupling = {state: triggered(state, coupled) for state in rows}
    by_polling = {state: triggered(state, polled) for state in rows}

    @cache
    def by_triggers(
        state: _State, raised: frozenset[Enum], evaluates: bool
    ) -> tuple[_Tried[_AnyRow, _AnySubject], ...]:
        """Return a search that is cached by set of triggers. There are few such sets."""
        return triggered(state, raised | (polled if evaluates else coupled))

    def first_row(
        subject: _AnySubject, state: Any, raised: Collection[Enum] = (), evaluates: bool = False, /
    ) -> tuple[_AnyRow, tuple[Decision, ...]] | None:
        if raised:
            found = by_triggers(state, frozenset(raised), evaluates)
        else:
            found = (by_polling if evaluates else by_coupling)[state]
        for row, conditions in found:
            decisions: tuple[Decision, ...] = ()
            for condition in conditions:
                holds, asked = condition(subject)
                if asked:
                    decisions += asked
                if not holds:
                    break
            else:
                return row, decisions
        return None

    return first_row
