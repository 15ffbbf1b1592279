"""What machines are told of suspensions: once, again if it did not arrive, and nothing that they show already."""

from __future__ import annotations

from typing import Any

from roost.classad import ClassAd
from roost.gridengine.pool.suspensions import AGAIN_S, OccupiedSlot, Suspensions
from roost.model.cell_requests import Suspender

WHY = {Suspender.SUBORDINATION: "low.q@h is subordinated to high.q@h"}
BY_THRESHOLD = {Suspender.THRESHOLD: "low.q@h exceeded a suspend threshold"}


def place(**ad: Any) -> OccupiedSlot:
    about = {"State": "Claimed", "Activity": "Busy", "PublicClaimId": "<h>#1#1.1#...", **ad}
    return OccupiedSlot("slot1@h", ClassAd(about), "low.q@h")


def test_a_machine_is_told_until_it_shows_it() -> None:
    known = Suspensions()
    (order,) = known.orders([place()], [WHY], 100.0)
    assert order == ("slot1@h", "<h>#1#1.1#...", WHY)
    assert known.orders([place()], [WHY], 100.0 + AGAIN_S / 2) == []
    assert known.orders([place()], [WHY], 100.0 + AGAIN_S) == [order]
    suspended = place(Activity="Suspended", CellSuspenders="subordination")
    assert known.orders([suspended], [WHY], 101.0 + AGAIN_S) == [] and known.any
    assert [one.suspenders for one in known.orders([suspended], [{}], 110.0)] == [{}]
    assert known.orders([place()], [{}], 111.0) == [] and known.any
    assert known.orders([place()], [{}], 112.0) == [] and not known.any


def test_what_was_told_and_is_not_shown_yet_is_taken_back() -> None:
    known = Suspensions()
    assert len(known.orders([place()], [WHY], 100.0)) == 1
    assert [one.suspenders for one in known.orders([place()], [{}], 100.1)] == [{}]


def test_a_claim_that_followed_was_not_told() -> None:
    known = Suspensions()
    known.orders([place()], [BY_THRESHOLD], 100.0)
    assert known.letters("slot1@h", place().ad) == "T"
    assert known.letters("slot1@h", place(PublicClaimId="<h>#1#1.2#...").ad) == ""
    assert len(known.orders([place(PublicClaimId="<h>#1#1.2#...")], [BY_THRESHOLD], 100.1)) == 1


def test_letters_of_tasks() -> None:
    known = Suspensions()
    assert known.letters("slot1@h", place(Activity="Suspended", CellSuspenders="calendar,slots").ad) == "P"
    assert known.letters("slot1@h", place(Activity="Suspended", CellSuspenders="threshold,slots").ad) == "TP"
    # A user or the owner of the machine has suspended it.
    assert known.letters("slot1@h", place(Activity="Suspended").ad) == "s"


def test_the_time_of_a_threshold_is_that_of_its_last_change() -> None:
    known = Suspensions()
    known.orders([place()], [BY_THRESHOLD], 100.0)
    suspended = place(Activity="Suspended", CellSuspenders="threshold")
    known.orders([suspended], [BY_THRESHOLD], 105.0)
    assert known.threshold_times == {"low.q@h": 100.0}
    known.orders([suspended], [{}], 110.0)
    assert known.threshold_times == {"low.q@h": 110.0}


def test_a_slot_that_gets_rid_of_its_job_is_told_nothing() -> None:
    assert Suspensions().orders([place(State="Preempting")], [WHY], 100.0) == []


def test_a_task_that_stands_still_does_not_go_on_until_the_next_one_begins() -> None:
    known = Suspensions()
    suspended = place(Activity="Suspended", CellSuspenders="subordination")
    assert known.orders([suspended], [{}], 100.0, [WHY]) == [] and known.any
    # One that runs is only suspended once the next one has begun.
    assert known.orders([place()], [{}], 101.0, [WHY]) == [] and not known.any
    assert [one.suspenders for one in known.orders([suspended], [{}], 102.0, [{}])] == [{}]
