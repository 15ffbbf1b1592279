from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.negotiator.accountant import BEST, Accountant, group_of
from roost.negotiator.settings import GroupSettings, NegotiatorSettings, PriorityFactors

DAY = 86_400.0
SETTINGS = NegotiatorSettings()


def test_an_idle_users_priority_halves_with_each_half_life():
    accounts = Accountant()
    accounts.update({}, 0.0, SETTINGS)
    accounts.user("ann@x").priority = 10.0
    accounts.update({}, DAY, SETTINGS)
    assert accounts.real("ann@x") == pytest.approx(5.0)
    accounts.update({}, 2 * DAY, SETTINGS)
    assert accounts.real("ann@x") == pytest.approx(2.5)
    accounts.update({}, 30 * DAY, SETTINGS)
    assert accounts.real("ann@x") == BEST


@given(st.lists(st.floats(1.0, 50_000.0), min_size=1, max_size=20))
def test_a_hundred_cores_for_two_days_come_to_the_same_in_any_steps(steps):
    accounts, now = Accountant(), 0.0
    accounts.update({"ann@x": (100.0, 100)}, now, SETTINGS)
    for step in steps:
        now += step
        if now < 2 * DAY:
            accounts.update({"ann@x": (100.0, 100)}, now, SETTINGS)
    accounts.update({"ann@x": (100.0, 100)}, 2 * DAY, SETTINGS)
    assert accounts.real("ann@x") == pytest.approx(100 - 99.5 * 0.25)
    assert accounts.users["ann@x"].used_s == pytest.approx(100 * 2 * DAY)


def test_what_began_and_ended_between_two_updates_is_charged():
    accounts = Accountant()
    accounts.update({}, 0.0, SETTINGS)
    accounts.update({}, DAY, SETTINGS, uncharged={"ann@x": 20 * DAY})
    assert accounts.real("ann@x") == pytest.approx(0.25 + 10)


def test_a_clock_that_goes_back_charges_nothing():
    accounts = Accountant()
    accounts.update({"ann@x": (5.0, 5)}, 1000.0, SETTINGS)
    accounts.update({"ann@x": (5.0, 5)}, 10.0, SETTINGS)
    assert accounts.users["ann@x"].used_s == 0.0


@pytest.mark.parametrize(
    ("user", "factor"),
    [
        ("ann@here", 1000.0),
        ("ann@there", 1e7),
        ("nice-user.ann@here", 1e10),
        ("physics.ann@here", 3.0),
        ("physics.hep.ann@here", 1000.0),
        ("boss@here", 2.0),
    ],
)
def test_the_factor_is_the_users_own_the_nice_ones_the_groups_the_remote_one_or_the_default(user, factor):
    settings = NegotiatorSettings(
        factors=PriorityFactors(local_domain="here"),
        groups=(GroupSettings(name="Physics", prio_factor=3.0), GroupSettings(name="physics.hep")),
    )
    accounts = Accountant()
    accounts.set_factor("boss@here", 2.0)
    assert accounts.factor(user, settings) == factor
    assert accounts.effective(user, settings) == BEST * factor


def test_nice_users_are_those_of_the_group_that_the_knob_names_and_those_of_old():
    settings = NegotiatorSettings(factors=PriorityFactors(nice_name="leftovers"))
    factors = [Accountant().factor(user, settings) for user in ("Leftovers.ann@x", "nice-user.ann@x", "nicer.ann@x")]
    assert factors == [1e10, 1e10, 1000.0]


def test_groups_are_found_by_their_longest_name_without_regard_to_case():
    groups = (GroupSettings(name="Physics"), GroupSettings(name="physics.hep"))
    assert group_of("PHYSICS.hep.ann@x", groups) == "physics.hep"
    assert group_of("physics.ann@x", groups) == "Physics"
    assert group_of("physicsann@x", groups) == "<none>"
    assert group_of("ann@physics.hep", groups) == "<none>"


@given(st.dictionaries(st.text(min_size=1), st.tuples(st.floats(0, 1e6), st.floats(1, 1e6), st.booleans())))
def test_accounts_come_back_from_json_as_they_were(users):
    accounts = Accountant()
    for name, (weight, factor, bounded) in users.items():
        accounts.update({name: (weight, 1)}, 5.0, SETTINGS)
        accounts.set_factor(name, factor)
        if bounded:
            accounts.set_bounds(name, floor=1.0, ceiling=5.0)
    again = Accountant.from_json(json.loads(json.dumps(accounts.to_json())))
    assert again.users == accounts.users
    assert again.updated_at == accounts.updated_at


@pytest.mark.parametrize("data", [{}, {"version": 2}, [], {"version": 1}, {"version": 1, "users": {"a": {"x": 1}}}])
def test_other_data_are_refused(data):
    with pytest.raises(ValueError, match="account"):
        Accountant.from_json(data)


def test_bad_values_of_commands_are_refused():
    accounts = Accountant()
    for deed in (
        lambda: accounts.set_factor("a", 0.5),
        lambda: accounts.set_priority("a", float("nan")),
        lambda: accounts.set_bounds("a", floor=-1.0),
    ):
        with pytest.raises(ValueError, match="number from"):
            deed()


def test_a_reset_forgets_use_and_keeps_the_factor():
    accounts = Accountant()
    accounts.set_factor("a", 5.0)
    accounts.set_priority("a", 40.0)
    accounts.reset("a")
    assert (accounts.real("a"), accounts.factor("a", SETTINGS)) == (BEST, 5.0)
    assert [ad["Name"] for ad in accounts.ads(SETTINGS)] == ["a"]
