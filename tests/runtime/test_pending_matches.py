"""What the matchmaker must not give twice."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from roost.classad import ClassAd
from roost.collector.table import Kept
from roost.negotiator.snapshot import Match
from roost.negotiator.timing import Urgency
from roost.runtime.central.pending_matches import HEARD_S, PROMISE_S, PendingMatches
from roost.wire import messages as m
from roost.wire.codec import MESSAGE_BYTES_MAX, encode
from roost.wire.errors import WireError
from roost.wire.parts import in_parts


def _demand(serial: int, idle: int, *, heard: int = 0, **more: Any) -> m.Demand:
    ad = {"RequestCpus": 1} if serial == 1 else {}
    request = m.ResourceRequest(autocluster=1, ad=ad, count=idle, job="1.0")
    return m.Demand(schedd="q", submitters={"ann": [request]}, serial=serial, heard=heard, **more)


def _give(pending_matches: PendingMatches, slot: str, now: float) -> m.Matched:
    pending_matches.promise(
        Match(schedd="q", submitter="ann", autocluster=1, job="1.0", slot=slot, node="n", claim_id=f"{slot}#1"), now
    )
    match = m.Match(submitter="ann", autocluster=1, slot=slot, node="n", claim_id=f"{slot}#1", slot_ad={})
    message = pending_matches.given("q", [match], {}, now)
    assert message is not None
    return message


def _left(pending_matches: PendingMatches) -> int:
    return sum(each.count for _, _, _, requests in pending_matches.requests() for each in requests)


def test_a_queue_that_is_new_is_to_be_told_everything_and_served_at_once() -> None:
    pending_matches = PendingMatches()
    heard = pending_matches.wanted(_demand(1, 3), "q", 10.0)
    assert (heard.begins, heard.urgency) == (True, Urgency.URGENT)
    ((schedd, submitter, _, (request,)),) = pending_matches.requests()
    assert (schedd, submitter, request.count, request.ad["RequestCpus"]) == ("q", "ann", 3, 1)


def test_what_is_on_its_way_is_not_given_again_until_the_queue_has_heard_of_it() -> None:
    pending_matches = PendingMatches()
    pending_matches.wanted(_demand(1, 3), "q", 10.0)
    given = _give(pending_matches, "s1", 10.0)
    assert _left(pending_matches) == 2
    assert pending_matches.wanted(_demand(2, 3), "q", 10.0).urgency is Urgency.CHANGED
    assert _left(pending_matches) == 2, "the queue told its demand before it heard"
    pending_matches.wanted(_demand(3, 2, heard=given.serial), "q", 10.0)
    assert _left(pending_matches) == 2
    assert pending_matches.promised == {"s1": ("s1#1", 10.0)}, "the slot has not said yet that it is taken"
    pending_matches.offered("s1", "s1#2")
    assert not pending_matches.promised


def test_what_nobody_is_heard_to_take_is_taken_back() -> None:
    pending_matches = PendingMatches()
    pending_matches.wanted(_demand(1, 3), "q", 10.0)
    _give(pending_matches, "s1", 10.0)
    pending_matches.tidy(10.0 + HEARD_S)
    assert _left(pending_matches) == 2
    assert not pending_matches.questions(10.0)
    pending_matches.tidy(10.1 + HEARD_S)
    assert not pending_matches.promised
    assert _left(pending_matches) == 0, "a queue that is away would have every slot that gets free"
    (question,) = pending_matches.questions(10.0).values()
    pending_matches.wanted(_demand(2, 3, heard=question.serial), "q", 10.0)
    assert (_left(pending_matches), pending_matches.questions(10.0)) == (3, {})


def test_a_slot_whose_queue_heard_is_kept_for_it_for_a_while() -> None:
    pending_matches = PendingMatches()
    pending_matches.wanted(_demand(1, 3), "q", 10.0)
    serial = _give(pending_matches, "s1", 10.0).serial
    pending_matches.wanted(_demand(2, 2, heard=serial), "q", 10.0)
    pending_matches.tidy(10.0 + PROMISE_S)
    assert "s1" in pending_matches.promised
    pending_matches.tidy(10.1 + PROMISE_S)
    assert "s1" not in pending_matches.promised


def test_a_slot_that_is_declined_is_free_at_once() -> None:
    pending_matches = PendingMatches()
    pending_matches.wanted(_demand(1, 1), "q", 10.0)
    serial = _give(pending_matches, "s1", 10.0).serial
    assert pending_matches.wanted(_demand(2, 0, heard=serial, declined=["s1#1"]), "q", 10.0).urgency is Urgency.URGENT
    assert not pending_matches.promised


@pytest.mark.parametrize("how", ["starts again", "the bus was away"])
def test_what_was_given_is_forgotten_when_it_may_not_have_arrived(how: str) -> None:
    pending_matches = PendingMatches()
    pending_matches.wanted(_demand(1, 2), "q", 10.0)
    _give(pending_matches, "s1", 10.0)
    if how == "starts again":
        assert pending_matches.wanted(_demand(1, 2), "q", 10.0).begins
    else:
        pending_matches.all_lost()
    assert (_left(pending_matches), pending_matches.promised) == (2, {})


def test_a_queue_that_heard_and_died_before_it_wrote_that_down_has_not_the_slot() -> None:
    pending_matches = PendingMatches()
    pending_matches.wanted(_demand(1, 2), "q", 10.0)
    serial = _give(pending_matches, "s1", 10.0).serial
    pending_matches.wanted(_demand(2, 1, heard=serial), "q", 10.0)
    assert "s1" in pending_matches.promised
    pending_matches.wanted(_demand(1, 2), "q", 10.0)
    assert (_left(pending_matches), pending_matches.promised) == (2, {})


def test_a_queue_that_starts_again_takes_nothing_from_others() -> None:
    pending_matches = PendingMatches()
    pending_matches.wanted(_demand(1, 2), "q", 10.0)
    _give(pending_matches, "s1", 10.0)
    pending_matches.wanted(_demand(1, 2), "r", 10.0)
    pending_matches.wanted(_demand(1, 2), "r", 10.0)
    assert "s1" in pending_matches.promised


def test_rejections_are_told_once() -> None:
    pending_matches = PendingMatches()
    pending_matches.wanted(_demand(1, 1), "q", 10.0)
    first = pending_matches.given("q", [], {"1": "no match found"}, 1.0)
    assert first is not None and first.rejected == {"1": "no match found"}
    assert pending_matches.given("q", [], {"1": "no match found"}, 2.0) is None
    assert pending_matches.given("q", [], {}, 3.0) is not None, "that there are none any more is news"


def test_an_ad_that_cannot_be_read_changes_nothing() -> None:
    pending_matches = PendingMatches()
    pending_matches.wanted(_demand(1, 1), "q", 10.0)
    bad = m.ResourceRequest(autocluster=2, ad={"Requirements": {"text": "1 +"}}, count=5, job="2.0")
    with pytest.raises(WireError):
        pending_matches.wanted(m.Demand(schedd="q", submitters={"ann": [bad]}, serial=2), "q", 10.0)
    assert _left(pending_matches) == 1


def test_a_queue_that_has_been_quiet_is_asked_before_machines_are_told_of_its_matches() -> None:
    pending_matches = PendingMatches()
    pending_matches.wanted(_demand(1, 3), "q", 10.0)
    # It has just spoken, or machines are not told: then nothing waits for it.
    assert not pending_matches.questions(10.5, surely=True)
    assert not pending_matches.questions(500.0)
    (question,) = pending_matches.questions(500.0, surely=True).values()
    assert _left(pending_matches) == 0
    assert pending_matches.wanted(_demand(2, 3, heard=question.serial), "q", 500.1).urgency is Urgency.URGENT
    # However long it takes to the next cycle, that one goes by the answer.
    assert (pending_matches.questions(510.0, surely=True), _left(pending_matches)) == ({}, 3)
    assert list(pending_matches.questions(520.0, surely=True)) == ["q"]


def test_a_queue_that_wants_nothing_is_not_asked() -> None:
    pending_matches = PendingMatches()
    pending_matches.wanted(_demand(1, 0), "q", 10.0)
    assert not pending_matches.questions(500.0, surely=True)


def _kept(claim_id: str, **more: Any) -> Kept:
    return Kept(ClassAd({"MyType": "Machine", "Name": "s1", **more}), 10.0, "n", claim_id)


def test_slots_whose_claims_are_over_are_waited_for_until_they_say_so() -> None:
    pending_matches, said = PendingMatches(), {"s1": _kept("<n>#1#2#x", PublicClaimId="<n>#1#1#...")}
    assert not pending_matches.awaits_slots(said.get)
    pending_matches.wanted(_demand(1, 1, left={"s1": "<n>#1#1#...", "unknown": "<n>#1#7#..."}), "q", 10.0)
    assert pending_matches.awaits_slots(said.get)
    said["s1"] = _kept("<n>#1#1#x")
    assert pending_matches.awaits_slots(said.get), "it has not even said that it was claimed"
    said["s1"] = _kept("<n>#1#3#x")
    assert not pending_matches.awaits_slots(said.get)


def test_a_slot_that_goes_to_somebody_else_is_not_waited_for_nor_one_for_ever() -> None:
    pending_matches, said = PendingMatches(), {"s1": _kept("s1#1", PublicClaimId="<n>#1#1#...")}
    pending_matches.wanted(_demand(1, 2, left={"s1": "<n>#1#1#..."}), "q", 10.0)
    pending_matches.await_no_slots()
    assert not pending_matches.awaits_slots(said.get)
    _give(pending_matches, "s1", 10.0)
    pending_matches.wanted(_demand(2, 2, left={"s1": "<n>#1#1#..."}), "q", 10.0)
    assert not pending_matches.awaits_slots(said.get)


def test_a_queue_is_given_no_more_slots_than_it_may_ask_for() -> None:
    pending_matches = PendingMatches()
    pending_matches.wanted(_demand(1, 3), "q", 10.0)
    assert pending_matches.room("q") is None
    pending_matches.wanted(_demand(2, 3, places=2), "q", 10.0)
    given = _give(pending_matches, "s1", 10.0)
    assert pending_matches.room("q") == 1
    _give(pending_matches, "s2", 10.0)
    assert pending_matches.room("q") == 0
    pending_matches.wanted(_demand(3, 3, places=1, heard=given.serial), "q", 10.0)
    assert pending_matches.room("q") == 0, "one is on its way still"


def test_what_a_queue_is_given_fits_into_messages() -> None:
    """Of a message that was too large for 2,000 slots the matchmaker did not recover: it gave no slot to anybody."""
    large = {"Text": "x" * 5_000}
    matches = [
        m.Match(submitter="ann", autocluster=1, slot=f"s{number}", node="n", claim_id=f"s{number}#1", slot_ad=large)
        for number in range(2_000)
    ]
    parts = in_parts(matches)
    assert [match for part in parts for match in part] == matches
    assert 3 < len(parts) < 10
    assert all(len(encode(m.Matched(matches=part))) < MESSAGE_BYTES_MAX for part in parts)
    assert in_parts([]) == [[]]
    beyond = replace(matches[0], slot_ad={"Text": "x" * MESSAGE_BYTES_MAX})
    assert in_parts([matches[0], beyond, matches[1]]) == [[matches[0]], [beyond], [matches[1]]]
