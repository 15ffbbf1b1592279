"""The transitions of a claim as the queue sees it, as a table.

The state of a claim is its `Stage`. Each event raises one trigger (`ClaimOn`); `move_claim` takes the row of the
current stage, and nothing else changes the stage. A trigger without a row in a stage is an internal error, found before
the claim is changed. The machine's side of the same claim is the slot's table (`startd.transitions`).

Rules that do not fit the table
-------------------------------
* `HeldClaim.unwanted` marks a claim that is released after its current job; the stage stays.
* A claim that ends while the report of its run's end is still expected (`runs.claim_lost`) stays unchanged until the
  report has arrived.
* An answer to any question but the claim's last one is ignored (`HeldClaim.asked`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from roost.base.records import dataclass
from roost.schedd.claims.held_claims import HeldClaim, Stage
from roost.tables.finder import Finder, row_finder
from roost.tables.rows import by_source


class ClaimOn(StrEnum):
    """The triggers of a row."""

    GRANTED = "the machine grants it"
    REFUSED = "the machine refuses it"
    STARTED = "a run is ordered on it"
    RUN_ENDED = "the machine reports the end of the run"
    CONFIRMED = "the machine names the run that the queue has on record"
    GIVEN_BACK = "the queue no longer needs it"
    LOST = "it has ended on the machine, was withdrawn, or its machine is not responding"


class ClaimReason(StrEnum):
    """The reason of a transition."""

    MACHINE = "machine"
    QUEUE = "queue"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimTransition:
    """One row; no row of a claim has guards."""

    number: int
    source: Stage
    target: Stage
    on: tuple[ClaimOn, ...]
    when: tuple[StrEnum, ...] = ()
    reason: ClaimReason


_S, _R = Stage, ClaimReason
_WRITTEN: Final[tuple[tuple[int, tuple[Stage, ...], Stage, ClaimOn, ClaimReason], ...]] = (
    (1, (_S.ASKED,), _S.IDLE, ClaimOn.GRANTED, _R.MACHINE),
    (2, (_S.ASKED,), _S.OVER, ClaimOn.REFUSED, _R.MACHINE),
    (3, (_S.IDLE,), _S.RUNNING, ClaimOn.STARTED, _R.QUEUE),
    (4, (_S.RUNNING, _S.UNSURE), _S.IDLE, ClaimOn.RUN_ENDED, _R.MACHINE),
    (5, (_S.UNSURE,), _S.RUNNING, ClaimOn.CONFIRMED, _R.MACHINE),
    # A running claim: the machine refused the run.
    (6, (_S.IDLE, _S.RUNNING, _S.UNSURE), _S.OVER, ClaimOn.GIVEN_BACK, _R.QUEUE),
    (7, (_S.ASKED, _S.IDLE, _S.RUNNING, _S.UNSURE), _S.OVER, ClaimOn.LOST, _R.MACHINE),
)

#: All rows.
CLAIM_TRANSITIONS: Final[tuple[ClaimTransition, ...]] = tuple(
    ClaimTransition(number=number, source=source, target=target, on=(on,), reason=reason)
    for number, sources, target, on, reason in _WRITTEN
    for source in sources
)

#: The initial stages of a claim: requested, or found on record when the queue starts.
CLAIM_START: Final = frozenset((Stage.ASKED, Stage.UNSURE))

_first_row: Final[Finder[ClaimTransition, HeldClaim]] = row_finder(by_source(CLAIM_TRANSITIONS, Stage), {})


def move_claim(claim: HeldClaim, on: ClaimOn) -> None:
    """Take the row that a trigger leads to. Raises AssertionError if there is none: a bug in this room."""
    found = _first_row(claim, claim.stage, (on,))
    if found is None:
        raise AssertionError(f"claim of {claim.slot} is {claim.stage}: no transition where {on}")
    claim.stage = found[0].target
