"""Slots that are asked one by one give what a table of all of them gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from roost.classad import ClassAd, FixedWorld
from roost.classad.ad import MISSING
from roost.classad.vector import Table
from roost.negotiator import single_slots as singly_module
from roost.negotiator.cycle import negotiate
from roost.negotiator.memory import Key
from roost.negotiator.pool_policy import Findings, PoolPolicy
from roost.negotiator.single_slots import SingleSlots, own_ranks
from roost.negotiator.snapshot import Plan
from roost.negotiator.view import SlotView, charged_for, usage_of, view_of, weight_of, weights_of
from tests.negotiator.pools import NOW, Pool, change, make_pool

WORLD = FixedWorld(instant=NOW)
#: What the drawn ranks of slots name.
SAY = frozenset(("rank", "remoteowner", "cpus", "memory", "kflops", "slotid", "offline"))
#: What slots that ask about the job in their RANK name.
OF_JOBS = frozenset(("owner", "jobprio", "imagesize"))


class StillShelf:
    """The slots of a drawn pool, which stay as they are."""

    def __init__(self, pool: Pool) -> None:
        self.pool, self.asked = pool, 0
        self.names = list(map(str, pool.table.keys()))
        self.refusals: dict[tuple[int, Key], int] = {}
        own = [own_ranks(pool.slots[name], None, pool.settings, WORLD) for name in self.names]
        self.own = own
        self.free = np.flatnonzero(self.view().available).tolist()
        self.order = sorted(self.free, key=lambda row: (-own[row][0], -own[row][1], row))

    def view(self) -> SlotView:
        settings = self.pool.settings
        view = view_of(self.pool.snapshot(), settings, PoolPolicy(settings.policy, Findings(), WORLD))
        return replace(view, occupied=np.zeros(len(self.names), bool))

    def usage(self) -> Mapping[str, tuple[float, int]]:
        return usage_of(self.pool.table, self.pool.settings, NOW)

    def licences(self) -> Iterable[str]:
        for ad in self.pool.slots.values():
            for name in ("ConcurrencyLimits", "PreemptingConcurrencyLimits"):
                text = ad.eval(name)
                if isinstance(text, str):
                    yield text

    def ad(self, row: int) -> ClassAd | None:
        self.asked += 1
        return self.pool.slots[self.names[row]]

    def rows(self) -> Iterator[int]:
        return iter(self.order)

    def ranks(self, row: int) -> tuple[float, float]:
        return self.own[row]

    def place(self, row: int) -> tuple[int, ...]:
        return (row,)

    def leaves_ranks(self, ad: ClassAd) -> bool:
        return all(ad.cell(name) is MISSING for name in SAY | OF_JOBS)

    def refusal(self, row: int, key: Key) -> int | None:
        return self.refusals.get((row, key))

    def refuse(self, row: int, key: Key, verdict: int) -> None:
        assert (row, key) not in self.refusals
        self.refusals[row, key] = verdict


def drawn(seed: int, *, plain_ranks: bool) -> Pool:
    """A pool in which nobody loses a slot, and none is discarded."""
    pool = make_pool(seed, 24)
    policy = replace(pool.settings.policy, startd_only=None)
    pool.settings = replace(pool.settings, consider_preemption=False, slot_constraint=None, policy=policy)
    if plain_ranks:
        for name, ad in list(pool.slots.items()):
            ad["Rank"] = 0.0
            pool.put(name, ad.copy())
        for demand in pool.demands:
            for request in demand.requests:
                for name in ("Rank", "Owner", "JobPrio", "ImageSize"):
                    if name in request.ad:
                        del request.ad[name]
    return pool


def both(pool: Pool, slot_source: StillShelf, singly: SingleSlots) -> tuple[Plan, Plan]:
    snapshot = pool.snapshot()
    table = negotiate(snapshot, settings=pool.settings, accounts=pool.accounts)
    one = negotiate(
        replace(snapshot, slots=Table(), slot_source=slot_source),
        settings=pool.settings,
        accounts=pool.accounts,
        memory=singly,
    )
    return table, one


def given_away(plan: Plan) -> list[tuple[str, str, int, str]]:
    return [(each.schedd, each.submitter, each.autocluster, each.slot) for each in plan.matches]


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.integers(1, 16))
@example(1958, False, 1)  # Slots that are equal only to this request.
@example(30383, True, 1)  # What is too much for one visit is left for the next.
def test_slots_asked_one_by_one_give_what_all_at_once_give(seed, plain_ranks, batch):
    before, singly_module.BATCH = singly_module.BATCH, batch
    try:
        pool = drawn(seed, plain_ranks=plain_ranks)
        for _ in range(3):
            slot_source = StillShelf(pool)
            singly = SingleSlots(slot_source, pool.settings)
            for _ in range(2):
                # The second time what was refused is known.
                table, one = both(pool, slot_source, singly)
                assert given_away(table) == given_away(one)
                assert {key: each.text for key, each in table.rejected.items()} == {
                    key: each.text for key, each in one.rejected.items()
                }
                assert table.record["weight"] == one.record["weight"]
            change(pool)
            if plain_ranks:
                break
    finally:
        singly_module.BATCH = before


def test_no_more_slots_are_asked_than_are_needed():
    pool = drawn(7, plain_ranks=True)
    for number in range(40):
        pool.put(
            f"slot{number}", ClassAd(Name=f"slot{number}", State="Unclaimed", Rank=0.0, Requirements=True, SlotID=1)
        )
    pool.demands = (replace(pool.demands[0], requests=(replace(pool.demands[0].requests[0], count=3),)),)
    pool.demands[0].requests[0].ad["Requirements"] = True
    pool.accounts.reset(pool.demands[0].submitter)
    slot_source = StillShelf(pool)
    plan = both(pool, slot_source, SingleSlots(slot_source, pool.settings))[1]
    assert len(plan.matches) == slot_source.asked == 3


@given(st.integers(0, 10**6))
@settings(max_examples=50, deadline=None)
def test_weight_and_use_of_one_slot_are_those_that_the_table_has(seed):
    pool = make_pool(seed)
    weights = weights_of(pool.table, pool.settings, WORLD).tolist()
    used: dict[str, tuple[float, int]] = {}
    for name, weight in zip(map(str, pool.table.keys()), weights, strict=True):
        assert weight_of(pool.slots[name], pool.settings, WORLD) == weight
        if user := charged_for(pool.slots[name], WORLD):
            before = used.get(user, (0.0, 0))
            used[user] = before[0] + weight, before[1] + 1
    assert used == usage_of(pool.table, pool.settings, NOW)
