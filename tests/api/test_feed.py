"""The table of slots follows what machines tell, and gives each change once and in order."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from roost.api import feed as module
from roost.api.feed import Feed, SlotNow
from roost.wire.messages import SlotAds


def ad(name: str, machine: str, state: str = "Unclaimed", activity: str = "Idle") -> dict[str, Any]:
    return {"Name": name, "Machine": machine, "State": state, "Activity": activity}


def test_slots_come_change_and_go() -> None:
    feed = Feed()
    feed.fill([ad("a1", "a"), ad("b1", "b")])
    feed.take(SlotAds(node="a", ads=[ad("a1", "a", "Claimed", "Busy"), ad("a2", "a")], whole=True), "a", "")
    assert {name: slot.state for name, slot in feed.slots().items()} == {
        "a1": "Claimed", "a2": "Unclaimed", "b1": "Unclaimed",
    }  # fmt: skip
    feed.take(SlotAds(node="a", ads=[ad("a1", "a")], whole=True), "a", "")
    feed.take(SlotAds(node="b", ads=[], gone=["b1"]), "b", "")
    assert set(feed.slots()) == {"a1"}


def test_a_machine_cannot_tell_of_the_slots_of_another() -> None:
    feed = Feed()
    feed.fill([ad("b1", "b")])
    feed.take(SlotAds(node="b", ads=[ad("b1", "b", "Owner")], gone=["b1"], whole=True), "a", "")
    assert {name: slot.state for name, slot in feed.slots().items()} == {"b1": "Unclaimed"}


def test_changes_that_are_no_longer_known_are_not_made_up(monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "CHANGES_MAX", 3)
    feed = Feed()
    for number in range(5):
        feed.fill([ad("a1", "a", activity=str(number))])
    assert feed.since(1) is None
    assert feed.since(99) is None
    last = feed.since(2)
    assert last is not None
    assert [change.number for change in last] == [3, 4, 5]


@given(st.lists(st.dictionaries(st.sampled_from("abcd"), st.sampled_from(("Idle", "Busy")))), st.data())
def test_who_applies_all_changes_has_the_table(tables: list[dict[str, str]], data: st.DataObject) -> None:
    feed, seen, at = Feed(), dict[str, SlotNow](), 0
    for table in tables:
        feed.fill(ad(name, "m", activity=activity) for name, activity in table.items())
        if data.draw(st.booleans()):
            for change in feed.since(at) or ():
                assert change.number == at + 1
                at = change.number
                if change.slot is None:
                    del seen[change.name]
                else:
                    seen[change.name] = change.slot
            assert seen == feed.slots()
            assert {name: slot.activity for name, slot in seen.items()} == table
