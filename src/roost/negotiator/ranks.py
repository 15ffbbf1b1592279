"""Which of several slots is best for a job: the sort key, defined only here.

The best slot is the lexicographic maximum of NEGOTIATOR_PRE_JOB_RANK, the job's Rank, NEGOTIATOR_POST_JOB_RANK, the
state (unused before preempted by rank before preempted by priority), and PREEMPTION_RANK where a claim is preempted;
among equal slots, the first. The matchmaker's ranks count as minus infinity where they are not numbers, the job's as 0.

A `Listing` is the best slots for a request in that order: all of them, or only those above a floor. PREEMPTION_RANK
does not count in it, since it depends on users' priorities, which always change; so slots that differ only in it are on
the same side of the floor.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from roost.base.records import dataclass, field
from roost.classad.vector.kinds import Array

#: How a match affects the current user of the slot; higher is better.
UNUSED: Final = 2.0
BY_RANK: Final = 1.0
BY_PRIORITY: Final = 0.0

PREEMPTS: Final = {UNUSED: "none", BY_RANK: "rank", BY_PRIORITY: "prio"}

#: Rows of the key: before, job's, after, state.
KEYS: Final = 4

#: Above this many values, a sample selects the candidates.
SAMPLED_MIN: Final = 4096

_NO_ROWS: Final = np.zeros(0, np.int64)


@dataclass(slots=True)
class Listing:
    """The best slots for a request, best first."""

    #: Rows of the table, int64, shape (n,).
    rows: Array
    #: float64, shape (KEYS, n).
    keys: Array
    #: Whether there are no others.
    complete: bool
    #: Rows left out because another request got them in this cycle.
    excluded: Array = field(default_factory=lambda: _NO_ROWS)


def order(rows: Array, keys: Array, preemption: Array | None = None) -> Array:
    """The permutation that puts the best first."""
    parts = [rows] if preemption is None else [rows, -preemption]
    return np.lexsort((*parts, -keys[3], -keys[2], -keys[1], -keys[0]))


def best(rows: Array, keys: Array, most: int, excluded: Array = _NO_ROWS) -> Listing:
    """The `most` best of `rows` (ascending), more where preempted slots tie; `keys` has a column for each."""
    chosen = _top(keys, most)
    if chosen is None:
        by = order(rows, keys)
        return Listing(rows.take(by), keys.take(by, axis=1), True, excluded)
    rows, keys = rows.take(chosen), keys.take(chosen, axis=1)
    by = order(rows, keys)
    return Listing(rows.take(by), keys.take(by, axis=1), False, excluded)


def _top(keys: Array, most: int) -> Array | None:
    """Places of the `most` best, in any order; None for all of them."""
    size = keys.shape[1]
    if size <= most:
        return None
    chosen, tied, wanted = [], np.arange(size), most
    for key in keys:
        values = key.take(tied)
        floor = _highest(values, wanted)
        above = tied[values > floor]
        chosen.append(above)
        wanted -= len(above)
        tied = tied[values == floor]
        if len(tied) <= wanted:
            break
    if len(tied) > wanted and keys[3].item(tied.item(0)) == UNUSED:
        tied = tied[:wanted]
    chosen.append(tied)
    found = np.concatenate(chosen)
    return None if len(found) == size else found


def _highest(values: Array, number: int) -> float:
    """The `number`-th highest value."""
    if len(values) > SAMPLED_MIN:
        # A bound taken from a sample excludes most values, so that few remain to be sorted.
        sample = values[:: SAMPLED_MIN // 512]
        place = min(len(sample) - 1, 2 * number * len(sample) // len(values) + 16)
        bound = np.partition(sample, len(sample) - 1 - place).item(len(sample) - 1 - place)
        inside = values >= bound
        if np.count_nonzero(inside) >= number:
            values = values.compress(inside)
    found: float = np.partition(values, len(values) - number).item(len(values) - number)
    return found


def above_floor(rows: Array, keys: Array, listing: Listing) -> Array:
    """Mask of the rows that belong in an incomplete listing: those better than its last."""
    if not len(listing.rows):
        return np.zeros(len(rows), bool)
    floor, last = listing.keys[:, -1], listing.rows.item(-1)
    better = np.zeros(len(rows), bool)
    equal = np.ones(len(rows), bool)
    for at in range(KEYS):
        better |= equal & (keys[at] > floor.item(at))
        equal &= keys[at] == floor.item(at)
    return better | (equal & (rows < last)) if floor.item(3) == UNUSED else better | equal


def renewed(listing: Listing, stale: Array, rows: Array, keys: Array) -> Listing | None:
    """The listing with `stale` (a mask over all rows of the table) taken out and `rows` put in.

    None if the last entry of an incomplete listing is removed: its floor is then unknown.
    """
    gone = stale.take(listing.rows)
    if not listing.complete and (not len(gone) or gone.all()):
        return None
    if not listing.complete:
        inside = above_floor(rows, keys, listing)
        rows, keys = rows[inside], keys[:, inside]
    if not gone.any() and not len(rows):
        return listing
    left = ~gone
    new_rows = np.concatenate((listing.rows[left], rows))
    new_keys = np.concatenate((listing.keys[:, left], keys), axis=1)
    if len(rows):
        by = order(new_rows, new_keys)
        new_rows, new_keys = new_rows.take(by), new_keys.take(by, axis=1)
    return Listing(new_rows, new_keys, listing.complete, listing.excluded)
