"""A machine as queues see it: claims answered twice, runs that begin once, and a new start that goes on."""

from __future__ import annotations

import pytest

from roost.classad import ClassAd
from roost.model import effects as ef
from roost.model import events as ev
from roost.model import starter_effects as sef
from roost.model import starter_events as sev
from roost.model.starter import Cause, Ending, OrderedBy
from roost.node.machine import Machine, Outs
from roost.node.plan import Reading
from roost.node.records import restore
from roost.runtime.node.load_log import load_lines
from roost.runtime.node.messages import activation_answer, claim_answer
from roost.startd.idleness import Idleness
from roost.startd.load import LoadReading
from tests.node.kit import NOW, SENSED, granted, machine, reborn, request, started, starter_hears

SPLIT = "SLOT_TYPE_1 = 100%\nSLOT_TYPE_1_PARTITIONABLE = True\nNUM_SLOTS_TYPE_1 = 1\n"
HELD = Cause(ending=Ending.HOLD, code=1, subcode=0, text="held", by=OrderedBy.QUEUE)


def replies(outs: Outs | None) -> list[bool]:
    """Answers to requests for slots."""
    return [out.effect.accepted for out in outs or () if isinstance(out.effect, ef.SendClaimReply)]


def pairs(made: Machine) -> dict[str, str]:
    """Slot to state and activity."""
    return {slot.name: f"{slot.state.state}/{slot.state.activity}" for slot in made.slots}


@pytest.mark.parametrize("text", ["", SPLIT], ids=["static", "partitionable"])
def test_a_request_that_comes_twice_is_answered_twice_and_granted_once(text: str) -> None:
    made = machine(text)
    slot = made.slots[0]
    claim_id = slot.state.claim.id.text
    assert replies(made.claim(slot.name, claim_id, request(claim_id), NOW)) == [True]
    before = pairs(made)
    assert replies(made.claim(slot.name, claim_id, request(claim_id), NOW)) == [True]
    assert pairs(made) == before
    assert sum(pair == "Claimed/Idle" for pair in before.values()) == 1


def test_a_claim_that_no_slot_has_is_known_to_nobody() -> None:
    made = machine()
    slot, other = made.slots
    claim_id = slot.state.claim.id.text
    assert made.claim(other.name, claim_id, request(claim_id), NOW) is None
    assert made.claim(slot.name, "<here>#1#2#x", request("x"), NOW) is None
    assert made.activate("<here>#1#2#x", "1.0#1@q", ClassAd(), NOW) is None
    assert made.about_claim("x", lambda each: ev.AliveReceived(claim_id=each), NOW) is None


def test_answers_name_the_claim_that_was_asked_about_and_go_to_the_queue_that_asked() -> None:
    made = machine("IS_OWNER = True\n", cores=1)
    (slot,) = made.slots
    asked = slot.state.claim.id.text
    outs = made.claim(slot.name, asked, request(asked), NOW)
    (reply,) = (out.effect for out in outs or () if isinstance(out.effect, ef.SendClaimReply))
    assert reply.accepted
    # The claim has ended in the step that granted it, and the slot offers another one.
    offered = slot.state.claim.id.text
    assert offered != asked
    schedd, answer = claim_answer(slot, reply, None)
    assert (schedd, answer.asked_id, answer.claim_id) == ("q", asked, asked)
    outs = made.activate(offered, "1.0#1@q", ClassAd(), NOW, schedd="q")
    (refused,) = (out.effect for out in outs or () if isinstance(out.effect, ef.SendActivationReply))
    schedd, told = activation_answer(refused)
    assert (schedd, told.claim_id, told.run, told.accepted) == ("q", offered, "1.0#1@q", False)


def test_a_run_begins_once_however_often_it_is_ordered() -> None:
    made = machine()
    claim_id = granted(made, made.slots[0])
    started(made, claim_id, "1.0#1@q")
    assert made.activate(claim_id, "1.0#1@q", ClassAd(), NOW) == []
    assert made.runs() == {claim_id: "1.0#1@q"}
    other = made.activate(claim_id, "2.0#1@q", ClassAd(), NOW)
    assert [out.effect.accepted for out in other or () if isinstance(out.effect, ef.SendActivationReply)] == [False]
    assert made.runs() == {claim_id: "1.0#1@q"}


def test_a_run_that_is_over_does_not_begin_again() -> None:
    made = machine()
    claim_id = granted(made, made.slots[0])
    started(made, claim_id, "1.0#1@q")
    found = made.slot_of_run("1.0#1@q")
    assert found is not None
    made.host.starter_lost(*found, NOW + 1)
    assert made.runs() == {}
    assert made.activate(claim_id, "1.0#1@q", ClassAd(), NOW + 2) == []


def ended(made: Machine, run: str, now: float) -> None:
    """The program of a run ends, and its report is out; its sandbox is still there."""
    found = made.slot_of_run(run)
    assert found is not None
    outs = made.host.receive_starter(*found, sev.JobEnded(run=1, exit_code=0, signal=None, core_dumped=False), now)
    if any(isinstance(out.effect, sef.TransferOutput) for out in outs):
        outs = made.host.receive_starter(*found, sev.OutputTransferred(), now)
    assert any(isinstance(out.effect, sef.ReportExit) for out in outs)
    assert pairs(made)[found[0].name] == "Claimed/Cleaning"


def test_the_next_run_of_a_claim_waits_for_a_sandbox_that_is_long_in_going() -> None:
    made = machine(cores=1)
    (slot,) = made.slots
    claim_id = granted(made, slot)
    started(made, claim_id, "1.0#1@q")
    ended(made, "1.0#1@q", NOW + 3)
    assert made.activate(claim_id, "2.0#1@q", ClassAd({"JobUniverse": 5}), NOW + 4, schedd="q") == []
    assert made.activate(claim_id, "2.0#1@q", ClassAd({"JobUniverse": 5}), NOW + 5, schedd="q") == []
    # A queue that asks hears that its order is known.
    assert (made.runs(), slot.run_name) == ({claim_id: "2.0#1@q"}, "1.0#1@q")
    outs = starter_hears(made, "1.0#1@q", sev.SandboxRemoved(text=""), NOW + 60)
    assert [out.effect.accepted for out in outs if isinstance(out.effect, ef.SendActivationReply)] == [True]
    assert (pairs(made), slot.run_name) == ({slot.name: "Claimed/Busy"}, "2.0#1@q")


def test_a_run_that_waits_is_refused_if_its_claim_ends_meanwhile() -> None:
    made = machine(cores=1)
    (slot,) = made.slots
    claim_id = granted(made, slot)
    started(made, claim_id, "1.0#1@q")
    ended(made, "1.0#1@q", NOW + 3)
    assert made.activate(claim_id, "2.0#1@q", ClassAd(), NOW + 4, schedd="q") == []
    made.about_claim(claim_id, lambda each: ev.ClaimReleased(claim_id=each), NOW + 5)
    outs = starter_hears(made, "1.0#1@q", sev.SandboxRemoved(text=""), NOW + 60)
    (refused,) = (out.effect for out in outs if isinstance(out.effect, ef.SendActivationReply))
    schedd, told = activation_answer(refused)
    assert (schedd, told.claim_id, told.run, told.accepted) == ("q", claim_id, "2.0#1@q", False)
    assert (made.runs(), slot.run_name) == ({}, "1.0#1@q")


def test_only_who_has_the_claim_ends_its_run() -> None:
    made = machine()
    claims = [granted(made, slot) for slot in made.slots]
    started(made, claims[0], "1.0#1@q")
    assert made.end_run(claims[1], "1.0#1@q", HELD, hard=True, now=NOW) is None
    assert made.end_run(claims[0], "1.0#2@q", HELD, hard=True, now=NOW) is None
    outs = made.end_run(claims[0], "1.0#1@q", HELD, hard=True, now=NOW)
    assert any(isinstance(out.effect, sef.KillProcesses) for out in outs or ())


@pytest.mark.parametrize("text", ["", SPLIT], ids=["static", "partitionable"])
def test_a_machine_that_was_killed_goes_on_where_it_was(text: str) -> None:
    made = machine(text)
    claim_id = granted(made, made.slots[0])
    started(made, claim_id, "1.0#1@q")
    again, problems = reborn(made, {"1.0#1@q"}, NOW + 5, text)
    assert not problems
    assert pairs(again) == pairs(made)
    assert again.runs() == made.runs()
    assert [slot.state.claim.id.text for slot in again.slots if slot.starter] == [claim_id]
    for before, after in zip(made.slots, again.slots, strict=True):
        assert after.plan.ad.eval("Cpus") == before.plan.ad.eval("Cpus")
    again.poll(SENSED, NOW + 10)
    assert pairs(again) == pairs(made)


@pytest.mark.parametrize("text", ["", SPLIT], ids=["static", "partitionable"])
def test_a_run_of_which_nothing_is_known_leaves_its_claim(text: str) -> None:
    made = machine(text)
    claim_id = granted(made, made.slots[0])
    started(made, claim_id, "1.0#1@q")
    again, problems = reborn(made, set(), NOW + 5, text)
    assert not problems
    assert again.runs() == {}
    assert again.slot_of(claim_id) is not None


def test_records_of_something_else_are_told_and_left_alone() -> None:
    again = machine()
    outs, problems = restore(again, {"version": 99}, {}, frozenset(), NOW)
    assert (outs, len(problems)) == ([], 1)
    made = machine()
    granted(made, made.slots[0])
    for record in ([], {"slot": 1, "run": "", "starter": None}, {"run": "x"}, "text"):
        from roost.node.records import machine_record

        again = machine()
        _, problems = restore(again, machine_record(made), {again.slots[0].name: record}, frozenset(), NOW)
        assert len(problems) == 1
        assert set(pairs(again).values()) == {"Unclaimed/Idle"}


def test_claims_are_those_of_their_queue() -> None:
    made = machine()
    claim_id = granted(made, made.slots[0])
    assert list(made.held_claims()["q"]) == [claim_id]
    assert "another" not in made.held_claims()


def test_the_end_of_a_program_reaches_the_queue_with_its_status() -> None:
    made = machine()
    claim_id = granted(made, made.slots[0])
    started(made, claim_id, "1.0#1@q")
    found = made.slot_of_run("1.0#1@q")
    assert found is not None
    outs = made.host.receive_starter(*found, sev.JobEnded(run=1, exit_code=4, signal=None, core_dumped=False), NOW + 3)
    for _ in range(6):
        for out in list(outs):
            if isinstance(out.effect, sef.TransferOutput):
                outs += made.host.receive_starter(*found, sev.OutputTransferred(), NOW + 3)
            if isinstance(out.effect, sef.RemoveSandbox):
                outs += made.host.receive_starter(*found, sev.SandboxRemoved(text=""), NOW + 3)
        if any(isinstance(out.effect, sef.ReportExit) for out in outs):
            break
    reports = [out.effect.report for out in outs if isinstance(out.effect, sef.ReportExit)]
    assert [(report.ending, report.exit_code) for report in reports[:1]] == [(Ending.EXIT, 4)]


def test_d_load_logs_what_the_machine_sees_and_which_slot_gets_what_of_it() -> None:
    made = machine("NUM_SLOTS = 2\nSLOTS_CONNECTED_TO_KEYBOARD = 1\nDISCONNECTED_KEYBOARD_IDLE_BOOST = 1000\n")
    load = LoadReading(one_minute=1.25, five_minutes=0.5, fifteen_minutes=0.25)
    seen = Reading(load=load, idleness=Idleness(keyboard_s=7, console_s=7))
    made.poll(seen, NOW)
    assert list(load_lines(made, seen, NOW)) == [
        "Load avg: 1.250000 0.500000 0.250000",
        "Idle Time: user= 7 , console= 7 seconds",
        "SystemLoad: 1.250 TotalCondorLoad: 0.000 TotalOwnerLoad: 1.250",
        "slot1: Idle time: Keyboard: 7 Console: 7",
        "slot1: SystemLoad: 1.000 CondorLoad: 0.000 OwnerLoad: 1.000",
        "slot2: Idle time: Keyboard: 1100 Console: 7",
        "slot2: SystemLoad: 0.250 CondorLoad: 0.000 OwnerLoad: 0.250",
        "slot1: State: Unclaimed Activity: Idle",
        "slot2: State: Unclaimed Activity: Idle",
    ]
