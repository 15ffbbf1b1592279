from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from roost.classad import Expr
from roost.negotiator.ranks import BY_PRIORITY, BY_RANK, UNUSED, best, order, renewed
from roost.negotiator.settings import NegotiatorSettings
from tests.negotiator.kit import claimed, demand, job, plan, slot

RANKS = NegotiatorSettings(
    pre_job_rank=Expr.parse("MY.Pre"),
    post_job_rank=Expr.parse("MY.Post"),
    preemption_requirements=Expr.parse("true"),
    preemption_rank=Expr.parse("MY.Worth"),
)
FIVE = (("slot1", 100, 1, 10), ("slot2", 100, 2, 20), ("slot3", 100, 2, 30), ("slot4", 0, 1, 40), ("slot5", 200, 1, 50))


def chosen(slots, count=9, settings=RANKS, **more):
    found = plan(slots, demand("ann@x", (job(Rank="=TARGET.Job"), count)), settings=settings, **more)
    return [match.slot for match in found.matches]


def test_slots_are_given_by_the_matchmakers_first_rank_then_the_jobs_then_the_matchmakers_second():
    slots = [slot(name, Pre=pre, Job=rank, Post=post) for name, pre, rank, post in FIVE]
    assert chosen(slots) == ["slot5", "slot3", "slot2", "slot1", "slot4"]


def test_of_equal_slots_the_first_is_given():
    assert chosen([slot(name, Pre=1, Job=1, Post=1) for name in ("b", "a", "c")]) == ["b", "a", "c"]


def test_a_rank_of_the_matchmaker_that_is_no_number_is_worst_and_one_of_the_job_is_nought():
    slots = [slot("text", Pre="x", Job=0), slot("low", Pre=-1e9, Job=0)]
    assert chosen(slots) == ["low", "text"]
    assert chosen([slot("minus", Pre=1, Job=-1), slot("none", Pre=1), slot("plus", Pre=1, Job=1)]) == [
        "plus", "none", "minus",
    ]  # fmt: skip


def test_equal_ranks_prefer_unused_slots_then_those_that_prefer_the_job_then_the_users_with_worse_priority():
    slots = [
        claimed("by-priority", "bob@x", Pre=1, Post=1, Job=1),
        claimed("by-rank", "bob@x", Pre=1, Post=1, Job=1, Rank="=5"),
        slot("unused", Pre=1, Post=1, Job=1),
    ]
    found = plan(slots, demand("ann@x", (job(), 9)), settings=RANKS, priorities={"bob@x": 50.0, "ann@x": 1.0})
    assert [(match.slot, match.preempts) for match in found.matches] == [
        ("unused", "none"), ("by-rank", "rank"), ("by-priority", "prio"),
    ]  # fmt: skip


def test_preemption_rank_tells_slots_apart_that_are_equal_in_all_else():
    slots = [claimed(name, "bob@x", Pre=1, Post=1, Worth=worth) for name, worth in (("a", 1), ("b", 3), ("c", 2))]
    assert chosen(slots, priorities={"bob@x": 50.0}) == ["b", "c", "a"]


keys = st.tuples(
    st.integers(0, 2), st.integers(0, 2), st.integers(0, 1), st.sampled_from((UNUSED, BY_RANK, BY_PRIORITY))
)


@given(st.lists(keys, max_size=40), st.integers(1, 12))
def test_a_listing_has_the_best_and_leaves_out_nothing_that_ties_with_a_preempted_last(drawn, most):
    rows, table = np.arange(len(drawn)), np.array(drawn, float).reshape(-1, 4).T
    listing = best(rows, table, most)
    everything = rows[order(rows, table)].tolist()
    assert listing.rows.tolist() == everything[: len(listing.rows)]
    assert listing.complete == (len(listing.rows) == len(rows))
    assert len(listing.rows) >= min(most, len(rows))
    if not listing.complete:
        last, after = table[:, everything[len(listing.rows) - 1]], table[:, everything[len(listing.rows)]]
        assert (last != after).any() or last[3] == UNUSED


@given(st.lists(keys, min_size=1, max_size=30), st.lists(keys, min_size=30, max_size=30), st.data())
def test_a_renewed_listing_is_what_listing_anew_begins_with(before, after, data):
    size = len(before)
    changed = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    rows, old = np.arange(size), np.array(before, float).reshape(-1, 4).T
    new = np.where(changed, np.array(after, float).reshape(-1, 4).T[:, :size], old)
    listing = renewed(best(rows, old, 5), changed, rows[changed], new[:, changed])
    if listing is not None:
        assert listing.rows.tolist() == rows[order(rows, new)].tolist()[: len(listing.rows)]
        assert listing.complete <= (len(listing.rows) == size)
