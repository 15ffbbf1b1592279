"""The invariants of a slot: what is never otherwise, whatever events came in whatever order.

`violations` lists what is wrong with a state, one function a state; `check` raises on the first mistake. They are cheap
and always on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    State,
)
from roost.startd.transitions import TRANSITIONS
from roost.startd.work import Taken

_LISTED: Final = frozenset((row.number, row.source, row.target, row.reason) for row in TRANSITIONS)


_LEGAL: Final = frozenset(PAIRS)


def violations(state: SlotState) -> list[str]:
    """What is wrong with a state; empty for a sound one."""
    pair = state.pair
    if pair not in _LEGAL:
        return [f"{pair} is no legal pair"]
    return [*_anywhere(state), *_BY_STATE[state.state](state)]


def check(before: SlotState, after: SlotState, taken: Sequence[Taken]) -> None:
    """Raise AssertionError unless a step was sound."""
    found = violations(after)
    pair = before.pair
    for row in taken:
        if (row.number, row.source, row.target, row.reason) not in _LISTED:
            found.append(f"transition {row.number} is not in the table")
        if row.source != pair:
            found.append(f"transition {row.number} does not begin at {pair}")
        pair = row.target
    if pair != after.pair:
        found.append(f"no transition leads to {after.pair}")
    assert not found, f"{after.name} in {after.pair}: {'; '.join(found)}"


def _anywhere(state: SlotState) -> Iterator[str]:
    if state.deleted and (state.kind is not SlotKind.DYNAMIC or state.state not in (State.OWNER, State.UNCLAIMED)):
        yield "deleted, and not a free dynamic slot"
    if state.preempting is not None or state.pre_preempting is not None:
        ids = [
            claim.id.sequence for claim in (state.claim, state.preempting, state.pre_preempting) if claim is not None
        ]
        if len(set(ids)) != len(ids):
            yield "two claims have one id"
    held = state.state in (State.CLAIMED, State.PREEMPTING)
    if held != (state.claim.granted_at is not None):
        yield "a claim is granted exactly while the slot is Claimed or Preempting"
    if not held:
        yield from _not_held(state)
    if state.kind is SlotKind.PARTITIONABLE and held:
        yield "a partitionable slot is never claimed itself"
    if (state.match_until is not None) != _is_promised(state):
        yield "the match timer runs exactly while a match is waited for"
    if len(state.spent_s) != len(PAIRS):
        yield "the time spent is not told for each pair"
    if state.state not in (State.BACKFILL,) and state.destination is not None:
        yield "only backfill has a destination"


def _is_promised(state: SlotState) -> bool:
    return (
        state.state is State.MATCHED
        or state.destination is Destination.MATCHED
        or (state.preempting is not None and state.preempting.matched)
    )


def _not_held(state: SlotState) -> Iterator[str]:
    if state.claim.activation is not None:
        yield "a job without a claim"
    if state.preempting is not None or state.pre_preempting is not None:
        yield "a preempting claim without a claim"
    if state.eviction.irrevocable or state.eviction.hard:
        yield "an eviction without a claim"
    if state.claim.lease_until is not None or state.vacate_until is not None or state.kill_again_at is not None:
        yield "a deadline of a claim that is not there"
    if state.claim.request is not None and state.state is not State.BACKFILL:
        yield "a request that nobody answers"


def _owner(state: SlotState) -> Iterator[str]:
    if state.draining is not None and not state.deleted and state.kind is not SlotKind.DYNAMIC:
        yield "a free slot of a draining machine is Drained"


def _unclaimed(state: SlotState) -> Iterator[str]:
    if state.pair == BENCHMARKING and state.kind is SlotKind.DYNAMIC:
        yield "a dynamic slot measures nothing"
    yield from _owner(state)


def _claimed(state: SlotState) -> Iterator[str]:
    activation, pair = state.claim.activation, state.pair
    if (pair == CLAIMED) != (activation is None):
        yield "a starter is alive exactly while the claim is not idle"
    if state.preempting is None:
        yield "a claim without the id of a preempting one"
    if (state.waiting is not None) != (state.pre_preempting is not None):
        yield "the third claim has an id exactly while the second waits"
    if activation is not None and (activation.suspended_since is not None) != (pair == SUSPENDED):
        yield "a job is suspended exactly while the slot is"
    if activation is not None and (activation.running_since is None) == (activation.suspended_since is None):
        yield "a job either runs or is suspended"
    if pair == BUSY and state.eviction.irrevocable:
        yield "a claim that is to end goes on"
    if pair == CLEANING and activation is not None and not activation.ended:
        yield "cleaning up after a job that has not ended"


def _preempting(state: SlotState) -> Iterator[str]:
    activation = state.claim.activation
    if activation is None:
        yield "nothing to wait for"
    elif activation.soft_killed_at is None and activation.hard_killed_at is None:
        yield "a job that nobody asked to leave"
    elif state.vacate_until is None and state.kill_again_at is None:
        yield "no end of waiting for the starter"


def _backfill(state: SlotState) -> Iterator[str]:
    if state.pair == BACKFILL_KILLING and state.destination is None:
        yield "backfill is killed for nothing"
    if state.pair == BACKFILL and state.destination is not None:
        yield "backfill is gone and the slot does not go on"


def _drained(state: SlotState) -> Iterator[str]:
    if state.draining is None:
        yield "drained without a drain"


def _nothing(state: SlotState) -> Iterator[str]:
    yield from ()


_BY_STATE: Final = {
    State.OWNER: _owner,
    State.UNCLAIMED: _unclaimed,
    State.MATCHED: _nothing,
    State.CLAIMED: _claimed,
    State.PREEMPTING: _preempting,
    State.BACKFILL: _backfill,
    State.DRAINED: _drained,
}
