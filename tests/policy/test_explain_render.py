"""Explanations as text and as JSON."""

from __future__ import annotations

import json
from itertools import pairwise
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.classad import UNDEFINED, ClassAd
from roost.policy.explain import Origin, explain
from roost.policy.render import render_json, render_text

MACHINE = ClassAd({"KeyboardIdle": 12, "LoadAvg": 0.1, "State": "Owner"})
MACHINE.set("START", 'KeyboardIdle > 15 * 60 && (LoadAvg <= 0.3 || State != "Owner")')

PARTS = ("KeyboardIdle > 5", "X", "(LoadAvg < 1.0 || START)", "!START", '"é\n" == State')


def test_a_clause_is_underlined_and_its_reason_stands_below() -> None:
    explanation = explain(MACHINE["START"], MACHINE, name="START", origin=Origin(file="pool.config", line=12))
    assert render_text(explanation) == dedent(
        """\
        START is FALSE [pool.config:12]

            KeyboardIdle > 15 * 60 && (LoadAvg <= 0.3 || State != "Owner")
            ^^^^^^^^^^^^^^^^^^^^^^
            FALSE: KeyboardIdle is 12, 15 * 60 is 900

        It would be TRUE if KeyboardIdle were > 900 (is 12).
        """
    )


def test_definitions_follow_in_blocks_of_their_own() -> None:
    origins = {"START": Origin(file="POLICY:Desktop", line=2, via="used at pool.config:1")}
    text = render_text(explain('START || TARGET.Owner == "ada"', MACHINE, ClassAd({"Owner": "bob"}), origins=origins))
    assert text == dedent(
        """\
        The expression is FALSE

            START || TARGET.Owner == "ada"
            ^^^^^    ^^^^^^^^^^^^^^^^^^^^^
            |        FALSE: TARGET.Owner is "bob"
            FALSE, see below

        START is FALSE [POLICY:Desktop:2 (used at pool.config:1)]
            KeyboardIdle > 15 * 60 && (LoadAvg <= 0.3 || State != "Owner")
            ^^^^^^^^^^^^^^^^^^^^^^
            FALSE: KeyboardIdle is 12, 15 * 60 is 900

        It would be TRUE if KeyboardIdle were > 900 (is 12).
        It would be TRUE if TARGET.Owner were "ada" (is "bob").
        """
    )


def test_a_long_expression_is_broken_before_its_outer_operators() -> None:
    text = render_text(explain("KeyboardIdle > 15 && LoadAvg <= 0.3 && State != State || LoadAvg > 1.0", MACHINE), 48)
    assert text.splitlines()[2:8] == [
        "    KeyboardIdle > 15 && LoadAvg <= 0.3",
        "    ^^^^^^^^^^^^^^^^^",
        "    FALSE: KeyboardIdle is 12",
        "      && State != State || LoadAvg > 1.0",
        "                           ^^^^^^^^^^^^^",
        "                           FALSE: LoadAvg is 0.1",
    ]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(PARTS), min_size=1),
    st.lists(st.sampled_from([" && ", " || ", "\n&&\t"]), min_size=9),
    st.integers(0, 120),
)
def test_every_underlined_piece_belongs_to_the_text_above_it(parts: list[str], joints: list[str], width: int) -> None:
    text = parts[0] + "".join(joint + part for joint, part in zip(joints, parts[1:], strict=False))
    explanation = explain(text, MACHINE)
    lines = render_text(explanation, width).splitlines()
    assert all("\t" not in line for line in lines)
    shown = 0
    for above, line in pairwise(lines):
        if line.strip(" ^") == "" and "^" in line:
            assert len(line) <= len(above)
            shown += 1
    assert shown


def test_json_has_the_documented_shape() -> None:
    document = json.loads(render_json(explain("START && X", MACHINE, name="S")))
    assert set(document) == {
        "version", "name", "expression", "value", "origin", "clauses", "also", "also_together", "changes",
        "changed", "truncated",
    }  # fmt: skip
    assert document["version"] == 1
    assert document["value"] == {"type": "boolean", "text": "false", "value": False}
    (clause,) = document["clauses"]
    assert set(clause) == {"text", "span", "value", "role", "path", "operands", "attributes", "change"}
    assert set(clause["path"][0]) == {"name", "side", "span", "expression", "value", "origin"}
    assert set(clause["operands"][0]) == {"text", "value", "constant"}
    assert set(clause["attributes"][0]) == {"name", "side", "value", "expression", "origin"}
    assert set(clause["change"]) == {
        "subject", "side", "relation", "bound", "now", "example", "clause", "result",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (UNDEFINED, {"type": "undefined", "text": "undefined", "value": None}),
        (float("inf"), {"type": "real", "text": 'real("INF")', "value": None}),
        (2.5, {"type": "real", "text": "2.5", "value": 2.5}),
        ("a\nb", {"type": "string", "text": '"a\nb"', "value": "a\nb"}),
    ],
)
def test_json_values_have_type_text_and_plain_form(value: object, shown: object) -> None:
    assert json.loads(render_json(explain("X", ClassAd({"X": value}))))["value"] == shown
