"""The knob table is sound, finds the row of a name, and its pages are up to date."""

from __future__ import annotations

from pathlib import Path

import pytest

from roost.config import Code, KnobType, MemoryHost, Span, load_text
from roost.config.diagnostics import CODES
from roost.config.knob import Knob
from roost.config.knobs import ALL, BY_NAME, DEFAULTS, find, replacement, slot_prefixed
from roost.config.suggest import near
from roost.config.values import Reading, problem_of

PAGES_DIRECTORY = Path(__file__).parents[2] / "docs" / "reference"
_DETECTED = {"DETECTED_CPUS_LIMIT": "4", "FULL_HOSTNAME": "h.example.org", "HOME": "/home/u"}


def test_names_are_unique() -> None:
    names = [row.name.lower() for row in ALL]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("row", [row for row in ALL if row.default is not None], ids=lambda row: row.name)
def test_a_default_is_a_value_of_its_knob(row: Knob) -> None:
    config = load_text("", MemoryHost())
    text = row.default or ""
    for name, value in _DETECTED.items():
        text = text.replace(f"$({name})", value)
    expanded = config.expand(text)
    reading = Reading(name=row.name, text=expanded, span=Span("<default>"), knob=row, host=config.host)
    assert problem_of(reading) is None


@pytest.mark.parametrize("row", ALL, ids=lambda row: row.name)
def test_a_row_says_what_it_means_in_a_sentence(row: Knob) -> None:
    assert row.meaning.endswith(".")
    assert row.low is None or row.high is None or row.low <= row.high


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("start", "START"),
        ("STARTD.START", "START"),
        ("SLOT_TYPE_3_START", "START"),
        ("SLOT_TYPE_3", "SLOT_TYPE_<N>"),
        ("slot4_startd_attrs", "STARTD_ATTRS"),
        ("SLOT_TYPE_1_PARTITIONABLE", "SLOT_TYPE_<N>_PARTITIONABLE"),
        ("DB_HOOK_FETCH_WORK", "<KEYWORD>_HOOK_FETCH_WORK"),
        ("GROUP_QUOTA_physics.hep", None),
        ("sw_LIMIT", "<NAME>_LIMIT"),
        ("MyMacro", None),
        ("SLOT1_colour", "SLOT<N>_<ATTR>"),
    ],
)
def test_a_name_is_found_with_its_prefixes(name: str, row: str | None) -> None:
    found = find(name)
    assert (found.name if found else None) == row


def test_a_knob_without_a_slot_form_is_told_from_one_with_it() -> None:
    row = slot_prefixed("SLOT1_START")
    assert row is not None
    assert row.name == "START"
    assert slot_prefixed("SLOT1_EXECUTE") is None
    assert slot_prefixed("SLOT1_colour") is None


def test_old_names_have_their_replacement() -> None:
    assert replacement("VM2_EXECUTE") == "SLOT2_EXECUTE"
    assert replacement("NUM_VIRTUAL_MACHINES") == "NUM_SLOTS"
    assert replacement("HOSTALLOW_WRITE") == "ALLOW_WRITE"
    assert replacement("DB_HOOK_FETCH_JOB") == "DB_HOOK_FETCH_WORK"
    assert replacement("VM2_STARTD_EXPRS") == "SLOT2_STARTD_ATTRS"
    assert replacement("JOB_EXPRS") == "STARTD_JOB_ATTRS"
    assert replacement("IS_VALID_CHECKPOINT_PLATFORM") is None  # part of Requirements where it is set
    assert replacement("PERIODIC_CHECKPOINT") is None  # the execute machine still asks it
    assert replacement("START") is None


def test_near_misses_are_one_slip_away_and_known_names_are_none() -> None:
    assert near("WANTS_SUSPEND") == "WANT_SUSPEND"
    assert near("POLING_INTERVAL") == "POLLING_INTERVAL"
    assert near("POLLINGINTERVAL") == "POLLING_INTERVAL"
    assert near("MyOwnMacro") is None
    assert all(near(name) is None for name in BY_NAME)


def test_every_code_is_in_the_catalogue() -> None:
    assert set(CODES) == set(Code)


def test_macros_of_the_table_have_defaults_or_are_set_at_start() -> None:
    assert all(
        row.type is not KnobType.MACRO or row.name.lower() in DEFAULTS or row.reload in ("preset", "restart")
        for row in ALL
    )
