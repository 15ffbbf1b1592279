"""The matchmaker against a slow model of it, on drawn pools; and with memory against without."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.classad.vector import table as table_module
from roost.negotiator import memory as memory_module
from roost.negotiator.cycle import negotiate
from roost.negotiator.memory import Memory
from roost.negotiator.snapshot import Plan
from tests.negotiator.model import Model
from tests.negotiator.pools import change, make_pool


def given_away(plan: Plan) -> list[tuple[str, str, int, str, str]]:
    return [(each.schedd, each.submitter, each.autocluster, each.slot, each.preempts) for each in plan.matches]


@pytest.mark.parametrize("scalar_rows", [0, table_module.SCALAR_ROWS])
def test_a_cycle_gives_what_trying_job_by_job_and_slot_by_slot_gives(scalar_rows, monkeypatch):
    monkeypatch.setattr(table_module, "SCALAR_ROWS", scalar_rows)

    @settings(max_examples=200, deadline=None)
    @given(st.integers(0, 10**6))
    def holds(seed):
        pool = make_pool(seed)
        plan = negotiate(pool.snapshot(), settings=pool.settings, accounts=pool.accounts)
        assert given_away(plan) == Model(pool.snapshot(), pool.settings, pool.accounts).run()

    holds()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_memory_changes_nothing_but_the_time(seed, short):
    pool, kept = make_pool(seed), Memory()
    names = ("LISTED_MIN", "LISTED_TIMES", "PAIRS_MAX", "_SLOTS_COST", "_SLOT_COST")
    before = {name: getattr(memory_module, name) for name in names}
    try:
        if short:
            memory_module.LISTED_MIN, memory_module.LISTED_TIMES, memory_module.PAIRS_MAX = 2, 1, 5
        memory_module._SLOTS_COST = memory_module._SLOT_COST = 0
        for _ in range(5):
            plan = negotiate(pool.snapshot(), settings=pool.settings, accounts=pool.accounts, memory=kept)
            fresh = negotiate(pool.snapshot(), settings=pool.settings, accounts=pool.accounts)
            assert given_away(plan) == given_away(fresh)
            assert plan.rejected == fresh.rejected
            if pool.source.random() < 0.5:
                pool.promised.update(match.slot for match in plan.matches)
            change(pool)
    finally:
        for name, value in before.items():
            setattr(memory_module, name, value)
