"""Another layout for a machine at work: which slots stay, and which numbers new ones get."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from roost.model.slots import SlotShape
from roost.startd.layout.change import PresentLayout, relayout
from roost.startd.layout.layout import Layout
from roost.startd.layout.problems import LayoutCode, LayoutRefused
from tests.startd.layout_cases import configured, laid_out, reading

_TYPED = "SLOT_TYPE_1 = cpus=1, 1/8\nSLOT_TYPE_2 = cpus=2, 1/4\n"


def typed(first: int, second: int = 0) -> str:
    return f"{_TYPED}NUM_SLOTS_TYPE_1 = {first}\nNUM_SLOTS_TYPE_2 = {second}\n"


def present(layout: Layout, held: dict[int, float] | None = None) -> PresentLayout:
    return PresentLayout(
        resources=layout.resources, slots={each.number: each for each in layout.slots}, held=held or {}
    )


def changed(before: PresentLayout, text: str, cores: int = 8) -> dict[int, SlotShape]:
    layout = relayout(before, configured(text, cores, 4096), reading(cores, 4096))
    assert isinstance(layout, Layout), str(layout)
    assert layout.resources == before.resources
    return {each.number: each for each in layout.slots}


def of(text: str, held: dict[int, float] | None = None) -> PresentLayout:
    return present(laid_out(text, 8, 4096), held)


def test_the_same_configuration_changes_nothing() -> None:
    before = of(typed(2, 1), {1: 0.0})
    assert changed(before, typed(2, 1)) == before.slots


def test_slots_of_a_type_come_beside_those_of_others_which_keep_their_numbers() -> None:
    before = of(typed(2, 1))
    after = changed(before, typed(4, 1))
    assert {number: each.type_id for number, each in after.items()} == {1: 1, 2: 1, 3: 2, 4: 1, 5: 1}
    assert {number: after[number] for number in before.slots} == before.slots


def test_of_too_many_slots_free_ones_go_first_then_those_with_jobs_of_lower_rank() -> None:
    assert set(changed(of(typed(4)), typed(2))) == {1, 2}
    assert set(changed(of(typed(4), {3: 0.0}), typed(2))) == {1, 3}
    assert set(changed(of(typed(4), {2: 1.0, 3: 5.0, 4: 2.0}), typed(2))) == {3, 4}
    assert set(changed(of(typed(4), {1: 1.0, 2: 1.0, 4: 1.0}), typed(1))) == {1}


@pytest.mark.parametrize(
    "held", [dict.fromkeys(each, 0.0) for count in range(5) for each in combinations((1, 2, 3, 4), count)]
)
def test_shares_of_all_change_with_the_number_of_slots(held: dict[int, float]) -> None:
    after = changed(of("NUM_SLOTS = 4", held), "NUM_SLOTS = 2")
    assert {number: each.cpus for number, each in after.items()} == {1: 4, 2: 4}


def test_a_slot_of_another_type_does_not_wait_for_the_number_of_one_that_goes() -> None:
    after = changed(of(typed(2), {1: 0.0}), typed(0, 2))
    assert {number: each.type_id for number, each in after.items()} == {2: 2, 3: 2}
    assert set(changed(of(typed(2)), typed(0, 2))) == {1, 2}, "they are free"


def test_a_slot_that_finds_no_room_before_another_goes_takes_its_number() -> None:
    after = changed(of("SLOT_TYPE_1 = 100%\nNUM_SLOTS_TYPE_1 = 1", {1: 0.0}), typed(0, 2))
    assert {number: each.type_id for number, each in after.items()} == {1: 2, 2: 2}


def test_another_definition_of_a_type_is_for_the_slots_of_that_type() -> None:
    before = of(typed(1, 1))
    after = changed(before, typed(1, 1).replace("cpus=1", "cpus=3"))
    assert {number: each.cpus for number, each in after.items()} == {1: 3, 2: 2}
    assert after[2] == before.slots[2]


def test_an_impossible_layout_is_refused_whole_with_its_cause() -> None:
    refused = relayout(of(typed(2)), configured(typed(9), 8, 4096), reading(8, 4096))
    assert isinstance(refused, LayoutRefused)
    assert [each.code for each in refused.problems] == [LayoutCode.EXCEEDED]
    assert "slot of type 1 number 9 of 9" in str(refused)


def test_slots_stay_as_they_are_where_there_is_something_else_to_divide() -> None:
    before = of(typed(2))
    assert changed(before, typed(4) + "NUM_CPUS = 6\n") == before.slots
    refused = relayout(before, configured("NUM_SLOTS = 8\nNUM_CPUS = 6", 8, 4096), reading(8, 4096))
    assert isinstance(refused, LayoutRefused), "it would keep the next start from succeeding"


def test_what_sensors_find_later_is_no_reason_for_another_layout() -> None:
    before = of("NUM_SLOTS = 4")
    layout = relayout(before, configured("NUM_SLOTS = 4", 8, 4096), reading(8, 3000))
    assert isinstance(layout, Layout)
    assert {each.number: each for each in layout.slots} == before.slots


def test_units_go_with_the_slots_that_have_them() -> None:
    text = "MACHINE_RESOURCE_GPUS = A, B, C, D\nSLOT_TYPE_1 = cpus=1, gpus=1, 1/8\nNUM_SLOTS_TYPE_1 = "
    before = of(f"{text}4\n")
    after = changed(before, f"{text}2\n")
    assert [each.assigned for each in after.values()] == [{"GPUS": ("A",)}, {"GPUS": ("B",)}]
    assert after == {number: replace(before.slots[number]) for number in (1, 2)}
