from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.classad import ClassAd, parse_expression
from roost.collector import table as table_module
from roost.collector.table import AdTable, TooManyAds


def machine(name: str, **more: object) -> ClassAd:
    return ClassAd(MyType="Machine", Name=name, Machine="host", **more)


def filled(count: int) -> AdTable:
    table = AdTable()
    for number in range(count):
        table.put(
            machine(f"slot{number}", Memory=number, State="Unclaimed"), sender="node", now=0.0, claim_id=f"c{number}"
        )
    return table


def test_what_is_not_heard_of_is_forgotten_after_its_lifetime():
    table = AdTable(lifetime_s=100.0)
    table.put(machine("a"), sender="n", now=0.0)
    table.put(machine("b", ClassAdLifetime=10), sender="n", now=0.0)
    table.put(ClassAd(MyType="Scheduler", Name="q"), sender="q", now=0.0)
    assert table.expire(10.0) == []
    assert table.expire(11.0) == ["b"]
    table.put(machine("a"), sender="n", now=90.0)
    assert table.expire(150.0) == ["q"]
    assert [name for name, _ in table.of("")] == ["a"]


def test_an_ad_says_when_it_was_heard_of_last():
    table = AdTable()
    for now in (10.0, 20.5):
        table.put(machine("a"), sender="n", now=now)
    (ad,) = table.query("Machine", projection=("Name", "LastHeardFrom"))
    assert dict(ad) == {"Name": "a", "LastHeardFrom": 20}


@pytest.mark.parametrize("count", [5, 200])
def test_queries_give_the_ads_for_which_a_constraint_is_true(count):
    table = filled(count)
    found = [ad["Name"] for ad in table.query("Machine", parse_expression("Memory % 2 == 1"))]
    assert found == [f"slot{number}" for number in range(1, count, 2)]
    assert [ad["Name"] for ad in table.query("Machine", parse_expression("Nothing"))] == []
    assert len(list(table.query("Machine", limit=3))) == 3
    (one, *_) = table.query("Machine", parse_expression("Memory == 3"), projection=("Memory", "Absent"))
    assert dict(one) == {"Memory": 3}


def test_the_collectors_own_ad_counts():
    table = filled(3)
    table.put(machine("slot1", State="Claimed"), sender="node", now=1.0)
    table.put(ClassAd(MyType="Scheduler", Name="q"), sender="q", now=0.0)
    table.put(ClassAd(MyType="Submitter", Name="ann", RunningJobs=3, IdleJobs=1), sender="q", now=0.0)
    table.put(ClassAd(MyType="Submitter", Name="bob", RunningJobs=4), sender="q", now=0.0)
    ad = table.ad("central")
    assert (ad["RunningJobs"], ad["IdleJobs"]) == (7, 1)
    assert (ad["MachineAds"], ad["SchedulerAds"], ad["TotalAds"]) == (3, 1, 6)
    assert (ad["HostsUnclaimed"], ad["HostsClaimed"], ad["UpdatesTotal"], ad["HostsTotal"]) == (2, 1, 7, 1)
    assert AdTable().ad("central")["TotalAds"] == 0


def test_an_ad_needs_a_type_and_a_name():
    with pytest.raises(ValueError, match="MyType and Name"):
        AdTable().put(ClassAd(Name="x"), sender="n", now=0.0)


def test_there_is_a_limit_to_the_number_of_ads(monkeypatch):
    monkeypatch.setattr(table_module, "ADS_MAX", 2)
    table = filled(2)
    table.put(machine("slot1"), sender="n", now=0.0)
    with pytest.raises(TooManyAds, match="ADS_MAX = 2"):
        table.put(machine("slot9"), sender="n", now=0.0)


def test_only_what_a_daemon_says_there_is_stays_of_what_it_sent():
    table = filled(3)
    table.put(machine("other"), sender="another", now=0.0)
    table.only("Machine", "node", ["slot1"])
    assert [name for name, _ in table.of("Machine")] == ["slot1", "other"]


def test_a_slot_that_offers_no_claim_any_more_is_not_offered():
    table = filled(1)
    assert table.claims == {"slot0": "c0"}
    table.put(machine("slot0"), sender="node", now=1.0)
    assert table.claims == {}


def test_only_changes_of_what_is_watched_count():
    table = filled(3)
    table.watch(["memory", "state"])
    before = table.versions[:3].copy()
    table.put(machine("slot1", Memory=1, State="Unclaimed", Clock=5), sender="node", now=1.0)
    assert (table.versions[:3] == before).all()
    table.put(machine("slot1", Memory=7, State="Unclaimed", Clock=5), sender="node", now=1.0)
    assert (table.versions[:3] > before).tolist() == [False, True, False]
    table.watch(["memory", "state", "clock"])
    assert (table.versions[:3] > before).all()


@given(st.lists(st.tuples(st.integers(0, 12), st.sampled_from(("put", "remove", "same")), st.integers(0, 3))))
def test_rows_that_differ_from_what_was_seen_have_a_later_version(steps):
    table, seen, at = AdTable(), {}, -1
    for number, deed, memory in steps:
        name = f"slot{number}"
        if deed == "remove":
            table.remove("Machine", name)
        elif deed == "put" or name not in table.senders:
            table.put(machine(name, Memory=memory), sender="n", now=0.0)
        for row, key in enumerate(table.slots.keys()):
            now = (key, table.slots.value(key, "Memory"))
            if seen.get(row) != now:
                assert table.versions[row] > at
        seen = {row: (key, table.slots.value(key, "Memory")) for row, key in enumerate(table.slots.keys())}
        at = max(at, int(np.max(table.versions[: max(1, len(table.slots))], initial=-1)), table.changes)


def test_names_of_ads_are_compared_without_case() -> None:
    table = AdTable()
    table.put(machine("Slot1@Host", Memory=1), sender="h", now=0.0, claim_id="first")
    table.put(machine("slot1@host", Memory=2), sender="h", now=1.0, claim_id="second")
    assert len(table) == len(table.slots) == 1
    kept = table.get("MACHINE", "SLOT1@HOST")
    assert kept is not None and (kept.ad.get("Memory"), kept.claim_id) == (2, "second")
    assert (table.claims, table.senders) == ({"Slot1@Host": "second"}, {"Slot1@Host": "h"})
    table.only("Machine", "h", ["SLOT1@host"])
    assert len(table) == 1
    assert table.remove("Machine", "sLOT1@hOST")
    assert (len(table), len(table.slots), table.claims, table.senders) == (0, 0, {}, {})
    table.put(machine("slot1@HOST"), sender="h", now=2.0)
    assert list(table.slots) == ["slot1@HOST"]
