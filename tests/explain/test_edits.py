"""Changes of a job that would make it fit, and rejections in words."""

from __future__ import annotations

from typing import Any

import pytest

from roost.classad import ClassAd, FixedWorld
from roost.explain.edits import Kind, Matcher, when_free
from roost.explain.refusals import refusing
from roost.explain.verdict import Verdict, verdict
from roost.policy.explain import explain

SLOT = {"Name": "slot1@m", "Memory": 1000, "Cpus": 2, "Colour": "green"}
WORLD = FixedWorld(instant=0.0, offset=0)


def ad(text: str, **more: Any) -> ClassAd:
    found = ClassAd(more)
    found.set("Requirements", text)
    return found


def found(job: ClassAd, *slots: ClassAd, policy: str = "") -> Verdict:
    names = [str(slot["Name"]) for slot in slots]
    source = {"name": "NEGOTIATOR_PE_RESOURCE_EXPR", "text": policy, "place": ""} if policy else None
    record = {
        "at": 0.0, "zone_offset_s": 0, "text": "no match found", "slots": len(slots), "served": [],
        "causes": [{"cause": "job-requirements", "count": len(slots), "slots": names}],
        "sources": {"pool-policy-resource": source},
    }  # fmt: skip
    return verdict(job, record, dict(zip(names, slots, strict=True)), lambda name: {})


@pytest.mark.parametrize(
    ("requirements", "job", "kinds", "edit"),
    [
        ("TARGET.Memory >= RequestMemory", {"RequestMemory": 5000}, {Kind.LOWERED}, {"RequestMemory": "1000"}),
        ("TARGET.Memroy > 10", {}, {Kind.RENAMED}, {"Requirements": "TARGET.Memory > 10"}),
        ('TARGET.Colour == "red" && TARGET.Cpus == 2', {}, {Kind.LEFT_OUT},
         {"Requirements": "true && TARGET.Cpus == 2"}),
        ("TARGET.Foos >= RequestFoos", {"RequestFoos": 1}, {Kind.DROPPED, Kind.LEFT_OUT},
         {"RequestFoos": "0", "Requirements": "true"}),
    ],
)  # fmt: skip
def test_a_change_is_offered_that_makes_the_job_fit(
    requirements: str, job: dict[str, Any], kinds: set[Kind], edit: dict[str, str]
) -> None:
    wanted = ad(requirements, **job)
    change = found(wanted, ad("true", **SLOT)).edit
    assert change is not None and {each.kind for each in change.changes} == kinds
    assert {each.attribute: each.text for each in change.changes} == edit
    for name, text in edit.items():
        wanted.set(name, text)
    assert wanted.symmetric_match(ad("true", **SLOT), WORLD)


def test_of_two_slots_the_one_is_offered_that_less_has_to_be_given_up_for() -> None:
    slots = [ad("true", **SLOT), ad("true", **SLOT | {"Name": "slot2@m", "Memory": 3000})]
    change = found(ad("TARGET.Memory >= RequestMemory", RequestMemory=5000), *slots).edit
    assert change is not None and (change.slot, change.changes[0].text) == ("slot2@m", "3000")


def test_what_the_slot_demands_of_the_job_is_set() -> None:
    change = found(ad("TARGET.Memory > 2000"), ad('TARGET.Team =?= "a"', **SLOT | {"Memory": 3000})).edit
    assert change is not None and {each.attribute: each.text for each in change.changes} == {"Team": '"a"'}


def test_a_change_that_the_pools_policy_forbids_is_not_offered() -> None:
    job = ad("TARGET.Memory >= RequestMemory", RequestMemory=5000)
    assert found(job, ad("true", **SLOT), policy="TARGET.RequestMemory > 2000").edit is None
    assert found(job, ad("true", **SLOT), policy="TARGET.RequestMemory > 500").edit is not None


def test_no_change_is_offered_where_the_owner_alone_decides() -> None:
    assert found(ad("TARGET.Cpus > 9"), ad("MY.Cpus > 9", **SLOT)).edit is None


def test_a_partitionable_slot_that_is_too_full_is_told_from_one_that_is_too_small() -> None:
    slot = ad("true", **SLOT, PartitionableSlot=True, TotalSlotMemory=4000, TotalSlotCpus=2)
    test = Matcher(world=WORLD, policies=())
    assert when_free(ad("TARGET.Memory >= 3000"), slot, test)
    assert not when_free(ad("TARGET.Memory >= 5000"), slot, test)
    full = found(ad("TARGET.Memory >= RequestMemory", RequestMemory=3000), slot)
    assert (full.when_free, full.edit, full.nearest) == (["slot1@m"], None, None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("A || B", "neither A nor B"), ("A || B || C", "none of A, B, C"), ("A && T", "A"), ("!(T && U)", "T and U"),
        ("A || !T", "A (FALSE), T (TRUE)"),
    ],
)  # fmt: skip
def test_clauses_that_reject_together_are_not_said_to_be_joined_in_another_way(text: str, said: str) -> None:
    mine = ClassAd({"A": False, "B": False, "C": False, "T": True, "U": True})
    assert refusing(explain(text, mine)) == said


def test_no_change_of_a_fixed_attribute_is_offered() -> None:
    mine = ClassAd({"State": "Owner", "Idle": 3})
    free = explain('Idle > 9 || State != "Owner"', mine)
    fixed = explain('Idle > 9 || State != "Owner"', mine, fixed=("STATE",))
    assert [each.subject for each in free.changes] == ["Idle"] == [each.subject for each in fixed.changes]
    assert explain('State != "Owner"', mine, fixed=("state",)).changes == ()
