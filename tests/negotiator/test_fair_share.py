from __future__ import annotations

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from roost.negotiator.accountant import Accountant
from roost.negotiator.fair_share import FairShare, limits, permits, shares
from roost.negotiator.groups import ROOT, allocate, assign, tree_of
from roost.negotiator.settings import GroupSettings, NegotiatorSettings
from tests.negotiator.kit import claimed, demand, given, job, plan, slot


def test_shares_are_in_inverse_proportion_to_priorities():
    found = shares({"a": 5.0, "b": 10.0, "c": 20.0})
    assert [round(found[name] * 100, 1) for name in "abc"] == [57.1, 28.6, 14.3]


def test_what_a_user_has_counts_towards_its_share():
    found = limits({"a": 1.0, "b": 1.0}, {"a": 30.0, "b": 80.0}, FairShare(size=100.0))
    assert (found["a"].any, found["b"].any) == (20.0, 0.0)


def test_a_quota_bounds_what_is_taken_from_unused_slots_and_without_preemption_everything():
    fair_share = FairShare(size=100.0, quota=60.0, group_used=50.0)
    assert limits({"a": 1.0}, {}, fair_share)["a"].unclaimed == 10.0
    assert limits({"a": 1.0}, {}, fair_share)["a"].any == 100.0
    assert limits({"a": 1.0}, {}, FairShare(size=100.0, quota=60.0, group_used=50.0, preemption=False))["a"].any == 10.0


def test_the_first_match_of_a_visit_may_round_up():
    assert permits(0.0, 8.0, 0.5)
    assert not permits(0.0, 8.0, 0.0)
    assert not permits(0.5, 8.0, 1.0)


def test_users_get_what_is_theirs_in_a_pool_that_all_want():
    slots = [slot(f"s{number}") for number in range(100)]
    demands = [demand(f"{user}@x", (job(), 200)) for user in "abc"]
    found = given(plan(slots, *demands, priorities={"a@x": 5.0, "b@x": 10.0, "c@x": 20.0}))
    assert {user: len(slots) for user, slots in found.items()} == {"a@x": 58, "b@x": 28, "c@x": 14}


def test_what_one_does_not_want_goes_to_the_others():
    slots = [slot(f"s{number}") for number in range(20)]
    found = given(plan(slots, demand("a@x", (job(), 2)), demand("b@x", (job(), 50))))
    assert {user: len(slots) for user, slots in found.items()} == {"a@x": 2, "b@x": 18}


def test_heavy_slots_count_by_weight():
    slots = [slot(f"s{number}", Cpus=4) for number in range(4)] + [slot(f"t{number}") for number in range(4)]
    found = plan(slots, demand("a@x", (job(), 9)), demand("b@x", (job(), 9)))
    assert sum(1 if match.slot.startswith("t") else 4 for match in found.matches) == 20


def test_a_submitter_at_two_queues_has_one_share():
    slots = [slot(f"s{number}") for number in range(10)]
    found = plan(
        slots,
        demand("a@x", (job(), 9), schedd="one"),
        demand("a@x", (job(), 9), schedd="two"),
        demand("b@x", (job(), 9), schedd="one", first=5),
    )
    assert {user: len(each) for user, each in given(found).items()} == {"a@x": 5, "b@x": 5}


def test_a_floor_is_served_first_and_a_ceiling_never_exceeded():
    slots = [slot(f"s{number}") for number in range(10)]
    accounts = Accountant()
    accounts.user("a@x").priority = 1000.0
    accounts.set_bounds("a@x", floor=4.0)
    accounts.set_bounds("b@x", ceiling=3.0)
    from roost.classad.vector import Table
    from roost.negotiator.cycle import negotiate
    from roost.negotiator.snapshot import Snapshot

    names = [str(ad["Name"]) for ad in slots]
    snapshot = Snapshot(
        slots=Table(zip(names, slots, strict=True)),
        claims=dict.fromkeys(names, "c"),
        nodes=dict.fromkeys(names, "n"),
        demands=(demand("a@x", (job(), 4)), demand("b@x", (job(), 20), first=2)),
        now=0.0,
    )
    found = negotiate(snapshot, accounts=accounts)
    assert {user: len(each) for user, each in given(found).items()} == {"a@x": 4, "b@x": 3}
    assert found.rejected["queue", 2].causes["ceiling"]


# -- groups ----------------------------------------------------------------------------------------


def groups(*given_: GroupSettings, **more: object) -> NegotiatorSettings:
    return NegotiatorSettings(groups=given_, **more)  # type: ignore[arg-type]


def quotas(settings: NegotiatorSettings, size: float) -> dict[str, float]:
    tree = tree_of(settings)
    assign(tree[ROOT], size, oversubscription=settings.oversubscription)
    return {name: round(group.subtree, 6) for name, group in tree.items()}


PHYSICS = (
    GroupSettings(name="physics", quota=20),
    GroupSettings(name="physics.hep", quota=15),
    GroupSettings(name="physics.lep", quota=5),
    GroupSettings(name="chem", quota=10),
)


def test_static_quotas_are_what_is_configured_and_scaled_where_there_is_less():
    assert quotas(groups(*PHYSICS), 30.0) == {
        "<none>": 30, "physics": 20, "physics.hep": 15, "physics.lep": 5, "chem": 10,
    }  # fmt: skip
    scaled = quotas(groups(*PHYSICS, oversubscription=False), 15.0)
    assert (scaled["physics"], scaled["chem"]) == (10, 5)
    assert (scaled["physics.hep"], scaled["physics.lep"]) == (7.5, 2.5)
    assert quotas(groups(*PHYSICS), 15.0)["physics"] == 20


def test_fractions_share_what_static_quotas_leave():
    settings = groups(
        GroupSettings(name="a", quota=20), GroupSettings(name="b", fraction=0.5), GroupSettings(name="c", fraction=0.25)
    )
    assert quotas(settings, 100.0) == {"<none>": 100, "a": 20, "b": 40, "c": 20}
    too_much = groups(GroupSettings(name="b", fraction=0.9), GroupSettings(name="c", fraction=0.9))
    assert quotas(too_much, 100.0)["b"] == 50


def allocated(settings: NegotiatorSettings, size: float, **wanted: float) -> dict[str, float]:
    tree = tree_of(settings)
    assign(tree[ROOT], size, oversubscription=settings.oversubscription)
    allocate(tree[ROOT], {name.replace("_", "."): value for name, value in wanted.items()}, everybody=tree)
    return {name: round(group.allocated, 6) for name, group in tree.items() if name != ROOT}


def test_a_surplus_goes_only_to_those_that_accept_one_in_proportion_to_quotas():
    three = [("a", 60.0), ("b", 20.0), ("c", 20.0)]
    strict = groups(*(GroupSettings(name=name, quota=quota) for name, quota in three))
    assert allocated(strict, 100.0, a=0, b=90, c=90) == {"a": 0, "b": 20, "c": 20}
    open_ = groups(*(GroupSettings(name=name, quota=quota, accept_surplus=True) for name, quota in three))
    assert allocated(open_, 100.0, a=0, b=90, c=90) == {"a": 0, "b": 50, "c": 50}
    assert allocated(open_, 100.0, a=0, b=30, c=90) == {"a": 0, "b": 30, "c": 70}


def test_a_surplus_stays_among_siblings_first_and_a_closed_parent_bounds_its_subtree():
    def tree(physics: bool) -> NegotiatorSettings:
        return groups(
            GroupSettings(name="physics", quota=50, accept_surplus=physics),
            GroupSettings(name="physics.hep", quota=30, accept_surplus=True),
            GroupSettings(name="physics.lep", quota=20, accept_surplus=True),
            GroupSettings(name="chem", quota=50, accept_surplus=True),
        )

    wanted = {"physics_hep": 90.0, "physics_lep": 0.0, "chem": 20.0}
    assert allocated(tree(False), 100.0, **wanted) == {"physics": 0, "physics.hep": 50, "physics.lep": 0, "chem": 20}
    assert allocated(tree(True), 100.0, **wanted) == {"physics": 0, "physics.hep": 80, "physics.lep": 0, "chem": 20}


@drawn(
    st.lists(st.tuples(st.floats(0, 50), st.floats(0, 80), st.booleans()), min_size=1, max_size=6), st.floats(1, 100)
)
def test_nobody_is_allocated_more_than_it_wants_nor_all_together_more_than_there_is(drawn_groups, size):
    settings = groups(
        *(
            GroupSettings(name=f"g{number}" if number % 2 else f"g1.h{number}", quota=quota, accept_surplus=accepts)
            for number, (quota, _, accepts) in enumerate(drawn_groups)
        ),
        oversubscription=False,
    )
    wanted = {
        each.name.replace(".", "_"): want for each, (_, want, _) in zip(settings.groups, drawn_groups, strict=True)
    }
    found = allocated(settings, size, **wanted)
    assert sum(found.values()) <= size + 1e-4
    for name, amount in found.items():
        assert amount <= wanted[name.replace(".", "_")] + 1e-4


def test_groups_are_held_to_their_quotas_in_a_cycle():
    settings = groups(GroupSettings(name="a", quota=3), GroupSettings(name="b", quota=5))
    slots = [slot(f"s{number}") for number in range(10)] + [claimed("busy", "a.x@x")]
    found = given(
        plan(
            slots,
            demand("a.x@x", (job(), 20)),
            demand("b.y@x", (job(), 20)),
            demand("free@x", (job(), 20)),
            settings=settings,
        )
    )
    assert {user: len(each) for user, each in found.items()} == {"a.x@x": 2, "b.y@x": 5, "free@x": 3}


def test_jobs_of_an_autoregroup_group_compete_once_more_without_it():
    one = GroupSettings(name="a", quota=3, autoregroup=True)
    slots = [slot(f"s{number}") for number in range(10)]
    found = given(plan(slots, demand("a.x@x", (job(), 20)), settings=groups(one)))
    assert len(found["a.x@x"]) == 10


@pytest.mark.parametrize("accepts", [True, False])
def test_what_a_group_leaves_is_used_by_one_that_accepts_a_surplus(accepts):
    settings = groups(GroupSettings(name="a", quota=5), GroupSettings(name="b", quota=5, accept_surplus=accepts))
    slots = [slot(f"s{number}") for number in range(10)]
    found = given(plan(slots, demand("b.x@x", (job(), 20)), settings=settings))
    assert len(found["b.x@x"]) == (10 if accepts else 5)
