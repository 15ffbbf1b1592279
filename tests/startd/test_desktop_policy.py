"""The classic policy of a desktop machine, as scripts: owner, job, suspend, continue, preempt, kill."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from roost.model import events as ev
from roost.model.effects import ContinueJob, HardKill, KillFamily, SoftKill, SuspendJob, TellSchedd
from roost.model.reasons import Reason, VacateReason
from roost.startd import states as at
from roost.startd.policy_inputs import SlotPolicy
from tests.startd.kit import Hand, job

_IDLE_CPU = "((LoadAvg - CondorLoadAvg) <= 0.3)"
_BUSY_KEYBOARD = "(KeyboardIdle < 60)"
_ACTIVATION = "(CurrentTime - JobStart)"
_ACTIVITY = "(CurrentTime - EnteredCurrentActivity)"
_SMALL = "(TARGET.ImageSize < (15 * 1024))"
_VANILLA = "(TARGET.JobUniverse == 5)"

#: The settings as they shipped for many years, macros written out.
DESKTOP = {
    "WANT_SUSPEND": f"({_SMALL} || ({_BUSY_KEYBOARD} == False) || {_VANILLA})",
    "WANT_VACATE": f"({_ACTIVATION} > 10 * 60 || {_VANILLA})",
    "START": f'((KeyboardIdle > 15 * 60) && ({_IDLE_CPU} || (State != "Unclaimed" && State != "Owner")))',
    "IS_OWNER": "START =?= False",
    "SUSPEND": f"({_BUSY_KEYBOARD} || ((CpuBusyTime > 2 * 60) && {_ACTIVATION} > 90))",
    "CONTINUE": f"({_IDLE_CPU} && ({_ACTIVITY} > 10) && (KeyboardIdle > 5 * 60))",
    "PREEMPT": f'(((Activity == "Suspended") && ({_ACTIVITY} > 10 * 60)) || (SUSPEND && (WANT_SUSPEND == False)))',
    "MAXJOBRETIREMENTTIME": "0",
    "MachineMaxVacateTime": "10 * 60",
    "KILL": "False",
    "RunBenchmarks": "False",
}

AWAY = {"KeyboardIdle": 3600, "LoadAvg": 0.1, "CondorLoadAvg": 0.0, "CpuBusyTime": 0}


@pytest.fixture
def desk() -> Iterator[Hand]:
    """A desktop whose owner has been away for an hour."""
    hand = Hand(policy=SlotPolicy.of(DESKTOP), sensors=dict(AWAY))
    hand.poll(1)
    assert hand.pair == at.UNCLAIMED
    yield hand


def small_job() -> object:
    return job(ImageSize=1000)


def big_standard_job() -> object:
    return job(JobUniverse=1, ImageSize=60_000)


def test_the_slot_is_its_owners_while_the_keyboard_is_in_use(desk: Hand) -> None:
    desk.poll(300, KeyboardIdle=4)
    assert desk.pair == at.OWNER
    taken = desk.last.transitions[0]
    assert (taken.number, taken.letter, taken.reason) == ("2", "B", Reason.OWNER_PRESENT)
    desk.poll(300, KeyboardIdle=304)
    assert desk.pair == at.OWNER
    desk.poll(600, KeyboardIdle=904)
    assert desk.pair == at.UNCLAIMED


def test_the_load_of_its_own_job_does_not_make_the_owner_present(desk: Hand) -> None:
    desk.run(small_job())
    desk.poll(5, LoadAvg=1.0, CondorLoadAvg=1.0)
    assert desk.pair == at.BUSY


def test_a_touched_key_suspends_the_job_and_five_quiet_minutes_let_it_go_on(desk: Hand) -> None:
    desk.run(small_job())
    desk.poll(100, KeyboardIdle=2)
    assert desk.pair == at.SUSPENDED
    assert desk.ordered(SuspendJob)
    desk.poll(200, KeyboardIdle=202)
    assert desk.pair == at.SUSPENDED
    desk.poll(99, KeyboardIdle=301)
    assert desk.pair == at.BUSY
    assert desk.ordered(ContinueJob)
    activation = desk.state.claim.activation
    assert activation is not None
    assert (activation.run_time_s(desk.now + 1), activation.suspended_time_s(desk.now + 1)) == (101, 299)


def test_an_owner_who_stays_drives_the_job_out_and_a_stubborn_one_is_killed(desk: Hand) -> None:
    desk.run(small_job())
    desk.poll(100, KeyboardIdle=0)
    assert desk.pair == at.SUSPENDED
    desk.poll(600, KeyboardIdle=0)
    assert desk.pair == at.SUSPENDED, "not longer than ten minutes yet"
    desk.poll(1)
    assert desk.numbers == ["16", "18"]
    assert desk.pair == at.VACATING
    (kill,) = desk.ordered(SoftKill)
    assert (kill.notice.code, kill.notice.hold) == (VacateReason.PREEMPT_EXPRESSION, False)
    assert desk.state.vacate_until == desk.now + 600

    desk.fire(ev.Timer.VACATE, 600)
    assert desk.numbers == ["21"]
    assert desk.ordered(HardKill)
    assert desk.state.kill_again_at == desk.now + 30
    for _ in range(3):
        desk.fire(ev.Timer.KILLING, 30)
        assert desk.ordered(KillFamily)
    desk.gone()
    assert desk.pair == at.OWNER
    (told,) = desk.ordered(TellSchedd)
    assert told.cause is VacateReason.PREEMPT_EXPRESSION


def test_a_job_that_leaves_when_asked_is_not_killed(desk: Hand) -> None:
    desk.run(small_job())
    desk.poll(100, KeyboardIdle=0)
    desk.poll(601)
    assert desk.pair == at.VACATING
    desk.now += 12
    desk.gone()
    assert desk.numbers == ["22"]
    assert desk.pair == at.OWNER


def test_where_suspension_is_not_wanted_preempt_is_looked_at_instead(desk: Hand) -> None:
    desk.run(big_standard_job())
    desk.poll(601, KeyboardIdle=0)
    assert desk.numbers == ["13", "18"]
    assert desk.pair == at.VACATING


def test_a_young_big_job_is_killed_without_vacating(desk: Hand) -> None:
    desk.run(big_standard_job())
    desk.poll(100, KeyboardIdle=0)
    assert desk.numbers == ["13", "18"]
    assert desk.pair == at.KILLING
    decision = desk.last.transitions[1].decision
    assert decision is not None and (decision.name, decision.truth) == ("WANT_VACATE", False)


def test_a_busy_processor_suspends_only_after_two_minutes(desk: Hand) -> None:
    desk.run(small_job())
    desk.poll(120, LoadAvg=0.9, CpuBusyTime=120)
    assert desk.pair == at.BUSY
    desk.poll(5, CpuBusyTime=125)
    assert desk.pair == at.SUSPENDED


def test_the_transition_carries_the_expression_that_decided_it(desk: Hand) -> None:
    desk.run(small_job())
    desk.poll(100, KeyboardIdle=2)
    (taken,) = desk.last.transitions
    assert [(decision.name, decision.truth) for decision in taken.decisions] == [
        ("WANT_SUSPEND", True),
        ("SUSPEND", True),
    ]
    assert taken.decision is not None
    why = taken.decision.explain()
    assert why is not None
    assert [clause.text for clause in why.clauses] == ["KeyboardIdle < 60"]
    trace = taken.decision.trace()
    assert trace is not None and trace.value is True


def test_with_want_suspend_true_a_busy_slot_never_looks_at_preempt() -> None:
    hand = Hand(policy=SlotPolicy.of({**DESKTOP, "WANT_SUSPEND": "true", "SUSPEND": "false", "PREEMPT": "true"}))
    hand.policy = SlotPolicy.of({"WANT_SUSPEND": "true", "PREEMPT": "true", "RunBenchmarks": "false"})
    hand.poll(1)
    hand.run()
    hand.poll(100)
    assert hand.pair == at.BUSY


def test_a_suspended_slot_looks_at_preempt_before_continue() -> None:
    rules = {"WANT_SUSPEND": "true", "SUSPEND": "true", "RunBenchmarks": "false"}
    hand = Hand(policy=SlotPolicy.of(rules))
    hand.poll(1)
    hand.run()
    hand.poll(5)
    hand.policy = SlotPolicy.of({**rules, "PREEMPT": "true", "CONTINUE": "true"})
    hand.poll(5)
    assert hand.numbers[0] == "16"
    assert hand.last.transitions[0].reason is Reason.PREEMPTION
