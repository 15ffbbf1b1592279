"""Dividing a machine into slots: every spelling of a share, what each slot gets, what is refused and why."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.model.slots import Filesystem, SlotKind
from roost.startd.layout.layout import SLOTS_MAX, Layout
from roost.startd.layout.problems import LayoutCode, ordinal
from roost.startd.layout.resources import inventories
from tests.startd.layout_cases import GB, configured, laid_out, plan, reading, refused

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)


def typed(text: str, count: int = 1, **more: object) -> Layout:
    return laid_out(f"SLOT_TYPE_1 = {text}\nNUM_SLOTS_TYPE_1 = {count}\n", **more)  # type: ignore[arg-type]


# -- which slots -----------------------------------------------------------------------------------------


def test_by_default_there_is_a_slot_for_each_core_and_all_share_evenly() -> None:
    layout = laid_out("")
    assert [(one.number, one.type_id, one.kind) for one in layout.slots] == [
        (number, 0, SlotKind.STATIC) for number in (1, 2, 3, 4)
    ]
    assert {(one.cpus, one.memory_mb, one.disk_share, one.swap_share) for one in layout.slots} == {
        (1, 64, QUARTER, QUARTER)
    }


def test_fewer_slots_than_cores_get_several_cores_each() -> None:
    assert [one.cpus for one in laid_out("NUM_SLOTS = 3").slots] == [1, 1, 1]
    assert [one.cpus for one in laid_out("NUM_SLOTS = 2").slots] == [2, 2]
    assert laid_out("NUM_SLOTS = 0").slots == ()


def test_more_slots_than_cores_are_refused_unless_more_cores_are_advertised() -> None:
    (problem,) = refused("NUM_SLOTS = 8").problems
    assert problem.code is LayoutCode.BELOW_ONE
    assert problem.knob == "NUM_SLOTS"
    assert str(problem.span) == "/etc/roost.conf:1:1"
    assert "NUM_CPUS" in problem.remedy
    assert len(laid_out("NUM_SLOTS = 8\nNUM_CPUS = 8").slots) == 8


def test_type_0_is_partitionable_if_it_says_so() -> None:
    (slot,) = laid_out("NUM_SLOTS = 1\nSLOT_TYPE_0_PARTITIONABLE = True").slots
    assert (slot.kind, slot.cpus) == (SlotKind.PARTITIONABLE, 4)


def test_counted_types_leave_no_slots_of_type_0() -> None:
    layout = laid_out(
        "NUM_SLOTS = 4\nNUM_SLOTS_TYPE_2 = 1\nSLOT_TYPE_2 = 25%\nNUM_SLOTS_TYPE_1 = 2\nSLOT_TYPE_1 = 25%\n"
    )
    assert [(one.number, one.type_id) for one in layout.slots] == [(1, 1), (2, 1), (3, 2)]


def test_the_manual_s_partitionable_machine() -> None:
    (slot,) = laid_out("NUM_SLOTS=1\nNUM_SLOTS_TYPE_1=1\nSLOT_TYPE_1_PARTITIONABLE=true\n").slots
    assert (slot.kind, slot.type_id, slot.cpus, slot.memory_mb) == (SlotKind.PARTITIONABLE, 1, 4, 256)


def test_a_described_type_that_is_not_counted_has_no_slots() -> None:
    layout = laid_out("SLOT_TYPE_1 = 25%\nSLOT_TYPE_2 = cpus=2\nNUM_SLOTS_TYPE_2 = 1")
    assert [one.type_id for one in layout.slots] == [2]


def test_a_type_counted_but_not_described_takes_everything_automatically() -> None:
    assert [one.cpus for one in laid_out("NUM_SLOTS_TYPE_1 = 2").slots] == [2, 2]


@pytest.mark.parametrize("line", ["SLOT_TYPE_0 = cpus=1", "NUM_SLOTS_TYPE_0 = 2"])
def test_type_0_is_not_described(line: str) -> None:
    assert [one.code for one in refused(line).problems] == [LayoutCode.TYPE_ZERO]


def test_types_beyond_the_limit_do_not_count() -> None:
    layout = laid_out("NUM_SLOTS_TYPE_10 = 1\nNUM_SLOTS_TYPE_9 = 1")
    assert [one.type_id for one in layout.slots] == [9]
    assert [one.code for one in layout.problems] == [LayoutCode.NOT_COUNTED]
    assert [one.type_id for one in laid_out("MAX_SLOT_TYPES = 12\nNUM_SLOTS_TYPE_10 = 1").slots] == [10]


def test_there_is_a_limit_to_slots() -> None:
    text = f"NUM_CPUS = {SLOTS_MAX + 1}\nMEMORY = {SLOTS_MAX + 1}\n"
    assert len(laid_out(f"{text}NUM_SLOTS = {SLOTS_MAX}").slots) == SLOTS_MAX
    assert [one.code for one in refused(f"{text}NUM_SLOTS = {SLOTS_MAX + 1}").problems] == [LayoutCode.TOO_MANY]


# -- spellings of shares ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "cpus=2, ram=128, swap=25%, disk=1/2",
        "cpus=1/2, memory=128, virt=25%, disk=50%",
        "c=1/2, m=50%, v=1/4, disk=1/2",
        "cpus=2 ram=128 swap=25% disk=1/2",
        "Cpus = 50%, RAM = 128, S = 1/4, D = 50 %",
        "C=2 , MEMORY=128M, VirtualMemory=25%, d=1/2",
        "cpu=2, Mem=131072K, SWAP=2/8, Disk=0.5/1",
        "swap=1/4, 50%",
        "v=25%, 1/2",
    ],
)
def test_equal_descriptions_give_equal_slots(text: str) -> None:
    (slot,) = typed(text).slots
    assert (slot.cpus, slot.memory_mb, slot.swap_share, slot.disk_share) == (2, 128, QUARTER, HALF)


@pytest.mark.parametrize("text", ["c=25%, m=64, v=1/4, d=25%", "25%", "1/4", "minimum, m=64, v=25%, d=25%"])
def test_a_quarter_in_every_spelling(text: str) -> None:
    (slot,) = typed(text).slots
    assert (slot.cpus, slot.memory_mb, slot.swap_share, slot.disk_share) == (1, 64, QUARTER, QUARTER)


@pytest.mark.parametrize("share", ["64", "1/2", "50%", "auto", "automatic", "AUTO"])
def test_half_of_the_memory_in_every_spelling(share: str) -> None:
    assert [one.memory_mb for one in typed(f"mem={share}", 2, memory_mb=128).slots] == [64, 64]


def test_one_item_a_line() -> None:
    (slot,) = laid_out("SLOT_TYPE_1 @=end\n  cpus=2\n  disk = 50 %,\n\n  25%\n@end\nNUM_SLOTS_TYPE_1 = 1").slots
    assert (slot.cpus, slot.memory_mb, slot.disk_share) == (2, 64, HALF)


def test_disk_may_be_automatic_while_the_rest_has_one_share() -> None:
    slots = typed("cpus=1, disk=auto, 50%", 2).slots
    assert [(one.cpus, one.memory_mb, one.swap_share, one.disk_share) for one in slots] == [(1, 128, HALF, HALF)] * 2


def test_what_is_not_named_is_automatic() -> None:
    layout = laid_out("SLOT_TYPE_1 = mem=10%\nNUM_SLOTS_TYPE_1 = 1\nNUM_SLOTS_TYPE_2 = 3", memory_mb=1000)
    assert [one.memory_mb for one in layout.slots] == [100, 300, 300, 300]
    assert [one.cpus for one in layout.slots] == [1, 1, 1, 1]


def test_a_third_of_four_cores_is_one_core_and_leaves_one_unassigned() -> None:
    assert [one.cpus for one in typed("cpus=1/3", 3).slots] == [1, 1, 1]


def test_the_minimum_of_everything() -> None:
    (slot,) = typed("min").slots
    assert (slot.cpus, slot.memory_mb, slot.swap_share) == (1, 1, 0)
    assert slot.disk_share == Fraction(1024, 8 * GB)


@pytest.mark.parametrize("name", ["C", "c", "cpu", "CPUS"])
def test_names_of_cores(name: str) -> None:
    assert not typed(f"{name}=3").problems
    assert typed(f"{name}=3").slots[0].cpus == 3


def test_a_name_is_read_by_its_first_letter_with_a_warning() -> None:
    layout = typed("cores=3, doughnuts=50%")
    assert (layout.slots[0].cpus, layout.slots[0].disk_share) == (3, HALF)
    assert [one.code for one in layout.problems] == [LayoutCode.READ_BY_LETTER] * 2


def test_of_two_shares_the_last_counts_with_a_warning() -> None:
    layout = typed("c=1, c=3, 10%, 25%")
    assert (layout.slots[0].cpus, layout.slots[0].memory_mb) == (3, 64)
    assert [one.code for one in layout.problems] == [LayoutCode.GIVEN_TWICE] * 2


@pytest.mark.parametrize(
    "text", ["3", "150%", "3/2", "x", "1/0", "cpus=", "cpus=-1", "mem=x%", "mem=1Q", "=3%x", "c=2K"]
)
def test_a_bad_description_is_refused(text: str) -> None:
    problems = refused(f"SLOT_TYPE_1 = {text}\nNUM_SLOTS_TYPE_1 = 1").problems
    assert [one.code for one in problems] == [LayoutCode.BAD_DESCRIPTION]
    assert str(problems[0]).startswith("/etc/roost.conf:1:1: SLOT_TYPE_1: Bad description of slot type 1: ")
    assert problems[0].remedy


@pytest.mark.parametrize("name", ["disk", "swap", "virt"])
def test_what_changes_while_the_machine_runs_is_not_given_as_a_number(name: str) -> None:
    (problem,) = refused(f"SLOT_TYPE_1 = {name}=100\nNUM_SLOTS_TYPE_1 = 1").problems
    assert problem.code is LayoutCode.ABSOLUTE_SHARE
    assert problem.remedy == "You must specify a percent or fraction"


def test_a_number_of_an_unknown_resource_is_refused_and_a_share_of_it_is_nothing() -> None:
    (problem,) = refused("SLOT_TYPE_1 = gpu=1\nNUM_SLOTS_TYPE_1 = 1").problems
    assert problem.code is LayoutCode.UNKNOWN_RESOURCE
    assert "cpus, memory, disk, swap" in problem.remedy
    for share in ("0", "50%", "auto"):
        assert [one.code for one in typed(f"gpu={share}").problems] == [LayoutCode.NOT_COUNTED]


# -- what does not fit -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "count", "resources"),
    [
        ("cpus=2", 3, "Cpus"),
        ("mem=100", 3, "Memory"),
        ("50%", 3, "Cpus, Memory, Swap, Disk"),
        ("disk=60%", 2, "Disk"),
        ("swap=1/2, cpus=1", 3, "Swap"),
        ("cpus=10%", 1, "Cpus"),
        ("mem=1/1000", 1, "Memory"),
    ],
)
def test_shares_that_do_not_fit_are_refused(text: str, count: int, resources: str) -> None:
    (problem,) = refused(f"SLOT_TYPE_1 = {text}\nNUM_SLOTS_TYPE_1 = {count}").problems
    assert problem.code is LayoutCode.EXCEEDED
    assert problem.unmet is not None
    assert ", ".join(problem.unmet.resources) == resources
    assert problem.unmet.nth == (3 if count == 3 else count)


@pytest.mark.parametrize("text", ["cpus=0.5", "cpus=10%", "mem=1K", "mem=1/1000"])
def test_a_share_of_less_than_one_is_not_called_too_large(text: str) -> None:
    said = str(refused(f"SLOT_TYPE_1 = {text}\nNUM_SLOTS_TYPE_1 = 1"))
    assert "its share is less than one of " in said
    assert "use whole numbers of cores and megabytes" in said
    assert "smaller shares" not in said


def test_a_refusal_says_what_was_asked_for_and_what_was_there() -> None:
    (problem,) = refused("SLOT_TYPE_1 = cpus=2, mem=100, disk=1/4\nNUM_SLOTS_TYPE_1 = 3").problems
    assert problem.unmet is not None
    assert problem.unmet.lines == (
        "ERROR: Can't allocate 3rd slot of type 1",
        "\tRequesting: Cpus: 2, Memory: 100, Swap: auto, Disk: 25.00%",
        "\tAvailable:  Cpus: 0, Memory: 56, Swap: 100.00%, Disk: 50.00%",
    )
    assert "not enough Cpus, Memory" in problem.message


@pytest.mark.parametrize(
    ("text", "resource"),
    [
        ("SLOT_TYPE_1 = cpus=4", "Cpus"),
        ("SLOT_TYPE_1 = cpus=1, mem=256", "Memory"),
        ("SLOT_TYPE_1 = cpus=1, mem=1, disk=100%", "Disk"),
        ("SLOT_TYPE_1 = cpus=1, mem=1, swap=100%", "Swap"),
    ],
)
def test_nothing_left_for_an_automatic_share_is_refused(text: str, resource: str) -> None:
    (problem,) = refused(f"{text}\nNUM_SLOTS_TYPE_1 = 1\nNUM_SLOTS_TYPE_2 = 1").problems
    assert (problem.code, problem.knob) == (LayoutCode.BELOW_ONE, "NUM_SLOTS_TYPE_2")
    assert problem.unmet is not None
    assert problem.unmet.resources == (resource,)


def test_everything_that_is_wrong_is_found_at_once() -> None:
    problems = refused(
        "SLOT_TYPE_1 = cpus=9\nSLOT_TYPE_2 = mem=999\nNUM_SLOTS_TYPE_1 = 1\nNUM_SLOTS_TYPE_2 = 1"
    ).problems
    assert [(one.knob, one.unmet and one.unmet.resources) for one in problems] == [
        ("SLOT_TYPE_1", ("Cpus",)),
        ("SLOT_TYPE_2", ("Memory",)),
    ]


def test_percentages_that_were_rounded_still_fit() -> None:
    layout = typed("disk=33.333334%, cpus=1", 3)
    assert sum(one.disk_share for one in layout.slots) == 1
    assert refused("SLOT_TYPE_1 = disk=33.34%, cpus=1\nNUM_SLOTS_TYPE_1 = 3")


def test_slots_on_filesystems_of_their_own_may_each_take_all_of_it() -> None:
    text = "SLOT_TYPE_1 = cpus=1, disk=100%\nNUM_SLOTS_TYPE_1 = 2\nSLOT2_EXECUTE = /scratch/two\n"
    two = {"/": Filesystem(name="root", free_kb=GB), "/scratch": Filesystem(name="scratch", free_kb=2 * GB)}
    layout = laid_out(text, filesystems=two)
    assert [(one.filesystem, one.disk_share) for one in layout.slots] == [("root", 1), ("scratch", 1)]
    refused(text, filesystems={"/": Filesystem(name="root", free_kb=GB)})


@pytest.mark.parametrize(
    ("mode", "slots"),
    [
        ("BestEffort", [(1, 3, None), (2, 1, "Not enough Cpus"), (4, 0, None)]),
        ("AllOrNothing", []),
    ],
)
def test_part_of_the_slots_may_be_asked_for(mode: str, slots: list[tuple[int, int, str | None]]) -> None:
    text = "SLOT_TYPE_1 = cpus=3\nNUM_SLOTS_TYPE_1 = 3\nSLOT_TYPE_2 = cpus=0\nNUM_SLOTS_TYPE_2 = 1\n"
    layout = laid_out(f"{text}SLOT_CONFIG_FAILURE_MODE = {mode}")
    assert [(one.number, one.cpus, one.broken) for one in layout.slots] == slots
    assert [one.code for one in layout.problems] == [LayoutCode.EXCEEDED]
    refused(f"{text}SLOT_CONFIG_FAILURE_MODE = Except")
    refused(text)


def test_best_effort_with_too_many_automatic_slots_makes_one_broken_slot() -> None:
    (slot,) = laid_out("NUM_SLOTS = 8\nSLOT_CONFIG_FAILURE_MODE = BestEffort").slots
    assert (slot.cpus, slot.broken) == (4, "Not enough Cpus")


def test_unreadable_values_are_problems_with_their_place() -> None:
    for text in ("NUM_SLOTS = many", "\nSLOT_CONFIG_FAILURE_MODE = Perhaps", "NUM_SLOTS_TYPE_1 = -1"):
        (problem,) = refused(text).problems
        assert problem.code is LayoutCode.BAD_VALUE
        assert str(problem).startswith("/etc/roost.conf:")


# -- totals ----------------------------------------------------------------------------------------------


def test_memory_is_what_was_found_less_what_is_reserved_unless_it_is_set() -> None:
    assert laid_out("RESERVED_MEMORY = 56").resources.memory_mb == 200
    assert laid_out("RESERVED_MEMORY = 56\nMEMORY = 512").resources.memory_mb == 512
    assert laid_out("MEMORY = $(DETECTED_MEMORY)*2").resources.memory_mb == 512
    assert laid_out("RESERVED_MEMORY = 999\nNUM_SLOTS = 0").resources.memory_mb == 0


def test_cores_may_be_advertised_more_than_once_or_held_back() -> None:
    assert laid_out("NUM_CPUS = $(DETECTED_CORES)*2").resources.cpus == 8
    assert laid_out("NUM_CPUS = 8\nMAX_NUM_CPUS = 3").resources.cpus == 3
    assert laid_out("").resources.detected_cpus == 4


def test_disk_space_is_what_is_free_less_what_is_reserved() -> None:
    """The figures of the manual's log: 1345063 KB free, 5 MB reserved."""
    layout = laid_out("RESERVED_DISK = 5", filesystems={"/home/condor": Filesystem(name="home", free_kb=1345063)})
    assert layout.resources.disk_kb == {"home": 1339943}


# -- custom resources ------------------------------------------------------------------------------------

MANUAL = """
MACHINE_RESOURCE_NAMES = gpu, actuator
MACHINE_RESOURCE_gpu = 16
MACHINE_RESOURCE_actuator = 8
SLOT_TYPE_1 = gpu=50%,actuator=6,50%
SLOT_TYPE_1_PARTITIONABLE = TRUE
NUM_SLOTS_TYPE_1 = 1
SLOT_TYPE_2 = gpu=25%,actuator=1,25%
SLOT_TYPE_2_PARTITIONABLE = FALSE
NUM_SLOTS_TYPE_2 = 2
"""


@pytest.mark.parametrize("text", [MANUAL, MANUAL.replace("MACHINE_RESOURCE_NAMES", "# ")])
def test_the_manual_s_gpus_and_actuators(text: str) -> None:
    slots = laid_out(text).slots
    assert [one.custom for one in slots] == [
        {"Gpu": 8, "Actuator": 6},
        {"Gpu": 4, "Actuator": 1},
        {"Gpu": 4, "Actuator": 1},
    ]
    assert [one.kind for one in slots] == [SlotKind.PARTITIONABLE, SlotKind.STATIC, SlotKind.STATIC]
    assert [one.cpus for one in slots] == [2, 1, 1]


def test_one_share_for_all_counts_for_custom_resources() -> None:
    layout = laid_out("MACHINE_RESOURCE_gpu = 8\nSLOT_TYPE_1 = 25%\nNUM_SLOTS_TYPE_1 = 4")
    assert [one.custom for one in layout.slots] == [{"Gpu": 2}] * 4


def test_units_are_handed_out_evenly_and_the_first_slots_get_the_odd_ones() -> None:
    assert [one.custom["Gpu"] for one in laid_out("MACHINE_RESOURCE_gpu = 6").slots] == [2, 2, 1, 1]
    assert [one.custom["Gpu"] for one in laid_out("MACHINE_RESOURCE_gpu = 1").slots] == [1, 0, 0, 0]


def test_identifiers_are_assigned_in_order_and_never_twice() -> None:
    layout = laid_out("MACHINE_RESOURCE_gpu = CUDA0, CUDA1 CUDA2\nOFFLINE_MACHINE_RESOURCE_gpu = CUDA1\nNUM_SLOTS = 2")
    assert [one.assigned for one in layout.slots] == [{"Gpu": ("CUDA0",)}, {"Gpu": ("CUDA2",)}]
    (gpu,) = layout.resources.custom
    assert (gpu.name, gpu.detected, gpu.total, gpu.offline) == ("Gpu", 3, 2, ("CUDA1",))


def test_a_list_of_names_chooses_among_the_described_resources() -> None:
    text = "MACHINE_RESOURCE_gpu = 2\nMACHINE_RESOURCE_tape = 1\nMACHINE_RESOURCE_NAMES = GPU\n"
    assert [one.name for one in laid_out(text).resources.custom] == ["GPU"]


def test_an_inventory_command_says_what_there_is() -> None:
    text = "MACHINE_RESOURCE_INVENTORY_GPUs = /usr/libexec/find-gpus -all\n"
    (asked,) = inventories(configured(text))
    assert (asked.name, asked.command) == ("GPUs", "/usr/libexec/find-gpus -all")
    output = 'DetectedGPUs="CUDA0, CUDA1"\nCUDACapability=7.5\n'
    (gpus,) = laid_out(text, inventories={"GPUs": output}).resources.custom
    assert (gpus.name, gpus.ids, gpus.properties) == ("GPUs", ("CUDA0", "CUDA1"), {"CUDACapability": 7.5})
    (gpus,) = laid_out(text, inventories={"GPUs": "DetectedGPUs = 2"}).resources.custom
    assert (gpus.detected, gpus.ids) == (2, ())


@pytest.mark.parametrize(
    ("text", "inventory"),
    [
        ("MACHINE_RESOURCE_gpu = 1.5", None),
        ("MACHINE_RESOURCE_gpu = -1", None),
        ("MACHINE_RESOURCE_gpu = a, b, a", None),
        ("MACHINE_RESOURCE_gpu = 1000000000", None),
        ("MACHINE_RESOURCE_cpus = 3", None),
        ("MACHINE_RESOURCE_NAMES = gpu", None),
        ("MACHINE_RESOURCE_INVENTORY_gpu = cmd", None),
        ("MACHINE_RESOURCE_INVENTORY_gpu = cmd", "nothing here"),
        ("MACHINE_RESOURCE_INVENTORY_gpu = cmd", "Detectedgpu = -1"),
        ("MACHINE_RESOURCE_INVENTORY_gpu = cmd", "Detectedgpu = (("),
    ],
)
def test_a_resource_that_cannot_be_counted_is_refused(text: str, inventory: str | None) -> None:
    outputs = {} if inventory is None else {"gpu": inventory}
    assert [one.code for one in refused(text, inventories=outputs).problems] == [LayoutCode.BAD_RESOURCE]


# -- whatever is configured ------------------------------------------------------------------------------

_shares = st.one_of(
    st.sampled_from(["auto", "minimum", "x", "1/0"]),
    st.integers(0, 6).map(str),
    st.integers(0, 120).map("{}%".format),
    st.tuples(st.integers(0, 5), st.integers(1, 5)).map(lambda pair: f"{pair[0]}/{pair[1]}"),
)
_items = st.tuples(st.sampled_from(["cpus=", "mem=", "disk=", "swap=", "gpu=", "", "zebra="]), _shares).map("".join)
_types = st.lists(_items, max_size=4).map(", ".join)


@given(
    types=st.lists(st.tuples(_types, st.integers(0, 4)), max_size=3),
    cores=st.integers(0, 6),
    mode=st.sampled_from(["BestEffort", "AllOrNothing", "Except"]),
)
def test_no_layout_gives_out_more_than_there_is(types: list[tuple[str, int]], cores: int, mode: str) -> None:
    text = f"SLOT_CONFIG_FAILURE_MODE = {mode}\nMACHINE_RESOURCE_gpu = a,b,c\n"
    for number, (described, count) in enumerate(types, start=1):
        text += f"SLOT_TYPE_{number} = {described}\nNUM_SLOTS_TYPE_{number} = {count}\n"
    layout = plan(text, cores=cores)
    if not isinstance(layout, Layout):
        assert any(not one.is_warning for one in layout.problems)
        return
    slots, resources = layout.slots, layout.resources
    assert sum(one.cpus for one in slots) <= resources.cpus
    assert sum(one.memory_mb for one in slots) <= resources.memory_mb
    assert sum(one.disk_share for one in slots) <= 1
    assert sum(one.swap_share for one in slots) <= 1
    ids = [unit for one in slots for unit in one.assigned["Gpu"]]
    assert len(ids) == len(set(ids)) == sum(one.custom["Gpu"] for one in slots) <= 3
    assert all(min(one.cpus, one.memory_mb, one.disk_share, one.custom["Gpu"]) >= 0 for one in slots)
    assert len({one.number for one in slots}) == len(slots)
    assert layout == plan(text, cores=cores)


def test_ordinals() -> None:
    assert [ordinal(number) for number in (1, 2, 3, 4, 11, 12, 13, 21, 102, 111)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "111th",
    ]  # fmt: skip


def test_a_path_belongs_to_the_filesystem_that_leads_furthest_to_it() -> None:
    one, two = Filesystem(name="root", free_kb=1), Filesystem(name="scratch", free_kb=2)
    known = reading(filesystems={"/": one, "/scratch": two})
    assert [known.filesystem_of(path) for path in ("/scratch/x", "/scratch", "/scratchy", "/home")] == [
        two,
        two,
        one,
        one,
    ]
    assert reading(filesystems={}).filesystem_of("/x").free_kb == 0
