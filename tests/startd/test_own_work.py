"""Benchmarks, backfill, and fetched work."""

from __future__ import annotations

import pytest

from roost.classad import parse_expression
from roost.model import events as ev
from roost.model.claims import ClaimKind
from roost.model.effects import (
    ActivateStarter,
    CancelBenchmarks,
    EvictFetched,
    FetchWork,
    KillBackfill,
    ReplyFetch,
    SendClaimReply,
    SetTimer,
    SplitSlot,
    StartBackfill,
    TellSchedd,
)
from roost.model.reasons import Refusal, VacateReason
from roost.model.slots import SlotKind
from roost.startd import states as at
from roost.startd.attributes import is_offered
from roost.startd.publication import slot_attributes
from tests.startd.kit import Hand, in_pair, job, policy

# -- benchmarks -------------------------------------------------------------------------------------------


def test_benchmarks_run_when_due_and_are_weighed_into_the_old_results() -> None:
    hand = Hand(policy=policy({"RunBenchmarks": "(CurrentTime - LastBenchmark) >= 4 * 3600"}))
    hand.poll(1)
    assert hand.numbers == ["1", "3"]
    assert is_offered(hand.state)
    hand.feed(ev.BenchmarksFinished(mips=1000, kflops=100))
    assert hand.numbers == ["4"]
    hand.poll(5)
    assert hand.pair == at.UNCLAIMED
    hand.poll(4 * 3600)
    assert hand.pair == at.BENCHMARKING
    hand.feed(ev.BenchmarksFinished(mips=2000))
    assert (hand.state.benchmarks.mips, hand.state.benchmarks.kflops) == (1250, 100)


def test_a_slot_that_left_benchmarking_skips_one_evaluation() -> None:
    hand = in_pair(at.BENCHMARKING)
    hand.policy = policy({"RunBenchmarks": "true"})
    hand.feed(ev.BenchmarksFinished())
    assert hand.pair == at.UNCLAIMED
    hand.poll(5)
    assert hand.pair == at.BENCHMARKING


def test_a_claim_stops_the_benchmarks() -> None:
    hand = in_pair(at.BENCHMARKING)
    hand.request()
    assert hand.pair == at.CLAIMED and hand.ordered(CancelBenchmarks)


# -- backfill ---------------------------------------------------------------------------------------------


def test_backfill_starts_is_restarted_and_evicted() -> None:
    rules = policy({"START_BACKFILL": "StateTimer > 60", "EVICT_BACKFILL": "KeyboardIdle < 60"}, backfill=True)
    hand = Hand(policy=rules)
    hand.poll(1, StateTimer=0, KeyboardIdle=999)
    hand.poll(5, StateTimer=61)
    assert hand.pair == at.BACKFILL and hand.ordered(StartBackfill)
    hand.feed(ev.BackfillStarted())
    assert hand.pair == at.BACKFILL_BUSY and is_offered(hand.state)
    hand.feed(ev.BackfillExited())
    assert hand.numbers == ["27"]
    hand.machine = ev.MachineFacts(backfill_running=False)
    hand.poll(5)
    assert hand.ordered(StartBackfill)
    hand.machine = ev.MachineFacts(backfill_running=True)
    hand.poll(5)
    assert hand.pair == at.BACKFILL_BUSY
    hand.poll(5, KeyboardIdle=0, StateTimer=0)
    assert hand.ordered(KillBackfill)
    hand.feed(ev.BackfillExited())
    assert hand.numbers == ["29", "30", "1"]


def test_a_slot_whose_machine_runs_the_client_already_is_busy_at_once() -> None:
    hand = Hand(policy=policy({"START_BACKFILL": "true"}, backfill=True))
    hand.machine = ev.MachineFacts(backfill_running=True)
    hand.poll(1)
    assert hand.numbers == ["1", "7", "26"] and not hand.ordered(StartBackfill)


def test_without_a_backfill_system_there_is_no_backfill() -> None:
    hand = Hand(policy=policy({"START_BACKFILL": "true"}))
    hand.poll(1)
    assert hand.pair == at.UNCLAIMED


def test_a_request_waits_for_the_end_of_backfill() -> None:
    hand = in_pair(at.BACKFILL_BUSY)
    hand.request()
    assert hand.pair == at.BACKFILL_KILLING and not hand.ordered(SendClaimReply)
    hand.now += 9
    hand.feed(ev.BackfillExited())
    assert hand.numbers == ["29", "31"]
    assert hand.ordered(SendClaimReply)[0].accepted


def test_a_request_after_the_match_goes_before_it() -> None:
    hand = in_pair(at.BACKFILL_KILLING)
    hand.request()
    hand.feed(ev.BackfillExited())
    assert hand.numbers == ["29", "31"]


def test_a_match_after_the_request_changes_nothing() -> None:
    hand = in_pair(at.BACKFILL_BUSY)
    hand.request()
    hand.match()
    hand.feed(ev.BackfillExited())
    assert hand.numbers == ["29", "31"]


def test_a_withdrawn_request_leaves_the_slot_to_its_owner() -> None:
    hand = in_pair(at.BACKFILL_BUSY)
    hand.request()
    hand.feed(ev.ClaimReleased(claim_id=hand.state.claim.id))
    hand.feed(ev.BackfillExited())
    assert hand.numbers == ["29", "30", "1"]


def test_a_match_that_runs_out_while_backfill_dies_is_forgotten() -> None:
    hand = in_pair(at.BACKFILL_KILLING)
    hand.fire(ev.Timer.MATCH, 120)
    hand.feed(ev.BackfillExited())
    assert hand.numbers == ["29", "30", "1"]


def test_a_vacate_command_refuses_the_request_that_waits_for_backfill() -> None:
    hand = in_pair(at.BACKFILL_BUSY)
    hand.request()
    hand.feed(ev.VacateRequested())
    assert hand.ordered(SendClaimReply) == [SendClaimReply(reply_to="r1", accepted=False, refusal=Refusal.CLAIM_ENDED)]
    hand.feed(ev.BackfillExited())
    assert hand.numbers == ["29", "30", "1"]


# -- fetched work -----------------------------------------------------------------------------------------

FETCH = {"FetchWorkDelay": 'ifThenElse(State == "Claimed" && Activity == "Idle", 0, 300)'}


def fetcher(**expressions: str) -> Hand:
    hand = Hand(policy=policy({**FETCH, **expressions}, fetches_work=True))
    hand.poll(1)
    assert hand.ordered(FetchWork)
    return hand


def offer(hand: Hand, ad: object = None) -> None:
    hand.feed(ev.FetchedWorkOffered(job_ad=ad))  # type: ignore[arg-type]


def test_work_is_fetched_again_after_the_delay() -> None:
    hand = fetcher()
    hand.poll(5)
    assert not hand.ordered(FetchWork), "one at a time"
    offer(hand)
    assert hand.ordered(SetTimer) == [SetTimer(timer=ev.Timer.FETCH, at=hand.now + 300)]
    hand.poll(299)
    assert not hand.ordered(FetchWork)
    hand.fire(ev.Timer.FETCH, 1)
    assert hand.ordered(FetchWork)


def test_nothing_is_fetched_while_start_is_false() -> None:
    hand = Hand(policy=policy({**FETCH, "START": "KeyboardIdle > 900"}, fetches_work=True))
    hand.poll(1, KeyboardIdle=1)
    assert not hand.ordered(FetchWork)
    hand.poll(300, KeyboardIdle=901)
    assert hand.ordered(FetchWork)


def test_fetched_work_runs_at_once_and_more_is_asked_for_when_it_ends() -> None:
    hand = fetcher()
    offer(hand, job(Cmd="a"))
    assert hand.numbers == ["5", "11"]
    assert hand.state.claim.kind is ClaimKind.FETCHED and hand.state.claim.lease_until is None
    (reply,) = hand.ordered(ReplyFetch)
    assert reply.accepted and reply.claim_id is not None
    hand.now += 60
    hand.gone()
    assert hand.numbers == ["12"] and hand.ordered(FetchWork)
    offer(hand, job(Cmd="b"))
    assert hand.numbers == ["11"] and hand.ordered(ActivateStarter)
    hand.gone()
    offer(hand)
    assert hand.numbers == ["10", "22", "1"]
    assert not hand.ordered(EvictFetched) and not hand.ordered(TellSchedd)


def test_work_that_start_does_not_accept_is_rejected() -> None:
    hand = fetcher(START='TARGET.Owner == "alice"')
    offer(hand, job(Owner="eve"))
    (reply,) = hand.ordered(ReplyFetch)
    assert (reply.accepted, reply.rejection) == (False, "START is false for it")
    assert hand.pair == at.UNCLAIMED


@pytest.mark.parametrize(("vacate_s", "accepted"), [(60, True), (61, False)])
def test_a_drain_rejects_fetched_work_that_would_have_to_go_at_once(vacate_s: int, accepted: bool) -> None:
    hand = fetcher(MachineMaxVacateTime=str(vacate_s), RANK="TARGET.Worth", MAXJOBRETIREMENTTIME="3600")
    hand.run(job(Worth=0))
    hand.drain(start=parse_expression("true"), drain_remaining_s=80.0)
    offer(hand, job(Worth=1))
    (reply,) = hand.ordered(ReplyFetch)
    assert (reply.accepted, reply.rejection) == (accepted, "" if accepted else "the slot is draining")


@pytest.mark.parametrize(("worth", "accepted"), [(1.0, False), (1.5, True)])
def test_fetched_work_takes_over_only_by_a_strictly_higher_rank(worth: float, accepted: bool) -> None:
    hand = fetcher(RANK="TARGET.Worth", MAXJOBRETIREMENTTIME="3600")
    hand.run(job(Worth=1.0))
    offer(hand, job(Worth=worth))
    assert [reply.accepted for reply in hand.ordered(ReplyFetch)] == [accepted]
    assert (hand.pair == at.RETIRING) is accepted
    if accepted:
        hand.gone()
        assert hand.numbers == ["18", "23", "11"]
        assert hand.state.claim.kind is ClaimKind.FETCHED


def test_a_queues_job_of_higher_rank_evicts_fetched_work_and_the_hook_is_told() -> None:
    hand = fetcher(RANK="TARGET.Worth")
    fetched = job(Worth=1.0)
    offer(hand, fetched)
    claim_id = hand.state.claim.id
    hand.preempt(job(Worth=2.0))
    assert hand.pair == at.VACATING
    hand.gone()
    assert hand.ordered(EvictFetched) == [EvictFetched(job_ad=fetched, claim_id=claim_id)]
    assert hand.pair == at.CLAIMED and hand.state.claim.kind is ClaimKind.SCHEDD


def test_a_starter_that_can_not_be_spawned_ends_the_fetched_claim() -> None:
    hand = fetcher()
    offer(hand, job())
    hand.feed(ev.StarterExited(spawned=False))
    assert hand.numbers == ["13", "18", "22", "1"]
    assert not hand.ordered(EvictFetched)


def test_fetched_work_waits_for_the_end_of_backfill() -> None:
    hand = Hand(policy=policy({**FETCH, "START_BACKFILL": "true"}, backfill=True, fetches_work=True))
    hand.poll(1)
    hand.feed(ev.BackfillStarted())
    hand.poll(5)
    offer(hand, job())
    assert hand.pair == at.BACKFILL_KILLING
    hand.feed(ev.BackfillExited())
    assert hand.numbers == ["29", "31", "11"]


def test_a_partitionable_slot_is_cut_for_fetched_work() -> None:
    hand = Hand(policy=policy(FETCH, fetches_work=True), kind=SlotKind.PARTITIONABLE)
    hand.poll(1)
    offer(hand, job())
    (split,) = hand.ordered(SplitSlot)
    assert split.request.kind is ClaimKind.FETCHED


def test_an_offer_that_nobody_asked_for_means_nothing() -> None:
    hand = in_pair(at.UNCLAIMED)
    offer(hand, job())
    assert not hand.last.effects and hand.pair == at.UNCLAIMED


def test_a_dynamic_slot_waits_for_its_hook_before_it_goes() -> None:
    hand = Hand(policy=policy({"FetchWorkDelay": "0"}, fetches_work=True), kind=SlotKind.DYNAMIC)
    hand.run()
    assert hand.state.fetching.running
    hand.feed(ev.VacateRequested(fast=True))
    hand.gone()
    assert not hand.state.deleted
    offer(hand)
    assert hand.state.deleted


def test_a_fetched_claim_ends_with_its_work_life() -> None:
    hand = fetcher(CLAIM_WORKLIFE="100")
    offer(hand, job())
    hand.now += 101
    hand.gone()
    assert hand.numbers == ["12", "10", "22", "1"]


def test_the_reason_of_a_lost_match_is_kept_with_the_claim() -> None:
    hand = fetcher(RANK="TARGET.Worth", MAXJOBRETIREMENTTIME="3600")
    hand.run(job(Worth=1.0))
    offer(hand, job(Worth=2.0))
    assert hand.state.waiting is not None and hand.state.waiting.displaces_for is VacateReason.BETTER_RANK


def test_the_results_of_one_slot_are_those_of_the_machine() -> None:
    """Told to all slots, they agree, and a slot that was waiting to measure need not any more."""
    rules = policy({"RunBenchmarks": "LastBenchmark == 0"})
    measuring, other = Hand(policy=rules), Hand()
    measuring.poll(1)
    other.poll(1)
    other.policy = rules
    other.now = measuring.now
    for hand in (measuring, other):
        hand.feed(ev.BenchmarksFinished(mips=1000, kflops=100))
    assert measuring.state.benchmarks == other.state.benchmarks
    assert measuring.numbers == ["4"] and not other.numbers
    other.poll(1)
    assert other.pair == at.UNCLAIMED


def test_a_fetched_job_that_can_not_be_started_is_followed_by_a_growing_pause() -> None:
    hand = fetcher(FetchWorkDelay="0")
    pauses = []
    for _ in range(9):
        offer(hand, job(Cmd="poison"))
        hand.feed(ev.JobExited(started=False))
        hand.gone()
        assert hand.pair == at.UNCLAIMED, "the slot is free for others during the pause"
        failed_at = hand.now
        while not hand.ordered(FetchWork):
            assert hand.state.fetching.retry_at is not None
            hand.poll(max(1.0, hand.state.fetching.retry_at - hand.now))
        pauses.append(hand.now - failed_at)
    assert pauses == [5, 10, 20, 40, 80, 160, 300, 300, 300]


def test_a_fetched_job_that_is_started_ends_the_pauses() -> None:
    hand = fetcher(FetchWorkDelay="0")
    offer(hand, job(Cmd="poison"))
    hand.feed(ev.StarterExited(spawned=False))
    assert hand.state.fetching.failures == 1
    ad = slot_attributes(hand.state, hand.policy, hand.now)
    assert (ad["FetchWorkFailures"], ad["FetchWorkPausedUntil"]) == (1, hand.now + 5)
    hand.poll(5)
    assert hand.ordered(FetchWork)
    offer(hand, job(Cmd="a"))
    hand.feed(ev.JobExited(started=True))
    assert hand.state.fetching.failures == 0
    assert "FetchWorkFailures" not in slot_attributes(hand.state, hand.policy, hand.now)
    hand.gone()
    assert hand.pair == at.CLAIMED and hand.ordered(FetchWork)


def test_a_fetched_job_that_is_evicted_before_it_starts_is_no_failure() -> None:
    hand = fetcher()
    offer(hand, job())
    hand.feed(ev.VacateRequested())
    hand.feed(ev.JobExited(started=False))
    assert hand.state.fetching.failures == 0


def test_what_was_wrong_with_a_call_is_told_until_the_next_one() -> None:
    hand = fetcher(FetchWorkDelay="0", START='TARGET.Owner != "eve"')

    def told() -> object:
        return slot_attributes(hand.state, hand.policy, hand.now).get("FetchWorkProblem")

    hand.feed(ev.FetchedWorkOffered(problem="/h/fetch: it is no ad"))
    assert told() == "/h/fetch: it is no ad"
    hand.poll(1)
    hand.feed(ev.FetchedWorkOffered())
    assert told() is None
    hand.poll(1)
    hand.feed(ev.FetchedWorkOffered(job_ad=job(Cmd="a", Owner="eve")))
    assert str(told()).startswith("the job that it brought was rejected: ")
