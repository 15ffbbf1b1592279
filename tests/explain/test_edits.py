"""Changes of a job that would make it fit, and rejections in words."""

from __future__ import annotations

from typing import Any

import pytest

from roost.classad import ClassAd, FixedWorld
from roost.explain.causes import Cause, causes_of
from roost.explain.edits import EditKind, Matcher, whole_of
from roost.explain.refusals import refusing
from roost.explain.verdict import Verdict, verdict
from roost.model.cycle_answers import JobInCycle
from roost.policy.explain import explain
from roost.wire.structs import read

SLOT = {"Name": "slot1@m", "Memory": 1000, "Cpus": 2, "Colour": "green"}
WORLD = FixedWorld(instant=0.0, offset=0)


def ad(text: str, **more: Any) -> ClassAd:
    found = ClassAd(more)
    found.set("Requirements", text)
    return found


def found(job: ClassAd, *slots: ClassAd, policy: str = "", cause: str = "job-requirements") -> Verdict:
    names = [str(slot["Name"]) for slot in slots]
    source = {"name": "NEGOTIATOR_PE_RESOURCE_EXPR", "text": policy, "place": ""} if policy else None
    record = {
        "at": 0.0, "zone_offset_s": 0, "text": "no match found", "slots": len(slots), "served": [],
        "causes": [{"cause": cause, "count": len(slots), "slots": names, "holders": {}}], "weight": 1.0, "knob": None,
        "sources": {"pool-policy-resource": source}, "submitter": "ann@x", "group": None, "given": [], "besides": {},
        "limits": [], "ceilings": [],
    }  # fmt: skip
    answer = read(JobInCycle, record, "record", strict=True)
    return verdict(job, answer, dict(zip(names, slots, strict=True)), lambda name: {})


@pytest.mark.parametrize(
    ("requirements", "job", "kinds", "edit"),
    [
        ("TARGET.Memory >= RequestMemory", {"RequestMemory": 5000}, {EditKind.LOWERED}, {"RequestMemory": "1000"}),
        ("TARGET.Memroy > 10", {}, {EditKind.RENAMED}, {"Requirements": "TARGET.Memory > 10"}),
        ('TARGET.Colour == "red" && TARGET.Cpus == 2', {}, {EditKind.LEFT_OUT},
         {"Requirements": "true && TARGET.Cpus == 2"}),
        ("TARGET.Foos >= RequestFoos", {"RequestFoos": 1}, {EditKind.DROPPED, EditKind.LEFT_OUT},
         {"RequestFoos": "0", "Requirements": "true"}),
    ],
)  # fmt: skip
def test_a_change_is_offered_that_makes_the_job_fit(
    requirements: str, job: dict[str, Any], kinds: set[EditKind], edit: dict[str, str]
) -> None:
    wanted = ad(requirements, **job)
    change = found(wanted, ad("true", **SLOT)).edit
    assert change is not None and {each.kind for each in change.changes} == kinds
    assert {each.attribute: each.text for each in change.changes} == edit
    for name, text in edit.items():
        wanted.set(name, text)
    assert wanted.symmetric_match(ad("true", **SLOT), WORLD)


def test_a_job_that_waits_for_a_time_is_told_when_it_comes() -> None:
    """The only advice was to leave the time out."""
    early, late = ad("CurrentTime >= 500", **SLOT), ad("true", **SLOT | {"Name": "slot2@m"})
    assert found(ad("time() > 300 && MY.Prio =!= 3"), late, early).later == (301.0, "slot2@m")
    assert found(ad("time() > 300"), early).later == (500.0, "slot1@m")
    assert found(ad("time() < -5"), late).later is None
    # Both have to be true, and the second never is.
    assert found(ad('time() > 300 && TARGET.Colour == "red"'), late).later is None


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
    whole = whole_of(slot)
    assert whole is not None and whole_of(ad("true", **SLOT)) is None
    assert test.fits(ad("TARGET.Memory >= 3000"), whole)
    assert not test.fits(ad("TARGET.Memory >= 5000"), whole)
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


def parts() -> tuple[ClassAd, ClassAd]:
    """A partitionable slot of 4 cores and 2 GPUs, and the dynamic slot that has half of the cores and all GPUs."""
    shared = {"START": True, "WithinResourceLimits": True}
    rest = ad(
        "START && WithinResourceLimits", Name="slot1@m", SlotType="Partitionable", PartitionableSlot=True,
        Cpus=2, GPUs=0, TotalSlotCpus=4, TotalSlotGPUs=2, **shared,
    )  # fmt: skip
    used = ad("START && WithinResourceLimits", Name="slot1_1@m", SlotType="Dynamic", Cpus=2, GPUs=2, **shared)
    for each in (rest, used):
        each.set("WithinResourceLimits", "TARGET.RequestCpus <= MY.Cpus && TARGET.RequestGPUs <= MY.GPUs")
    return rest, used


NEEDS = "TARGET.Cpus >= RequestCpus && TARGET.GPUs >= RequestGPUs"


@pytest.mark.parametrize("cause", ["job-requirements", "slot-requirements"])
@pytest.mark.parametrize(("cpus", "gpus"), [(1, 1), (4, 0), (4, 2)])
def test_what_others_have_of_a_slot_is_waited_for(cpus: int, gpus: int, cause: str) -> None:
    requirements = NEEDS if cause == "job-requirements" else "true"
    why = found(ad(requirements, RequestCpus=cpus, RequestGPUs=gpus), *parts(), cause=cause)
    assert why.when_free == ["slot1@m"]
    assert (why.edit, why.nearest, why.others) == (None, None, [])
    assert not {Cause.NO_SUCH_RESOURCE, Cause.REQUEST_TOO_LARGE} & set(causes_of(why))


def test_a_request_that_is_larger_than_all_of_a_slot_is_lowered_to_all_of_it() -> None:
    why = found(ad(NEEDS, RequestCpus=1, RequestGPUs=3), *parts())
    assert why.edit is not None and (why.edit.slot, why.others, why.when_free) == ("slot1@m", [], [])
    assert [(each.attribute, each.text) for each in why.edit.changes] == [("RequestGPUs", "2")]
    assert why.nearest is not None and why.nearest.changes == ["TARGET.GPUs were >= 3 (is 2)"]


def test_what_is_required_of_units_is_not_just_left_out() -> None:
    job = ad(
        f"{NEEDS} && countMatches(MY.RequireGPUs, TARGET.AvailableGPUs) >= RequestGPUs", RequestCpus=1, RequestGPUs=1
    )
    job.set("RequireGPUs", "Capability > 5")
    why = found(job, *parts())
    assert (why.edit, why.others) == (None, [])
    assert Cause.NO_SUCH_RESOURCE not in causes_of(why)
