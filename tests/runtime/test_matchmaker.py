"""The matchmaker's place in the central manager: accounts on disk, commands about them, what queues are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from roost.classad import ClassAd, Expr
from roost.collector.table import AdTable
from roost.config import ConfigError, MemoryHost, load_text
from roost.negotiator.accountant import AccountError
from roost.negotiator.snapshot import Request, Snapshot, SubmitterDemand
from roost.negotiator.timing import at_once
from roost.runtime.central.matchmaker import Matchmaker
from roost.wire.requests.central import ChangeUser


def matchmaker(tmp_path: Path, text: str = "UID_DOMAIN = x") -> Matchmaker:
    return Matchmaker(load_text(text, MemoryHost()), tmp_path / "priorities.json")


def table() -> AdTable:
    found = AdTable()
    ad = ClassAd(MyType="Machine", Name="slot1", State="Claimed", RemoteUser="ann@x", Cpus=4)
    ad["Requirements"] = Expr.parse("TARGET.ImageSize < 5")
    found.put(ad, sender="node", now=0.0, claim_id="c")
    return found


def test_accounts_outlive_the_daemon(tmp_path):
    first = matchmaker(tmp_path)
    first.charge(table(), 1000.0)
    first.charge(table(), 2000.0)
    again = matchmaker(tmp_path)
    assert again.accounts.users == first.accounts.users
    assert again.accounts.users["ann@x"].used_s == 4000.0


def test_accounts_that_cannot_be_read_are_put_aside(tmp_path):
    (tmp_path / "priorities.json").write_text("{")
    assert matchmaker(tmp_path).accounts.users == {}
    assert (tmp_path / "priorities.unreadable").read_text() == "{"


def test_administrators_change_accounts(tmp_path):
    found = matchmaker(tmp_path)
    found.change_user(ChangeUser(action="set-factor", user="ann@x", value=5.0))
    (ad,) = found.users()
    assert (ad["Name"], ad["PriorityFactor"]) == ("ann@x", 5.0)
    with pytest.raises(AccountError, match="there is no account of bob@x"):
        found.change_user(ChangeUser(action="delete", user="bob@x"))


def test_significant_attributes_are_told_once_and_stay(tmp_path):
    found, ads = matchmaker(tmp_path), table()
    assert "imagesize" in (found.news(ads) or ())
    assert found.news(ads) is None
    found.told = False
    assert "imagesize" in (found.news(ads) or ())
    other = ClassAd(MyType="Machine", Name="slot1", State="Unclaimed")
    other["Requirements"] = Expr.parse("TARGET.Project == 1")
    ads.put(other, sender="node", now=1.0)
    assert {"imagesize", "project"} <= set(found.news(ads) or ())


def test_a_bad_configuration_is_refused_and_the_settings_stay(tmp_path):
    found = matchmaker(tmp_path, "PREEMPTION_REQUIREMENTS = RemoteUserPrio > 1")
    before = found.settings
    with pytest.raises(ConfigError):
        found.configure(load_text("PREEMPTION_REQUIREMENTS = >", MemoryHost()))
    assert found.settings is before


def test_a_cycle_shows_itself_in_ads_and_its_policy_in_what_is_handed_out(tmp_path):
    found, ads = matchmaker(tmp_path, 'NEGOTIATOR_PE_RESOURCE_EXPR = TARGET.Owner != "bob"'), table()
    job = ClassAd(Owner="ann", Requirements=True, ImageSize=9)
    request = Request(autocluster=1, ad=job, count=1, job="1.0")
    demand = SubmitterDemand(schedd="q", submitter="ann@x", requests=(request,))
    snapshot = Snapshot(
        slots=ads.slots, claims=ads.claims, nodes=ads.senders, demands=(demand,), now=5.0, versions=ads.versions
    )
    plan = at_once(found.cycle(snapshot, ads))
    (negotiator, account) = found.ads(plan, "central", 1, 0.5)
    assert (negotiator["MyType"], negotiator["LastNegotiationCycleRejections0"]) == ("Negotiator", 1)
    assert (account["Name"], account["WeightedResourcesUsed"]) == ("ann@x", 4.0)
    kept = ads.get("Machine", "slot1")
    assert kept is not None
    assert "bob" in str(found.handed_out(kept.ad)["PoolPolicyResourceExpr"])
