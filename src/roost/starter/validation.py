"""What holds of every starter between two steps; a breach is a mistake in this room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from roost.starter.starter_state import StarterState
from roost.starter.states import (
    CHECKPOINTING,
    JOB_STATES,
    PAIRS,
    SUSPENDED,
    SUSPENDED_CHECKPOINTING,
    VACATING_CHECKPOINTING,
    WITH_PROCESS,
    State,
)
from roost.starter.work import Taken

_SAVING = frozenset((CHECKPOINTING, SUSPENDED_CHECKPOINTING, VACATING_CHECKPOINTING))


def check(before: StarterState, after: StarterState, taken: Sequence[Taken]) -> None:
    """Raise AssertionError with what does not hold."""
    found = [*_chain(before, after, taken), *breaches(after)]
    assert not found, f"{before.pair} to {after.pair}: {'; '.join(found)}"


def _chain(before: StarterState, after: StarterState, taken: Sequence[Taken]) -> Iterator[str]:
    pairs = [before.pair, *(row.target for row in taken)]
    if [row.source for row in taken] != pairs[:-1] or pairs[-1] != after.pair:
        yield "the transitions do not lead from the old state to the new one"


_LEGAL: Final = frozenset(PAIRS)


def breaches(state: StarterState) -> Iterator[str]:
    """What does not hold of a starter, in words."""
    pair, times = state.pair, state.deadlines
    if pair not in _LEGAL:
        yield f"{pair} is no legal pair"
    if state.process is not (pair in WITH_PROCESS):
        yield "a process of the job is expected where there is none, or not where there is one"
    if state.state in JOB_STATES and state.run == 0 and pair.stage.value != "Unstarted":
        yield "a job that was never started"
    if state.frozen is not (pair == SUSPENDED):
        yield "stopped processes and Suspended do not go together"
    if (state.state is State.KILLING) is not (times.kill_again_at is not None):
        yield "the killing timer runs outside Killing, or not in it"
    if times.vacate_until is not None and state.state is not State.VACATING:
        yield "the vacate timer runs outside Vacating"
    if state.state in (State.VACATING, State.KILLING) and state.cause is None:
        yield "a job is got rid of without a cause"
    if state.state in (State.PREPARING, State.FINISHING) and state.doing is None and pair.stage.value != "Start":
        yield "a stage waits for nothing"
    if pair in _SAVING and state.doing is None:
        yield "a saved state is not being moved"
    if state.state is State.DONE and (state.doing is not None or any(_deadlines(state))):
        yield "something is waited for after the end"


def _deadlines(state: StarterState) -> Iterator[bool]:
    times = state.deadlines
    for at in (
        times.poll_at,
        times.update_at,
        times.vacate_until,
        times.kill_again_at,
        times.hook_until,
        times.finish_until,
        times.deferred_until,
    ):
        yield at is not None
