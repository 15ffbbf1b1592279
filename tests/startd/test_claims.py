"""Claims: matches, requests, better matches, leases, work life, and the commands that end them."""

from __future__ import annotations

import pytest

from roost.classad import ClassAd
from roost.model import events as ev
from roost.model.effects import (
    ActivateStarter,
    CancelTimer,
    DeleteSlot,
    PublishAd,
    SendActivationReply,
    SendAliveReply,
    SendClaimReply,
    SendDeactivationReply,
    SetTimer,
    SplitSlot,
    TellSchedd,
)
from roost.model.reasons import Reason, Refusal, VacateReason
from roost.model.slots import SlotKind
from roost.startd import states as at
from roost.startd.attributes import is_offered
from roost.startd.claim_life import is_closing
from roost.startd.machine import Outcome
from roost.startd.policy_inputs import Inputs
from roost.startd.publication import slot_attributes
from tests.startd.kit import STRANGE, Hand, in_pair, job, policy

RANKED = {"RANK": "TARGET.Worth", "MAXJOBRETIREMENTTIME": "3600"}


def ranked(worth: float = 1.0, **expressions: str) -> Hand:
    hand = Hand(policy=policy({**RANKED, **expressions}))
    hand.poll(1)
    return hand.run(job(Worth=worth))


# -- matches ----------------------------------------------------------------------------------------------


def test_a_match_that_nobody_claims_ends_after_the_timeout() -> None:
    hand = in_pair(at.UNCLAIMED)
    hand.match()
    assert hand.ordered(SetTimer) == [SetTimer(timer=ev.Timer.MATCH, at=hand.now + 120)]
    old = hand.state.claim.id
    hand.fire(ev.Timer.MATCH, 119)
    assert hand.pair == at.MATCHED
    assert hand.ordered(SetTimer), "a timer that comes early is set again"
    hand.fire(ev.Timer.MATCH, 1)
    assert hand.numbers == ["8", "1"]
    assert not hand.state.claim.id.matches(old)


def test_a_lost_timer_is_made_good_by_the_next_poll() -> None:
    hand = in_pair(at.MATCHED)
    hand.poll(121)
    assert hand.last.transitions[0].reason is Reason.MATCH_TIMEOUT


def test_a_match_is_not_given_up_because_start_asks_for_a_job_of_some_kind() -> None:
    hand = in_pair(at.UNCLAIMED, policy({"START": "TARGET.InteractiveJob =?= true", "IS_OWNER": "false"}))
    hand.match()
    hand.poll(5)
    assert hand.pair == at.MATCHED
    hand.request(job(InteractiveJob=True))
    assert hand.numbers == ["9"]


def test_a_matched_slot_offers_itself_to_nobody_else() -> None:
    hand = in_pair(at.MATCHED)
    assert slot_attributes(hand.state, hand.policy, hand.now)["Requirements"] is False
    hand.match()
    assert hand.last.outcome is Outcome.IGNORED


def test_a_promise_of_a_claimed_slot_hides_it_until_it_is_claimed_or_forgotten() -> None:
    hand = ranked()
    assert hand.state.preempting is not None
    old = hand.state.preempting.id
    hand.feed(ev.MatchReceived(claim_id=old))
    assert not is_offered(hand.state) and hand.pair == at.BUSY
    assert hand.ordered(PublishAd)
    hand.fire(ev.Timer.MATCH, 120)
    assert is_offered(hand.state)
    assert not hand.state.preempting.id.matches(old) if hand.state.preempting else False


# -- requests ---------------------------------------------------------------------------------------------


def test_the_claim_starts_a_lease_and_the_activation_the_job() -> None:
    hand = in_pair(at.UNCLAIMED)
    hand.request(job(JobLeaseDuration=1000))
    assert hand.ordered(SendClaimReply) == [SendClaimReply(reply_to="r1", accepted=True)]
    assert hand.ordered(SetTimer) == [SetTimer(timer=ev.Timer.LEASE, at=hand.now + 1000)]
    hand.now += 10
    hand.activate(job(JobLeaseDuration=600))
    assert hand.ordered(ActivateStarter)
    assert hand.ordered(SendActivationReply) == [SendActivationReply(reply_to="a1", accepted=True)]
    assert hand.state.claim.lease_until == hand.now + 600


def test_the_same_request_twice_is_answered_twice_and_granted_once() -> None:
    hand = in_pair(at.UNCLAIMED)
    claim_id = hand.state.claim.id
    hand.request(claim_id=claim_id)
    hand.request(claim_id=claim_id)
    assert hand.numbers == []
    assert hand.ordered(SendClaimReply) == [SendClaimReply(reply_to="r1", accepted=True)]


@pytest.mark.parametrize(
    ("pair", "refusal"),
    [
        (at.VACATING, Refusal.PREEMPTING),
        (at.KILLING, Refusal.PREEMPTING),
        (at.DRAINED, Refusal.DRAINING),
        (at.BUSY, Refusal.WRONG_STATE),
    ],
)
def test_a_request_is_refused_where_there_is_nothing_to_have(pair: at.Pair, refusal: Refusal) -> None:
    hand = in_pair(pair)
    hand.request(reply_to="late")
    assert hand.last.refusal is refusal
    assert hand.ordered(SendClaimReply) == [SendClaimReply(reply_to="late", accepted=False, refusal=refusal)]


def test_a_request_with_an_unknown_id_does_not_move_a_matched_slot() -> None:
    hand = in_pair(at.MATCHED)
    hand.request(claim_id=STRANGE)
    assert (hand.pair, hand.last.refusal) == (at.MATCHED, Refusal.UNKNOWN_CLAIM)


def test_start_is_asked_of_the_job_at_claim_and_again_at_activation() -> None:
    hand = in_pair(at.UNCLAIMED)
    hand.policy = policy({"START": 'TARGET.Owner == "alice"', "IS_OWNER": "false"})
    hand.request(job(Owner="bob"))
    assert hand.last.refusal is Refusal.REQUIREMENTS
    hand.request(job(Owner="alice"))
    assert hand.pair == at.CLAIMED
    hand.activate(job(Owner="bob"))
    assert (hand.pair, hand.last.refusal) == (at.CLAIMED, Refusal.REQUIREMENTS)


def test_an_undefined_start_is_no_match() -> None:
    hand = in_pair(at.UNCLAIMED)
    hand.policy = policy({"START": "NoSuchThing"})
    hand.request()
    assert hand.last.refusal is Refusal.REQUIREMENTS


def test_a_machine_that_can_run_nothing_says_why_and_takes_nothing() -> None:
    hand = in_pair(at.UNCLAIMED)
    hand.poll(1, MachineProblem="the disk is gone")
    ad = slot_attributes(hand.state, hand.policy, hand.now)
    assert str(ad.lookup("Requirements")) == "MachineProblem is undefined"
    hand.request()
    assert hand.last.refusal is Refusal.REQUIREMENTS
    del hand.sensors["MachineProblem"]
    hand.poll(1)
    hand.request()
    assert hand.pair == at.CLAIMED


def test_the_limits_of_the_slot_count_as_well() -> None:
    hand = in_pair(at.UNCLAIMED)
    hand.poll(1, Memory=100)
    hand.policy = policy({"WithinResourceLimits": "TARGET.RequestMemory <= MY.Memory"})
    hand.request(job(RequestMemory=101))
    assert hand.last.refusal is Refusal.REQUIREMENTS
    hand.request(job(RequestMemory=100))
    assert hand.pair == at.CLAIMED


def test_a_slot_of_its_owner_is_claimed_by_a_job_that_start_accepts() -> None:
    hand = Hand(
        policy=policy({"START": 'KeyboardIdle > 900 || TARGET.Owner == "coltrane"', "IS_OWNER": "START =?= False"})
    )
    hand.poll(1, KeyboardIdle=4)
    # FALSE || UNDEFINED is UNDEFINED: the slot is not its owner's, as the manual points out.
    assert hand.pair == at.UNCLAIMED
    hand.request(job(Owner="coltrane"))
    hand.activate(job(Owner="coltrane"))
    assert hand.pair == at.BUSY


# -- better matches ---------------------------------------------------------------------------------------


def test_a_higher_rank_takes_over_when_retirement_is_over() -> None:
    hand = ranked(1.0)
    hand.preempt(job(Worth=5.0))
    assert hand.pair == at.RETIRING
    assert not hand.ordered(SendClaimReply), "the request stays open"
    ad = slot_attributes(hand.state, hand.policy, hand.now)
    assert (ad.eval("PreemptingRank"), ad.eval("CurrentRank")) == (5.0, 1.0)
    hand.poll_until(at.VACATING)
    assert hand.now >= hand.state.claim.activation.started_at + 3000  # type: ignore[union-attr]
    hand.gone()
    assert hand.numbers == ["23"]
    (told,) = hand.ordered(TellSchedd)
    assert told.cause is VacateReason.BETTER_RANK
    assert hand.ordered(SendClaimReply) == [SendClaimReply(reply_to="r2", accepted=True)]
    assert hand.state.claim.rank == 5.0


def test_an_equal_rank_preempts_by_user_priority_and_a_lower_one_not_at_all() -> None:
    hand = ranked(3.0)
    hand.preempt(job(Worth=2.9))
    assert (hand.last.refusal, hand.pair) == (Refusal.RANK_TOO_LOW, at.BUSY)
    hand.preempt(job(Worth=3.0))
    assert hand.state.waiting is not None
    assert hand.state.waiting.displaces_for is VacateReason.BETTER_USER_PRIORITY


def test_a_third_claim_takes_the_place_of_the_second_if_it_ranks_no_lower() -> None:
    hand = ranked(1.0)
    hand.preempt(job(Worth=5.0), reply_to="second")
    hand.preempt(job(Worth=4.0), reply_to="third")
    assert hand.last.refusal is Refusal.RANK_TOO_LOW
    hand.preempt(job(Worth=5.0), reply_to="fourth")
    assert hand.ordered(SendClaimReply) == [SendClaimReply(reply_to="second", accepted=False, refusal=Refusal.OUTBID)]
    hand.gone()
    assert hand.ordered(SendClaimReply) == [SendClaimReply(reply_to="fourth", accepted=True)]


def test_a_better_match_that_goes_away_lets_the_job_go_on() -> None:
    hand = ranked(1.0)
    hand.preempt(job(Worth=5.0))
    assert hand.state.waiting is not None
    hand.feed(ev.ClaimReleased(claim_id=hand.state.waiting.id))
    assert hand.numbers == ["19"]
    hand.preempt(job(Worth=5.0), reply_to="again")
    assert hand.pair == at.RETIRING


def test_the_next_claim_is_refused_if_start_says_false_to_its_job() -> None:
    hand = ranked(1.0, START='!(TARGET.Owner =?= "bob" && Late)')
    hand.poll(1, Late=False)
    hand.preempt(job(Worth=5.0, Owner="bob"))
    hand.poll(1, Late=True)
    hand.gone()
    assert hand.numbers == ["18", "22", "1"]
    assert hand.ordered(SendClaimReply) == [SendClaimReply(reply_to="r2", accepted=False, refusal=Refusal.REQUIREMENTS)]


def test_without_retirement_a_better_match_evicts_in_the_same_step() -> None:
    hand = ranked(1.0, MAXJOBRETIREMENTTIME="0")
    hand.preempt(job(Worth=5.0))
    assert hand.numbers == ["13", "18"]
    assert hand.last.transitions[0].reason is Reason.BETTER_MATCH


# -- leases, work life -----------------------------------------------------------------------------------


def test_a_silent_queue_loses_its_claim_and_is_not_told() -> None:
    hand = in_pair(at.UNCLAIMED).run(job(JobLeaseDuration=100))
    hand.now += 60
    hand.feed(ev.AliveReceived(claim_id=hand.state.claim.id, reply_to="x"))
    assert hand.ordered(SendAliveReply) == [SendAliveReply(reply_to="x", known=True)]
    hand.fire(ev.Timer.LEASE, 60)
    assert hand.pair == at.BUSY
    hand.fire(ev.Timer.LEASE, 40)
    assert hand.numbers == ["13", "18"]
    assert hand.pair == at.KILLING
    hand.gone()
    assert hand.numbers == ["25", "1"]
    assert not hand.ordered(TellSchedd)


def test_the_lease_goes_on_while_vacating_and_then_kills() -> None:
    hand = in_pair(at.UNCLAIMED).run(job(JobLeaseDuration=100))
    hand.feed(ev.VacateRequested())
    assert hand.state.claim.lease_until is not None
    hand.fire(ev.Timer.LEASE, 100)
    assert (hand.numbers, hand.state.claim.lease_until) == (["21"], None)


def test_an_alive_of_somebody_else_is_answered_with_no() -> None:
    hand = in_pair(at.BUSY)
    hand.feed(ev.AliveReceived(claim_id=STRANGE, reply_to="x"))
    assert hand.ordered(SendAliveReply) == [SendAliveReply(reply_to="x", known=False)]


@pytest.mark.parametrize(("limit", "age", "ends"), [("1200", 1300, True), ("1200", 1200, False), ("-1", 9999, False)])
def test_the_work_life_of_a_claim_ends_between_jobs(limit: str, age: int, ends: bool) -> None:
    hand = Hand(policy=policy({"CLAIM_WORKLIFE": limit}))
    hand.poll(1)
    hand.request()
    hand.activate()
    hand.poll(age)
    assert hand.pair == at.BUSY
    hand.gone()
    assert ("10" in hand.numbers) is ends


def test_a_work_life_of_nothing_is_one_job_a_claim() -> None:
    hand = Hand(policy=policy({"CLAIM_WORKLIFE": "0"}))
    hand.poll(1)
    hand.request()
    hand.poll(100)
    assert hand.pair == at.CLAIMED, "not before its first job"
    hand.activate()
    hand.now += 1
    claim_id = hand.state.claim.id
    hand.feed(ev.DeactivationRequested(claim_id=claim_id, reply_to="d"))
    assert hand.ordered(SendDeactivationReply) == [SendDeactivationReply(reply_to="d", start=False)]
    hand.gone()
    assert hand.numbers == ["12", "10", "22", "1"]


def test_that_a_claim_ends_with_its_job_is_known_before_the_job_is_gone() -> None:
    def closing(hand: Hand) -> bool:
        return is_closing(Inputs(hand.state, hand.policy, hand.now))

    assert not closing(in_pair(at.BUSY)) and closing(in_pair(at.RETIRING)) and closing(in_pair(at.VACATING))
    away = Hand(policy=policy({"CLAIM_WORKLIFE": "10", "IsOwner": "JobUniverse == 5 && KeyboardIdle < 3"}))
    away.poll(1)
    away.request()
    away.activate(job(JobUniverse=5))
    assert not closing(away)
    away.poll(5, KeyboardIdle=1)
    assert away.pair == at.BUSY and closing(away), "its owner is back"
    away.poll(6, KeyboardIdle=100)
    assert closing(away), "it is older than it may be"


def test_a_claim_runs_one_job_after_another() -> None:
    hand = in_pair(at.UNCLAIMED).run(job(ProcId=1))
    hand.gone()
    assert hand.numbers == ["12"]
    hand.activate(job(ProcId=2))
    assert hand.state.claim.jobs_begun == 2
    assert slot_attributes(hand.state, hand.policy, hand.now).eval("JobId") == "7.2"


def test_a_released_claim_dies_at_once_and_nobody_is_told() -> None:
    hand = in_pair(at.BUSY)
    hand.feed(ev.ClaimReleased(claim_id=hand.state.claim.id))
    assert hand.pair == at.KILLING
    hand.gone()
    assert not hand.ordered(TellSchedd)


def test_a_suspended_command_waits_for_a_command() -> None:
    hand = in_pair(at.BUSY)
    claim_id = hand.state.claim.id
    hand.feed(ev.SuspendRequested(claim_id=claim_id))
    hand.policy = policy({"CONTINUE": "true"})
    hand.poll(5)
    assert hand.pair == at.SUSPENDED
    hand.feed(ev.ContinueRequested(claim_id=claim_id))
    assert hand.pair == at.BUSY


# -- dynamic and partitionable slots ---------------------------------------------------------------------


def test_a_partitionable_slot_is_cut_and_stays_free() -> None:
    hand = in_pair(at.UNCLAIMED, kind=SlotKind.PARTITIONABLE)
    claim_id = hand.state.claim.id
    hand.request()
    (split,) = hand.ordered(SplitSlot)
    assert split.claim_id == claim_id and hand.pair == at.UNCLAIMED
    hand.feed(ev.ClaimMoved(claim_id=claim_id))
    assert not hand.state.claim.id.matches(claim_id)
    assert hand.ordered(PublishAd), "the pool is to hear of the rest, and of the claim that it may give away now"
    hand.request(claim_id=claim_id)
    assert hand.last.refusal is Refusal.UNKNOWN_CLAIM


def test_a_dynamic_slot_ends_with_its_claim_and_then_does_nothing() -> None:
    hand = Hand(kind=SlotKind.DYNAMIC)
    hand.run()
    hand.gone()
    assert hand.pair == at.CLAIMED
    hand.feed(ev.ClaimReleased(claim_id=hand.state.claim.id))
    assert hand.numbers == ["10", "25"]
    assert hand.ordered(DeleteSlot) and hand.ordered(CancelTimer)
    before = hand.state
    hand.poll(5)
    hand.request(reply_to="late")
    assert hand.last.refusal is Refusal.DELETED
    assert hand.state is before


def test_a_dynamic_slot_that_refuses_its_first_request_is_given_back() -> None:
    hand = Hand(kind=SlotKind.DYNAMIC, policy=policy({"START": "false"}))
    hand.request()
    assert hand.last.outcome is Outcome.REFUSED
    assert hand.ordered(DeleteSlot)


# -- what the ad says ------------------------------------------------------------------------------------


def test_the_ad_of_a_claimed_slot_names_the_holder_and_counts_the_time() -> None:
    hand = in_pair(at.UNCLAIMED).run(job(User="alice@example.com", ImageSize=77, Project="p"))
    hand.policy = policy(job_attributes=("Project",))
    hand.now += 30
    ad = slot_attributes(hand.state, hand.policy, hand.now)
    assert {name: ad.eval(name) for name in ("State", "Activity", "RemoteUser", "ImageSize", "Project")} == {
        "State": "Claimed",
        "Activity": "Busy",
        "RemoteUser": "alice@example.com",
        "ImageSize": 77,
        "Project": "p",
    }
    assert (ad.eval("TotalJobRunTime"), ad.eval("TotalTimeClaimedBusy")) == (30, 30)
    hand.gone()
    hand.feed(ev.ClaimReleased(claim_id=hand.state.claim.id))
    ad = slot_attributes(hand.state, hand.policy, hand.now)
    assert not {"RemoteUser", "JobId", "ImageSize", "Project"} & set(ad)


@pytest.mark.parametrize("published", [None, "0.25"])
def test_the_ad_of_a_claimed_slot_tells_how_many_cores_its_job_uses_unless_its_policy_does(
    published: str | None,
) -> None:
    hand = in_pair(at.UNCLAIMED).run(job())
    hand.policy = policy() if published is None else policy({"CpusUsage": published})
    assert "CpusUsage" not in slot_attributes(hand.state, policy(), hand.now)
    hand.feed(ev.JobUpdated(attributes=ClassAd({"CpusUsage": 1.5})))
    assert slot_attributes(hand.state, hand.policy, hand.now).eval("CpusUsage") == (1.5 if published is None else 0.25)


def test_what_the_machine_owns_in_a_polled_ad_is_skipped() -> None:
    hand = in_pair(at.UNCLAIMED)
    hand.poll(1, State="Claimed", JobStart=1, KeyboardIdle=5)
    assert "JobStart" not in hand.state.ad and "KeyboardIdle" in hand.state.ad


def test_the_starters_own_eviction_shows_and_changes_nothing() -> None:
    hand = in_pair(at.BUSY)
    hand.feed(ev.StarterEvicted(job_state="Vacating"))
    assert hand.pair == at.BUSY and hand.ordered(PublishAd)
    assert slot_attributes(hand.state, hand.policy, hand.now).eval("StarterJobState") == "Vacating"
    hand.gone()
    assert hand.numbers == ["12"]


@pytest.mark.parametrize(
    ("attributes", "user", "owner", "group"),
    [
        ({"User": "al@cs.edu"}, "al@cs.edu", "al@cs.edu", None),
        ({"User": "al@cs.edu", "AccountingGroup": "phys.al"}, "al@cs.edu", "al@cs.edu", "phys.al@cs.edu"),
        ({"User": "al@cs.edu", "AccountingGroup": "phys.al@x"}, "al@cs.edu", "al@cs.edu", "phys.al@x"),
        ({"AccountingGroup": "phys.al"}, "alice", "alice", "phys.al"),
        ({"User": "al@cs.edu", "NiceUser": True}, "nice-user.al@cs.edu", "al@cs.edu", None),
    ],
)
def test_a_slot_names_its_user_as_queue_and_negotiator_do(
    attributes: dict[str, object], user: str, owner: str, group: str | None
) -> None:
    hand = Hand()
    hand.run(job(**attributes))
    hand.policy = policy({"MAXJOBRETIREMENTTIME": "10000"})
    hand.preempt(job(Rank=1, **attributes))
    ad = slot_attributes(hand.state, hand.policy, hand.now)
    assert (ad["RemoteUser"], ad["RemoteOwner"], ad.get("AccountingGroup")) == (user, owner, group)
    assert hand.state.waiting is not None
    assert (ad["PreemptingUser"], ad["PreemptingOwner"], ad.get("PreemptingAccountingGroup")) == (user, owner, group)


@pytest.mark.parametrize("promised", [False, True])
def test_a_partitionable_slot_that_does_backfill_gets_another_claim_id_when_it_is_cut(promised: bool) -> None:
    hand = in_pair(at.BACKFILL_BUSY, kind=SlotKind.PARTITIONABLE)
    if promised:
        hand.match()
    given = hand.state.claim.id
    hand.feed(ev.ClaimMoved(claim_id=given))
    assert not hand.state.claim.id.matches(given)
    assert hand.state.state == "Backfill"
    assert hand.state.match_until is None
