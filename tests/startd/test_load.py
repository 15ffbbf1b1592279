"""Load and idle times as each slot sees them. The worked logs are those of the manual."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.model.slots import SlotId
from roost.startd.idleness import Idleness, connections, log_line, machine_idleness, slot_idleness
from roost.startd.load import WINDOW_S, CpuUse, LoadReading, apportion, averages_line
from tests.startd.layout_cases import configured

ONE, TWO, THREE = SlotId(1), SlotId(2), SlotId(3)


def logged(
    text: str, reading: LoadReading, idle: Idleness, condor: dict[SlotId, float], states: dict[SlotId, str], up_s: int
) -> list[str]:
    """What the log of a machine says in one pass, in the order of the manual."""
    connected = connections(configured(text))
    load = apportion(reading.one_minute, condor, states)
    lines = [averages_line(reading), idle.line, load.line]
    for slot, share in load.slots.items():
        seen = slot_idleness(idle, slot, connected, now=1000.0 + up_s, started_at=1000.0)
        lines += [f"{slot}: {log_line(seen)}", f"{slot}: {share.line}"]
    return lines


def test_the_log_of_a_machine_with_its_owner_at_the_keyboard() -> None:
    assert logged(
        "",
        LoadReading(one_minute=0.34, five_minutes=0.8, fifteen_minutes=1.17),
        Idleness(keyboard_s=0, console_s=4),
        {ONE: 0.0, TWO: 0.0},
        {ONE: "Owner", TWO: "Owner"},
        up_s=296,
    ) == [
        "Load avg: 0.340000 0.800000 1.170000",
        "Idle Time: user= 0 , console= 4 seconds",
        "SystemLoad: 0.340 TotalCondorLoad: 0.000 TotalOwnerLoad: 0.340",
        "slot1: Idle time: Keyboard: 0 Console: 4",
        "slot1: SystemLoad: 0.340 CondorLoad: 0.000 OwnerLoad: 0.340",
        "slot2: Idle time: Keyboard: 0 Console: 4",
        "slot2: SystemLoad: 0.000 CondorLoad: 0.000 OwnerLoad: 0.000",
    ]


def test_the_log_of_a_machine_of_which_one_slot_runs_a_job_and_notices_nobody() -> None:
    assert logged(
        "SLOTS_CONNECTED_TO_CONSOLE = 1\nSLOTS_CONNECTED_TO_KEYBOARD = 1",
        LoadReading(one_minute=1.25, five_minutes=0.91, fifteen_minutes=1.09),
        Idleness(keyboard_s=0, console_s=0),
        {ONE: 0.0, TWO: 0.996},
        {ONE: "Owner", TWO: "Claimed"},
        up_s=296,
    ) == [
        "Load avg: 1.250000 0.910000 1.090000",
        "Idle Time: user= 0 , console= 0 seconds",
        "SystemLoad: 1.250 TotalCondorLoad: 0.996 TotalOwnerLoad: 0.254",
        "slot1: Idle time: Keyboard: 0 Console: 0",
        "slot1: SystemLoad: 0.254 CondorLoad: 0.000 OwnerLoad: 0.254",
        "slot2: Idle time: Keyboard: 1496 Console: 1496",
        "slot2: SystemLoad: 0.996 CondorLoad: 0.996 OwnerLoad: 0.000",
    ]


# -- load ------------------------------------------------------------------------------------------------


def owner_loads(system: float, condor: dict[SlotId, float], states: dict[SlotId, str]) -> list[float]:
    return [round(one.owner, 6) for one in apportion(system, condor, states).slots.values()]


def none_of(*slots: SlotId) -> dict[SlotId, float]:
    return dict.fromkeys(slots, 0.0)


def test_owner_load_goes_to_slots_in_owner_first_whatever_their_number() -> None:
    states = {ONE: "Claimed", TWO: "Unclaimed", THREE: "Owner"}
    assert owner_loads(1.5, none_of(*states), states) == [0.0, 0.5, 1.0]


def test_states_come_in_the_documented_order() -> None:
    states = ["Preempting", "Claimed", "Matched", "Unclaimed", "Owner"]
    slots = {SlotId(number): state for number, state in enumerate(states, start=1)}
    for handed_out in range(5):
        expected = [0.0] * (5 - handed_out) + [1.0] * handed_out
        assert owner_loads(float(handed_out), none_of(*slots), slots) == expected


def test_slots_of_one_state_come_in_the_order_of_their_numbers() -> None:
    slots = [SlotId(1), SlotId(1, 1), SlotId(1, 2), SlotId(2)]
    assert owner_loads(2.25, none_of(*slots), dict.fromkeys(reversed(slots), "Owner")) == [1.0, 1.0, 0.25, 0.0]


def test_the_last_slot_gets_what_no_other_takes() -> None:
    states = {ONE: "Owner", TWO: "Claimed"}
    load = apportion(5.5, {ONE: 0.0, TWO: 1.0}, states)
    assert [one.owner for one in load.slots.values()] == [1.0, 3.5]
    assert load.slots[TWO].total == 4.5


def test_a_single_slot_has_the_load_of_the_machine() -> None:
    assert apportion(7.25, {ONE: 0.5}, {ONE: "Claimed"}).slots[ONE].total == 7.25


def test_a_machine_without_slots_has_load_all_the_same() -> None:
    load = apportion(0.5, {}, {})
    assert (load.system, dict(load.slots)) == (0.5, {})


def test_jobs_that_seem_to_make_more_load_than_there_is_leave_none_to_the_owner() -> None:
    load = apportion(0.5, {ONE: 0.5, TWO: 0.5}, {ONE: "Owner", TWO: "Claimed"})
    assert (load.owner, load.slots[ONE].owner) == (0.0, 0.0)


_loads = st.floats(0, 50)


@given(
    system=_loads,
    slots=st.lists(st.tuples(_loads, st.sampled_from(["Owner", "Unclaimed", "Claimed", "Drained"])), min_size=1),
)
def test_all_load_is_handed_out_and_none_twice(system: float, slots: list[tuple[float, str]]) -> None:
    states = {SlotId(number): state for number, (_, state) in enumerate(slots, start=1)}
    condor = {SlotId(number): load for number, (load, _) in enumerate(slots, start=1)}
    load = apportion(system, condor, states)
    assert sum(one.owner for one in load.slots.values()) == pytest.approx(load.owner, abs=1e-9)
    assert all(one.owner >= 0 for one in load.slots.values())
    assert sum(one.owner > 1.0 for one in load.slots.values()) <= 1
    shuffled = apportion(system, condor, dict(reversed(states.items())))
    assert shuffled == load


# -- a job's own load ------------------------------------------------------------------------------------


def test_a_job_that_keeps_a_core_busy_for_a_minute_makes_a_load_of_1() -> None:
    use = CpuUse()
    loads = []
    for _ in range(13):
        use = use.sampled(100.0, since_s=5.0, polling_interval_s=5)
        loads.append(round(use.load(cpus=2, system_load=1.0), 3))
    assert loads[:2] == [0.083, 0.167]
    assert loads[-2:] == [1.0, 1.0]


def test_on_an_overloaded_machine_a_job_s_share_of_time_is_a_share_of_the_load() -> None:
    use = CpuUse().sampled(50.0, since_s=WINDOW_S, polling_interval_s=WINDOW_S)
    assert use.load(cpus=1, system_load=4.0) == 2.0
    assert use.load(cpus=1, system_load=0.25) == 0.25


def test_a_sample_counts_at_least_a_second_and_at_most_a_polling_interval() -> None:
    assert CpuUse().sampled(60.0, since_s=0.2, polling_interval_s=5).mean_percent == 1.0
    assert CpuUse().sampled(60.0, since_s=900.0, polling_interval_s=5).mean_percent == 5.0


def test_what_is_older_than_a_minute_is_forgotten() -> None:
    use = CpuUse().sampled(100.0, since_s=50, polling_interval_s=60)
    use = use.sampled(0.0, since_s=40, polling_interval_s=60)
    assert use.samples == ((40, 0.0), (20, 100.0))
    use = use.sampled(0.0, since_s=60, polling_interval_s=60)
    assert use.samples == ((60, 0.0),)


@given(st.lists(st.tuples(st.floats(0, 800), st.floats(0, 100)), max_size=40), st.integers(1, 120))
def test_the_window_never_holds_more_than_a_minute(samples: list[tuple[float, float]], interval: int) -> None:
    use = CpuUse()
    for percent, since_s in samples:
        use = use.sampled(percent, since_s=since_s, polling_interval_s=interval)
        assert sum(seconds for seconds, _ in use.samples) <= WINDOW_S
        assert 0 <= use.load(cpus=4, system_load=2.0) <= 2.0


# -- idle times ------------------------------------------------------------------------------------------


def test_the_keyboard_is_as_idle_as_the_least_idle_of_all_devices() -> None:
    assert machine_idleness([30.9, 12.0], [7.5, 9.0]) == Idleness(keyboard_s=7, console_s=7)
    assert machine_idleness([3.0], [7.5]) == Idleness(keyboard_s=3, console_s=7)


def test_a_console_that_nobody_can_tell_is_none() -> None:
    idle = machine_idleness([30.0], [])
    assert idle == Idleness(keyboard_s=30, console_s=None)
    connected = connections(configured("SLOTS_CONNECTED_TO_CONSOLE = 0"))
    assert slot_idleness(idle, ONE, connected, now=5, started_at=0).console_s is None
    assert idle.line == "Idle Time: user= 30 , console= -1 seconds"


def test_a_machine_without_terminals_has_been_idle_for_ever() -> None:
    assert machine_idleness([], []).keyboard_s == 2**31 - 1


def test_a_clock_that_went_back_makes_nobody_idle_for_less_than_nothing() -> None:
    assert machine_idleness([-20.0], [-3.0]) == Idleness(keyboard_s=0, console_s=0)
    connected = connections(configured("SLOTS_CONNECTED_TO_KEYBOARD = 0"))
    assert slot_idleness(Idleness(keyboard_s=0, console_s=0), ONE, connected, now=0, started_at=99).keyboard_s == 1200


def test_slots_notice_console_and_keyboard_each_by_its_own_limit() -> None:
    connected = connections(
        configured(
            "SLOTS_CONNECTED_TO_CONSOLE = 2\nSLOTS_CONNECTED_TO_KEYBOARD = 1\nDISCONNECTED_KEYBOARD_IDLE_BOOST = 7"
        )
    )
    idle = Idleness(keyboard_s=1, console_s=2)
    seen = [slot_idleness(idle, slot, connected, now=110.9, started_at=100) for slot in (ONE, TWO, THREE)]
    assert [(one.keyboard_s, one.console_s) for one in seen] == [(1, 2), (17, 2), (17, 17)]


def test_a_dynamic_slot_notices_what_its_parent_notices() -> None:
    connected = connections(configured("SLOTS_CONNECTED_TO_KEYBOARD = 1"))
    idle = Idleness(keyboard_s=1, console_s=2)
    assert slot_idleness(idle, SlotId(1, 9), connected, now=10, started_at=0).keyboard_s == 1
    assert slot_idleness(idle, SlotId(2, 1), connected, now=10, started_at=0).keyboard_s == 1210
