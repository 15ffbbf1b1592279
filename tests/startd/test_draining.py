"""Draining a machine: all schedules, completion, cancelling, jobs accepted meanwhile, and what it would cost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from roost.classad import ClassAd, parse_expression
from roost.model import events as ev
from roost.model.effects import CountBadput, HardKill, SendClaimReply, SetTimer, SoftKill
from roost.model.reasons import Reason, Refusal, VacateReason
from roost.model.slots import SlotKind
from roost.startd import draining as dr
from roost.startd import states as at
from roost.startd.policy_inputs import SlotPolicy
from roost.startd.publication import slot_attributes
from tests.startd.kit import START, Hand, in_pair, job, policy

LONG = {"MAXJOBRETIREMENTTIME": "TARGET.Stay", "MachineMaxVacateTime": "60"}


class Machine:
    """Several slots with the drain that they share."""

    def __init__(self, count: int, rules: SlotPolicy | None = None) -> None:
        self.now = START
        self.draining = dr.MachineDraining()
        self.hands = [Hand(policy=policy(LONG) if rules is None else rules) for _ in range(count)]
        for number, hand in enumerate(self.hands, 1):
            hand.state = _renamed(hand, f"slot{number}@host")
        self.daemon: dr.OnCompletion | None = None
        self.sweep(1)

    @property
    def slots(self) -> list:  # type: ignore[type-arg]
        return [hand.state for hand in self.hands]

    @property
    def policies(self) -> dict[str, SlotPolicy]:
        return {hand.state.name: hand.policy for hand in self.hands}

    @property
    def pairs(self) -> list[str]:
        return [str(hand.pair) for hand in self.hands]

    def sweep(self, after: float = 5.0) -> None:
        """A pass over the machine."""
        self.now += after
        facts = dr.facts(self.draining, self.slots, self.policies, self.now)
        for hand in self.hands:
            hand.now, hand.machine = self.now, facts
            hand.poll()
        self.apply(dr.progress(self.draining, self.slots, self.now))

    def apply(self, drain: dr.Drain) -> dr.Drain:
        self.draining = drain.draining
        self.daemon = drain.daemon
        for event in drain.events:
            for hand in self.hands:
                hand.now = self.now
                hand.feed(event)
        return drain

    def request(self, **fields: object) -> dr.Drain:
        order = dr.DrainOrder(**fields)  # type: ignore[arg-type]
        return self.apply(dr.request(self.draining, order, self.slots, self.policies, self.now))

    def cancel(self, request_id: str = "") -> dr.Drain:
        return self.apply(dr.cancel(self.draining, request_id, self.now))


def _renamed(hand: Hand, name: str) -> object:
    return replace(hand.state, name=name)


def test_an_empty_machine_is_drained_by_one_more_pass_and_stays_so() -> None:
    machine = Machine(2)
    machine.request()
    assert machine.pairs == ["Drained/Retiring"] * 2
    machine.sweep()
    assert machine.pairs == ["Drained/Idle"] * 2
    machine.sweep(1000)
    assert machine.pairs == ["Drained/Idle"] * 2
    machine.cancel()
    assert [hand.numbers for hand in machine.hands] == [["34", "1"]] * 2


def test_a_drained_machine_resumes_by_itself_if_it_was_asked_to() -> None:
    machine = Machine(2)
    machine.request(on_completion=dr.OnCompletion.RESUME)
    machine.sweep()
    assert machine.pairs == ["Unclaimed/Idle"] * 2
    assert machine.draining.order is None and machine.draining.stopped_at == machine.now


@pytest.mark.parametrize("what", [dr.OnCompletion.EXIT, dr.OnCompletion.RESTART, dr.OnCompletion.RECONFIGURE])
def test_the_daemon_learns_once_what_to_do_when_the_machine_is_empty(what: dr.OnCompletion) -> None:
    machine = Machine(1)
    machine.request(on_completion=what)
    machine.sweep()
    assert machine.daemon is what
    machine.sweep()
    assert machine.daemon is None


def test_gracefully_every_job_may_stay_as_long_as_the_longest() -> None:
    machine = Machine(3)
    machine.hands[0].run(job(Stay=600))
    machine.hands[1].run(job(Stay=3600))
    begin = machine.now
    machine.request()
    assert machine.pairs == ["Claimed/Retiring", "Claimed/Retiring", "Drained/Retiring"]
    while machine.hands[0].pair == at.RETIRING:
        machine.sweep()
    assert machine.now - begin == 3540, "the end of the longest retirement, less the vacate time"
    assert machine.pairs[:2] == ["Preempting/Vacating"] * 2
    (kill,) = machine.hands[0].ordered(SoftKill)
    assert kill.notice.code == VacateReason.DRAINING


def test_a_job_without_retirement_goes_at_once() -> None:
    machine = Machine(2)
    machine.hands[0].run(job(Stay=0))
    machine.hands[1].run(job(Stay=3600))
    machine.request()
    assert machine.pairs == ["Preempting/Vacating", "Claimed/Retiring"]


def test_when_the_longest_job_ends_early_the_others_have_their_own_time() -> None:
    machine = Machine(2)
    machine.hands[0].run(job(Stay=600))
    machine.hands[1].run(job(Stay=3600))
    machine.request()
    machine.sweep(1000)
    assert machine.pairs == ["Claimed/Retiring"] * 2
    machine.hands[1].gone()
    machine.sweep()
    assert machine.pairs == ["Preempting/Vacating", "Drained/Retiring"]


def test_quickly_no_job_has_retirement_and_all_have_vacate_time() -> None:
    machine = Machine(1)
    machine.hands[0].run(job(Stay=3600))
    machine.request(schedule=ev.DrainSchedule.QUICK)
    hand = machine.hands[0]
    assert hand.pair == at.VACATING and hand.state.vacate_until == machine.now + 60


def test_fast_means_dead() -> None:
    machine = Machine(1)
    machine.hands[0].run(job(Stay=3600))
    machine.request(schedule=ev.DrainSchedule.FAST)
    assert machine.hands[0].pair == at.KILLING
    assert machine.hands[0].ordered(HardKill)
    machine.now += 10
    machine.hands[0].now = machine.now
    machine.hands[0].gone()
    assert machine.hands[0].ordered(CountBadput) == [CountBadput(run_s=10.0)]
    assert machine.hands[0].numbers == ["25", "36"]


def test_cancelling_a_graceful_drain_lets_the_jobs_go_on() -> None:
    machine = Machine(2)
    machine.hands[0].run(job(Stay=3600))
    machine.request()
    machine.sweep()
    machine.cancel("1")
    assert machine.pairs == ["Claimed/Busy", "Unclaimed/Idle"]
    assert [hand.numbers for hand in machine.hands] == [["19"], ["35", "1"]]


def test_cancelling_does_not_undo_what_was_ordered_quickly() -> None:
    machine = Machine(1)
    machine.hands[0].run(job(Stay=3600))
    machine.request(schedule=ev.DrainSchedule.QUICK)
    machine.cancel()
    assert machine.hands[0].pair == at.VACATING


def test_a_second_request_is_refused_and_a_wrong_cancellation_too() -> None:
    machine = Machine(1)
    assert machine.cancel().refusal is None
    assert machine.cancel("7").refusal is Refusal.NO_SUCH_DRAIN
    machine.request()
    assert machine.request().refusal is Refusal.ALREADY_DRAINING
    assert machine.cancel("7").refusal is Refusal.NO_SUCH_DRAIN
    assert machine.cancel("1").refusal is None
    assert machine.request().draining.request_id == "2"


@pytest.mark.parametrize(("check", "passes"), [("Memory > 1", True), ("Memory", False), ("NoSuchThing", False)])
def test_the_check_must_be_true_for_every_slot(check: str, passes: bool) -> None:
    machine = Machine(2)
    for hand in machine.hands:
        hand.poll(0, Memory=8)
    drain = machine.request(check=parse_expression(check))
    assert (drain.refusal is None) is passes


def test_the_check_sees_what_the_drain_would_cost() -> None:
    machine = Machine(1)
    machine.hands[0].run(job(Stay=3600))
    refused = machine.request(check=parse_expression("ExpectedMachineGracefulDrainingBadput < 3600"))
    assert refused.refusal is Refusal.DRAIN_CHECK_FAILED
    assert machine.request(check=parse_expression("ExpectedMachineQuickDrainingBadput < 3600")).refusal is None


def test_expectations_by_hand() -> None:
    machine = Machine(3)
    for hand, (cpus, stay) in zip(machine.hands, [(4, 1000), (2, 10), (1, 0)], strict=True):
        hand.poll(0, Cpus=cpus)
        if stay:
            hand.run(job(Stay=stay))
    now = machine.now + 5
    assert dr.expectations(machine.slots, machine.policies, now) == {
        "ExpectedMachineGracefulDrainingCompletion": int(now + 995),
        "ExpectedMachineQuickDrainingCompletion": int(now + 60),
        "ExpectedMachineGracefulDrainingBadput": 4 * (5 + 995) + 2 * (5 + 60),
        "ExpectedMachineQuickDrainingBadput": 4 * (5 + 60) + 2 * (5 + 60),
    }


def test_a_draining_slot_says_so_and_takes_nobody() -> None:
    hand = in_pair(at.BUSY)
    hand.policy = policy({"MAXJOBRETIREMENTTIME": "9999"})
    hand.drain(reason="new kernel", drain_remaining_s=9999.0)
    ad = slot_attributes(hand.state, hand.policy, hand.now)
    assert (ad.eval("Draining"), ad.eval("DrainReason"), ad.eval("DrainingRequestId")) == (True, "new kernel", "1")
    assert ad["Requirements"] is False and "START" not in ad
    hand.preempt(reply_to="late")
    assert hand.ordered(SendClaimReply)[0].refusal is Refusal.DRAINING


def test_a_young_claim_may_still_get_its_first_job() -> None:
    hand = in_pair(at.CLAIMED)
    hand.drain(start=parse_expression("true"), drain_remaining_s=500.0)
    assert hand.pair == at.CLAIMED
    hand.poll(19.9)
    assert hand.pair == at.CLAIMED
    hand.poll(0.1)
    assert hand.last.transitions[0].reason is Reason.DRAINING


def test_a_drain_that_brings_no_start_has_the_configured_one() -> None:
    machine = Machine(2)
    machine.hands[0].run(job(Stay=1000))
    machine.hands[1].request()
    for hand in machine.hands:
        hand.policy = replace(hand.policy, draining_start=parse_expression("TARGET.Short == 1"))
    machine.request()
    machine.hands[1].activate(job(Short=1, Stay=100_000))
    assert machine.hands[1].pair == at.BUSY
    assert machine.draining.order is not None
    assert str(machine.draining.order.start) == "TARGET.Short == 1"


def test_jobs_accepted_while_draining_go_with_the_last_original() -> None:
    machine = Machine(2)
    machine.hands[0].run(job(Stay=1000))
    machine.hands[1].request()
    machine.request(start=parse_expression("TARGET.Short =?= true"))
    hand = machine.hands[1]
    hand.activate(job(Short=False))
    assert hand.last.refusal is Refusal.REQUIREMENTS
    hand.activate(job(Short=True, Stay=100_000))
    assert hand.pair == at.BUSY
    ad = slot_attributes(hand.state, hand.policy, hand.now)
    assert ad.eval("AcceptedWhileDraining") is True
    machine.sweep(100)
    assert machine.pairs == ["Claimed/Retiring", "Claimed/Busy"]
    machine.hands[0].gone()
    machine.sweep()
    assert machine.pairs[0].startswith("Drained") and hand.pair == at.VACATING
    hand.gone()
    machine.sweep()
    assert machine.pairs == ["Drained/Idle"] * 2


def test_a_partitionable_slot_of_a_draining_machine_is_cut_for_whom_the_drain_accepts() -> None:
    hand = in_pair(at.UNCLAIMED, kind=SlotKind.PARTITIONABLE)
    hand.drain(start=parse_expression("true"), drain_remaining_s=5000.0)
    assert hand.pair == at.DRAINED_RETIRING
    hand.request()
    assert hand.last.refusal is None and hand.last.effects
    hand.feed(ev.DrainOriginalsGone())
    hand.request(reply_to="late")
    assert hand.last.refusal is Refusal.DRAINING


def test_a_dynamic_slot_of_a_draining_machine_vanishes_instead_of_being_drained() -> None:
    hand = Hand(kind=SlotKind.DYNAMIC)
    hand.run()
    hand.drain()
    hand.gone()
    assert hand.state.deleted and hand.numbers == ["22"]
    assert not dr.is_empty([in_pair(at.DRAINED).state, Hand(kind=SlotKind.DYNAMIC).state])
    assert dr.is_empty([in_pair(at.DRAINED).state, hand.state])


def test_backfill_makes_room_for_a_drain() -> None:
    hand = in_pair(at.BACKFILL_BUSY)
    hand.drain()
    assert hand.pair == at.BACKFILL_KILLING
    hand.feed(ev.BackfillExited())
    assert hand.numbers == ["29", "30", "36"]


def test_a_poll_without_news_of_the_machine_does_not_end_the_shared_time() -> None:
    hand = in_pair(at.UNCLAIMED)
    hand.policy = policy(LONG)
    hand.run(job(Stay=100))
    hand.drain(drain_remaining_s=5000.0)
    hand.feed(ev.Polled(ad=ClassAd()))
    assert hand.pair == at.RETIRING


def test_an_owner_who_comes_back_does_not_wait_for_other_slots() -> None:
    machine = Machine(2, policy({**LONG, "PREEMPT": "KeyboardIdle < 60"}))
    machine.hands[0].run(job(Stay=600))
    machine.hands[1].run(job(Stay=3600))
    machine.request()
    machine.sweep(1000)
    assert machine.pairs == ["Claimed/Retiring"] * 2
    machine.hands[0].sensors["KeyboardIdle"] = 0
    machine.sweep()
    assert machine.pairs == ["Preempting/Vacating", "Claimed/Retiring"]


# -- no job that would have to go at once ------------------------------------------------------------

ANY = parse_expression("true")
#: Vacate time of the job that comes late, s: what is said of it, and how long it is.
VACATING = [
    ({}, 60),
    ({"JobMaxVacateTime": 30}, 30),
    ({"KillSigTimeout": 0}, 0),
    ({"JobMaxVacateTime": 500}, 500),
    ({"JobMaxVacateTime": 500, "Stay": 100}, 100),
    ({"MaxJobRetirementTime": 0, "JobMaxVacateTime": 500}, 60),
]


@pytest.mark.parametrize(("said", "vacate_s"), VACATING)
@pytest.mark.parametrize("deadline", [False, True])
def test_a_drain_takes_no_job_whose_vacate_time_does_not_fit_after_the_delay(
    said: dict[str, object], vacate_s: int, deadline: bool
) -> None:
    for late_s, refusal in ((0, None), (1, Refusal.DRAINING)):
        machine = Machine(2)
        machine.hands[0].run(job(Stay=20_000 if deadline else 5_000))
        machine.request(start=ANY, deadline_at=machine.now + 5_000 if deadline else None)
        hand = machine.hands[1]
        machine.sweep(5_000 - 20 - vacate_s + late_s)
        assert hand.pair == at.DRAINED_RETIRING
        hand.request(job(**{"Stay": 20_000, **said}))
        assert hand.last.refusal is refusal
        assert (hand.pair == at.CLAIMED) is (refusal is None)


def test_the_delay_that_a_claim_has_waited_is_not_counted_again() -> None:
    machine = Machine(2)
    machine.hands[0].run(job(Stay=5_000))
    machine.request(start=ANY)
    machine.sweep(5_000 - 20 - 60)
    hand = machine.hands[1]
    hand.request(job(Stay=20_000))
    machine.sweep(15)
    hand.activate(job(Stay=20_000))
    assert hand.pair == at.BUSY
    machine.sweep(4)
    assert hand.pair == at.BUSY
    machine.sweep(1)
    assert hand.pair == at.VACATING


def test_a_claim_gets_no_other_job_that_would_have_to_go_at_once() -> None:
    machine = Machine(2)
    machine.hands[0].run(job(Stay=5_000))
    machine.request(start=ANY)
    machine.sweep(5_000 - 20 - 62)
    hand = machine.hands[1].run(job(Stay=5_000))
    machine.sweep(3)
    hand.gone()
    assert hand.pair == at.CLAIMED
    hand.activate(job(Stay=5_000))
    assert hand.last.refusal is Refusal.DRAINING
    hand.activate(job(Stay=5_000, JobMaxVacateTime=59))
    assert hand.pair == at.BUSY


# -- deadlines ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", [ev.DrainSchedule.GRACEFUL, ev.DrainSchedule.QUICK])
@pytest.mark.parametrize("left", [0, 100, 600, 1000, 5000])
def test_at_the_deadline_of_a_drain_every_job_is_killed(schedule: ev.DrainSchedule, left: int) -> None:
    machine = Machine(3)
    machine.hands[0].run(job(Stay=600))
    machine.hands[1].run(job(Stay=36_000))
    machine.hands[2].run(job(Stay=36_000, MachineMaxVacateTime=9_999, JobMaxVacateTime=9_999))
    deadline = machine.now + left
    machine.request(schedule=schedule, deadline_at=deadline)
    while machine.now < deadline + 5:
        machine.sweep()
    assert set(machine.pairs) == {"Preempting/Killing"}
    killed = [hand.state.claim.activation.hard_killed_at for hand in machine.hands]  # type: ignore[union-attr]
    assert all(at is not None and at <= deadline + 5 for at in killed)


def test_before_the_deadline_a_job_has_its_vacate_time() -> None:
    machine = Machine(1)
    machine.hands[0].run(job(Stay=36_000))
    begin = machine.now
    machine.request(deadline_at=begin + 1000)
    while machine.pairs == ["Claimed/Retiring"]:
        machine.sweep()
    assert machine.pairs == ["Preempting/Vacating"]
    assert 940 <= machine.now - begin <= 945
    assert machine.slots[0].vacate_until == begin + 1000


def test_a_suspended_job_does_not_outstay_the_deadline() -> None:
    machine = Machine(1)
    hand = machine.hands[0].run(job(Stay=36_000))
    hand.feed(ev.SuspendRequested(claim_id=hand.state.claim.id))
    machine.request(deadline_at=machine.now + 700)
    while machine.now < START + 710:
        machine.sweep()
    assert machine.pairs == ["Preempting/Killing"]


def test_a_job_that_is_being_vacated_already_gets_no_longer_than_the_deadline() -> None:
    machine = Machine(1)
    hand = machine.hands[0].run(job(Stay=0))
    hand.feed(ev.VacateRequested())
    assert hand.state.vacate_until == machine.now + 60
    machine.request(deadline_at=machine.now + 20)
    assert hand.state.vacate_until == machine.now + 20
    assert hand.ordered(SetTimer)


# -- totals -------------------------------------------------------------------------------------------


def test_cores_that_stand_empty_for_a_drain_are_counted() -> None:
    machine = Machine(3)
    machine.hands[0].run(job(Stay=1000))
    cores = {"slot1@host": 4.0, "slot2@host": 2.0, "slot3@host": 1.5}
    draining = dr.count_unclaimed(machine.draining, machine.slots, cores, machine.now + 50)
    assert draining.unclaimed_core_s == 0.0
    machine.request()
    begin = machine.now
    for after, total in ((100, 350.0), (100, 350.0), (70, 350.0), (160, 560.0)):
        machine.now = begin + after
        machine.draining = dr.count_unclaimed(machine.draining, machine.slots, cores, machine.now)
        assert machine.draining.unclaimed_core_s == total
    machine.cancel()
    later = dr.count_unclaimed(machine.draining, machine.slots, cores, machine.now + 500)
    assert later.unclaimed_core_s == 560.0
    found = dr.attributes(later, machine.slots, machine.policies, machine.now)
    assert found["TotalMachineDrainingUnclaimedTime"] == 560


def test_a_second_drain_does_not_count_the_time_between() -> None:
    machine = Machine(1)
    cores = {"slot1@host": 2.0}
    for _ in range(2):
        machine.request()
        machine.now += 10
        machine.draining = dr.count_unclaimed(machine.draining, machine.slots, cores, machine.now)
        machine.cancel()
        machine.now += 1000
    assert machine.draining.unclaimed_core_s == 40.0
