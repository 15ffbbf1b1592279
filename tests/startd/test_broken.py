"""A slot that is closed because something of it does not work, until somebody has looked at it."""

from __future__ import annotations

from roost.model import events as ev
from roost.model.effects import FetchWork, SendClaimReply
from roost.startd import states as at
from roost.startd.attributes import is_offered
from tests.startd.kit import Hand, in_pair, job, policy

BROKEN = ev.SlotBroken(text="The prolog exited with status 7")


def test_a_closed_slot_takes_nothing_and_says_why() -> None:
    hand = in_pair(at.UNCLAIMED)
    hand.feed(BROKEN)
    assert not is_offered(hand.state)
    hand.request(job())
    assert [reply.accepted for reply in hand.ordered(SendClaimReply)] == [False]
    hand.feed(ev.SlotMended())
    hand.request(job())
    assert hand.pair == at.CLAIMED


def test_whoever_holds_it_loses_it_once_the_job_is_gone() -> None:
    hand = in_pair(at.BUSY)
    hand.feed(ev.JobExited())
    hand.feed(BROKEN)
    hand.gone()
    assert hand.state.claim.request is None


def test_it_fetches_nothing() -> None:
    hand = Hand(policy=policy({"FetchWorkDelay": "0"}, fetches_work=True))
    hand.feed(BROKEN)
    hand.poll(1)
    assert not hand.ordered(FetchWork)
    hand.feed(ev.SlotMended())
    hand.poll(1)
    assert hand.state.fetching.running
