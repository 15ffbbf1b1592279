"""A machine is laid out again while it works: slots leave with their jobs, and others come when there is room."""

from __future__ import annotations

import json

import pytest

from roost.model.reasons import Leaving
from roost.node.machine import Machine
from roost.node.plan import NodePlan, make_plan
from roost.node.records import is_kept, left_slots, machine_record, restore, slot_record
from roost.startd.draining import DrainOrder
from roost.startd.layout.change import PresentLayout
from roost.startd.layout.problems import LayoutRefused
from tests.node.kit import NOW, SENSED, granted, machine, started
from tests.startd.layout_cases import configured, reading

_POLICY = "START = True\nSUSPEND = False\nPREEMPT = False\nRUNBENCHMARKS = False\n"
_TYPED = "SLOT_TYPE_1 = cpus=1, 1/4\nNUM_SLOTS_TYPE_1 = "
_WHOLE = "SLOT_TYPE_1 = 100%\nSLOT_TYPE_1_PARTITIONABLE = True\nNUM_SLOTS_TYPE_1 = 1\n"


def planned(made: Machine, text: str, present: PresentLayout | None = None) -> NodePlan | LayoutRefused:
    return make_plan(
        configured(_POLICY + text, 4, 4096),
        reading(4, 4096),
        made.plan.identity,
        zone_offset_s=0,
        earlier=made.plan,
        present=present or made.present,
    )


def relaid(made: Machine, text: str) -> None:
    plan = planned(made, text)
    assert isinstance(plan, NodePlan), str(plan)
    made.reconfigure(plan, NOW)
    sound(made)


def sound(made: Machine) -> None:
    """The accounts agree with the slots that there are."""
    accounts = made.host.dynamic_slots
    assert accounts is not None
    assert accounts.slots.problems() == ()
    assert [each.plan.id for each in made.slots] == list(accounts.slots.ids)
    assert {each.name for each in made.slots if each.state.deleted} == set()


def shown(made: Machine) -> dict[str, tuple[int, str]]:
    """Slot to its cores and its state, "leaving" added."""
    return {
        slot.name.partition("@")[0]: (
            slot.plan.cpus,
            f"{slot.state.state}" + (" leaving" if slot.state.leaving is not None else ""),
        )
        for slot in made.slots
    }


def run_on(made: Machine, name: str, run: str) -> str:
    """Have a job run on a slot; its claim."""
    slot = next(each for each in made.slots if each.name == f"{name}@here")
    claim = granted(made, slot)
    started(made, claim, run)
    return claim


def end(made: Machine, run: str) -> None:
    """The job on a slot ends, and all of it is gone."""
    found = made.slot_of_run(run)
    assert found is not None
    made.host.starter_lost(*found, NOW + 1)
    made.poll(SENSED, NOW + 2)
    sound(made)


@pytest.fixture
def four() -> Machine:
    return machine(f"{_TYPED}4", 4)


def test_free_slots_come_and_go_at_once() -> None:
    made = machine(f"{_TYPED}2", 4)
    relaid(made, f"{_TYPED}4")
    assert list(shown(made)) == ["slot1", "slot2", "slot3", "slot4"]
    assert {state for _, state in shown(made).values()} == {"Unclaimed"}
    relaid(made, f"{_TYPED}1")
    assert shown(made) == {"slot1": (1, "Unclaimed")}
    relaid(made, f"{_TYPED}4")
    ids = [slot.state.claim.id.text for slot in made.slots]
    assert len(set(ids)) == 4


def test_no_claim_id_is_given_twice_to_slots_of_one_number() -> None:
    made = machine(f"{_TYPED}2", 4)
    seen = set()
    for count in (1, 2, 1, 2):
        relaid(made, f"{_TYPED}{count}")
        seen |= {slot.state.claim.id.text for slot in made.slots if slot.name.startswith("slot2")}
    assert len(seen) == 2


def test_a_busy_surplus_slot_takes_no_further_job_and_vanishes_with_its_own(four: Machine) -> None:
    claim = run_on(four, "slot3", "a")
    run_on(four, "slot4", "b")
    relaid(four, f"{_TYPED}1")
    assert shown(four) == {"slot3": (1, "Claimed"), "slot4": (1, "Claimed leaving")}
    leaving = four.slots[1]
    assert leaving.state.leaving is Leaving.SURPLUS
    ad = four.ad(leaving, NOW)
    assert ad.eval("START") is False and ad.eval("Requirements") is False
    assert ad["SlotLeavingReason"] == "the configuration has fewer slots of its type"
    assert four.awaited_layout() == [
        "slot4@here accepts no further jobs and is deleted once it is free: the configuration has fewer slots "
        "of its type"
    ]
    end(four, "b")
    assert shown(four) == {"slot3": (1, "Claimed")}
    assert four.awaited_layout() == []
    end(four, "a")
    # Its claim is still the queue's.
    assert shown(four) == {"slot3": (1, "Claimed")} and four.slot_of(claim) is not None


def test_a_claim_without_a_job_ends_at_once(four: Machine) -> None:
    for slot in list(four.slots):
        granted(four, slot)
    relaid(four, f"{_TYPED}1")
    assert shown(four) == {"slot1": (1, "Claimed")}


def test_a_slot_that_leaves_may_stay_after_all(four: Machine) -> None:
    run_on(four, "slot1", "a")
    run_on(four, "slot2", "b")
    relaid(four, f"{_TYPED}1")
    assert shown(four)["slot2"] == (1, "Claimed leaving")
    relaid(four, f"{_TYPED}4")
    assert shown(four) == {
        "slot1": (1, "Claimed"), "slot2": (1, "Claimed"), "slot3": (1, "Unclaimed"), "slot4": (1, "Unclaimed"),
    }  # fmt: skip
    end(four, "b")
    assert shown(four)["slot2"] == (1, "Claimed")


def test_shares_of_all_slots_change_as_they_become_free() -> None:
    made = machine("NUM_SLOTS = 2", 4)
    run_on(made, "slot1", "a")
    relaid(made, "NUM_SLOTS = 4")
    assert shown(made) == {"slot1": (2, "Claimed leaving"), "slot2": (1, "Unclaimed"), "slot3": (1, "Unclaimed")}
    assert made.slots[0].state.leaving is Leaving.CHANGED
    end(made, "a")
    assert shown(made) == {f"slot{number}": (1, "Unclaimed") for number in (1, 2, 3, 4)}
    run_on(made, "slot3", "b")
    relaid(made, "NUM_SLOTS = 1")
    assert shown(made) == {"slot3": (1, "Claimed leaving")}
    end(made, "b")
    assert shown(made) == {"slot1": (4, "Unclaimed")}


def test_a_partitionable_slot_leaves_with_the_last_job_on_a_part_of_it() -> None:
    made = machine(_WHOLE, 4)
    run_on(made, "slot1", "a")
    run_on(made, "slot1", "b")
    relaid(made, "NUM_SLOTS = 2")
    assert [(name, state) for name, (_, state) in shown(made).items()] == [
        ("slot1", "Unclaimed leaving"), ("slot1_1", "Claimed leaving"), ("slot1_2", "Claimed leaving"),
    ]  # fmt: skip
    end(made, "a")
    assert list(shown(made)) == ["slot1", "slot1_2"]
    end(made, "b")
    assert shown(made) == {"slot1": (2, "Unclaimed"), "slot2": (2, "Unclaimed")}
    relaid(made, _WHOLE)
    assert shown(made) == {"slot1": (4, "Unclaimed")}
    run_on(made, "slot1", "c")
    assert list(shown(made)) == ["slot1", "slot1_1"]


def test_an_impossible_layout_changes_nothing(four: Machine) -> None:
    refused = planned(four, f"{_TYPED}5")
    assert isinstance(refused, LayoutRefused)
    assert "number 5 of 5" in str(refused)
    assert list(shown(four)) == ["slot1", "slot2", "slot3", "slot4"]


def test_nothing_comes_or_goes_while_the_machine_is_drained(four: Machine) -> None:
    four.host.drain(DrainOrder(), NOW)
    relaid(four, f"{_TYPED}2")
    assert len(four.slots) == 4
    four.host.cancel_drain("", NOW + 1)
    assert list(shown(four)) == ["slot1", "slot2"]


def _reborn(made: Machine, text: str, alive: set[str]) -> Machine:
    """The machine after its daemon was killed, which goes on as the daemon does."""
    shared = json.loads(json.dumps(machine_record(made)))
    records = {slot.name: json.loads(json.dumps(slot_record(slot))) for slot in made.slots if is_kept(slot)}
    again = machine(text, 4)
    left = left_slots(again, shared, records)
    assert left is not None
    plan = planned(again, text, left)
    assert isinstance(plan, NodePlan)
    again.start_with(plan, left.slots.values(), NOW)
    _, problems = restore(again, shared, records, frozenset(alive), NOW)
    assert problems == []
    again.reconfigure(plan, NOW)
    sound(again)
    return again


def test_leaving_slots_still_leave_after_the_daemon_was_killed(four: Machine) -> None:
    run_on(four, "slot2", "a")
    run_on(four, "slot4", "b")
    relaid(four, f"{_TYPED}1")
    again = _reborn(four, f"{_TYPED}1", {"a", "b"})
    assert shown(again) == shown(four) == {"slot2": (1, "Claimed"), "slot4": (1, "Claimed leaving")}
    end(again, "b")
    assert shown(again) == {"slot2": (1, "Claimed")}


def test_jobs_go_on_where_the_layout_changed_while_the_daemon_was_away() -> None:
    made = machine(_WHOLE, 4)
    run_on(made, "slot1", "a")
    again = _reborn(made, "NUM_SLOTS = 2", {"a"})
    assert [(name, state) for name, (_, state) in shown(again).items()] == [
        ("slot1", "Unclaimed leaving"), ("slot1_1", "Claimed leaving"),
    ]  # fmt: skip
    end(again, "a")
    assert shown(again) == {"slot1": (2, "Unclaimed"), "slot2": (2, "Unclaimed")}


def test_a_daemon_with_the_layout_of_the_one_before_goes_on_as_ever(four: Machine) -> None:
    run_on(four, "slot2", "a")
    shared = json.loads(json.dumps(machine_record(four)))
    records = {slot.name: json.loads(json.dumps(slot_record(slot))) for slot in four.slots if is_kept(slot)}
    assert left_slots(machine(f"{_TYPED}4", 4), shared, records) is None
