"""The ads of slots: every attribute of the reference, published macros, neighbours, latches."""

from __future__ import annotations

import pytest

from roost.classad import ERROR, UNDEFINED, ClassAd
from roost.classad.values import fold
from roost.model.slots import SlotId
from roost.policy.attributes import ATTRIBUTES
from roost.policy.model import AdKind
from roost.startd.attributes import OWNED
from roost.startd.layout.at_work import DynamicRequest
from roost.startd.slot_ad.ad import clock, slot_ad, with_sensed
from roost.startd.slot_ad.config import AttributeFault, names_in
from roost.startd.slot_ad.latches import Latches
from roost.startd.slot_ad.neighbours import shown_to_neighbours
from tests.startd.slot_ad_cases import NOW, WORLD, Daemon

ONE, TWO, THREE, FOUR = (SlotId(number) for number in (1, 2, 3, 4))
CHILD = SlotId(1, 1)
PARTITIONABLE = "NUM_SLOTS = 1\nSLOT_TYPE_0_PARTITIONABLE = True\n"


def carved(text: str = PARTITIONABLE, **request: object) -> Daemon:
    """A machine with one partitionable slot and one dynamic slot."""
    daemon = Daemon(text)
    fields: dict[str, object] = {"cpus": 1, "memory_mb": 100, "disk_kb": 1024, **request}
    outcome = daemon.slots.carve(ONE, DynamicRequest(**fields))  # type: ignore[arg-type]
    assert isinstance(outcome, tuple)
    daemon.slots = outcome[0]
    return daemon


# -- what is in every ad -----------------------------------------------------------------------------------

EVERY_SLOT = """
    Name Machine MyType TargetType MyAddress StartdIpAddr Arch OpSys UidDomain FileSystemDomain DaemonStartTime
    Cpus Memory Disk VirtualMemory TotalSlotCpus TotalSlotMemory TotalSlotDisk TotalCpus TotalMemory TotalDisk
    TotalVirtualMemory DetectedCpus DetectedMemory TotalSlots SlotID SlotTypeID SlotType MachineResources SlotWeight
    TotalLoadAvg TotalCondorLoadAvg LoadAvg CondorLoadAvg KeyboardIdle ConsoleIdle ClockMin ClockDay MyCurrentTime
    UpdateSequenceNumber MonitorSelfAge
"""
CUSTOM = "Gpu TotalSlotGpu TotalGpu DetectedGpu AssignedGpu OfflineGpu"
CHILDREN = "Name CurrentRank RemoteUser AccountingGroup State Activity EnteredCurrentState Memory Disk"


def test_every_listed_attribute_is_in_the_ad_of_each_kind_of_slot() -> None:
    resources = "MACHINE_RESOURCE_gpu = G0 G1 G2\nOFFLINE_MACHINE_RESOURCE_gpu = G2\n"
    daemon = carved(PARTITIONABLE + resources, custom={"Gpu": 1})
    static = Daemon(resources).ad(ONE)
    parent, child = daemon.ad(ONE), daemon.ad(CHILD)
    for ad in (static, parent, child):
        assert [name for name in (*EVERY_SLOT.split(), *CUSTOM.split()) if ad.eval(name) in (UNDEFINED, ERROR)] == []
    assert [ad.eval("SlotType") for ad in (static, parent, child)] == ["Static", "Partitionable", "Dynamic"]
    assert [(ad.eval("PartitionableSlot"), ad.eval("DynamicSlot")) for ad in (static, parent, child)] == [
        (UNDEFINED, UNDEFINED),
        (True, UNDEFINED),
        (UNDEFINED, True),
    ]
    assert (parent.eval("NumDynamicSlots"), child.eval("DSlotID"), child.eval("ParentSlotId")) == (1, 1, 1)


def test_an_ad_kept_from_pass_to_pass_says_the_same_as_a_new_one() -> None:
    daemon = Daemon("")
    sensed = daemon.sensed(daemon.slots, dict.fromkeys(daemon.slots.ids, "Owner"))
    parts = {"identity": daemon.identity, "settings": daemon.settings[1]}
    kept = slot_ad(daemon.slots, ONE, **parts)
    assert "LoadAvg" not in kept
    assert with_sensed(kept, ONE, sensed) == slot_ad(daemon.slots, ONE, **parts, sensed=sensed)
    assert "LoadAvg" not in kept


def test_what_the_catalogue_says_is_always_there_is_there_or_is_the_state_machine_s() -> None:
    ad = Daemon("").ad(ONE)
    rows = [row for found in ATTRIBUTES.values() for row in found if row.side is AdKind.MACHINE and row.always]
    missing = {row.name for row in rows if row.name not in ad and fold(row.name) not in OWNED}
    assert {name for name in missing if not name.startswith("ExpectedMachine")} == set()


def test_the_numbers_of_a_static_slot() -> None:
    ad = Daemon("NUM_SLOTS = 2\nRESERVED_MEMORY = 56\nNUM_CPUS = 6").ad(TWO)
    numbers = {
        "Name": "slot2@vulture.example.org", "Cpus": 3, "Memory": 100, "TotalSlotCpus": 3, "TotalSlotMemory": 100,
        "TotalCpus": 6, "TotalMemory": 200, "DetectedCpus": 4, "DetectedMemory": 256, "TotalSlots": 2, "SlotID": 2,
        "SlotTypeID": 0, "MachineResources": "Cpus Memory Disk Swap", "SlotWeight": 3, "Disk": 4 * 1024 * 1024,
        "TotalDisk": 8 * 1024 * 1024, "VirtualMemory": 512 * 1024, "TotalVirtualMemory": 1024 * 1024, "LoadAvg": 0.0,
        "TotalLoadAvg": 0.5, "KeyboardIdle": 50, "ConsoleIdle": 70, "UpdateSequenceNumber": 7,
    }  # fmt: skip
    assert {name: ad.eval(name) for name in numbers} == numbers


def test_a_partitionable_slot_shows_what_is_left_and_what_it_was_made_with() -> None:
    daemon = carved(cpus=3, memory_mb=200, disk_kb=2048)
    parent, child = daemon.ad(ONE), daemon.ad(CHILD)
    shown = ("Cpus", "TotalSlotCpus", "Memory", "TotalSlotMemory", "TotalSlots", "SlotWeight")
    assert [parent.eval(name) for name in shown] == [1, 4, 56, 256, 2, 1]
    assert [child.eval(name) for name in shown] == [3, 3, 200, 200, 2, 3]
    assert child.eval("Name") == "slot1_1@vulture.example.org"
    assert (parent.eval("Disk"), child.eval("Disk")) == (8 * 1024 * 1024 - 2048, 2048)


def test_custom_resources_as_the_manual_names_them() -> None:
    text = "MACHINE_RESOURCE_gpu = 16\nMACHINE_RESOURCE_actuator = 8\nSLOT_TYPE_1 = gpu=50%,actuator=6,50%\n"
    ad = Daemon(f"{text}NUM_SLOTS_TYPE_1 = 1").ad(ONE)
    found = {name: ad[name] for name in ad if "gpu" in name.lower() or "actuator" in name.lower()}
    assert found == {
        "Gpu": 8, "TotalSlotGpu": 8, "TotalGpu": 16, "DetectedGpu": 16,
        "Actuator": 6, "TotalSlotActuator": 6, "TotalActuator": 8, "DetectedActuator": 8,
    }  # fmt: skip
    assert ad["MachineResources"] == "Cpus Memory Disk Swap Gpu Actuator"


def test_units_move_between_the_ads_of_parent_and_child() -> None:
    daemon = carved(f"MACHINE_RESOURCE_gpu = G0, G1, G2\n{PARTITIONABLE}", custom={"Gpu": 1})
    assert [daemon.ad(slot)["AssignedGpu"] for slot in (ONE, CHILD)] == ["G1,G2", "G0"]


def test_a_daemon_s_name_stands_before_its_host() -> None:
    assert Daemon("STARTD_NAME = second").ad(ONE)["Name"] == "slot1@second@vulture.example.org"
    assert Daemon("STARTD_NAME = me@there").ad(ONE)["Name"] == "slot1@me@there"


def test_a_broken_slot_accepts_nothing() -> None:
    ad = Daemon("NUM_SLOTS = 9\nSLOT_CONFIG_FAILURE_MODE = BestEffort").ad(ONE)
    assert ad["SlotBrokenReason"] == "Not enough Cpus"
    assert ad.eval("Requirements", ClassAd()) is False


def test_the_weight_of_a_slot_is_configured_by_either_name_and_for_each_type() -> None:
    assert Daemon("SLOT_WEIGHT = Cpus * 2").ad(ONE).eval("SlotWeight") == 2
    assert Daemon("SlotWeight = 5").ad(ONE).eval("SlotWeight") == 5
    text = "NUM_SLOTS_TYPE_1 = 1\nSLOT_TYPE_1_SLOT_WEIGHT = 7\nSlotWeight = 5\n"
    assert Daemon(text).ad(ONE).eval("SlotWeight") == 7


@pytest.mark.parametrize(
    ("now", "offset_s", "minute", "day"),
    [
        (0, 0, 0, 4),
        (86399, 0, 1439, 4),
        (86400, 0, 0, 5),
        (0, -3600, 1380, 3),
        (NOW, 3600, 690, 4),
        (3 * 86400, 0, 0, 0),
    ],
)
def test_the_clock_is_local_and_the_week_begins_on_sunday(now: float, offset_s: int, minute: int, day: int) -> None:
    assert clock(now, offset_s) == (minute, day)


# -- published macros --------------------------------------------------------------------------------------


def published(text: str, slot: SlotId, *names: str) -> dict[str, object]:
    ad = Daemon(text).ad(slot)
    return {name: ad.eval(name) for name in names if name in ad}


LISTS = """
STARTD_ATTRS = favorite_color, favorite_season
SLOT1_STARTD_ATTRS = favorite_movie
SLOT2_STARTD_ATTRS = favorite_song
favorite_color = "blue"
favorite_season = "spring"
favorite_movie = "Metropolis"
favorite_song = "So What"
"""
NAMES = ("favorite_color", "favorite_season", "favorite_movie", "favorite_song")


def test_lists_for_one_slot_add_to_the_list_for_all() -> None:
    common = {"favorite_color": "blue", "favorite_season": "spring"}
    assert published(LISTS, ONE, *NAMES) == {**common, "favorite_movie": "Metropolis"}
    assert published(LISTS, TWO, *NAMES) == {**common, "favorite_song": "So What"}
    assert published(LISTS, THREE, *NAMES) == common


def test_values_for_one_slot_replace_the_value_for_all() -> None:
    text = (
        'favorite_color = "blue"\nfavorite_season = "spring"\nSTARTD_ATTRS = favorite_color, favorite_season\n'
        'SLOT2_favorite_color = "green"\nSLOT3_favorite_season = "summer"\n'
    )
    assert [tuple(published(text, slot, *NAMES).values()) for slot in (ONE, TWO, THREE)] == [
        ("blue", "spring"),
        ("green", "spring"),
        ("blue", "summer"),
    ]


def test_the_old_lists_and_those_of_types_count_too() -> None:
    text = (
        "STARTD_ATTRS = a\nSTARTD_EXPRS = b A\nSLOT1_STARTD_EXPRS = c\nSLOT_TYPE_1_STARTD_ATTRS = d\n"
        "a = 1\nb = 2\nc = 3\nd = 4\nSLOT_TYPE_1_a = 10\nSLOT_TYPE_2_d = 40\n"
        "NUM_SLOTS_TYPE_1 = 1\nNUM_SLOTS_TYPE_2 = 1\n"
    )
    assert published(text, ONE, *"abcd") == {"a": 10, "b": 2, "c": 3, "d": 4}
    assert published(text, TWO, *"abcd") == {"a": 1, "b": 2}
    order = [name for name, _ in Daemon(text).settings[1].attributes]
    assert order == ["a", "b", "d", "c"]


def test_the_value_of_a_slot_goes_before_that_of_its_type() -> None:
    text = "STARTD_ATTRS = a\na = 1\nSLOT_TYPE_1_a = 2\nSLOT1_a = 3\nNUM_SLOTS_TYPE_1 = 2\n"
    assert [published(text, slot, "a") for slot in (ONE, TWO)] == [{"a": 3}, {"a": 2}]


def test_published_values_are_expressions() -> None:
    text = 'STARTD_ATTRS = Quoted Word Sum\nQuoted = "text"\nWord = text\nSum = Cpus + 1\n'
    ad = Daemon(text).ad(ONE)
    assert [ad.eval(name) for name in ("Quoted", "Word", "Sum")] == ["text", UNDEFINED, 2]


def test_a_macro_that_cannot_be_published_is_left_out_and_told() -> None:
    daemon = Daemon("STARTD_ATTRS = missing bad fine a.b\nbad = 1 +\nfine = 1\n")
    assert "fine" in daemon.ad(ONE)
    assert not {"missing", "bad"} & set(daemon.ad(ONE))
    problems = daemon.settings[1].problems
    assert [(one.name, one.fault, str(one.span)) for one in problems] == [
        ("missing", AttributeFault.UNSET, "/etc/roost.conf:1:1"),
        ("bad", AttributeFault.NO_EXPRESSION, "/etc/roost.conf:2:1"),
        ("a.b", AttributeFault.NO_NAME, "/etc/roost.conf:1:1"),
    ]


def test_what_the_machine_knows_goes_before_what_is_published() -> None:
    assert Daemon("STARTD_ATTRS = Cpus Memory\nCpus = 99\nMemory = 99").ad(ONE)["Cpus"] == 1


def test_a_dynamic_slot_has_what_its_parent_has() -> None:
    daemon = carved(f"SLOT1_STARTD_ATTRS = a\nSLOT1_a = SlotID * 10 + DSlotID\n{PARTITIONABLE}")
    assert daemon.ad(CHILD).eval("a") == 11


def test_policy_expressions_may_differ_by_type_and_bad_ones_are_errors() -> None:
    text = (
        "START = True\nSLOT_TYPE_2_START = KeyboardIdle > 60\nSUSPEND_VANILLA = (\nCPU_BUSY = LoadAvg > 1\n"
        "NUM_SLOTS_TYPE_1 = 1\nNUM_SLOTS_TYPE_2 = 1\n"
    )
    daemon = Daemon(text)
    assert [daemon.ad(slot).eval("START") for slot in (ONE, TWO)] == [True, False]
    assert daemon.ad(ONE).eval("SUSPEND_VANILLA") is ERROR
    assert daemon.ad(ONE).eval("CpuBusy") is False
    assert "START_BACKFILL" not in daemon.settings[1].policy


# -- neighbours --------------------------------------------------------------------------------------------


def test_slots_show_each_other_the_values_of_listed_attributes() -> None:
    daemon = Daemon(
        "NUM_SLOTS = 2\nSTARTD_SLOT_ATTRS = State, Double Nothing\nSTARTD_ATTRS = Double\nDouble = SlotID * 2"
    )
    names = names_in(daemon.config, "STARTD_SLOT_ATTRS")
    ads = daemon.ads({TWO: "Claimed"})
    assert shown_to_neighbours(ads, names, WORLD) == {
        "slot1_State": "Unclaimed",
        "slot1_Double": 2,
        "slot2_State": "Claimed",
        "slot2_Double": 4,
    }


def test_dynamic_slots_are_shown_with_both_numbers() -> None:
    daemon = carved()
    assert shown_to_neighbours(daemon.ads(), ("Cpus",), WORLD) == {"slot1_Cpus": 3, "slot1_1_Cpus": 1}


SUSPENDABLE = """
NUM_CPUS = $(DETECTED_CORES)*2
MEMORY = $(DETECTED_MEMORY)*2
IsSuspendableSlot = SlotID > $(DETECTED_CORES)
NonSuspendableSlotState = eval(strcat("slot",SlotID-$(DETECTED_CORES),"_State"))
STARTD_SLOT_ATTRS = $(STARTD_SLOT_ATTRS) State
STARTD_ATTRS = $(STARTD_ATTRS) IsSuspendableSlot NonSuspendableSlotState
MyNonSuspendableSlotIsIdle = \\
  (NonSuspendableSlotState =!= "Claimed" && NonSuspendableSlotState =!= "Preempting")
START = \\
  IsSuspendableSlot!=True && IsSuspendableJob=!=True || \\
  IsSuspendableSlot && IsSuspendableJob==True && $(MyNonSuspendableSlotIsIdle)
SUSPEND = \\
  IsSuspendableSlot && $(MyNonSuspendableSlotIsIdle)!=True
WANT_SUSPEND = $(SUSPEND)
CONTINUE = ($(SUSPEND)) != True
"""


@pytest.mark.parametrize("state", ["Unclaimed", "Owner", "Matched", "Claimed", "Preempting"])
def test_the_manual_s_suspendable_slots(state: str) -> None:
    """Two cores, four slots: 3 and 4 give way to 1 and 2."""
    daemon = Daemon(SUSPENDABLE, cores=2, memory_mb=1000)
    ads = daemon.ads({ONE: state})
    assert [ad["Memory"] for ad in ads.values()] == [500] * 4
    shown = shown_to_neighbours(ads, names_in(daemon.config, "STARTD_SLOT_ATTRS"), WORLD)
    for ad in ads.values():
        ad.update(shown)
    busy = state in ("Claimed", "Preempting")
    suspendable, plain = ClassAd({"IsSuspendableJob": True}), ClassAd()
    assert [ad.eval("START", suspendable) for ad in ads.values()] == [False, False, not busy, True]
    assert [ad.eval("START", plain) for ad in ads.values()][:2] == [True, True]
    assert [ad.eval("START", plain) is True for ad in ads.values()][2:] == [False, False]
    assert [ad.eval("SUSPEND", suspendable) for ad in ads.values()] == [False, False, busy, False]
    assert ads[THREE].eval("CONTINUE", suspendable) is not busy


# -- latches -----------------------------------------------------------------------------------------------


def test_cpu_busy_time_counts_from_when_it_became_true() -> None:
    ad = ClassAd({"LoadAvg": 0.2})
    ad.set("CpuBusy", "LoadAvg > 0.5")
    latches, seen = Latches(), []
    for now, load in ((100, 0.2), (105, 0.9), (110, 0.8), (170, 0.7), (175, 0.1), (180, 0.9)):
        ad["LoadAvg"] = load
        latches, found = latches.advanced(ad, (), now=now, world=WORLD)
        seen.append((found["CpuIsBusy"], found["CpuBusyTime"]))
    assert seen == [(False, 0), (True, 0), (True, 5), (True, 65), (False, 0), (True, 0)]


def test_a_slot_without_cpu_busy_says_nothing_of_it() -> None:
    assert Latches().advanced(ClassAd(), ("CpuBusy", "Other"), now=1, world=WORLD) == (Latches(), {})


def test_other_latches_tell_when_a_value_last_changed() -> None:
    ad = ClassAd({"KeyboardIdle": 5, "Constant": 3})
    ad.set("Away", "KeyboardIdle > 60")
    ad.set("Odd", 'KeyboardIdle > 60 ? "text" : 7')
    latches, seen = Latches(), []
    for now, idle in ((100, 5), (110, 15), (160, 65), (170, 75)):
        ad["KeyboardIdle"] = idle
        latches, found = latches.advanced(ad, ("Away", "Constant", "Odd"), now=now, world=WORLD)
        seen.append(found)
    assert [(one["AwayValue"], one["AwayTime"]) for one in seen] == [
        (False, 100),
        (False, 100),
        (True, 160),
        (True, 160),
    ]
    assert [(one.get("OddValue"), one["OddTime"]) for one in seen] == [(7, 100), (7, 100), (None, 160), (None, 160)]
    assert {"ConstantTime": 100}.items() <= seen[-1].items()
    assert "ConstantValue" not in seen[-1]
