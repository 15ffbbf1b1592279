"""A slot after the death of its daemon: what was ordered is ordered again, what went with the daemon is made good."""

from __future__ import annotations

import pytest

from roost.model import effects as ef
from roost.model import events as ev
from roost.startd import states as at
from roost.startd.machine import SlotStep
from roost.startd.resumption import resume
from roost.startd.states import Pair
from tests.startd.kit import Hand, in_pair, job, policy


def reborn(hand: Hand, *, starter: bool = True, backfill: bool = False) -> SlotStep:
    return resume(hand.state, hand.now, hand.policy, starter_alive=starter, backfill_running=backfill)


def kinds(found: SlotStep) -> list[str]:
    return [type(effect).__name__ for effect in found.effects if not isinstance(effect, ef.SetTimer)]


@pytest.mark.parametrize(
    ("pair", "ordered"),
    [
        (at.BUSY, ["ContinueJob", "PublishAd"]),
        (at.SUSPENDED, ["SuspendJob", "PublishAd"]),
        (at.RETIRING, ["ContinueJob", "PublishAd"]),
        (at.CLEANING, ["PublishAd"]),
        (at.VACATING, ["SoftKill", "PublishAd"]),
        (at.KILLING, ["HardKill", "PublishAd"]),
        (at.CLAIMED, ["PublishAd"]),
        (at.MATCHED, ["PublishAd"]),
        (at.DRAINED, ["PublishAd"]),
    ],
)
def test_orders_to_a_living_starter_are_given_again(pair: Pair, ordered: list[str]) -> None:
    hand = in_pair(pair)
    found = reborn(hand)
    assert kinds(found) == ordered
    assert found.state is hand.state
    assert not found.transitions


@pytest.mark.parametrize("pair", [at.MATCHED, at.CLAIMED, at.VACATING, at.KILLING], ids=str)
def test_every_deadline_is_a_timer_again(pair: Pair) -> None:
    hand = in_pair(pair)
    timers = [effect for effect in reborn(hand).effects if isinstance(effect, ef.SetTimer)]
    assert timers and all(each.at > hand.now for each in timers)


@pytest.mark.parametrize(
    ("pair", "rows"),
    [
        (at.BUSY, ["12"]),
        (at.SUSPENDED, ["15", "12"]),
        (at.RETIRING, ["18", "22", "1"]),
        (at.CLEANING, ["12a"]),
        (at.VACATING, ["22", "1"]),
        (at.KILLING, ["25", "1"]),
    ],
)
def test_a_starter_that_is_gone_ended_with_its_job(pair: Pair, rows: list[str]) -> None:
    assert [taken.number for taken in reborn(in_pair(pair), starter=False).transitions] == rows


def test_a_job_that_was_ordered_and_never_spawned_is_gone() -> None:
    hand = in_pair(at.CLAIMED)
    hand.activate()
    found = reborn(hand, starter=False)
    assert found.state.pair == at.CLAIMED
    assert found.state.claim.activation is None


def test_benchmarks_go_with_the_daemon() -> None:
    found = reborn(in_pair(at.BENCHMARKING))
    assert [taken.number for taken in found.transitions] == ["4"]
    assert found.state.benchmarks.mips is None


def test_a_hook_that_fetched_work_goes_with_the_daemon() -> None:
    hand = Hand(policy=policy({"FetchWorkDelay": "100"}, fetches_work=True))
    hand.poll(1)
    assert hand.state.fetching.running
    found = reborn(hand)
    assert not found.state.fetching.running
    assert [effect.timer for effect in found.effects if isinstance(effect, ef.SetTimer)] == [ev.Timer.FETCH]


def test_a_backfill_client_that_is_gone_is_started_by_the_next_poll() -> None:
    hand = in_pair(at.BACKFILL_BUSY)
    found = reborn(hand)
    assert [taken.number for taken in found.transitions] == ["27"]
    hand.state = found.state
    hand.machine = ev.MachineFacts()
    hand.policy = policy({"START_BACKFILL": "true"}, backfill=True)
    hand.poll(1)
    assert hand.ordered(ef.StartBackfill)


def test_backfill_that_was_being_killed_is_gone_and_the_match_counts() -> None:
    found = reborn(in_pair(at.BACKFILL_KILLING))
    assert [taken.number for taken in found.transitions] == ["29", "32"]


def test_a_lease_that_ran_out_meanwhile_ends_with_the_next_poll() -> None:
    hand = Hand()
    hand.run(job(JobLeaseDuration=60))
    hand.now += 100
    hand.state = reborn(hand).state
    hand.poll()
    assert hand.pair == at.KILLING
