"""Retirement and vacate times: how long a job may stay once its claim is to end."""

from __future__ import annotations

import pytest

from roost.classad import ClassAd
from roost.model import events as ev
from roost.model.effects import HardKill, SoftKill
from roost.model.reasons import VacateReason
from roost.startd import states as at
from roost.startd.policy_inputs import Inputs
from roost.startd.retirement import lease_s, remaining_s, vacate_time_s
from tests.startd.kit import Hand, in_pair, job, policy


def running(ad: ClassAd, **expressions: str) -> Hand:
    hand = Hand(policy=policy(expressions))
    hand.poll(1)
    return hand.run(ad)


def left(hand: Hand) -> float:
    return remaining_s(Inputs(hand.state, hand.policy, hand.now))


def vacate_s(hand: Hand) -> float:
    return vacate_time_s(Inputs(hand.state, hand.policy, hand.now))


@pytest.mark.parametrize(
    ("machine", "wanted", "expected"),
    [
        ("3600", None, 3600),
        ("3600", 600, 600),
        ("600", 3600, 600),
        ("undefined", 600, 0),
        ('"long"', None, 0),
        ("-1", None, 0),
        ('ifThenElse(TARGET.Owner == "alice", 7200, 60)', None, 7200),
    ],
)
def test_retirement_is_the_smaller_of_what_machine_and_job_say(machine: str, wanted: int | None, expected: int) -> None:
    more = {} if wanted is None else {"MaxJobRetirementTime": wanted}
    assert left(running(job(**more), MAXJOBRETIREMENTTIME=machine)) == expected


def test_retirement_counts_from_the_start_of_the_job_without_its_suspensions() -> None:
    hand = running(job(), MAXJOBRETIREMENTTIME="1000")
    hand.now += 100
    assert left(hand) == 900
    hand.feed(ev.SuspendRequested(claim_id=hand.state.claim.id))
    hand.now += 500
    assert left(hand) == 900
    hand.feed(ev.ContinueRequested(claim_id=hand.state.claim.id))
    hand.now += 50
    assert left(hand) == 850


@pytest.mark.parametrize(("retirement", "expected"), [(0, 600), (1000, 1000), (5000, 1800)])
def test_a_longer_vacate_time_is_taken_out_of_unused_retirement(retirement: int, expected: int) -> None:
    hand = running(job(JobMaxVacateTime=1800), MAXJOBRETIREMENTTIME=str(retirement))
    assert vacate_s(hand) == expected


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"JobMaxVacateTime": 5}, 5),
        ({"JobMaxVacateTime": "soon"}, 0),
        ({"KillSigTimeout": 30}, 30),
        ({"JobMaxVacateTime": 40, "KillSigTimeout": 30}, 40),
        ({}, 600),
    ],
)
def test_a_shorter_vacate_time_is_the_jobs(attributes: dict[str, object], expected: int) -> None:
    assert vacate_s(running(job(**attributes))) == expected


def test_the_vacate_time_is_pledged_when_the_job_starts() -> None:
    hand = running(job(), MachineMaxVacateTime="600")
    hand.policy = policy({"MachineMaxVacateTime": "1"})
    assert vacate_s(hand) == 600


def test_eviction_begins_early_enough_for_the_hard_kill_to_end_the_retirement() -> None:
    hand = running(job(), MAXJOBRETIREMENTTIME="3600", MachineMaxVacateTime="600")
    start = hand.now
    hand.poll(100)
    hand.feed(ev.VacateRequested())
    assert hand.pair == at.RETIRING
    hand.poll_until(at.VACATING)
    assert hand.now == start + 3000
    assert hand.state.vacate_until == start + 3600


def test_a_job_that_ends_in_its_retirement_ends_its_claim() -> None:
    hand = running(job(), MAXJOBRETIREMENTTIME="3600")
    hand.feed(ev.VacateRequested())
    hand.now += 10
    hand.gone()
    assert hand.numbers == ["18", "22", "1"]
    assert not hand.ordered(SoftKill)


def test_there_is_no_way_back_from_retiring_by_command() -> None:
    hand = running(job(), MAXJOBRETIREMENTTIME="3600")
    hand.feed(ev.VacateRequested())
    hand.poll(5)
    assert hand.pair == at.RETIRING


def test_there_is_no_way_back_once_preempt_was_true() -> None:
    hand = running(job(), MAXJOBRETIREMENTTIME="3600", PREEMPT="KeyboardIdle < 60")
    hand.poll(5, KeyboardIdle=0)
    assert hand.pair == at.RETIRING
    hand.poll(5, KeyboardIdle=1000)
    assert hand.pair == at.RETIRING


def test_preempt_turning_true_while_a_better_match_waits_closes_the_way_back() -> None:
    hand = running(job(), MAXJOBRETIREMENTTIME="3600", PREEMPT="KeyboardIdle < 60")
    hand.poll(5, KeyboardIdle=1000)
    hand.preempt()
    assert hand.pair == at.RETIRING
    hand.poll(5, KeyboardIdle=0)
    assert hand.pair == at.RETIRING and hand.state.eviction.preempt_seen
    assert hand.state.preempting is not None
    hand.feed(ev.ClaimReleased(claim_id=hand.state.preempting.id))
    hand.poll(5, KeyboardIdle=1000)
    assert hand.pair == at.RETIRING


def test_suspension_is_looked_at_while_retiring_and_returns_to_it() -> None:
    hand = running(
        job(),
        MAXJOBRETIREMENTTIME="3600",
        WANT_SUSPEND="true",
        SUSPEND="KeyboardIdle < 60",
        CONTINUE="KeyboardIdle > 300",
    )
    hand.poll(5, KeyboardIdle=1000)
    hand.feed(ev.VacateRequested())
    hand.poll(5, KeyboardIdle=0)
    assert hand.numbers == ["20"]
    hand.poll(5, KeyboardIdle=400)
    assert hand.numbers == ["16"]


def test_retirement_that_shrinks_below_nothing_ends_a_suspended_job() -> None:
    hand = running(job(), MAXJOBRETIREMENTTIME="Allowance", MachineMaxVacateTime="10")
    hand.poll(5, Allowance=3600)
    hand.feed(ev.VacateRequested())
    hand.feed(ev.SuspendRequested(claim_id=hand.state.claim.id))
    hand.poll(5, Allowance=3600)
    assert hand.pair == at.SUSPENDED
    hand.poll(5, Allowance=0)
    assert hand.numbers == ["17"]


@pytest.mark.parametrize(("retirement", "stays"), [("60", True), ("-1", False)])
def test_a_peaceful_shutdown_waits_for_the_job_unless_retirement_is_refused(retirement: str, stays: bool) -> None:
    hand = running(job(), MAXJOBRETIREMENTTIME=retirement)
    hand.feed(ev.ShutdownRequested(kind=ev.ShutdownKind.PEACEFUL))
    hand.poll(100_000)
    assert (hand.pair == at.RETIRING) is stays


def test_a_graceful_shutdown_turns_into_a_fast_one() -> None:
    hand = running(job(), MAXJOBRETIREMENTTIME="3600")
    hand.feed(ev.ShutdownRequested(kind=ev.ShutdownKind.GRACEFUL))
    assert hand.pair == at.RETIRING
    hand.feed(ev.ShutdownRequested(kind=ev.ShutdownKind.FAST))
    assert hand.pair == at.KILLING
    (kill,) = hand.ordered(HardKill)
    assert kill.notice.code == VacateReason.SHUTDOWN


def test_kill_ends_vacating_and_hold_is_said_to_the_job() -> None:
    hand = running(
        job(ImageSize=9),
        PREEMPT="TARGET.ImageSize > 8",
        WANT_HOLD="true",
        WANT_HOLD_SUBCODE="102",
        WANT_HOLD_REASON='strcat("too big: ", TARGET.ImageSize)',
        KILL="(CurrentTime - EnteredCurrentActivity) > 20",
    )
    hand.poll(5)
    (kill,) = hand.ordered(SoftKill)
    assert (kill.notice.hold, kill.notice.code, kill.notice.subcode) == (True, 21, 102)
    assert kill.notice.text == "too big: 9"
    hand.poll(20)
    assert hand.pair == at.VACATING
    hand.poll(1)
    assert hand.numbers == ["21"]


def test_a_hold_without_a_reason_quotes_the_expression() -> None:
    hand = running(job(), PREEMPT="true", WANT_HOLD="1 + 1 == 2")
    hand.poll(5)
    (kill,) = hand.ordered(SoftKill)
    assert "1 + 1 == 2" in kill.notice.text


def test_virtual_machines_have_longer_to_die() -> None:
    hand = running(job(JobUniverse=13))
    hand.feed(ev.VacateRequested(fast=True))
    assert hand.state.kill_again_at == hand.now + 60


def test_a_pending_soft_kill_is_not_repeated() -> None:
    hand = running(job())
    claim_id = hand.state.claim.id
    hand.feed(ev.DeactivationRequested(claim_id=claim_id, reply_to="d"))
    assert hand.ordered(SoftKill) and hand.pair == at.BUSY
    until = hand.state.vacate_until
    hand.now += 5
    hand.feed(ev.DeactivationRequested(claim_id=claim_id, reply_to="d"))
    assert not hand.ordered(SoftKill)
    hand.feed(ev.VacateRequested())
    assert hand.pair == at.VACATING and not hand.ordered(SoftKill)
    assert hand.state.vacate_until == until


def test_a_deactivated_job_that_stays_is_killed_and_the_claim_stays() -> None:
    hand = running(job())
    hand.feed(ev.DeactivationRequested(claim_id=hand.state.claim.id))
    hand.fire(ev.Timer.VACATE, 600)
    assert hand.ordered(HardKill) and hand.pair == at.BUSY
    hand.gone()
    assert hand.pair == at.CLAIMED


@pytest.mark.parametrize(
    ("lease", "expected"), [(2400, 2400), (0, 1800), (None, 1800), ("long", 1800), (True, 1800), (-5, 1800)]
)
def test_the_lease_is_the_jobs_or_six_intervals(lease: object, expected: float) -> None:
    assert lease_s(lease, 300, 6) == expected


def test_the_slot_in_every_pair_of_preempting_has_an_end_in_sight() -> None:
    for pair in (at.VACATING, at.KILLING):
        state = in_pair(pair).state
        assert (state.vacate_until is None) != (state.kill_again_at is None)
