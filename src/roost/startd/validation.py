"""The invariants of a slot: what holds after any sequence of events.

`violations` lists what is wrong with a state, with one function per state; `check` raises on the first violation. The
checks are cheap and always on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from roost.model.slots import SlotKind
from roost.startd.slot_state import Destination, SlotState
from roost.startd.states import (
    BACKFILL,
    BACKFILL_KILLING,
    BENCHMARKING,
    BUSY,
    CLAIMED,
    CLEANING,
    PAIRS,
    SUSPENDED,
    Pair,
    State,
)
from roost.startd.transitions import TRANSITIONS
from roost.startd.work import Taken

_LISTED: Final = frozenset((row.number, row.source, row.target, row.reason) for row in TRANSITIONS)


_LEGAL: Final = frozenset(PAIRS)
_HELD: Final = frozenset((State.CLAIMED, State.PREEMPTING))


def violations(state: SlotState) -> list[str]:
    """What is wrong with a state; empty for a valid one."""
    return _violations(state, state.pair)


def _violations(state: SlotState, pair: Pair) -> list[str]:
    if pair not in _LEGAL:
        return [f"{pair} is not a legal pair"]
    found: list[str] = []
    _look_anywhere(state, found)
    _BY_STATE[state.state](state, pair, found)
    return found


def check(before: SlotState, after: SlotState, taken: Sequence[Taken]) -> None:
    """Raise AssertionError unless a step was valid."""
    pair, reached = before.pair, after.pair
    found = _violations(after, reached)
    for row in taken:
        if (row.number, row.source, row.target, row.reason) not in _LISTED:
            found.append(f"transition {row.number} is not in the table")
        if row.source is not pair and row.source != pair:
            found.append(f"transition {row.number} does not begin at {pair}")
        pair = row.target
    if pair is not reached and pair != reached:
        found.append(f"no transition leads to {reached}")
    assert not found, f"{after.name} in {reached}: {'; '.join(found)}"


def _look_anywhere(state: SlotState, found: list[str]) -> None:
    may_go = state.kind is SlotKind.DYNAMIC or state.leaving is not None
    if state.deleted and (not may_go or state.state not in (State.OWNER, State.UNCLAIMED)):
        found.append("deleted, and not a free dynamic or leaving slot")
    held = state.state in _HELD
    if held != (state.claim.granted_at is not None):
        found.append("a claim is granted exactly while the slot is Claimed or Preempting")
    if held:
        _check_ids(state, found)
    else:
        _check_free(state, found)
    if held and state.kind is SlotKind.PARTITIONABLE:
        found.append("a partitionable slot is never claimed itself")
    if (state.match_until is not None) != _is_promised(state):
        found.append("the match timer runs exactly while a match is waited for")
    if len(state.spent_s) != len(PAIRS):
        found.append("the time spent is not told for each pair")
    if state.destination is not None and state.state is not State.BACKFILL:
        found.append("only backfill has a destination")


def _is_promised(state: SlotState) -> bool:
    if state.preempting is not None:
        return state.preempting.matched
    return state.state is State.MATCHED or state.destination is Destination.MATCHED


def _check_ids(state: SlotState, found: list[str]) -> None:
    first, second, third = state.claim, state.preempting, state.pre_preempting
    if (second is not None and second.id.sequence == first.id.sequence) or (
        third is not None
        and (third.id.sequence == first.id.sequence or (second is not None and third.id.sequence == second.id.sequence))
    ):
        found.append("two claims have one id")


def _check_free(state: SlotState, found: list[str]) -> None:
    if state.claim.activation is not None:
        found.append("a job without a claim")
    if state.preempting is not None or state.pre_preempting is not None:
        found.append("a preempting claim without a claim")
    if state.eviction.irrevocable or state.eviction.hard:
        found.append("an eviction without a claim")
    if state.claim.lease_until is not None or state.vacate_until is not None or state.kill_again_at is not None:
        found.append("a deadline of a claim that does not exist")
    if state.claim.request is not None and state.state is not State.BACKFILL:
        found.append("a request without an answer")


def _check_owner(state: SlotState, pair: Pair, found: list[str]) -> None:
    if state.draining is not None and not state.deleted and state.kind is not SlotKind.DYNAMIC:
        found.append("a free slot of a draining machine is Drained")


def _check_unclaimed(state: SlotState, pair: Pair, found: list[str]) -> None:
    if pair == BENCHMARKING and state.kind is SlotKind.DYNAMIC:
        found.append("a dynamic slot measures nothing")
    _check_owner(state, pair, found)


def _check_claimed(state: SlotState, pair: Pair, found: list[str]) -> None:
    activation = state.claim.activation
    if (pair == CLAIMED) != (activation is None):
        found.append("a starter is alive exactly while the claim is not idle")
    if state.preempting is None:
        found.append("a claim without the id of a preempting one")
    if (state.waiting is not None) != (state.pre_preempting is not None):
        found.append("the third claim has an id exactly while the second waits")
    if activation is not None and (activation.suspended_since is not None) != (pair == SUSPENDED):
        found.append("a job is suspended exactly while the slot is")
    if activation is not None and (activation.running_since is None) == (activation.suspended_since is None):
        found.append("a job either runs or is suspended")
    if pair == BUSY and state.eviction.irrevocable:
        found.append("a claim that is to end goes on")
    if pair == CLEANING and activation is not None and not activation.ended:
        found.append("cleaning up after a job that has not ended")


def _check_preempting(state: SlotState, pair: Pair, found: list[str]) -> None:
    activation = state.claim.activation
    if activation is None:
        found.append("nothing to wait for")
    elif activation.soft_killed_at is None and activation.hard_killed_at is None:
        found.append("a job that was not asked to leave")
    elif state.vacate_until is None and state.kill_again_at is None:
        found.append("no end of waiting for the starter")


def _check_backfill(state: SlotState, pair: Pair, found: list[str]) -> None:
    if pair == BACKFILL_KILLING and state.destination is None:
        found.append("backfill is killed for nothing")
    if pair == BACKFILL and state.destination is not None:
        found.append("backfill is gone and the slot does not go on")


def _check_drained(state: SlotState, pair: Pair, found: list[str]) -> None:
    if state.draining is None:
        found.append("drained without a drain")


def _check_nothing(state: SlotState, pair: Pair, found: list[str]) -> None:
    """No further invariants apply there."""


_BY_STATE: Final = {
    State.OWNER: _check_owner,
    State.UNCLAIMED: _check_unclaimed,
    State.MATCHED: _check_nothing,
    State.CLAIMED: _check_claimed,
    State.PREEMPTING: _check_preempting,
    State.BACKFILL: _check_backfill,
    State.DRAINED: _check_drained,
}
