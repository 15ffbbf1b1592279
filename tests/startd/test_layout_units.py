"""Units of custom resources with properties: which slots get which, and how jobs choose."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.classad import ClassAd
from roost.model.slots import SlotId
from roost.startd.layout.at_work import MachineSlots
from roost.startd.layout.problems import LayoutCode
from roost.startd.requests import NotPlaced, Placed, Unplaceable, place
from tests.startd.layout_cases import laid_out, refused
from tests.startd.slot_ad_cases import WORLD, Daemon

#: Three units, two of them large, as a discovery program prints them.
PRINTED: Final = """\
DetectedGPUs="GPU-c4, GPU-6a, GPU-77"
Common=[ DriverVersion=12.5; ECCEnabled=false; ]
GPU_c4=[ id="GPU-c4"; Capability=7.0; GlobalMemoryMb=16384; ]
GPU_6a=[ id="GPU-6a"; Capability=8.6; GlobalMemoryMb=24576; ECCEnabled=true; ]
GPU_77=[ id="GPU-77"; Capability=8.0; GlobalMemoryMb=81920; ]
CUDAVersion=12
"""
GPUS: Final = "MACHINE_RESOURCE_INVENTORY_GPUs = /usr/libexec/find-gpus\n"
FOUND: Final = {"inventories": {"GPUs": PRINTED}}
ONE: Final = SlotId(1)


def test_what_is_printed_of_units_is_theirs_and_the_rest_the_machine_s() -> None:
    (gpus,) = laid_out(GPUS, **FOUND).resources.custom
    assert gpus.ids == ("GPU-c4", "GPU-6a", "GPU-77")
    assert gpus.properties == {"CUDAVersion": 12}
    assert gpus.units["GPU-6a"] == ClassAd(
        {"id": "GPU-6a", "Capability": 8.6, "GlobalMemoryMb": 24576, "DriverVersion": 12.5, "ECCEnabled": True}
    )
    assert gpus.units["GPU-77"]["ECCEnabled"] is False


def test_units_that_are_offline_have_no_properties() -> None:
    (gpus,) = laid_out(GPUS + "OFFLINE_MACHINE_RESOURCE_GPUs = GPU-6a\n", **FOUND).resources.custom
    assert set(gpus.units) == {"GPU-c4", "GPU-77"}


def types(*texts: str) -> str:
    return GPUS + "".join(f"SLOT_TYPE_{n} = {text}\nNUM_SLOTS_TYPE_{n} = 1\n" for n, text in enumerate(texts, 1))


def test_a_slot_type_gets_units_that_meet_its_condition_and_chooses_before_the_others() -> None:
    text = types("gpus=1, cpus=1, 25%", "gpus=1 : Capability < 8, cpus=1, 25%", "gpus=1: GlobalMemoryMb > 50000, 25%")
    layout = laid_out(text, **FOUND)
    assert [one.assigned["GPUs"] for one in layout.slots] == [("GPU-6a",), ("GPU-c4",), ("GPU-77",)]
    assert not layout.problems


def test_too_few_units_that_meet_a_condition_are_refused_with_what_was_found() -> None:
    text = types("gpus=2 : Capability < 8, 50%")
    (problem,) = refused(text, **FOUND).problems
    assert problem.code is LayoutCode.EXCEEDED
    assert "1 of 2 units of GPUs that are left meet Capability < 8" in str(problem)


def test_where_a_part_is_wanted_the_slot_is_broken_and_no_unit_is_lost() -> None:
    text = types("gpus=2 : Capability < 8, cpus=1, 25%", "gpus=1, cpus=1, 25%")
    layout = laid_out(text + "SLOT_CONFIG_FAILURE_MODE = BestEffort\n", **FOUND)
    assert [one.broken for one in layout.slots] == ["Not enough GPUs", None]
    assert [one.assigned["GPUs"] for one in layout.slots] == [("GPU-c4",), ("GPU-6a",)]
    assert [one.custom["GPUs"] for one in layout.slots] == [1, 1]
    assert not MachineSlots.of(layout).problems()
    assert laid_out(text + "SLOT_CONFIG_FAILURE_MODE = AllOrNothing\n", **FOUND).slots == ()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("gpus=1 : Capability >, 50%", LayoutCode.BAD_DESCRIPTION),
        ("cpus=1 : Fast, 50%", LayoutCode.CONSTRAINT_IGNORED),
    ],
)
def test_a_condition_that_can_t_be_read_or_has_nothing_to_choose_from_is_told(text: str, code: LayoutCode) -> None:
    if code is LayoutCode.BAD_DESCRIPTION:
        assert [problem.code for problem in refused(types(text), **FOUND).problems] == [code]
    else:
        assert [problem.code for problem in laid_out(types(text), **FOUND).problems] == [code]


def test_without_properties_a_condition_is_not_looked_at_and_that_is_told() -> None:
    text = "MACHINE_RESOURCE_gpu = a, b\nSLOT_TYPE_1 = gpu=1 : Fast, 50%\nNUM_SLOTS_TYPE_1 = 1\n"
    layout = laid_out(text)
    assert [one.assigned for one in layout.slots] == [{"Gpu": ("a",)}]
    assert [problem.code for problem in layout.problems] == [LayoutCode.CONSTRAINT_IGNORED]


# -- ads and jobs ------------------------------------------------------------------------------------


def daemon() -> Daemon:
    text = "NUM_SLOTS = 1\nSLOT_TYPE_0_PARTITIONABLE = True\n" + GPUS
    return Daemon(text, cores=10, memory_mb=10240, **FOUND)


def job(require: str | None = None, count: int | None = 1) -> ClassAd:
    ad = ClassAd({"RequestCpus": 1, "RequestMemory": 128, "RequestDisk": 1024})
    if count is not None:
        ad["RequestGPUs"] = count
    if require is not None:
        ad.set("RequireGPUs", require)
    return ad


def placing(on: Daemon, wanted: ClassAd, slots: MachineSlots | None = None) -> Placed | NotPlaced:
    return place(
        on.slots if slots is None else slots,
        ONE,
        wanted,
        on.settings[1].requests,
        ad_of=lambda slots, slot: on.ad(slot, slots),
        world=WORLD,
    )


def test_the_ad_of_a_slot_tells_of_its_units() -> None:
    on = daemon()
    ad = on.ad(ONE)
    assert ad["AssignedGPUs"] == "GPU-c4,GPU-6a,GPU-77"
    assert ad["CUDAVersion"] == 12
    assert ad.eval_expr("GPUs_GPU_6a.Capability") == 8.6
    assert ad.eval_expr("size(AvailableGPUs)") == 3
    assert ad.eval_expr("countMatches(Capability >= 8, AvailableGPUs)") == 2


@pytest.mark.parametrize(
    ("require", "count", "units"),
    [
        (None, 1, ("GPU-c4",)),
        ("Capability >= 8", 1, ("GPU-6a",)),
        ("Capability >= 8", 2, ("GPU-6a", "GPU-77")),
        ("GlobalMemoryMb > 50000 && !ECCEnabled", 1, ("GPU-77",)),
        ("Capability >= 8", None, ()),
    ],
)
def test_a_job_gets_units_that_meet_what_it_requires(
    require: str | None, count: int | None, units: tuple[str, ...]
) -> None:
    on = daemon()
    outcome = placing(on, job(require, count))
    assert isinstance(outcome, Placed), str(outcome)
    assert outcome.machine.assigned(outcome.slot)["GPUs"] == units
    assert set(outcome.machine.assigned(ONE)["GPUs"]) == {"GPU-c4", "GPU-6a", "GPU-77"} - set(units)
    ad = on.ad(ONE, outcome.machine)
    assert ad.eval_expr("size(AvailableGPUs)") == 3 - len(units)


@pytest.mark.parametrize("require", ["Capability > 9", "Unheard", '"text"', "error"])
def test_a_job_whose_units_are_not_there_gets_no_slot(require: str) -> None:
    outcome = placing(daemon(), job(require))
    assert isinstance(outcome, NotPlaced)
    assert {attempt.why for attempt in outcome.attempts} == {Unplaceable.NOT_ENOUGH}
    assert f"GPUs that meet {require}" in str(outcome)


def test_the_job_s_own_requirements_can_count_units() -> None:
    for capability, matches in ((8, True), (9, False)):
        wanted = job(f"Capability >= {capability}", 2)
        wanted.set("Requirements", "countMatches(MY.RequireGPUs, TARGET.AvailableGPUs) >= RequestGPUs")
        assert daemon().ad(ONE).matches(wanted, WORLD) is matches


def test_a_job_that_requires_something_gets_nothing_where_nothing_is_told() -> None:
    on = Daemon("NUM_SLOTS = 1\nSLOT_TYPE_0_PARTITIONABLE = True\nMACHINE_RESOURCE_GPUs = a, b\n", memory_mb=10240)
    assert isinstance(placing(on, job()), Placed)
    assert isinstance(placing(on, job("Capability > 1")), NotPlaced)


REQUIRES: Final = st.sampled_from([None, "Capability >= 8", "Capability < 8", "GlobalMemoryMb > 20000", "ECCEnabled"])


@given(st.lists(st.tuples(REQUIRES, st.integers(0, 3), st.booleans()), max_size=8))
def test_whatever_is_cut_and_given_back_every_unit_has_one_slot(steps: list[tuple[str | None, int, bool]]) -> None:
    on = CUT
    slots: MachineSlots = on.slots
    for require, count, deletes in steps:
        if deletes and slots.dynamic:
            after: Any = slots.delete(next(iter(slots.dynamic)))
            assert isinstance(after, MachineSlots)
            slots = after
            continue
        outcome = placing(on, job(require, count), slots)
        if isinstance(outcome, Placed):
            slots = outcome.machine
            got = slots.assigned(outcome.slot)["GPUs"]
            assert len(got) == count
            (gpus,) = slots.resources.custom
            assert require is None or all(gpus.units[unit].eval_expr(require) is True for unit in got)
        assert not slots.problems()
        again, homeless = on.slots.with_dynamic(slots.dynamic.values())
        assert not homeless and again.dynamic == slots.dynamic and not again.problems()
        assert again.ledgers.ledgers == slots.ledgers.ledgers


CUT: Final = daemon()


def test_a_dynamic_slot_that_the_machine_has_no_room_for_any_more_is_told() -> None:
    on = daemon()
    outcome = placing(on, job("Capability >= 8"))
    assert isinstance(outcome, Placed)
    shapes = tuple(outcome.machine.dynamic.values())
    smaller = Daemon("NUM_SLOTS = 1\nSLOT_TYPE_0_PARTITIONABLE = True\n", cores=10, memory_mb=10240).slots
    static = Daemon(GPUS + "NUM_SLOTS = 1\n", cores=10, memory_mb=10240, **FOUND).slots
    for machine in (smaller, static, outcome.machine):
        again, homeless = machine.with_dynamic(shapes)
        assert homeless == shapes and again == machine
