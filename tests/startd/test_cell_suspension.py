"""Jobs that a Grid Engine cell suspends: each cause by itself, besides commands and the machine's own policy."""

from __future__ import annotations

import dataclasses

from roost.model import effects as ef
from roost.model import events as ev
from roost.startd.persisted import persisted, restored
from roost.startd.publication import slot_attributes
from roost.startd.resumption import resume
from roost.startd.states import BUSY, CLAIMED, RETIRING, SUSPENDED, VACATING
from tests.startd.kit import STRANGE, Hand, in_pair, policy

#: An owner who is there suspends the job.
OWNER = {"WANT_SUSPEND": "true", "SUSPEND": "KeyboardIdle < 5", "CONTINUE": "KeyboardIdle > 5"}


def busy(**expressions: str) -> Hand:
    hand = in_pair(BUSY)
    hand.policy = policy({**OWNER, **expressions})
    hand.sensors["KeyboardIdle"] = 1000
    return hand


def shown(hand: Hand) -> tuple[object, object]:
    ad = slot_attributes(hand.state, hand.policy, hand.now)
    return ad.get("CellSuspenders"), ad.get("CellSuspension")


def test_a_job_goes_on_when_the_last_cause_is_gone() -> None:
    hand = busy()
    hand.suspenders("subordination")
    assert hand.pair == SUSPENDED and hand.ordered(ef.SuspendJob) and hand.ordered(ef.PublishAd)
    hand.suspenders("subordination", "calendar")
    assert shown(hand) == ("subordination,calendar", "subordination of all.q@host; calendar of all.q@host")
    assert not hand.numbers and hand.ordered(ef.PublishAd)
    hand.suspenders("calendar")
    assert hand.pair == SUSPENDED
    # CONTINUE is TRUE all the time, and has nothing to say.
    hand.poll(5)
    assert hand.pair == SUSPENDED
    hand.suspenders()
    assert hand.pair == BUSY and hand.ordered(ef.ContinueJob)
    assert shown(hand) == (None, None)


def test_an_owner_who_comes_back_meanwhile_keeps_it_suspended() -> None:
    hand = busy()
    hand.suspenders("threshold")
    hand.poll(5, KeyboardIdle=0)
    hand.suspenders()
    assert hand.pair == SUSPENDED
    hand.poll(5, KeyboardIdle=3)
    assert hand.pair == SUSPENDED
    hand.poll(5, KeyboardIdle=10)
    assert hand.pair == BUSY


def test_an_owner_who_leaves_meanwhile_leaves_it_to_the_cell() -> None:
    hand = busy()
    hand.poll(5, KeyboardIdle=0)
    assert hand.pair == SUSPENDED
    hand.suspenders("threshold")
    hand.poll(5, KeyboardIdle=10)
    assert hand.pair == SUSPENDED
    hand.suspenders()
    assert hand.pair == BUSY
    hand.poll(5, KeyboardIdle=0)
    hand.suspenders("threshold")
    hand.suspenders()
    assert hand.pair == SUSPENDED, "the owner is still there"


def test_a_command_is_one_more_cause() -> None:
    hand = busy()
    claim = hand.state.claim.id
    hand.suspenders("slots")
    hand.feed(ev.SuspendRequested(claim_id=claim))
    hand.suspenders()
    assert hand.pair == SUSPENDED
    hand.feed(ev.ContinueRequested(claim_id=claim))
    assert hand.pair == BUSY
    hand.feed(ev.SuspendRequested(claim_id=claim))
    hand.suspenders("slots")
    hand.feed(ev.ContinueRequested(claim_id=claim))
    assert hand.pair == SUSPENDED
    hand.suspenders()
    assert hand.pair == BUSY


def test_the_ad_says_whether_a_command_and_the_policy_suspend() -> None:
    def others() -> object:
        return slot_attributes(hand.state, hand.policy, hand.now).get("JobSuspenders")

    hand = busy()
    claim = hand.state.claim.id
    assert others() is None
    hand.suspenders("slots")
    assert others() is None
    hand.feed(ev.SuspendRequested(claim_id=claim))
    assert others() == "command" and hand.ordered(ef.PublishAd)
    hand.poll(5, KeyboardIdle=0)
    assert others() == "command,policy" and hand.ordered(ef.PublishAd)
    hand.feed(ev.ContinueRequested(claim_id=claim))
    assert others() == "policy" and hand.ordered(ef.PublishAd)
    hand.suspenders()
    assert hand.pair == SUSPENDED and others() == "policy"
    hand.poll(5, KeyboardIdle=10)
    assert hand.pair == BUSY and others() is None


def test_a_command_to_continue_does_not_overrule_the_owner() -> None:
    hand = busy()
    claim = hand.state.claim.id
    hand.poll(5, KeyboardIdle=0)
    hand.feed(ev.SuspendRequested(claim_id=claim))
    hand.feed(ev.ContinueRequested(claim_id=claim))
    assert hand.pair == SUSPENDED and not hand.ordered(ef.ContinueJob)
    hand.poll(5, KeyboardIdle=10)
    assert hand.pair == BUSY
    # One who comes back while a command suspends the job keeps it suspended.
    hand.feed(ev.SuspendRequested(claim_id=claim))
    hand.poll(5, KeyboardIdle=0)
    hand.feed(ev.ContinueRequested(claim_id=claim))
    assert hand.pair == SUSPENDED
    hand.poll(5, KeyboardIdle=10)
    assert hand.pair == BUSY


def test_a_job_that_begins_where_jobs_are_suspended_stands_still_at_once() -> None:
    hand = in_pair(CLAIMED)
    hand.suspenders("subordination")
    assert hand.pair == CLAIMED
    hand.activate()
    assert hand.pair == SUSPENDED
    assert [type(each) for each in hand.last.effects if isinstance(each, ef.ActivateStarter | ef.SuspendJob)] == [
        ef.ActivateStarter,
        ef.SuspendJob,
    ]


def test_words_about_another_claim_and_words_said_twice_mean_nothing() -> None:
    hand = busy()
    before = hand.state
    hand.feed(ev.SuspendersChanged(claim=STRANGE.public, suspenders={"slots": "x"}))
    assert hand.state is before
    hand.suspenders("slots")
    before = hand.state
    hand.suspenders("slots")
    assert hand.state is before and not hand.last.effects


def test_eviction_goes_before_the_cell() -> None:
    hand = busy(MAXJOBRETIREMENTTIME="0")
    hand.suspenders("slots")
    hand.feed(ev.VacateRequested())
    assert hand.pair == VACATING and hand.ordered(ef.SoftKill)
    # With time to retire it waits for its end where it is, and goes on only if the cell lets it.
    hand = busy(MAXJOBRETIREMENTTIME="6000")
    hand.suspenders("slots")
    hand.feed(ev.VacateRequested())
    assert hand.pair == SUSPENDED
    hand.suspenders()
    assert hand.pair == RETIRING
    # Retirement is time that the job runs.
    hand.suspenders("slots")
    hand.poll(7000)
    assert hand.pair == SUSPENDED
    hand.suspenders()
    hand.poll(7000)
    assert hand.pair == VACATING


def test_the_next_claim_is_not_suspended() -> None:
    hand = busy()
    hand.suspenders("slots")
    hand.feed(ev.VacateRequested(fast=True))
    hand.feed(ev.StarterExited(spawned=True))
    assert hand.state.claim.request is None and not hand.state.suspenders.causes


def test_a_daemon_that_starts_again_keeps_it_suspended() -> None:
    hand = busy()
    hand.suspenders("threshold")
    after = restored(persisted(hand.state), ad=hand.state.ad)
    assert after.suspenders == hand.state.suspenders
    again = resume(after, hand.now + 60, hand.policy, starter_alive=True)
    assert again.state.pair == SUSPENDED and any(isinstance(each, ef.SuspendJob) for each in again.effects)
    hand.state = dataclasses.replace(again.state)
    hand.suspenders()
    assert hand.pair == BUSY
