"""Free slots that are evaluated one by one, the best first, as many as a request needs.

A columnar table answers for all slots at once, and needs the current ads of all of them. Where an ad is cheap to create
on demand and a cycle gives away few of many slots (the simulated pool, which examines a machine only if that can
matter), the opposite is better: a `SlotSource` lists its slots in the order of the matchmaker's own ranks, and creates
the ad of a slot on demand; `SingleSlots` takes the place of `Memory` and tries slots until it has enough. The rest of a
cycle (who is served, with how much, under which limits) is the same code with the same results, as
`tests/negotiator/test_single_slots.py` checks.

It works for unclaimed slots that no policy discards, and for ranks that change only with the slot. Counts of causes,
and matches that the pool-wide policy prevented, cover only the slots that were tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Final, Protocol

import numpy as np

from roost.base.records import dataclass, field
from roost.classad import ERROR, ClassAd, Expr, FixedWorld, evaluate
from roost.classad.ad import MISSING
from roost.classad.vector.kinds import Array
from roost.classad.world import World
from roost.model.pool_policy import is_true
from roost.negotiator.memory import TEXTS_MAX, Key, Known
from roost.negotiator.ranks import KEYS, UNUSED, Listing
from roost.negotiator.reach import is_unsteady
from roost.negotiator.settings import NegotiatorSettings
from roost.negotiator.verdicts import (
    ACCEPTED,
    JOB_REFUSES,
    NOTED_JOB,
    NOTED_RESOURCE,
    POLICY_JOB,
    POLICY_RESOURCE,
    REFUSED,
    SLOT_REFUSES,
    VERDICTS,
    RequestEvaluator,
)  # fmt: skip
from roost.negotiator.view import SlotView

#: Verdict on a slot that was not tried.
UNASKED: Final = 255
#: Slots requested at once: a visit seldom needs more.
BATCH: Final = 16


class SlotSource(Protocol):
    """Slots by row. Rows do not change during a cycle."""

    def view(self) -> SlotView:
        """The arrays of a cycle; unclaimed slots are available, the others are not."""

    def usage(self) -> Mapping[str, tuple[float, int]]:
        """User to weight and number of the slots in use."""

    def licences(self) -> Iterable[str]:
        """ConcurrencyLimits of the running jobs."""

    def ad(self, row: int) -> ClassAd | None:
        """The ad of a slot as it is now; None if it is not available after all."""

    def rows(self) -> Iterator[int]:
        """The unclaimed slots, by their ranks where those do not depend on the request; ties in order of `place`."""

    def ranks(self, row: int) -> tuple[float, float]:
        """The matchmaker's two ranks of a slot, where they do not depend on the request."""

    def place(self, row: int) -> tuple[int, ...]:
        """Tie-breaker among equal slots: the lowest goes first."""

    def leaves_ranks(self, ad: ClassAd) -> bool:
        """Whether the matchmaker's ranks do not depend on the request."""

    def refusal(self, row: int, key: Key) -> int | None:
        """The verdict on a slot in its current state and a request, if it is known to be a refusal."""

    def refuse(self, row: int, key: Key, verdict: int) -> None:
        """Remember the refusal for as long as the slot does not change."""


@dataclass(slots=True, kw_only=True)
class Walk(Known):
    """Progress of trying the slots for a request."""

    key: Key
    #: The job, and its submitter.
    job: str
    submitter: str
    #: Rows not tried yet.
    rows: Iterator[int]
    #: Matching rows, best first, and their keys.
    found: list[int] = field(default_factory=list)
    keys: list[tuple[float, ...]] = field(default_factory=list)
    done: bool = False
    #: Number of each verdict so far.
    tally: list[int] = field(default_factory=lambda: [0] * VERDICTS)
    #: Whether it depends on neither the clock nor random numbers; None until needed.
    steady: bool | None = None


@dataclass(slots=True)
class SingleSlots:
    """What is known of the requests of one cycle; see the module."""

    slot_source: SlotSource
    settings: NegotiatorSettings
    world: FixedWorld = field(default_factory=FixedWorld)
    judged_requests: int = 0
    judged_slots: int = 0
    _size: int = 0
    _evaluator: RequestEvaluator | None = None
    #: By id of a request's expression (kept alive here): whether it depends on the clock or random numbers.
    _unsteady: dict[int, tuple[Expr, bool]] = field(default_factory=dict)
    _walks: dict[Key, Walk] = field(default_factory=dict)

    @property
    def view(self) -> None:
        """Nothing is kept for the next cycle."""
        return None

    def begin(self, snapshot: object, evaluator: RequestEvaluator, requests: Mapping[Key, ClassAd]) -> None:
        """Begin a cycle; the slot source keeps what is remembered between cycles."""
        self._evaluator, self._size, self.world = evaluator, len(evaluator.view.names), evaluator.world
        self.judged_requests = self.judged_slots = 0
        self._walks.clear()

    def of(self, key: Key, ad: ClassAd, job: str = "", submitter: str = "") -> Walk:
        """What is known of a request."""
        found = self._walks.get(key)
        if found is None:
            self.judged_requests += 1
            unasked = np.full(self._size, UNASKED, np.uint8)
            rows = self.slot_source.rows()
            found = self._walks[key] = Walk(ad, unasked, key=key, job=job, submitter=submitter, rows=rows)
        return found

    def _is_steady(self, walk: Walk) -> bool:
        """Whether a request depends on neither the clock nor random numbers."""
        if walk.steady is None:
            cells = (cell for scope in (walk.ad, walk.ad.chained) if scope for cell in scope.cells.values())
            policy = self.settings.policy
            asked = (*cells, policy.resource, policy.job)
            walk.steady = not any(self._is_unsteady(cell) for cell in asked if isinstance(cell, Expr))
        return walk.steady

    def _is_unsteady(self, expression: Expr) -> bool:
        known = self._unsteady.get(id(expression))
        if known is None:
            if len(self._unsteady) >= TEXTS_MAX:
                self._unsteady.clear()
            known = self._unsteady[id(expression)] = expression, is_unsteady(expression)
        return known[1]

    def counts(self, known: Known) -> Sequence[int]:
        """Number of each verdict on a request among the slots that were tried."""
        assert isinstance(known, Walk)
        return known.tally

    def listing(self, known: Known, usable: Array, need: int, taken: Array | None) -> Listing:
        """The best usable slots for a request, the first `BATCH` of `need` or all."""
        assert isinstance(known, Walk)
        if known.ad.cell("rank") is MISSING and self.slot_source.leaves_ranks(known.ad):
            self._ask_in_order(known, usable, min(need, BATCH), taken is not None)
        elif not known.done:
            self._ask_all(known)
        places = [place for place, row in enumerate(known.found) if usable.item(row)]
        rows = np.array([known.found[place] for place in places], np.int64)
        keys = np.array([known.keys[place] for place in places]).reshape(-1, KEYS).T
        return Listing(rows, keys, known.done)

    def _ask_in_order(self, walk: Walk, usable: Array, need: int, for_good: bool) -> None:
        """Try slots until `need` are found; an unusable slot is skipped if it cannot become usable again."""
        have = sum(map(usable.item, walk.found))
        while have < need:
            row = next(walk.rows, None)
            if row is None:
                walk.done = True
                return
            mine = usable.item(row)
            if (mine or not for_good) and self._asked(walk, row) is not None:
                walk.found.append(row)
                first, last = self.slot_source.ranks(row)
                walk.keys.append((first, 0.0, last, UNUSED))
                have += mine

    def _ask_all(self, walk: Walk) -> None:
        """Try all slots, since the ranks depend on the request; ties go in order of `place`."""
        found = []
        for row in walk.rows:
            slot = self._asked(walk, row)
            if slot is not None:
                found.append((self._key(slot, walk.ad), row))
        found.sort(key=lambda each: self.slot_source.place(each[1]))
        found.sort(key=itemgetter(0), reverse=True)
        walk.found, walk.keys = [row for _, row in found], [key for key, _ in found]
        walk.done = True

    def _asked(self, walk: Walk, row: int) -> ClassAd | None:
        """The ad of a slot, if it and the request accept each other."""
        known = self.slot_source.refusal(row, walk.key)
        if known is not None:
            walk.verdicts[row] = known
            walk.tally[known] += 1
            return None
        slot = self.slot_source.ad(row)
        if slot is None:
            return None
        self.judged_slots += 1
        verdict = self._verdict(slot, walk)
        walk.verdicts[row] = verdict
        walk.tally[verdict] += 1
        if verdict < REFUSED:
            return slot
        if self._is_steady(walk):
            self.slot_source.refuse(row, walk.key, verdict)
        return None

    def _verdict(self, slot: ClassAd, walk: Walk) -> int:
        """The verdict on one slot; see `verdicts`."""
        request, policy, world = walk.ad, self.settings.policy, self.world
        free = policy.job is not None and request.cell("requirements") is MISSING
        if not free and not slot.matches(request, world):
            return JOB_REFUSES
        free = policy.resource is not None and slot.cell("requirements") is MISSING
        if not free and not request.matches(slot, world):
            return SLOT_REFUSES
        for condition, my, target, code, noted in (
            (policy.resource, slot, request, POLICY_RESOURCE, NOTED_RESOURCE),
            (policy.job, request, slot, POLICY_JOB, NOTED_JOB),
        ):
            if condition is None:
                continue
            value = evaluate(condition, my, target, world)
            if not is_true(value):
                assert self._evaluator is not None
                if value is ERROR:
                    self._evaluator.note_error(code, walk.job, walk.submitter, 1)
                return noted if policy.log_only else code
        return ACCEPTED

    def _key(self, slot: ClassAd, request: ClassAd) -> tuple[float, ...]:
        first, last = own_ranks(slot, request, self.settings, self.world)
        return first, request.rank(slot, self.world), last, UNUSED


def own_ranks(
    slot: ClassAd, request: ClassAd | None, settings: NegotiatorSettings, world: World
) -> tuple[float, float]:
    """NEGOTIATOR_PRE_JOB_RANK and NEGOTIATOR_POST_JOB_RANK of a slot for a request, or for any."""
    return (
        _rank(settings.pre_job_rank, slot, request, world),
        _rank(settings.post_job_rank, slot, request, world),
    )


def _rank(expression: Expr | None, slot: ClassAd, request: ClassAd | None, world: World) -> float:
    """The value of one such rank; minus infinity if it is not a number."""
    value = -np.inf if expression is None else evaluate(expression, slot, request, world)
    if value.__class__ not in (bool, int, float) or value != value:
        return -np.inf
    return float(value)
