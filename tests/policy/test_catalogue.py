"""The catalogue is complete and agrees with the rest of the program."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
from website.manual import policy as docs

from roost.classad import parse_expression
from roost.classad.refs import mentioned_in
from roost.config.knob import KnobScope, KnobType
from roost.config.knobs import ALL, BY_NAME, find
from roost.policy.attributes import ATTRIBUTES, FAMILIES, attribute_of, attributes_named
from roost.policy.catalogue import FAMILIES as POLICY_FAMILIES
from roost.policy.catalogue import KNOB_POLICIES, POLICIES, USER_POLICIES, VARIANTS, policy_named
from roost.policy.model import AdKind, Attribute, PolicyExpression, Unit, ValueKind
from roost.starter.starter_ad import MEASURED, STATIC

ROOT = Path(__file__).resolve().parents[2]
ROWS = [row for rows in ATTRIBUTES.values() for row in rows] + list(FAMILIES)

#: Knobs that are expressions and no policy over machines, jobs or matches.
NO_POLICY = {
    "max_transfer_input_mb", "max_transfer_output_mb", "collector_requirements",
    "absent_requirements", "daemon_shutdown", "daemon_shutdown_fast", "slotweight",
    "cgroup_hard_memory_limit_expr", "cgroup_soft_memory_limit_expr",
    "enable_ssh_to_job", "dagman_on_exit_remove", "starter_rlimit_as",
}  # fmt: skip


@pytest.mark.parametrize("row", KNOB_POLICIES.values(), ids=lambda row: row.name)
def test_a_policy_knob_has_the_same_default_in_the_table_of_knobs(row: PolicyExpression) -> None:
    knob = BY_NAME[row.name.lower()]
    assert knob.default == row.default
    assert knob.type is KnobType.EXPRESSION


def test_every_knob_that_is_an_expression_is_in_the_catalogue() -> None:
    variants = tuple(suffix.lower() for suffix in VARIANTS)
    missing = [
        knob.name
        for knob in ALL
        if knob.type is KnobType.EXPRESSION
        and not knob.is_pattern
        and knob.name.lower() not in NO_POLICY
        and not knob.name.lower().endswith(variants)
        and knob.name.upper() not in KNOB_POLICIES
    ]
    assert missing == []


def test_expressions_with_variants_have_knobs_for_them() -> None:
    for row in KNOB_POLICIES.values():
        for suffix in VARIANTS:
            knob = BY_NAME.get((row.name + suffix).lower())
            assert (knob is not None) == row.variants, row.name + suffix


@pytest.mark.parametrize("row", POLICIES.values(), ids=lambda row: row.name)
def test_a_row_says_when_it_is_evaluated_and_what_undefined_and_error_mean(row: PolicyExpression) -> None:
    assert row.when
    assert row.when_undefined
    assert row.when_error
    assert row.meaning.endswith(".")
    assert row.source
    assert row.set_by in ("owner", "administrator", "user")
    assert row.unit is Unit.NONE or row.kind in (ValueKind.INTEGER, ValueKind.REAL, ValueKind.NUMBER)


@pytest.mark.parametrize("row", [row for row in POLICIES.values() if row.default], ids=lambda row: row.name)
def test_a_default_is_an_expression_over_known_attributes(row: PolicyExpression) -> None:
    assert row.default is not None
    if row.default.startswith("$("):
        assert row.default[2:-1] in KNOB_POLICIES
        return
    names = mentioned_in(parse_expression(row.default).tree)
    for name in names.plain | names.my | names.target:
        assert attribute_of(name, row.my) or attribute_of(name, row.target), name


def test_attributes_are_keyed_by_folded_name_and_belong_to_a_side_once() -> None:
    for key, rows in ATTRIBUTES.items():
        assert {row.name.lower() for row in rows} == {key}
        sides = [row.side for row in rows]
        assert len(sides) == len(set(sides)), key


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.side}-{row.name}")
def test_an_attribute_row_makes_sense(row: Attribute) -> None:
    assert row.meaning.endswith((".", ".)"))
    assert row.source
    assert row.low is None or row.high is None or row.low < row.high
    assert row.unit is Unit.NONE or row.kind in (ValueKind.INTEGER, ValueKind.REAL, ValueKind.NUMBER)
    assert not row.choices or row.kind is ValueKind.STRING
    assert not (row.always and row.when)
    if row.replaced_by is not None and "<" not in row.replaced_by:
        assert attributes_named(row.replaced_by)


@pytest.mark.parametrize(
    ("name", "side", "kind", "unit"),
    [
        ("memory", AdKind.MACHINE, ValueKind.INTEGER, Unit.MIB),
        ("ImageSize", AdKind.JOB, ValueKind.INTEGER, Unit.KIB),
        ("imagesize", AdKind.STARTER, ValueKind.INTEGER, Unit.KIB),
        ("KeyboardIdle", AdKind.MACHINE, ValueKind.INTEGER, Unit.SECONDS),
        ("ClockMin", AdKind.MACHINE, ValueKind.INTEGER, Unit.MINUTES),
        ("CurrentTime", AdKind.JOB, ValueKind.INTEGER, Unit.INSTANT),
        ("slot3_State", AdKind.MACHINE, ValueKind.STRING, Unit.NONE),
        ("slot1_2_Memory", AdKind.MACHINE, ValueKind.INTEGER, Unit.MIB),
        ("RequestTape", AdKind.JOB, ValueKind.NUMBER, Unit.NONE),
        ("WANT_SUSPEND", AdKind.MACHINE, ValueKind.BOOLEAN, Unit.NONE),
        ("WANT_SUSPEND_VANILLA", AdKind.MACHINE, ValueKind.BOOLEAN, Unit.NONE),
    ],
)
def test_attributes_are_found_by_name(name: str, side: AdKind, kind: ValueKind, unit: Unit) -> None:
    row = attribute_of(name, side)
    assert row is not None
    assert (row.kind, row.unit) == (kind, unit)


@pytest.mark.parametrize("name", ["slot3_Nonsense", "KeyBoardIdleTime", "slot_State", ""])
def test_unknown_names_are_unknown(name: str) -> None:
    assert attributes_named(name) == ()


def test_an_old_family_is_replaced_member_by_member() -> None:
    (row,) = attributes_named("vm2_State")
    assert row.replaced_by == "slot2_State"


def test_policies_are_found_by_variant_and_attribute() -> None:
    assert policy_named("preempt_vanilla") is POLICIES["PREEMPT"]
    assert policy_named("IsOwner") is POLICIES["IS_OWNER"]
    assert policy_named("START_VANILLA") is None
    assert policy_named("Nonsense") is None
    assert USER_POLICIES["RANK"].my is AdKind.JOB
    assert POLICIES["RANK"].my is AdKind.MACHINE


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("SYSTEM_PERIODIC_HOLD_BigJobs", "SYSTEM_PERIODIC_HOLD_<NAME>"),
        ("SYSTEM_PERIODIC_HOLD_BigJobs_REASON", "SYSTEM_PERIODIC_HOLD_<NAME>_REASON"),
        ("SYSTEM_PERIODIC_HOLD_REASON", "SYSTEM_PERIODIC_HOLD_REASON"),
        ("SYSTEM_PERIODIC_REMOVE_Old", "SYSTEM_PERIODIC_REMOVE_<NAME>"),
        ("SUBMIT_REQUIREMENT_HasGroup", "SUBMIT_REQUIREMENT_<NAME>"),
        ("consumption_gpus", "CONSUMPTION_<NAME>"),
    ],
)
def test_a_member_of_a_family_has_the_row_of_the_family(name: str, row: str) -> None:
    found = policy_named(name)
    assert found is not None
    assert found.name == row


def test_the_list_of_a_family_is_no_member_and_the_families_are_knobs() -> None:
    assert policy_named("SYSTEM_PERIODIC_HOLD_NAMES") is None
    assert policy_named("SUBMIT_REQUIREMENT_NAMES") is None
    for row in POLICY_FAMILIES:
        knob = find(row.name.replace("<NAME>", "Sample"))
        assert knob is not None, row.name
        assert knob.type is KnobType.EXPRESSION


def test_everything_a_starter_tells_its_expressions_is_known() -> None:
    unknown = [name for name in (*STATIC, *MEASURED) if attribute_of(name, AdKind.STARTER) is None]
    assert unknown == []


def test_slot_policies_can_be_set_for_a_slot_type() -> None:
    for row in KNOB_POLICIES.values():
        if row.attribute is not None and row.my is AdKind.MACHINE and row.evaluated_by == "startd":
            assert BY_NAME[row.name.lower()].scope is KnobScope.SLOT_TYPE, row.name


def test_every_field_of_the_model_is_documented_by_the_page_or_the_table() -> None:
    assert {field.name for field in fields(PolicyExpression)} == {
        "name", "evaluated_by", "my", "target", "kind", "unit", "default", "variants", "attribute", "submit_command",
        "when", "when_undefined", "when_error", "set_by", "meaning", "source",
    }  # fmt: skip


@pytest.mark.parametrize("path", docs.pages())
def test_generated_pages_are_current(path: str) -> None:
    assert (ROOT / "docs" / path).read_text(encoding="utf-8") == docs.pages()[path], "run `make docs`"


def test_every_policy_and_attribute_is_on_its_page() -> None:
    expressions, attributes = (docs.pages()[f"reference/{name}.md"] for name in ("policy-expressions", "attributes"))
    titles = set(re.findall(r"^### (\S+)$", expressions, re.MULTILINE))
    names = [row.submit_command or row.name for row in (*KNOB_POLICIES.values(), *USER_POLICIES.values())]
    names += [f"`{row.name}`" for row in POLICY_FAMILIES]
    assert titles == set(names)
    assert all(f"| `{row.name}` |" in attributes for row in ROWS)


def test_a_knob_has_one_row_with_its_meaning_and_default():
    knobs = {row.name.upper(): row for row in ALL}
    own = {
        "SYSTEM_PERIODIC_HOLD_<NAME>_REASON",
        "SYSTEM_PERIODIC_HOLD_<NAME>_SUBCODE",
        "SUBMIT_REQUIREMENT_<NAME>_REASON",
    }
    rows = {**KNOB_POLICIES, **{row.name.upper(): row for row in POLICY_FAMILIES}}
    assert set(rows) - set(knobs) == own
    for name in set(rows) - own:
        assert (rows[name].meaning, rows[name].default) == (knobs[name].meaning, knobs[name].default)
