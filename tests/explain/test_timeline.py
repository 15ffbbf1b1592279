"""The stays of a slot: made of its transitions alone, without gaps, within the time that is asked for."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

from roost.explain.timeline import stays
from roost.model.slot_transition import SlotTransition


def record(at: float, from_: str, to: str, *, slot: str = "slot1@m", **more: Any) -> SlotTransition:
    return SlotTransition(at=at, slot=slot, from_=from_, to=to, number="1", reason="r", **more)


def test_each_transition_begins_a_stay() -> None:
    records = [
        record(100, "Owner/Idle", "Unclaimed/Idle"),
        record(120, "Unclaimed/Idle", "Claimed/Idle", job="1.0"),
        record(120, "Claimed/Idle", "Claimed/Busy", job="1.0"),
        record(121, "Preparing", "Running", job="1.0", starter=True),
        record(130, "Unclaimed/Idle", "Owner/Idle", slot="slot2@m"),
        record(150, "Claimed/Busy", "Unclaimed/Idle"),
    ]
    found = stays(records, "slot1@m", 50, 200)
    assert [(each.begin, each.end, each.state, each.activity, each.job) for each in found] == [
        (100, 120, "Unclaimed", "Idle", ""),
        (120, 150, "Claimed", "Busy", "1.0"),
        (150, 200, "Unclaimed", "Idle", ""),
    ]
    assert [(each.begin, each.state) for each in stays(records, "slot1@m", 140, 200)] == [
        (140, "Claimed"), (150, "Unclaimed"),
    ]  # fmt: skip
    assert stays(records, "slot3@m", 0, 200) == []


def test_stays_of_any_records_follow_each_other_without_gaps() -> None:
    dice = random.Random(7)
    for _ in range(300):
        states = ["Owner/Idle", "Unclaimed/Idle", "Matched/Idle", "Claimed/Busy", "Preempting/Vacating"]
        ats = sorted(dice.uniform(0, 100) for _ in range(dice.randrange(1, 20)))
        seen = [dice.choice(states) for _ in range(len(ats) + 1)]
        records = [record(at, *pair) for at, pair in zip(ats, pairwise(seen), strict=True)]
        dice.shuffle(records)
        since = dice.uniform(0, 100)
        found = stays(records, "slot1@m", since, 100)
        assert found[0].begin == max(since, ats[0])
        assert found[-1].end == 100
        assert all(one.end == other.begin for one, other in pairwise(found))
        assert all(each.end > each.begin for each in found)


def test_what_happened_while_the_daemon_was_away_is_a_gap() -> None:
    records = [
        record(10, "Owner/Idle", "Unclaimed/Idle"),
        record(20, "Unclaimed/Idle", "Claimed/Busy"),
        record(60, "Owner/Idle", "Unclaimed/Idle"),
    ]
    found = stays(records, "slot1@m", 0, 100)
    assert [(each.begin, each.end, each.state) for each in found] == [(10, 20, "Unclaimed"), (60, 100, "Unclaimed")]
