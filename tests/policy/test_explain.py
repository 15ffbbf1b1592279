"""What an explanation says besides its deciding clauses: names followed, attributes, places, changes, limits."""

from __future__ import annotations

import pytest

from roost.classad import ERROR, UNDEFINED, ClassAd, FixedWorld
from roost.classad.errors import ParseError
from roost.policy.explain import Explanation, Origin, UsedSide, explain

WORLD = FixedWorld(instant=10_000.0)


def machine(**attributes: object) -> ClassAd:
    ad = ClassAd({"KeyboardIdle": 12, "LoadAvg": 0.5, "CondorLoadAvg": 0.25, "State": "Owner", **attributes})
    ad.set("START", '(KeyboardIdle > 15 * 60) && (LoadAvg <= 0.3 || State != "Owner")')
    ad.set("StateTimer", "time() - EnteredCurrentState")
    return ad


def texts(explanation: Explanation) -> list[str]:
    return [clause.text for clause in explanation.clauses]


def test_a_name_defined_by_an_expression_is_followed_and_the_way_there_is_kept() -> None:
    explanation = explain("START =?= False", machine(), origins={"start": Origin(file="pool.config", line=7)})
    assert explanation.value is True
    (clause,) = explanation.clauses
    assert clause.text == "KeyboardIdle > 15 * 60"
    (step,) = clause.path
    assert (step.name, step.side, step.value, step.span) == ("START", UsedSide.MY, False, (0, 5))
    assert step.text[clause.span[0] : clause.span[1]] == clause.text
    assert str(step.origin) == "pool.config:7"


def test_a_definition_in_the_other_ad_sees_the_ads_the_other_way_round() -> None:
    job = ClassAd({"RequestMemory": 4096})
    job.set("Requirements", "TARGET.Memory >= RequestMemory && MY.Owner is undefined")
    explanation = explain("TARGET.Requirements", machine(Memory=2048), job)
    (clause,) = explanation.clauses
    assert [(used.name, used.side) for used in clause.attributes] == [
        ("Memory", UsedSide.MY),
        ("RequestMemory", UsedSide.TARGET),
    ]
    assert explanation.changes[0].side in (UsedSide.MY, UsedSide.TARGET)


def test_attributes_are_listed_through_definitions_with_their_places() -> None:
    ad = machine(EnteredCurrentState=9_990)
    origins = {"StateTimer": Origin(file="a", line=1), "enteredcurrentstate": Origin(file="b", line=2)}
    (clause,) = explain("StateTimer > 3600", ad, world=WORLD, origins=origins).clauses
    assert [(used.name, used.value, used.text, str(used.origin)) for used in clause.attributes] == [
        ("StateTimer", 10, "time() - EnteredCurrentState", "a:1"),
        ("EnteredCurrentState", 9_990, None, "b:2"),
    ]


def test_both_operands_of_a_comparison_are_given_with_their_values() -> None:
    (clause,) = explain("LoadAvg - CondorLoadAvg <= 0.1 + 0.1", machine()).clauses
    assert [(operand.text, operand.value, operand.constant) for operand in clause.operands] == [
        ("LoadAvg - CondorLoadAvg", 0.25, False),
        ("0.1 + 0.1", 0.2, True),
    ]


def test_the_clock_is_no_constant() -> None:
    (clause,) = explain("time() > 5", machine(), world=WORLD).clauses
    assert [operand.constant for operand in clause.operands] == [False, True]


def test_attributes_that_are_not_there_are_nowhere() -> None:
    explanation = explain('TARGET.Owner == "ada" && Missing', machine(), ClassAd())
    assert [(used.name, used.side) for clause in explanation.clauses for used in clause.attributes] == [
        ("TARGET.Owner", UsedSide.NOWHERE),
        ("Missing", UsedSide.NOWHERE),
    ]


def test_a_circle_of_names_is_undefined_and_does_not_last() -> None:
    ad = ClassAd()
    ad.set("a", "b || false")
    ad.set("b", "a && true")
    explanation = explain("a", ad)
    assert explanation.value is UNDEFINED
    assert {clause.text for clause in explanation.clauses} >= {"a"}


@pytest.mark.parametrize(
    ("text", "subject", "relation", "bound", "example"),
    [
        ("KeyboardIdle > 900", "KeyboardIdle", ">", 900, 901),
        ("900 < KeyboardIdle", "KeyboardIdle", ">", 900, 901),
        ("KeyboardIdle >= 900", "KeyboardIdle", ">=", 900, 900),
        ("!(KeyboardIdle < 900)", "KeyboardIdle", ">=", 900, 900),
        ("LoadAvg < 0.3", "LoadAvg", "<", 0.3, pytest.approx(0.29)),
        ('State == "Claimed"', "State", "==", "Claimed", "Claimed"),
        ('State != "Owner"', "State", "!=", "Owner", ""),
        ("IsDesktop", "IsDesktop", "==", True, True),
        ("IsDesktop =?= True", "IsDesktop", "is", True, True),
        ("State is undefined", "State", "is", UNDEFINED, UNDEFINED),
    ],
)
def test_what_would_make_a_comparison_true(
    text: str, subject: str, relation: str, bound: object, example: object
) -> None:
    explanation = explain(text, machine())
    (change,) = explanation.changes
    assert (change.subject, change.relation, change.bound, change.example) == (subject, relation, bound, example)
    assert explanation.value is not True
    assert change.result is True
    assert explanation.changed is True


def test_a_change_takes_account_of_other_clauses_that_read_the_same_attribute() -> None:
    explanation = explain("KeyboardIdle > 900 && KeyboardIdle < 100", machine())
    assert explanation.clauses[0].change is not None
    assert explanation.clauses[0].change.result is False
    assert explanation.changes == ()


def test_the_fewest_changes_are_named() -> None:
    explanation = explain('(LoadAvg < 0.1 && KeyboardIdle > 900) || State == "Claimed"', machine())
    assert [change.subject for change in explanation.changes] == ["State"]


def test_other_clauses_that_would_decide_the_same_are_mentioned() -> None:
    explanation = explain('KeyboardIdle > 900 && true && LoadAvg < 0.1 && State == "Owner"', machine())
    assert texts(explanation) == ["KeyboardIdle > 900"]
    assert [[clause.text for clause in some] for some in explanation.also] == [["LoadAvg < 0.1"]]


def test_a_call_is_one_clause() -> None:
    (clause,) = explain('stringListMember(State, "Claimed,Busy")', machine()).clauses
    assert clause.text == 'stringListMember(State, "Claimed,Busy")'
    assert clause.change is None


@pytest.mark.parametrize("text", ["1/0", "random(0) || true", "{1}[3]", "X.y", "[a = 1].a", '"a" + 1', "error"])
def test_anything_that_is_no_logic_is_one_clause(text: str) -> None:
    assert texts(explain(text, machine())) == [text]


def test_an_expression_that_is_too_large_keeps_its_value() -> None:
    text = " + ".join(["1"] * 60_000)
    explanation = explain(text)
    assert explanation.truncated
    assert explanation.value == 60_000
    assert explanation.clauses == ()


def test_clauses_that_are_enough_only_together_are_named_together() -> None:
    explanation = explain("(KeyboardIdle > 900 || LoadAvg > 5) && Foo =?= 1 && Bar =?= 2", machine())
    assert texts(explanation) == ["Foo =?= 1"]
    assert [[clause.text for clause in some] for some in explanation.also] == [
        ["KeyboardIdle > 900", "LoadAvg > 5"],
        ["Bar =?= 2"],
    ]


def test_deep_expressions_are_explained() -> None:
    explanation = explain("!(" * 450 + "State is error" + ")" * 450, machine())
    assert texts(explanation) == ["State is error"]


def test_long_chains_are_explained() -> None:
    explanation = explain(" && ".join(f"KeyboardIdle != -{number}" for number in range(5_000)), machine())
    assert len(explanation.clauses) == 5_000
    assert all(clause.change is None for clause in explanation.clauses)


def test_a_text_that_is_no_expression_is_refused() -> None:
    with pytest.raises(ParseError):
        explain("a &&")


def test_error_is_explained_by_the_clause_that_is_error() -> None:
    explanation = explain("KeyboardIdle == 12 && State > 5 && LoadAvg > 3", machine())
    assert explanation.value is ERROR
    assert [(clause.text, clause.role) for clause in explanation.clauses] == [
        ("KeyboardIdle == 12", "condition"),
        ("State > 5", "cause"),
    ]


def test_a_value_that_no_clause_changes_is_explained_by_the_whole_expression() -> None:
    [clause] = explain("undefined == (Foo && Bar)", machine()).clauses
    assert clause.text == "undefined == (Foo && Bar)"
