"""The tree of ledgers: shares, overlapping limits, exclusive use."""

from __future__ import annotations

from fractions import Fraction

import pytest

from roost.model.resources import AlreadyHeld, Amounts, Denied, InUse, NotOffered, Shortage, StillInUse, Unknown
from roost.resources import Booking, Ledgers, Part


def good(outcome: Ledgers | Denied) -> Ledgers:
    assert isinstance(outcome, Ledgers), str(outcome)
    assert not outcome.problems()
    return outcome


def denied(outcome: Ledgers | Denied) -> Denied:
    assert isinstance(outcome, Denied)
    assert str(outcome)
    return outcome


def one(identifier: str, ledger: str, party: str = "job1", exclusives: str = "", **amounts: int | Fraction) -> Booking:
    return Booking(
        id=identifier,
        party=party,
        parts=(Part(ledger=ledger, amounts=Amounts(amounts)),),
        exclusives=frozenset(exclusives.split()),
    )


def host() -> Ledgers:
    """A host of 4 cores with two shares, and one with 10 cores and two overlapping queues of 8."""
    tree = Ledgers.rooted("pool", Amounts({"licences": 3}))
    tree = good(tree.overlap("h1", parent="pool", capacity=Amounts({"Cpus": 4, "Memory": 100})))
    tree = good(tree.divide("slot1", parent="h1", capacity=Amounts({"Cpus": 1, "Memory": 50})))
    tree = good(tree.divide("slot2", parent="h1", capacity=Amounts({"Cpus": 3, "Memory": 50})))
    tree = good(tree.overlap("h2", parent="pool", capacity=Amounts({"slots": 10}), exclusives=frozenset({"exclusive"})))
    tree = good(tree.overlap("a.q@h2", parent="h2", capacity=Amounts({"slots": 8})))
    return good(tree.overlap("b.q@h2", parent="h2", capacity=Amounts({"slots": 8}), exclusives=frozenset({"alone"})))


def test_shares_cannot_exceed_their_parent() -> None:
    refusal = denied(host().divide("slot3", parent="h1", capacity=Amounts({"Cpus": 1})))
    assert refusal.obstacles == (Shortage(ledger="h1", resource="Cpus", wanted=1, available=0, capacity=4),)


def test_what_is_taken_from_a_share_is_not_taken_from_its_parent_again() -> None:
    tree = good(host().book(one("j", "slot2", Cpus=3, Memory=50)))
    assert tree.available("h1", "Cpus") == 0
    assert tree.ledgers["h1"].used == host().ledgers["h1"].used


def test_overlapping_limits_add_up_to_more_than_their_parent_but_bookings_do_not() -> None:
    tree = good(host().book(one("j1", "a.q@h2", slots=7)))
    assert tree.available("b.q@h2", "slots") == 3
    refusal = denied(tree.book(one("j2", "b.q@h2", slots=4)))
    assert refusal.obstacles == (Shortage(ledger="h2", resource="slots", wanted=4, available=3, capacity=10),)
    good(tree.book(one("j2", "b.q@h2", slots=3)))


def test_a_resource_without_capacity_is_limited_only_further_up() -> None:
    tree = good(host().book(one("j1", "a.q@h2", licences=2)))
    assert tree.available("b.q@h2", "licences") == 1
    assert tree.available("b.q@h2", "unheard-of") is None
    denied(tree.book(one("j2", "b.q@h2", licences=2)))


def test_a_resource_that_a_share_was_not_given_is_not_taken_beyond_it() -> None:
    assert host().available("slot1", "licences") is None


def test_halves_of_a_whole_resource_fit_twice() -> None:
    half = Fraction(1, 2)
    tree = Ledgers.rooted("host", Amounts({"half": 1}))
    tree = good(tree.book(one("j1", "host", half=half)))
    tree = good(tree.book(one("j2", "host", half=half)))
    denied(tree.book(one("j3", "host", half=Fraction(1, 10**9))))


def test_a_booking_is_taken_whole_or_not_at_all() -> None:
    parts = (Part(ledger="a.q@h2", amounts=Amounts({"slots": 6})), Part(ledger="b.q@h2", amounts=Amounts({"slots": 6})))
    tree = host()
    refusal = denied(tree.book(Booking(id="j", party="j", parts=parts)))
    assert refusal.obstacles == (Shortage(ledger="h2", resource="slots", wanted=6, available=4, capacity=10),)
    assert tree == host()


def test_a_booking_has_one_holder() -> None:
    tree = good(host().book(one("slot1", "slot1", "alice", Cpus=1)))
    assert denied(tree.book(one("slot1", "slot1", "bob"))).obstacles == (AlreadyHeld(booking="slot1", by="alice"),)


@pytest.mark.parametrize("first", ["", "exclusive"])
@pytest.mark.parametrize("second", ["", "exclusive"])
def test_a_host_had_exclusively_is_shared_with_nobody(first: str, second: str) -> None:
    tree = good(host().book(one("t1", "a.q@h2", "job1", first, slots=1)))
    outcome = tree.book(one("t2", "b.q@h2", "job2", second, slots=1))
    if not first and not second:
        good(outcome)
    else:
        assert denied(outcome).obstacles == (InUse(ledger="h2", use="exclusive", by="job1", exclusively=bool(first)),)


def test_parts_of_one_party_share_what_it_has_exclusively() -> None:
    tree = good(host().book(one("t1", "a.q@h2", "job1", "exclusive", slots=1)))
    tree = good(tree.book(one("t2", "b.q@h2", "job1", "exclusive", slots=1)))
    tree = good(tree.end("t1"))
    denied(tree.book(one("t3", "a.q@h2", "job2", slots=1)))
    good(good(tree.end("t2")).book(one("t3", "a.q@h2", "job2", slots=1)))


def test_exclusive_use_of_a_queue_leaves_its_neighbours_alone() -> None:
    tree = good(host().book(one("t1", "b.q@h2", "job1", "alone", slots=1)))
    good(tree.book(one("t2", "a.q@h2", "job2", slots=1)))
    denied(tree.book(one("t2", "b.q@h2", "job2", slots=1)))


def test_exclusive_use_of_a_host_reaches_through_its_shares() -> None:
    tree = Ledgers.rooted("host", Amounts({"Cpus": 2}), frozenset({"exclusive"}))
    for name in ("slot1", "slot2"):
        tree = good(tree.divide(name, parent="host", capacity=Amounts({"Cpus": 1})))
    tree = good(tree.book(one("slot1", "slot1", "alice", "exclusive", Cpus=1)))
    denied(tree.book(one("slot2", "slot2", "bob", Cpus=1)))


def test_exclusive_use_that_nobody_offers_is_denied() -> None:
    refusal = denied(host().book(one("t", "slot1", "job1", "exclusive")))
    assert refusal.obstacles == (NotOffered(ledger="slot1", use="exclusive"),)


def test_a_ledger_in_use_stays() -> None:
    tree = good(host().book(one("j", "slot1", Cpus=1)))
    assert denied(tree.without("slot1")).obstacles == (StillInUse(ledger="slot1", by="j"),)
    assert denied(tree.without("h2")).obstacles == (StillInUse(ledger="h2", by="a.q@h2"),)
    assert good(tree.without("slot2")).available("h1", "Cpus") == 3


def test_unknown_names_are_denied() -> None:
    tree = host()
    assert denied(tree.end("nobody")).obstacles == (Unknown(name="nobody"),)
    assert denied(tree.without("nowhere")).obstacles == (Unknown(name="nowhere"),)
    denied(tree.without("pool"))
    denied(tree.book(one("j", "nowhere")))
    denied(tree.divide("x", parent="nowhere", capacity=Amounts()))
    denied(tree.divide("h1", parent="pool", capacity=Amounts()))
