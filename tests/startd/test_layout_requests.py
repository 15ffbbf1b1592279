"""Requests turned into dynamic slots: modification, retries, limits, consumption policies."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.classad import ClassAd
from roost.model.resources import Amounts, Shortage
from roost.model.slots import SlotId
from roost.startd.layout.at_work import MachineSlots
from roost.startd.requests import NotPlaced, Placed, Unplaceable, consumption, modified, place
from tests.startd.slot_ad_cases import WORLD, Daemon

ONE = SlotId(1)
PARTITIONABLE = "NUM_SLOTS = 1\nSLOT_TYPE_0_PARTITIONABLE = True\n"


def daemon(text: str = "", **more: object) -> Daemon:
    return Daemon(PARTITIONABLE + text, cores=10, memory_mb=10240, **more)


def job(requirements: str = "", **attributes: object) -> ClassAd:
    ad = ClassAd({"RequestCpus": 1, "RequestMemory": 128, "RequestDisk": 1024, **attributes})
    for name, value in attributes.items():
        if value is None:
            del ad[name]
    if requirements:
        ad.set("Requirements", requirements)
    return ad


def placing(on: Daemon, wanted: ClassAd) -> Placed | NotPlaced:
    return place(
        on.slots, ONE, wanted, on.settings[1].requests, ad_of=lambda slots, slot: on.ad(slot, slots), world=WORLD
    )


def placed(on: Daemon, wanted: ClassAd) -> tuple[Any, Any, Any]:
    outcome = placing(on, wanted)
    assert isinstance(outcome, Placed), str(outcome)
    assert not outcome.machine.problems()
    size = outcome.machine.size(outcome.slot)
    return size.cpus, size.memory_mb, size.disk_kb


def reasons(on: Daemon, wanted: ClassAd) -> list[tuple[bool, Unplaceable]]:
    outcome = placing(on, wanted)
    assert isinstance(outcome, NotPlaced)
    assert str(outcome)
    return [(one.modified, one.why) for one in outcome.attempts]


def test_the_manual_s_request() -> None:
    on = daemon()
    outcome = placing(on, job(RequestCpus=3, RequestMemory=1024, RequestDisk=10240))
    assert isinstance(outcome, Placed)
    left = outcome.machine.left(ONE)
    assert (left.cpus, left.memory_mb) == (7, 9216)
    ad = on.ad(outcome.slot, outcome.machine)
    assert [ad[name] for name in ("Cpus", "Memory", "Disk")] == [3, 1024, 10240]


def test_sizes_are_rounded_up_by_default() -> None:
    assert placed(daemon(), job(RequestCpus=1, RequestMemory=129, RequestDisk=1)) == (1, 256, 1024)


def test_a_job_that_does_not_say_gets_one_core() -> None:
    assert placed(daemon(), job(RequestCpus=None)) == (1, 128, 1024)
    assert placed(daemon(), job(RequestCpus=0)) == (1, 128, 1024)


@pytest.mark.parametrize("name", ["RequestMemory", "RequestDisk"])
def test_a_job_that_does_not_say_how_much_memory_or_disk_does_not_fit(name: str) -> None:
    assert reasons(daemon(), job(**{name: None})) == [(False, Unplaceable.SLOT_REQUIREMENTS)]


def test_requests_may_be_expressions_of_job_and_slot() -> None:
    wanted = job(ImageSize=300_000)
    wanted.set("RequestMemory", "(ImageSize + 1023) / 1024")
    wanted.set("RequestCpus", "TARGET.TotalSlotCpus / 2")
    assert placed(daemon(), wanted) == (5, 384, 1024)


def test_modification_is_configured_for_each_type() -> None:
    text = "MODIFY_REQUEST_EXPR_REQUESTCPUS = RequestCpus * 2\n"
    text += "SLOT_TYPE_0_MODIFY_REQUEST_EXPR_REQUESTMEMORY = TARGET.Memory / 2"
    assert placed(daemon(text), job()) == (2, 5120, 1024)


@pytest.mark.parametrize("expression", ["undefined", '"many"', "NoSuch + 1", "true", "-1", "error"])
def test_an_expression_that_gives_no_amount_leaves_the_request_alone(expression: str) -> None:
    on = daemon(f"MODIFY_REQUEST_EXPR_REQUESTCPUS = {expression}\n")
    assert placed(on, job(RequestCpus=2)) == (2, 128, 1024)


def test_the_result_of_an_expression_is_truncated() -> None:
    on = daemon("MODIFY_REQUEST_EXPR_REQUESTMEMORY = RequestMemory * 1.5\n")
    assert modified(job(RequestMemory=129), on.ad(ONE), on.settings[1].requests, WORLD)["RequestMemory"] == 193


def test_a_request_that_fits_only_as_it_came_is_met_as_it_came() -> None:
    text = "MODIFY_REQUEST_EXPR_REQUESTMEMORY = quantize(RequestMemory, {100000})\n"
    assert placed(daemon(text), job(RequestMemory=500)) == (1, 500, 1024)
    assert reasons(daemon(f"{text}MUST_MODIFY_REQUEST_EXPRS = True"), job(RequestMemory=500)) == [
        (True, Unplaceable.SLOT_REQUIREMENTS)
    ]


def test_the_unmodified_request_is_tried_only_if_it_differs() -> None:
    assert reasons(daemon(), job(RequestMemory=99999)) == [
        (True, Unplaceable.SLOT_REQUIREMENTS),
        (False, Unplaceable.SLOT_REQUIREMENTS),
    ]
    assert reasons(daemon(), job(RequestCpus=11)) == [(False, Unplaceable.SLOT_REQUIREMENTS)]


def test_both_sides_are_asked_before_and_after() -> None:
    assert reasons(daemon('START = Owner == "alice"'), job(Owner="bob")) == [(False, Unplaceable.SLOT_REQUIREMENTS)]
    assert reasons(daemon(), job('TARGET.Arch == "SPARC"')) == [(False, Unplaceable.JOB_REQUIREMENTS)]
    assert reasons(daemon("START = PartitionableSlot =?= True"), job()) == [(False, Unplaceable.NEW_SLOT_REQUIREMENTS)]
    assert reasons(daemon(), job("TARGET.Cpus > 1")) == [(False, Unplaceable.NEW_JOB_REQUIREMENTS)]


def test_a_refused_request_changes_nothing() -> None:
    on = daemon("START = PartitionableSlot =?= True")
    before = on.slots
    assert isinstance(placing(on, job()), NotPlaced)
    assert on.slots is before


def test_an_override_in_the_request_goes_before_what_the_job_says() -> None:
    wanted = job(RequestCpus=2, _condor_RequestCpus=4, _condor_RequestMemory=256)
    assert placed(daemon(), wanted) == (4, 256, 1024)
    assert reasons(daemon(), job(_condor_RequestCpus=11)) == [(False, Unplaceable.SLOT_REQUIREMENTS)]


def test_a_request_that_only_the_ledger_refuses_says_what_was_short() -> None:
    on = daemon("MODIFY_REQUEST_EXPR_REQUESTCPUS =\n")
    outcome = place(
        on.slots,
        ONE,
        job(RequestCpus=11),
        on.settings[1].requests,
        ad_of=lambda slots, slot: ClassAd({"Requirements": True}),
        world=WORLD,
    )
    assert isinstance(outcome, NotPlaced)
    (attempt,) = outcome.attempts
    assert attempt.denied is not None
    assert attempt.denied.obstacles == (
        Shortage(ledger="slot1", resource="Cpus", wanted=11, available=10, capacity=10),
    )


@pytest.mark.parametrize(("wanted", "units"), [(None, 0), (0, 0), (2, 2)])
def test_custom_resources_are_given_as_asked_for(wanted: int | None, units: int) -> None:
    on = daemon("MACHINE_RESOURCE_gpu = G0 G1 G2\n")
    outcome = placing(on, job(RequestGpu=wanted))
    assert isinstance(outcome, Placed)
    assert outcome.machine.size(outcome.slot).custom == {"Gpu": units}
    assert len(outcome.machine.assigned(outcome.slot)["Gpu"]) == units
    assert reasons(on, job(RequestGpu=4)) == [(False, Unplaceable.SLOT_REQUIREMENTS)]


@pytest.mark.parametrize(("text", "more", "share"), [("", {}, 1.0), ("PROPORTIONAL_SWAP_ASSIGNMENT = True\n", {}, 0.1)])
def test_swap_is_all_or_in_proportion(text: str, more: dict[str, object], share: float) -> None:
    outcome = placing(daemon(text), job(RequestMemory=1024, **more))
    assert isinstance(outcome, Placed)
    assert outcome.machine.size(outcome.slot).swap_kb == int(1024 * 1024 * share)


def test_swap_may_be_asked_for() -> None:
    outcome = placing(daemon(), job(RequestVirtualMemory=5000))
    assert isinstance(outcome, Placed)
    assert outcome.machine.size(outcome.slot).swap_kb == 5000


def test_a_dynamic_slot_takes_another_job_only_if_it_fits() -> None:
    on = daemon()
    outcome = placing(on, job(RequestCpus=2, RequestMemory=256))
    assert isinstance(outcome, Placed)
    ad = on.ad(outcome.slot, outcome.machine)
    assert job(RequestCpus=1, RequestMemory=100).matches(ad, WORLD)
    assert not job(RequestCpus=3, RequestMemory=100).matches(ad, WORLD)


def test_a_machine_is_filled_until_nothing_more_fits_and_is_whole_again_when_all_is_gone() -> None:
    on = daemon()
    slots = whole = on.slots
    for _ in range(4):
        outcome = place(
            slots, ONE, job(RequestCpus=2, RequestMemory=2048), on.settings[1].requests,
            ad_of=lambda machine, slot: on.ad(slot, machine), world=WORLD,
        )  # fmt: skip
        assert isinstance(outcome, Placed)
        slots = outcome.machine
    on.slots = slots
    assert reasons(on, job(RequestCpus=3)) == [(False, Unplaceable.SLOT_REQUIREMENTS)]
    for slot in slots.children(ONE):
        after = slots.delete(slot)
        assert isinstance(after, MachineSlots)
        slots = after
    assert slots == whole


@given(
    cpus=st.one_of(st.none(), st.integers(-2, 12), st.floats(-1, 12), st.sampled_from(["2", True, float("inf")])),
    memory=st.one_of(st.none(), st.integers(-10, 12000), st.floats(allow_nan=True)),
    disk=st.integers(-5, 2**63 - 1),
)
def test_whatever_a_job_asks_for_it_gets_at_least_that_or_nothing(cpus: Any, memory: Any, disk: int) -> None:
    outcome = placing(DEFAULT, job(RequestCpus=cpus, RequestMemory=memory, RequestDisk=disk))
    if isinstance(outcome, Placed):
        size = outcome.machine.size(outcome.slot)
        assert size.memory_mb >= memory
        assert size.disk_kb >= disk
        assert size.cpus >= 1
        assert cpus is None or isinstance(cpus, str) or size.cpus >= cpus
        assert not outcome.machine.problems()
        assert not outcome.machine.ledgers.overdrawn()


DEFAULT = daemon()

# -- consumption policies --------------------------------------------------------------------------------

POLICY = """
CONSUMPTION_POLICY = True
CONSUMPTION_CPUS = quantize(TARGET.RequestCpus, 1)
CONSUMPTION_MEMORY = quantize(TARGET.RequestMemory, 512)
CONSUMPTION_DISK = TARGET.RequestDisk
"""


def test_a_consumption_policy_says_what_a_job_takes() -> None:
    on = daemon(POLICY)
    wanted = job("TARGET.Memory >= RequestMemory", RequestCpus=None, RequestMemory=600)
    ad = on.ad(ONE)
    policy = on.settings[1].requests.consumption
    assert policy is not None
    taken = consumption(ad, wanted, policy, WORLD)
    assert taken.amounts == Amounts({"Cpus": 0, "Memory": 1024, "Disk": 1024})
    assert taken.fits
    assert placed(on, wanted) == (0, 1024, 1024)
    outcome = placing(on, wanted)
    assert isinstance(outcome, Placed)
    assert outcome.job["RequestMemory"] == 1024


def test_a_consumption_policy_may_take_parts_of_cores() -> None:
    on = daemon(POLICY.replace("quantize(TARGET.RequestCpus, 1)", "TARGET.RequestCpus / 4.0"))
    outcome = placing(on, job())
    assert isinstance(outcome, Placed)
    assert on.ad(outcome.slot, outcome.machine)["Cpus"] == 0.25
    assert on.ad(ONE, outcome.machine)["Cpus"] == 9.75


def test_a_consumption_policy_must_name_every_resource_but_swap() -> None:
    assert daemon(POLICY.replace("CONSUMPTION_DISK", "# ")).settings[1].requests.consumption is None
    assert daemon(POLICY + "MACHINE_RESOURCE_gpu = 2\n").settings[1].requests.consumption is None
    complete = daemon(POLICY + "MACHINE_RESOURCE_gpu = 2\nCONSUMPTION_GPU = TARGET.RequestGpu\n")
    assert list(complete.settings[1].requests.consumption or ()) == ["Cpus", "Memory", "Disk", "Gpu"]
    assert "ConsumptionGpu" in complete.ad(ONE)


def test_a_consumption_policy_may_be_one_type_s() -> None:
    on = daemon(POLICY.replace("CONSUMPTION_POLICY", "SLOT_TYPE_0_CONSUMPTION_POLICY"))
    assert on.settings[1].requests.consumption is not None


@pytest.mark.parametrize("expression", ["-1", '"x"', "undefined", "NoSuch", "99", "error", "true"])
def test_a_consumption_that_is_no_amount_or_too_much_does_not_fit(expression: str) -> None:
    on = daemon(POLICY.replace("quantize(TARGET.RequestCpus, 1)", expression))
    taken = consumption(on.ad(ONE), job(), on.settings[1].requests.consumption or {}, WORLD)
    assert (taken.short, taken.fits) == (("Cpus",), False)
    assert isinstance(placing(on, job()), NotPlaced)


def test_a_job_that_takes_nothing_at_all_does_not_fit() -> None:
    on = daemon(POLICY)
    nothing = job(RequestCpus=0, RequestMemory=0, RequestDisk=0)
    assert not consumption(on.ad(ONE), nothing, on.settings[1].requests.consumption or {}, WORLD).fits
    assert isinstance(placing(on, nothing), NotPlaced)
