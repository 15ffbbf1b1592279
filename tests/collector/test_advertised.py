"""An ad belongs to the user who advertised it."""

from __future__ import annotations

import contextlib

import pytest

from roost.classad import ClassAd, Expr
from roost.collector.advertised import OF_DAEMONS, NotYours, advertise, withdraw
from roost.collector.table import AdTable

ADMINISTRATORS = frozenset({"root"})


def licence(name: str = "matlab", kind: str = "License", **more: int) -> ClassAd:
    return ClassAd(MyType=kind, Name=name, **more)


def tell(table: AdTable, user: str, *ads: ClassAd) -> None:
    advertise(table, ads, user=user, administrators=ADMINISTRATORS, now=1.0)


def take(table: AdTable, user: str, *names: str, kind: str = "") -> int:
    return withdraw(table, names, kind=kind, user=user, administrators=ADMINISTRATORS)


def listed(table: AdTable) -> list[tuple[str, str, object]]:
    return [(str(ad["MyType"]), str(ad["Name"]), ad.get("Free")) for ad in table.query("")]


@pytest.mark.parametrize("kind", ["License", "license", "LICENSE"])
def test_another_user_can_neither_replace_nor_withdraw_an_ad(kind: str) -> None:
    table = AdTable()
    tell(table, "root", licence(Free=5))
    with pytest.raises(NotYours, match="mallory may not replace the License ad 'matlab', which belongs to root"):
        tell(table, "mallory", licence("mine"), licence(kind=kind, Free=0))
    for words in ({}, {"kind": kind}):
        with pytest.raises(NotYours, match="mallory may not withdraw the License ad 'matlab'"):
            take(table, "mallory", "matlab", **words)
    assert listed(table) == [("License", "matlab", 5)], "what is refused changes nothing"


def test_the_advertiser_and_administrators_replace_and_withdraw_it() -> None:
    table = AdTable()
    tell(table, "ann", licence(Free=5))
    tell(table, "ann", licence(Free=4))
    assert listed(table) == [("License", "matlab", 4)]
    tell(table, "root", licence(Free=3))
    with pytest.raises(NotYours):
        tell(table, "ann", licence(Free=9))
    assert take(table, "root", "matlab") == 1
    tell(table, "ann", licence(), licence(kind="Printer"))
    assert take(table, "ann", "matlab", kind="printer") == 1
    assert listed(table) == [("License", "matlab", None)]


def test_an_ad_says_who_advertised_it_whatever_it_said_itself() -> None:
    table = AdTable()
    forged = licence()
    forged["AuthenticatedIdentity"], forged["AdvertisedByAdministrator"] = "root", True
    tell(table, "ann", forged)
    tell(table, "root", licence("ansys"))
    said = [(ad["AuthenticatedIdentity"], ad["AdvertisedByAdministrator"]) for ad in table.query("License")]
    assert said == [("ann", False), ("root", True)]


@pytest.mark.parametrize("kind", sorted({*OF_DAEMONS, "Machine", "MACHINE", "mAcHiNe", "StartdPvt", "Slot", "Job"}))
def test_types_of_daemons_are_refused_in_any_case(kind: str) -> None:
    table = AdTable()
    with pytest.raises(NotYours, match="only daemons"):
        tell(table, "ann", licence(kind=kind))
    with pytest.raises(NotYours, match="only daemons"):
        take(table, "root", "matlab", kind=kind)
    assert listed(table) == []


def test_a_type_that_is_computed_is_known_by_its_value() -> None:
    table = AdTable()
    computed = licence()
    computed["MyType"] = Expr.parse('strcat("Mach", "ine")')
    with pytest.raises(NotYours):
        tell(table, "ann", computed)
    computed["MyType"] = Expr.parse('random() < 2 ? "License" : "Machine"')
    tell(table, "ann", computed)
    (ad,) = table.query("license")
    assert str(ad["MyType"]) == "License"


def test_withdrawing_does_not_touch_ads_of_daemons_with_that_name() -> None:
    table = AdTable()
    table.put(ClassAd(MyType="Machine", Name="slot1"), sender="node", now=1.0)
    assert take(table, "root", "slot1") == 0
    assert len(list(table.query("machine"))) == 1


def test_a_type_that_is_drawn_by_chance_is_drawn_once() -> None:
    for _ in range(50):
        table = AdTable()
        drawn = licence()
        drawn["MyType"] = Expr.parse('random() < 0.5 ? "License" : "Machine"')
        with contextlib.suppress(NotYours):
            tell(table, "ann", drawn)
        assert not list(table.query("Machine"))


def test_spellings_of_types_that_are_gone_are_forgotten() -> None:
    table = AdTable(lifetime_s=10.0)
    for number in range(1000):
        tell(table, "ann", licence(kind=f"T{number}"))
    table.expire(100.0)
    assert len(table._kinds) == 1
