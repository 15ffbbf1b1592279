"""The invariants of every starter between two steps; a violation is a bug in this room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from roost.starter.starter_state import Deadlines, StarterState
from roost.starter.states import (
    CHECKPOINTING,
    JOB_STATES,
    PAIRS,
    SUSPENDED,
    SUSPENDED_CHECKPOINTING,
    VACATING_CHECKPOINTING,
    WITH_PROCESS,
    Pair,
    State,
)
from roost.starter.work import StarterTaken, times

_SAVING: Final = frozenset((CHECKPOINTING, SUSPENDED_CHECKPOINTING, VACATING_CHECKPOINTING))
_ENDING: Final = frozenset((State.VACATING, State.KILLING))
_AROUND: Final = frozenset((State.PREPARING, State.FINISHING))
_NO_TIMES: Final = times(Deadlines())


def check(before: StarterState, after: StarterState, taken: Sequence[StarterTaken]) -> None:
    """Raise AssertionError with the invariants that do not hold."""
    pair = after.pair
    found = _breaches(after, pair)
    if not _leads(before.pair, pair, taken):
        found.append("the transitions do not lead from the old state to the new one")
    assert not found, f"{before.pair} to {after.pair}: {'; '.join(found)}"


def _leads(pair: Pair, reached: Pair, taken: Sequence[StarterTaken]) -> bool:
    for row in taken:
        if row.source is not pair and row.source != pair:
            return False
        pair = row.target
    return pair is reached or pair == reached


_LEGAL: Final = frozenset(PAIRS)


def breaches(state: StarterState) -> list[str]:
    """The invariants that do not hold, in words."""
    return _breaches(state, state.pair)


def _breaches(state: StarterState, pair: Pair) -> list[str]:
    deadlines = state.deadlines
    found: list[str] = []
    if pair not in _LEGAL:
        found.append(f"{pair} is not a legal pair")
    if state.process is not (pair in WITH_PROCESS):
        found.append("a process of the job is expected where there is none, or not where there is one")
    if state.run == 0 and state.state in JOB_STATES and pair.stage.value != "Unstarted":
        found.append("a job that was never started")
    if state.frozen is not (pair == SUSPENDED):
        found.append("stopped processes and Suspended do not go together")
    if (state.state is State.KILLING) is not (deadlines.kill_again_at is not None):
        found.append("the killing timer runs outside Killing, or not in it")
    if deadlines.vacate_until is not None and state.state is not State.VACATING:
        found.append("the vacate timer runs outside Vacating")
    if state.cause is None and state.state in _ENDING:
        found.append("a job is leaving without a cause")
    if state.doing is None and state.state in _AROUND and pair.stage.value != "Start":
        found.append("a stage waits for nothing")
    if state.doing is None and pair in _SAVING:
        found.append("a saved state is not being moved")
    if state.state is State.DONE and (state.doing is not None or times(deadlines) != _NO_TIMES):
        found.append("something is waited for after the end")
    return found
