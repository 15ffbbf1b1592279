"""CellUsage of a cell: sums that halve with time, whatever they were charged with, and rules that change."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.model.cell_usage import CellUsage, Owner, UsageRules, Used, by_share

ANN = Owner("ann", "p", "d")
HOUR = UsageRules(halflives={"cpu": 3600.0, "mem": math.inf, "io": 0.0})


def test_sums_halve_with_their_half_life_and_totals_stay() -> None:
    used = Used(at=0.0, recent={}, total={}).charged({"cpu": 8.0, "mem": 4.0, "io": 2.0}, HOUR, 0.0)
    later = used.settled(HOUR, 7200.0)
    # With a half-life of 0 it counts until the run is over.
    assert later.recent == {"cpu": 2.0, "mem": 4.0, "io": 2.0}
    assert later.released({"cpu": 8.0, "io": 1.5}, HOUR).recent == {"cpu": 2.0, "mem": 4.0, "io": 0.5}
    assert later.released({"io": 9.0}, HOUR).recent["io"] == 0.0
    assert later.total == {"cpu": 8.0, "mem": 4.0, "io": 2.0}
    # A clock that was set back takes nothing away, and gives nothing back.
    assert later.settled(HOUR, 3600.0) == later


@given(st.lists(st.tuples(st.floats(0, 1e4), st.floats(0, 1e4)), max_size=20))
def test_it_does_not_matter_when_sums_are_looked_at(steps: list[tuple[float, float]]) -> None:
    looked = plain = Used(at=0.0, recent={}, total={})
    now = 0.0
    for gap, amount in steps:
        looked = looked.settled(HOUR, now + gap / 2).settled(HOUR, now + gap)
        now += gap
        looked, plain = (each.charged({"cpu": amount}, HOUR, now) for each in (looked, plain))
    assert looked.recent.get("cpu", 0.0) == pytest.approx(plain.recent.get("cpu", 0.0))
    assert looked.total == plain.total


def test_other_rules_count_from_then_on() -> None:
    accounts = CellUsage(rules=HOUR)
    accounts.charge(ANN, {"cpu": 8.0}, 0.0)
    assert accounts.use(UsageRules(halflives={"cpu": math.inf}), 3600.0)
    assert accounts.by_owner[ANN].settled(accounts.rules, 1e9).recent["cpu"] == 4.0
    before = accounts.serial
    assert not accounts.use(accounts.rules, 4000.0) and accounts.serial == before


def test_what_was_used_is_forgotten_once_only_runs_count_that_go_on() -> None:
    accounts = CellUsage(rules=HOUR)
    accounts.charge(ANN, {"cpu": 8.0}, 0.0)
    assert accounts.release(ANN, {"cpu": 8.0}) is None
    assert accounts.use(UsageRules(halflives={"cpu": 0.0}), 0.0)
    assert accounts.by_owner[ANN].recent["cpu"] == 0.0
    accounts.charge(ANN, {"cpu": 3.0}, 10.0)
    accounts.charge(ANN, {"cpu": 4.0}, 20.0)
    found = accounts.release(ANN, {"cpu": 4.0})
    assert found is not None and (found.recent["cpu"], found.total["cpu"]) == (3.0, 15.0)


def test_the_share_tree_does_not_see_departments() -> None:
    rows = [(Owner("ann", "p", department), Used(at=0.0, recent={"cpu": 1.0}, total={})) for department in ("d", "e")]
    assert by_share(rows, HOUR, 0.0) == {("ann", "p"): {"cpu": 2.0, "mem": 0.0, "io": 0.0}}


def test_the_figure_is_that_of_grid_engine() -> None:
    # What sge_share_mon of 8.1.9 said of a job that had run with these weights.
    rules = UsageRules(weights={"cpu": 0.5, "mem": 0.3, "io": 0.2})
    assert rules.weighted({"cpu": 3.361037, "mem": 0.126599, "io": 0.233391}) == pytest.approx(1.765176, abs=1e-6)
    assert UsageRules().weighted({"cpu": 1.0}) == 0.0
