"""Partitionable slots with a consumption policy: they stay available after a match, reduced by what it consumes.

For each resource in MachineResources, except Swap, ``Consumption<Resource>`` says with the job as TARGET how much a
match takes. A slot fits if it has these amounts, and at least one of them is above 0; the job's own
``Request<Resource>`` is the amount consumed while the two are matched. The cost of a match is the decrease of the
slot's weight.

Such slots are few, and each changes with every match, so they are matched one by one, without columns.
"""

from __future__ import annotations

import numpy as np

from roost.base.records import dataclass, field
from roost.classad import ClassAd
from roost.classad.ad import MISSING
from roost.classad.vector import Table
from roost.classad.vector.kinds import Array
from roost.model.pool_policy import is_true
from roost.negotiator.pool_policy import conjunction
from roost.negotiator.ranks import KEYS, UNUSED, Listing, order
from roost.negotiator.verdicts import RequestEvaluator


@dataclass(slots=True)
class Shrinking:
    """The slots of a cycle that shrink."""

    table: Table
    evaluator: RequestEvaluator
    rows: Array
    #: Row to the rest of the slot.
    _ads: dict[int, ClassAd] = field(default_factory=dict)

    def any_left(self) -> bool:
        """Whether any such slot is left."""
        return len(self.rows) > 0

    def _ad(self, row: int) -> ClassAd:
        found = self._ads.get(row)
        if found is None:
            found = self._ads[row] = self.table.ad(self.evaluator.view.names[row])
        return found

    def joined(self, listing: Listing, request: ClassAd) -> Listing:
        """The listing with the fitting slots merged in, in order of rank."""
        if not len(self.rows):
            return listing
        fitting = [(row, key) for row in self.rows.tolist() if (key := self._key(self._ad(row), request)) is not None]
        if not fitting:
            return listing
        rows = np.concatenate((listing.rows, np.array([row for row, _ in fitting], np.int64)))
        keys = np.concatenate((listing.keys, np.array([key for _, key in fitting]).reshape(-1, KEYS).T), axis=1)
        by = order(rows, keys)
        return Listing(rows.take(by), keys.take(by, axis=1), listing.complete, listing.excluded)

    def consumption(self, slot: ClassAd, request: ClassAd) -> dict[str, float] | None:
        """Resource to amount; None if the slot has too little, or would lose nothing."""
        names = slot.eval("MachineResources")
        asking = request.copy()
        amounts: dict[str, float] = {}
        for name in (names if isinstance(names, str) else "Cpus Memory Disk").split():
            if name.lower() == "swap":
                continue
            if request.cell(f"request{name.lower()}") is MISSING:
                asking[f"Request{name}"] = 0
            amount = slot.eval(f"Consumption{name}", asking, self.evaluator.world)
            has = slot.eval(name, None, self.evaluator.world)
            if not _is_amount(amount) or not _is_amount(has) or amount > has:  # type: ignore[operator]
                return None
            amounts[name] = amount  # type: ignore[assignment]
        return amounts if any(amounts.values()) else None

    def _key(self, slot: ClassAd, request: ClassAd) -> tuple[float, ...] | None:
        """The slot's key for a request, see `ranks`; None if they don't match."""
        amounts = self.consumption(slot, request)
        if amounts is None:
            return None
        asking = request.copy()
        for name, amount in amounts.items():
            asking[f"Request{name}"] = amount
        settings, world = self.evaluator.settings, self.evaluator.world
        slot, policy = slot.copy(), settings.policy
        if not policy.log_only:
            for ad, condition in ((slot, policy.resource), (asking, policy.job)):
                if condition is not None:
                    original = None if ad.cell("requirements") is MISSING else ad.tree("Requirements")
                    ad.put("Requirements", conjunction(original, condition))
        if not slot.symmetric_match(asking, world):
            return None
        own = [
            -np.inf if each is None else _number(slot.eval_expr(each, asking, world), -np.inf)
            for each in (settings.pre_job_rank, settings.post_job_rank)
        ]
        rank = _number(asking.eval("Rank", slot, world), 0.0) if asking.cell("rank") is not MISSING else 0.0
        return own[0], rank, own[1], UNUSED

    def cost(self, row: int, request: ClassAd) -> float:
        """The decrease of the slot's weight by a match."""
        slot = self._ad(row)
        return self._weight(slot) - self._weight(self._less(slot, request))

    def shrink(self, row: int, request: ClassAd) -> ClassAd:
        """Subtract what a match consumes, and return the slot's previous ad."""
        before = self._ad(row)
        self._ads[row] = self._less(before, request)
        return before

    def _less(self, slot: ClassAd, request: ClassAd) -> ClassAd:
        left = slot.copy()
        for name, amount in (self.consumption(slot, request) or {}).items():
            left[name] = slot.eval(name, None, self.evaluator.world) - amount  # type: ignore[operator]
        return left

    def _weight(self, slot: ClassAd) -> float:
        if not self.evaluator.settings.use_weights:
            return 1.0
        name = "SlotWeight" if slot.cell("slotweight") is not MISSING else "Cpus"
        return _number(slot.eval(name, None, self.evaluator.world), 1.0)


def _is_amount(value: object) -> bool:
    return value.__class__ in (int, float) and value >= 0


def _number(value: object, otherwise: float) -> float:
    if value.__class__ not in (bool, int, float) or value != value:
        return otherwise
    return float(value)


__all__ = ["Shrinking", "is_true"]
