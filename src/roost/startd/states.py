"""The states and activities of a slot, and the legal pairs of them.

The names are those of the slot's ad (State, Activity); the order of the members is the order in which lists and
statistics show them. `Claimed/Cleaning`, in which the slot only waits for its starter's end, is the one pair that
classic manuals lack.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple


class State(StrEnum):
    """The role of a slot at the moment."""

    OWNER = "Owner"
    UNCLAIMED = "Unclaimed"
    MATCHED = "Matched"
    CLAIMED = "Claimed"
    PREEMPTING = "Preempting"
    BACKFILL = "Backfill"
    DRAINED = "Drained"


class Activity(StrEnum):
    """The activity of a slot within its state."""

    IDLE = "Idle"
    BUSY = "Busy"
    RETIRING = "Retiring"
    VACATING = "Vacating"
    SUSPENDED = "Suspended"
    BENCHMARKING = "Benchmarking"
    KILLING = "Killing"
    CLEANING = "Cleaning"


class Pair(NamedTuple):
    """A state with an activity."""

    state: State
    activity: Activity

    def __str__(self) -> str:
        return f"{self.state}/{self.activity}"


OWNER: Final = Pair(State.OWNER, Activity.IDLE)
UNCLAIMED: Final = Pair(State.UNCLAIMED, Activity.IDLE)
BENCHMARKING: Final = Pair(State.UNCLAIMED, Activity.BENCHMARKING)
MATCHED: Final = Pair(State.MATCHED, Activity.IDLE)
CLAIMED: Final = Pair(State.CLAIMED, Activity.IDLE)
BUSY: Final = Pair(State.CLAIMED, Activity.BUSY)
SUSPENDED: Final = Pair(State.CLAIMED, Activity.SUSPENDED)
RETIRING: Final = Pair(State.CLAIMED, Activity.RETIRING)
CLEANING: Final = Pair(State.CLAIMED, Activity.CLEANING)
VACATING: Final = Pair(State.PREEMPTING, Activity.VACATING)
KILLING: Final = Pair(State.PREEMPTING, Activity.KILLING)
BACKFILL: Final = Pair(State.BACKFILL, Activity.IDLE)
BACKFILL_BUSY: Final = Pair(State.BACKFILL, Activity.BUSY)
BACKFILL_KILLING: Final = Pair(State.BACKFILL, Activity.KILLING)
DRAINED_RETIRING: Final = Pair(State.DRAINED, Activity.RETIRING)
DRAINED: Final = Pair(State.DRAINED, Activity.IDLE)

#: All legal pairs, in the order of states and of their usual sequence.
PAIRS: Final[tuple[Pair, ...]] = (
    OWNER,
    UNCLAIMED,
    BENCHMARKING,
    MATCHED,
    CLAIMED,
    BUSY,
    SUSPENDED,
    RETIRING,
    CLEANING,
    VACATING,
    KILLING,
    BACKFILL,
    BACKFILL_BUSY,
    BACKFILL_KILLING,
    DRAINED_RETIRING,
    DRAINED,
)

#: Pairs in which a job's starter may be alive.
WITH_STARTER: Final = frozenset((BUSY, SUSPENDED, RETIRING, CLEANING, VACATING, KILLING))
