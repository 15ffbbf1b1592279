"""What the matchmaker keeps from one cycle to the next: verdicts and best slots of each request.

A request is identified by queue, submitter and autocluster. For each known request this keeps one byte per slot, and
the best slots in order. At the beginning of a cycle, the slots that changed or became available are judged for all
known requests at once, as pairs (`of_slots`); everything else stays valid. All of it is dropped when an update would
cost more than starting over, and whenever Requirements or ranks depend on the clock or on attributes of the cycle
itself.

The results are the same with and without it, as `tests/negotiator/test_against_model.py` checks.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Final, TypeAlias

import numpy as np

from roost.base.records import dataclass, field, replace
from roost.classad import ClassAd, Expr
from roost.classad.vector import Table
from roost.classad.vector.kinds import DEFER, Array, kind_of
from roost.negotiator.ranks import KEYS, Listing, best, renewed
from roost.negotiator.reach import NOWHERE, Reach, SlotExpressions, reach
from roost.negotiator.settings import NegotiatorSettings
from roost.negotiator.snapshot import Snapshot
from roost.negotiator.verdicts import REFUSED, VERDICTS, RequestEvaluator, count_of
from roost.negotiator.view import VIEWED, SlotView

#: Queue, submitter, autocluster.
Key: TypeAlias = Hashable

#: Most bytes of verdicts and listings kept; requests beyond that are judged in each cycle.
BYTES_MAX: Final = 512 * 1024 * 1024
#: Minimum length of a listing, and its length as a multiple of the need.
LISTED_MIN: Final = 512
LISTED_TIMES: Final = 8

#: Pairs of a request and a slot judged at once: they fit in the processor's cache.
PAIRS_MAX: Final = 2**18

#: Most sets of request expressions whose reach is cached.
TEXTS_MAX: Final = 4096

# Cost estimates, in units of one pair judged at full width: only their ratios matter.
_SLOTS_COST: Final = 75_000
_SLOT_COST: Final = 1_000
_PAIR_COST: Final = 4
_REQUEST_COST: Final = 15_000


@dataclass(slots=True)
class Known:
    """What is known of one request."""

    ad: ClassAd
    #: uint8, shape (rows,); meaningless for slots that are not available.
    verdicts: Array
    #: Number of each verdict among the available slots; None until needed.
    counts: Array | None = None
    listing: Listing | None = None
    #: What it depends on, excluding the slots' expressions.
    reach: Reach = NOWHERE
    #: Whether an evaluation for it was stopped for taking too many steps.
    too_long: bool = False


@dataclass(slots=True)
class Changes:
    """Changes since the last cycle; masks over the rows, as many as the longer of the two tables has."""

    #: Rows to judge: available now, and changed or not available before.
    fresh: Array
    #: Rows counted before that are gone or changed.
    gone: Array


@dataclass(slots=True)
class Memory:
    """See the module."""

    known: dict[Key, Known] = field(default_factory=dict)
    jobs: Table = field(default_factory=Table)
    #: Statistics of the last cycle: requests that were judged again, and slots that were judged for all requests.
    judged_requests: int = 0
    judged_slots: int = 0
    _table: Table | None = None
    _settings: NegotiatorSettings | None = None
    _version: int = -1
    _considered: Array = field(default_factory=lambda: np.zeros(0, bool))
    _expressions: tuple[tuple[str, int], ...] = ()
    _texts: list[Expr] = field(default_factory=list)
    _reach: Reach = field(default=NOWHERE)
    _slots: SlotExpressions | None = None
    _evaluator: RequestEvaluator | None = None
    _kept_texts: dict[tuple[tuple[str, int], ...], tuple[Reach, tuple[tuple[str, Expr | None], ...]]] = field(
        default_factory=dict
    )
    _nested: frozenset[str] = frozenset()
    _bytes: int = 0

    # -- a cycle -----------------------------------------------------------------------------------

    def begin(self, snapshot: Snapshot, evaluator: RequestEvaluator, requests: Mapping[Key, ClassAd]) -> None:
        """Update the memory for the current slots; `requests` are all that the cycle may ask about."""
        self.judged_requests = self.judged_slots = 0
        self._evaluator = evaluator
        self._look(evaluator)
        stays = (
            snapshot.versions is not None
            and self._table is evaluator.table
            and self._settings == evaluator.settings
            and self._reach.keeps
        )
        if not stays:
            self.forget()
        self._keep_only(requests)
        if self.known:
            assert snapshot.versions is not None
            self._catch_up(self._changes(snapshot.versions, evaluator))
        self._table, self._settings = evaluator.table, evaluator.settings
        self._considered = evaluator.view.available.copy()
        if snapshot.versions is not None and len(evaluator.table):
            self._version = int(snapshot.versions[: len(evaluator.table)].max())

    def forget(self) -> None:
        """Start over."""
        self.known.clear()
        self.jobs = Table()
        self._bytes = 0

    @property
    def view(self) -> SlotView | None:
        """The view of the slots in the last cycle; None before the first."""
        return None if self._evaluator is None else self._evaluator.view

    @property
    def names(self) -> frozenset[str]:
        """Folded names of the slot attributes that verdicts and ranks depend on."""
        return self._reach.names | VIEWED | {"requirements", "rank"}

    def of(self, key: Key, ad: ClassAd, job: str = "", submitter: str = "") -> Known:
        """What is known of a request; judges it if it is new."""
        found = self.known.get(key)
        if found is None:
            assert self._evaluator is not None
            evaluator = self._evaluator
            verdicts = evaluator.verdicts(ad, job, submitter)
            self.judged_requests += 1
            found = Known(ad, verdicts, reach=self._reach_for(ad))
            self._bytes += len(verdicts)
            if self._bytes <= BYTES_MAX:
                self.known[key] = found
        return found

    def counts(self, known: Known) -> Array:
        """Number of each verdict on a request among the available slots; shape (VERDICTS,)."""
        if known.counts is None:
            assert self._evaluator is not None
            known.counts = count_of(known.verdicts, self._evaluator.view.available)
        return known.counts

    def listing(self, known: Known, usable: Array, need: int, taken: Array | None) -> Listing:
        """The best usable slots for a request, at least `need` or all.

        `taken` are the rows given away in this cycle, passed if `usable` excludes no other available slot; the listing
        is then kept.
        """
        kept = known.listing
        if kept is not None:
            mine = usable.take(kept.rows)
            if kept.complete or np.count_nonzero(mine) >= need:
                return Listing(kept.rows[mine], kept.keys[:, mine], kept.complete)
        rows = np.flatnonzero((known.verdicts < REFUSED) & usable)
        assert self._evaluator is not None
        keys = self._evaluator.keys(known.ad, rows) if len(rows) else np.zeros((KEYS, 0))
        found = best(rows, keys, max(LISTED_MIN, LISTED_TIMES * need))
        if taken is not None:
            found.excluded = taken
            known.listing = found
        return found

    # -- between cycles ----------------------------------------------------------------------------

    def _look(self, evaluator: RequestEvaluator) -> None:
        """Determine what the slots' expressions depend on, if the expressions have changed."""
        present = list(evaluator.table.expressions())
        nested = evaluator.table.nested()
        signature = (*((name, id(expression)) for name, expression in present), *((name, 0) for name in sorted(nested)))
        if signature == self._expressions and self._settings == evaluator.settings:
            return
        slots = self._slots = SlotExpressions(evaluator.table)
        settings = evaluator.settings
        own = (settings.pre_job_rank, settings.post_job_rank, settings.policy.resource, settings.policy.job)
        seeds = (*slots.of("requirements"), *slots.of("rank"), *(each for each in own if each is not None))
        self._nested = nested
        self._reach = reach(seeds, slots.of)
        if self._reach.names & self._nested:
            self._reach = replace(self._reach, unsteady=True)
        self._kept_texts.clear()
        self._expressions, self._texts = signature, [expression for _, expression in present]
        for known in self.known.values():
            known.reach = self._reach_for(known.ad)

    def _reach_for(self, ad: ClassAd) -> Reach:
        """What verdicts about a request depend on. Jobs with the same expressions share the answer."""
        texts = tuple(_expressions_in(ad))
        key = tuple((name, id(cell)) for name, cell in texts)
        known = self._kept_texts.get(key)
        if known is None:
            if len(self._kept_texts) >= TEXTS_MAX:
                self._kept_texts.clear()
            # Keep references to the expressions, so that their ids are not reused.
            known = self._kept_texts[key] = self._reach_of(ad), texts
        return known[0]

    def _reach_of(self, ad: ClassAd) -> Reach:
        slots = self._slots
        assert slots is not None

        def expressions_of(name: str) -> Iterable[Expr]:
            cell = ad.cell(name)
            return (*slots.of(name), cell) if isinstance(cell, Expr) else slots.of(name)

        seeds = [cell for name in ("requirements", "rank") if isinstance(cell := ad.cell(name), Expr)]
        # The job attributes that slots refer to count as well.
        asked = [cell for name in self._reach.names if isinstance(cell := ad.cell(name), Expr)]
        found = reach((*seeds, *asked), expressions_of)
        nested = any(kind_of(ad.cell(name)) == DEFER for name in found.names)
        # The contents of nested values are not inspected.
        return replace(found, unsteady=True) if nested or found.names & self._nested else found

    def _keep_only(self, requests: Mapping[Key, ClassAd]) -> None:
        for key in list(self.known):
            known, ad = self.known[key], requests.get(key)
            if ad is None or not known.reach.keeps or (known.ad is not ad and known.ad != ad):
                self._bytes -= len(known.verdicts)
                del self.known[key]
                if key in self.jobs:
                    self.jobs.remove(key)

    def _changes(self, versions: Array, evaluator: RequestEvaluator) -> Changes:
        size = max(len(evaluator.table), len(self._considered))
        before, now, changed = (np.zeros(size, bool) for _ in range(3))
        before[: len(self._considered)] = self._considered
        now[: len(evaluator.table)] = evaluator.view.available
        changed[: len(evaluator.table)] = versions[: len(evaluator.table)] > self._version
        changed[len(evaluator.table) :] = True
        return Changes(now & (changed | ~before), before & (changed | ~now))

    def _catch_up(self, changes: Changes) -> None:
        evaluator = self._evaluator
        assert evaluator is not None
        size = len(evaluator.table)
        rows = np.flatnonzero(changes.fresh)
        requests = len(self.known)
        of_slots = 0 if not len(rows) else _SLOTS_COST + len(rows) * (_SLOT_COST + _PAIR_COST * requests)
        if of_slots > requests * (_REQUEST_COST + size):
            self.forget()
            return
        self.jobs.extend((key, known.ad) for key, known in self.known.items() if key not in self.jobs)
        self.judged_slots = len(rows)
        codes, keys = self._evaluated(evaluator, rows)
        self._recount(np.flatnonzero(changes.gone), codes)
        stale = changes.fresh | changes.gone
        for key, known in self.known.items():
            place = self.jobs.place(key)
            self._renew(known, size, rows, codes[place])
            if known.listing is not None:
                inside = np.flatnonzero(codes[place] < REFUSED)
                fresh = keys[:, place].take(inside, axis=1)
                known.listing = self._relist(known.listing, changes, stale, rows.take(inside), fresh)

    def _evaluated(self, evaluator: RequestEvaluator, rows: Array) -> tuple[Array, Array]:
        """Verdicts and keys of some slots for all known requests, in the order of `jobs`; as `of_slots` gives them."""
        requests = len(self.jobs)
        codes, keys = np.empty((requests, len(rows)), np.uint8), np.empty((KEYS, requests, len(rows)))
        step = max(1, PAIRS_MAX // requests)
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            codes[:, part], keys[:, :, part] = evaluator.of_slots(self.jobs, rows[part])
        return codes, keys

    def _recount(self, gone: Array, codes: Array) -> None:
        """Update the counts of verdicts: subtract the rows `gone`, and add the new `codes`."""
        counted = [(known, self.jobs.place(key)) for key, known in self.known.items() if known.counts is not None]
        if not counted:
            return
        former = np.empty((len(counted), len(gone)), np.uint8)
        for at, (known, _) in enumerate(counted):
            known.verdicts.take(gone, out=former[at], mode="clip")
        fresh = codes.take([place for _, place in counted], axis=0)
        changes = _tally(fresh) - _tally(former)
        for (known, _), change in zip(counted, changes, strict=True):
            known.counts = known.counts + change

    def _renew(self, known: Known, size: int, rows: Array, codes: Array) -> None:
        verdicts = known.verdicts
        if len(verdicts) != size:
            known.verdicts = np.zeros(size, np.uint8)
            known.verdicts[: min(size, len(verdicts))] = verdicts[:size]
        known.verdicts[rows] = codes

    def _relist(self, listing: Listing, changes: Changes, stale: Array, rows: Array, keys: Array) -> Listing | None:
        excluded = listing.excluded
        if len(excluded):
            evaluator = self._evaluator
            assert evaluator is not None
            here = excluded[excluded < len(evaluator.table)]
            if (evaluator.view.available.take(here) & ~changes.fresh.take(here)).any():
                return None
            listing = Listing(listing.rows, listing.keys, listing.complete)
        return renewed(listing, stale, rows, keys)


def _tally(codes: Array) -> Array:
    """How often each verdict occurs in each row; int64, shape (rows, VERDICTS)."""
    return np.stack([np.count_nonzero(codes == code, axis=1) for code in range(VERDICTS)], axis=1)


def _expressions_in(ad: ClassAd) -> Iterable[tuple[str, Expr | None]]:
    """Folded name and expression of each attribute that is an expression; the expression is None for a value that
    contains expressions."""
    for scope in (ad, ad.chained):
        if scope is not None:
            for name, cell in scope.cells.items():
                if isinstance(cell, Expr):
                    yield name, cell
                elif kind_of(cell) == DEFER:
                    yield name, None
