"""Values that a table remembers for ads that say the same are right for every ad, whatever comes in between."""

from __future__ import annotations

import random

import pytest

from roost.classad import ClassAd, Expr, FixedWorld
from roost.classad.vector import Table
from roost.classad.vector import memory as memory_module
from roost.classad.vector.memory import ANSWERS_MAX

WORLD = FixedWorld(instant=1_700_000_000.0)
STARTS = (
    'TARGET.Owner == "ann" || Load < 3',
    "TARGET.Prio >= Number && (TARGET.Size ?: 5) <= Limit",
    'regexp("^a", TARGET.Owner) && Owner isnt Denied',
    "Prio / Number > Size",
    "TARGET.Wish",
    "MY.Limit + TARGET.Deep + (Owner =?= \"ann\" ? Prio : Size)",
)  # fmt: skip
#: Values that Python takes for equal and the language does not, and expressions.
VALUES = (1, 1.0, True, 0.0, -0.0, 0, False, "ann", "Ann", "bob", None, "=Size", "=TARGET.Load * 2", "=[a = 1]")


@pytest.fixture(autouse=True)
def sharing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are enough here."""
    monkeypatch.setattr(memory_module, "SHARED_ROWS_MIN", 0)


def cell(value: object) -> object:
    return Expr.parse(value[1:]) if isinstance(value, str) and value.startswith("=") else value


def slots(source: random.Random) -> dict[int, ClassAd]:
    found = {}
    for number in range(30):
        ad = ClassAd(Number=number % 7, Load=source.randrange(6), Limit=source.choice((3, 8.5)))
        ad["Requirements"] = Expr.parse(source.choice(STARTS))
        if source.random() < 0.5:
            ad["Denied"] = source.choice(("bob", "ann"))
        if source.random() < 0.2:
            ad["Size"] = 4
        found[number] = ad
    return found


def job(source: random.Random) -> ClassAd:
    ad = ClassAd(Requirements=Expr.parse("TARGET.Load >= Least && (TARGET.Size =?= undefined || Prio isnt 1)"))
    for name in ("Owner", "Prio", "Size", "Wish", "Deep", "Least"):
        value = source.choice(VALUES)
        if value is not None:
            ad[name] = cell(value)
    if source.random() < 0.1:
        ad["Wish"] = ClassAd(a=source.randrange(3))
    if source.random() < 0.05:
        ad["TARGET"] = 3
    return ad


@pytest.mark.parametrize("seed", range(12))
def test_what_is_remembered_is_right_for_each_ad(seed):
    source = random.Random(seed)
    ads = slots(source)
    table = Table(ads.items())
    for _ in range(60):
        asked = job(source)
        if source.random() < 0.2:
            key = source.choice(list(ads))
            ads[key]["Load"] = source.randrange(6)
            table.put(key, ads[key])
        accepted, accepts = table.sides(asked, WORLD)
        assert accepted.tolist() == [ad.matches(asked, WORLD) for ad in ads.values()]
        assert accepts.tolist() == [asked.matches(ad, WORLD) for ad in ads.values()]


def test_a_part_is_computed_once_for_ads_that_say_the_same():
    table = Table(
        (at, ClassAd(Number=at, Requirements=Expr.parse('TARGET.Owner == "u3" || Number < 5'))) for at in range(9)
    )
    for number in range(40):
        table.match(ClassAd(Owner=f"u{number % 4}", Requirements=True, Size=number))
    kept = [len(each.entries) for each in table._memory.answers.values()]
    assert kept
    assert max(kept) == 4


def test_parts_that_ads_never_agree_about_are_not_kept():
    table = Table((at, ClassAd(Number=at, Requirements=Expr.parse("TARGET.Size > Number"))) for at in range(9))
    for number in range(ANSWERS_MAX):
        table.match(ClassAd(Size=number, Requirements=True))
    assert all(len(each.entries) < ANSWERS_MAX // 2 for each in table._memory.answers.values())


def test_what_is_remembered_for_ads_has_a_limit():
    slots = ((at, ClassAd(Number=at, Requirements=Expr.parse("TARGET.Size > Number"))) for at in range(1000))
    table = Table(slots, memory_bytes_max=20_000)
    for number in range(300):
        table.match(ClassAd(Size=number % 40, Requirements=True))
        assert table._memory.nbytes + table._memory.answers_nbytes <= 20_000
    assert table._memory.answers_nbytes == sum(each.nbytes for each in table._memory.answers.values())
