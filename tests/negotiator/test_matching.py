from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from roost.classad import Expr
from roost.classad.vector import Table
from roost.negotiator.limits import maximum, parse_limits
from roost.negotiator.reach import significant
from roost.negotiator.serving import FULL_TEXT
from roost.negotiator.settings import LimitSettings, NegotiatorSettings, PolicySettings
from tests.negotiator.kit import NOW, claimed, demand, given, job, plan, slot

OPEN = NegotiatorSettings(preemption_requirements=Expr.parse("true"))


def only(found):
    (match,) = found.matches
    return match.slot, match.preempts, match.holder


def text(found, number=1):
    return found.rejected["queue", number].text


# -- preemption --------------------------------------------------------------------------------------


def test_a_slot_whose_rank_is_higher_for_the_job_is_taken_whatever_preemption_requirements_say():
    slots = [claimed("a", "bob@x", Rank='=TARGET.Owner == "ann"')]
    assert only(plan(slots, demand("ann@x", (job(), 1)))) == ("a", "rank", "bob@x")
    assert text(plan(slots, demand("cid@x", (job(Owner="cid"), 1)))) == "no match found"


def test_priority_takes_a_slot_only_from_a_user_with_worse_priority_and_if_the_pool_agrees():
    slots, ann = [claimed("a", "bob@x")], demand("ann@x", (job(), 1))
    worse = {"bob@x": 10.0}
    assert only(plan(slots, ann, settings=OPEN, priorities=worse)) == ("a", "prio", "bob@x")
    assert text(plan(slots, ann, settings=OPEN)) == "insufficient priority"
    assert not plan(slots, ann, priorities=worse).matches
    guarded = NegotiatorSettings(
        preemption_requirements=Expr.parse("MY.RemoteUserPrio > TARGET.SubmitterUserPrio * 30")
    )
    assert text(plan(slots, ann, settings=guarded, priorities=worse)) == "PREEMPTION_REQUIREMENTS == False"
    assert plan(slots, ann, settings=guarded, priorities={"bob@x": 100.0}).matches
    assert plan(slots, ann, settings=NegotiatorSettings(preemption_requirements=None), priorities=worse).matches
    undefined = NegotiatorSettings(preemption_requirements=Expr.parse("MY.Nothing"))
    assert not plan(slots, ann, settings=undefined, priorities=worse).matches


def test_nobody_is_preempted_for_oneself_or_against_the_machines_rank():
    worse = {"bob@x": 10.0}
    assert not plan([claimed("a", "ann@x")], demand("ann@x", (job(), 1)), settings=OPEN).matches
    ranked = claimed("a", "bob@x", CurrentRank=5.0, Rank="=1")
    assert not plan([ranked], demand("ann@x", (job(), 1)), settings=OPEN, priorities=worse).matches


def test_who_waits_for_a_slot_already_counts_as_who_has_it():
    waiting = claimed("a", "bob@x", PreemptingUser="cid@x", PreemptingRank=7.0, Rank="=5")
    assert not plan([waiting], demand("ann@x", (job(), 1))).matches
    waiting["PreemptingRank"] = 3.0
    assert only(plan([waiting], demand("ann@x", (job(), 1)))) == ("a", "rank", "cid@x")


@pytest.mark.parametrize(
    ("settings", "attributes", "taken"),
    [
        (NegotiatorSettings(), {}, True),
        (NegotiatorSettings(consider_preemption=False), {}, False),
        (NegotiatorSettings(), {"RetirementTimeRemaining": 5}, False),
        (NegotiatorSettings(consider_early_preemption=True), {"RetirementTimeRemaining": 5}, True),
        (NegotiatorSettings(), {"State": "Matched", "Requirements": False}, False),
    ],
)
def test_which_slots_in_use_are_considered(settings, attributes, taken):
    slots = [claimed("a", "bob@x", Rank="=5", **attributes)]
    assert bool(plan(slots, demand("ann@x", (job(), 1)), settings=settings).matches) is taken


def test_a_claimed_slot_without_a_user_is_its_queues():
    ad = slot("a", State="Claimed")
    found = plan([ad], demand("ann@x", (job(), 1)))
    assert not found.matches
    assert found.rejected["queue", 1].causes == {"claimed": 1}


def test_rank_takes_slots_also_beyond_a_users_share():
    slots = [claimed(f"a{number}", "bob@x", Rank="=5") for number in range(4)]
    assert len(plan(slots, demand("ann@x", (job(), 9)), demand("cid@x", (job(), 9), first=2)).matches) == 4


# -- rejections --------------------------------------------------------------------------------------


def test_a_rejection_counts_what_stood_in_the_way():
    slots = [
        slot("small", Memory=10),
        slot("closed", Requirements=False),
        slot("free"),
        claimed("busy", "bob@x"),
        claimed("retiring", "bob@x", RetirementTimeRemaining=9),
    ]
    want = job(Requirements="=TARGET.Memory >= 100")
    found = plan(slots, demand("ann@x", (want, 5)))
    assert given(found) == {"ann@x": ["free"]}
    assert found.rejected["queue", 1].causes == {
        "job-requirements": 1, "slot-requirements": 1, "occupied": 1, "taken": 1, "retirement-time": 1,
    }  # fmt: skip
    assert found.record["rejected_by"] == {"no match found": 1}


def test_what_is_satisfied_is_not_rejected():
    assert not plan([slot("a")], demand("ann@x", (job(), 1))).rejected


def test_a_pool_without_slots_rejects_everything():
    assert text(plan([], demand("ann@x", (job(), 1)))) == "no match found"


def test_who_is_stopped_by_its_share_is_told_so():
    slots = [slot("a", Cpus=4), slot("b", Requirements='=TARGET.Owner == "ann"')]
    found = plan(slots, demand("ann@x", (job(), 3)), demand("bob@x", (job(Owner="bob"), 3), first=2))
    assert len(found.matches) == 2


# -- concurrency limits ------------------------------------------------------------------------------


def test_limits_are_names_with_amounts():
    assert parse_limits("Lic, db.Big:2.5,lic:-3,x:y,bad name,") == {"db.big": 2.5, "lic": 2.0, "x": 1.0}


def test_the_maximum_is_the_named_one_that_of_the_prefix_or_the_default():
    settings = LimitSettings(default=7.0, named={"a": 1.0, "a.b": 2.0}, below={"a": 3.0})
    assert [maximum(name, settings) for name in ("a", "a.b", "a.c", "z")] == [1.0, 2.0, 3.0, 7.0]


def test_a_limit_counts_what_runs_and_what_is_matched():
    settings = NegotiatorSettings(limits=LimitSettings(named={"lic": 3.0}))
    slots = [claimed("busy", "bob@x", ConcurrencyLimits="lic:1.5"), *(slot(f"s{number}") for number in range(5))]
    found = plan(slots, demand("ann@x", (job(ConcurrencyLimits="LIC"), 9)), settings=settings)
    assert len(found.matches) == 1
    assert text(found) == "concurrency limit lic (at most 3) reached"
    assert found.record["limits_in_use"] == {"lic": 2.5}


def test_a_limit_may_depend_on_the_slot():
    settings = NegotiatorSettings(limits=LimitSettings(named={"x": 1.0, "y": 2.0}))
    slots = [slot(f"{kind}{number}", Kind=kind) for kind in "xy" for number in range(4)]
    found = plan(slots, demand("ann@x", (job(ConcurrencyLimits="=TARGET.Kind"), 9)), settings=settings)
    assert sorted(given(found)["ann@x"]) == ["x0", "y0", "y1"]
    assert text(found) == "concurrency limit reached"


# -- partitionable slots -----------------------------------------------------------------------------


def p_slot(name="p", **more):
    return slot(name, Cpus=8, Memory=8000, PartitionableSlot=True, SlotType="Partitionable", **more)


def test_a_partitionable_slot_is_given_once_a_cycle():
    assert len(plan([p_slot()], demand("ann@x", (job(), 5))).matches) == 1


def test_one_with_a_consumption_policy_is_given_until_it_is_used_up():
    ad = p_slot(
        ConsumptionPolicy=True,
        MachineResources="Cpus Memory Disk Swap",
        ConsumptionCpus="=quantize(TARGET.RequestCpus, {2})",
        ConsumptionMemory="=TARGET.RequestMemory",
        ConsumptionDisk="=0",
        SlotWeight="=Cpus",
        Requirements="=TARGET.RequestCpus <= Cpus && TARGET.RequestMemory <= Memory",
    )
    found = plan([ad, slot("static")], demand("ann@x", (job(), 9)))
    assert sorted(given(found)["ann@x"]) == ["p", "p", "p", "p", "static"]
    left = [match.slot_ad for match in found.matches if match.slot == "p"]
    assert [each["Cpus"] for each in left] == [8, 6, 4, 2]
    large = plan([ad], demand("ann@x", (job(RequestMemory=5000), 9)))
    assert len(large.matches) == 1
    negative = plan(
        [p_slot(ConsumptionPolicy=True, MachineResources="Cpus", ConsumptionCpus=-1)], demand("a", (job(), 1))
    )
    assert not negative.matches


# -- significant attributes --------------------------------------------------------------------------


def test_what_slots_and_the_matchmaker_ask_of_jobs_is_significant():
    ads = [
        slot("a", START='=TARGET.ImageSize < Memory && Project != "x"', Rank="=TARGET.JobPrio", Local=1),
        slot("b", SUSPEND='=Local > 3 && MyType == "x" && TARGET.TotalJobRunTime > 5'),
    ]
    settings = NegotiatorSettings(
        preemption_requirements=Expr.parse("TARGET.Urgent && MY.RemoteUserPrio > TARGET.SubmitterUserPrio"),
        policy=PolicySettings(
            job=Expr.parse('MY.Group != "x"'), job_only=Expr.parse("NumJobStarts > 10 || ProcId > 9")
        ),
    )
    found = significant(Table((str(ad["Name"]), ad) for ad in ads), settings)
    assert {"imagesize", "project", "jobprio", "local", "urgent", "group", "numjobstarts", "procid"} <= set(found)
    assert "clusterid" not in found
    assert not {"memory", "mytype", "totaljobruntime", "submitteruserprio", "remoteuserprio", "target"} & set(found)
    assert list(found) == sorted(found)


def test_conditions_on_the_clock_mean_the_matchmakers_zone():
    slots = [slot("night", Requirements='=formatTime(time(), "%H") == "03"'), slot("late", Requirements="=hours == 22")]
    slots[1].set("hours", 'int(formatTime(time(), "%H"))')
    assert given(plan(slots, demand("ann@x", (job(), 9)))) == {"ann@x": ["late"]}
    assert given(plan(slots, demand("ann@x", (job(), 9)), zone_offset_s=5 * 3600)) == {"ann@x": ["night"]}


def test_conditions_that_draw_lots_draw_others_in_each_cycle():
    slots = [slot(f"s{number:02}", Requirements="=random(10) < 3") for number in range(60)]
    cycles = [
        given(plan(slots, demand("ann@x", (job(), 99)), now=NOW + at)).get("ann@x", []) for at in (0, 60, 60, 120)
    ]
    assert cycles[1] == cycles[2], "a cycle is the same when it is repeated"
    assert len({tuple(each) for each in cycles}) == 3
    assert all(5 <= len(each) <= 35 for each in cycles)


def test_a_queue_gets_no_more_slots_than_it_has_room_for() -> None:
    slots = [slot(f"s{number}") for number in range(4)]
    bounded = replace(demand("ann", (job(), 1), (job(), 2), schedd="small"), room=2)
    also = replace(demand("bob", (job(), 1), schedd="small", first=7), room=2)
    found = plan(slots, bounded, also, demand("eve", (job(), 2), schedd="large"))
    assert Counter(each.schedd for each in found.matches) == {"small": 2, "large": 2}
    texts = {number: each.text for (schedd, number), each in found.rejected.items() if schedd == "small"}
    assert set(texts.values()) == {FULL_TEXT} and texts
    assert found.rejected.keys() == {("small", number) for number in texts}
