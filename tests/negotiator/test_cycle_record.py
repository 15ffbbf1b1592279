"""What a cycle leaves behind for those who ask why: a cause for each slot, and the limits and the order it went by."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.classad import ClassAd
from roost.classad.vector import Table
from roost.config import MemoryHost, load_text
from roost.model.cycle_answers import JobInCycle
from roost.negotiator.accountant import Accountant
from roost.negotiator.cycle import negotiate
from roost.negotiator.settings import settings_from
from roost.negotiator.snapshot import Plan, Pledge, Snapshot, SubmitterDemand
from roost.wire.structs import data_of, read, whole_data_of
from tests.negotiator.kit import NOW, claimed, demand, job, slot


def cycle(
    slots: list[ClassAd],
    *demands: SubmitterDemand,
    text: str = "",
    priorities: dict[str, float] | None = None,
    pledges: tuple[Pledge, ...] = (),
    promised: tuple[str, ...] = (),
) -> Plan:
    names = [str(ad["Name"]) for ad in slots]
    accounts = Accountant()
    for user, priority in (priorities or {}).items():
        accounts.user(user).priority = priority
    snapshot = Snapshot(
        slots=Table(zip(names, slots, strict=True)),
        claims={name: f"claim-{name}" for name in names},
        nodes=dict.fromkeys(names, "node"),
        demands=demands,
        now=NOW,
        pledges=pledges,
        promised=promised,
    )
    return negotiate(snapshot, settings=settings_from(load_text(text, MemoryHost(), file="c")), accounts=accounts)


def about(found: Plan, submitter: str = "ann@x", number: int = 1) -> dict[str, Any]:
    assert found.trail is not None
    answer = found.trail.about_request("queue", submitter, number)
    assert isinstance(answer, JobInCycle)
    assert read(JobInCycle, json.loads(json.dumps(data_of(answer))), "answer", strict=True) == answer
    return whole_data_of(answer)


def causes(answer: dict[str, Any]) -> dict[str, list[str]]:
    assert sum(each["count"] for each in answer["causes"]) == answer["slots"], "every slot has one cause"
    return {each["cause"]: each["slots"] for each in answer["causes"]}


def test_every_slot_is_counted_under_the_cause_that_the_cycle_found() -> None:
    text = (
        "NEGOTIATOR_PE_STARTD_ONLY_EXPR = Memory == 1\nNEGOTIATOR_PE_RESOURCE_EXPR = Memory != 2\n"
        "NEGOTIATOR_PE_JOB_EXPR = TARGET.Memory != 3\nNEGOTIATOR_SLOT_CONSTRAINT = Memory != 4\n"
    )
    slots = [slot(f"m{n}", Memory=n) for n in range(1, 5)]
    slots += [
        slot("small", Memory=5),
        slot("shy", Requirements="=TARGET.Owner == \"bob\""),
        claimed("used", "bob@x"),
        claimed("old", "bob@x", RetirementTimeRemaining=100),
        slot("away"),
        slot("free"),
    ]  # fmt: skip
    wants = demand("ann@x", (job(Requirements="=TARGET.Memory != 5"), 2))
    found = causes(about(cycle(slots, wants, text=text, promised=("away",))))
    assert found == {
        "constraint": ["m4"],
        "pool-policy": ["m1"],
        "no-claim-offered": ["away"],
        "retirement-time": ["old"],
        "occupied": ["used"],
        "job-requirements": ["small"],
        "slot-requirements": ["shy"],
        "pool-policy-resource": ["m2"],
        "pool-policy-job": ["m3"],
        "given": ["free"],
    }


def test_slots_that_are_in_use_say_by_whom() -> None:
    slots = [claimed("a", "bob@x"), claimed("b", "bob@x"), claimed("c", "eve@x")]
    (used,) = about(cycle(slots, demand("ann@x", (job(), 1))))["causes"]
    assert used["holders"] == {"bob@x": 2, "eve@x": 1}


@pytest.mark.parametrize(
    ("text", "knob"),
    [
        ("NEGOTIATOR_PE_JOB_ONLY_EXPR = true", "NEGOTIATOR_PE_JOB_ONLY_EXPR"),
        ("NEGOTIATOR_PE_SCHEDD_ONLY_EXPR = true", "NEGOTIATOR_PE_SCHEDD_ONLY_EXPR"),
        ("NEGOTIATOR_SUBMITTER_CONSTRAINT = false", "NEGOTIATOR_SUBMITTER_CONSTRAINT"),
    ],
)
def test_what_is_kept_out_is_told_the_knob_with_its_place(text: str, knob: str) -> None:
    answer = about(cycle([slot("a")], demand("ann@x", (job(), 1)), text=text))
    assert answer["knob"] == {"name": knob, "text": text.partition(" = ")[2], "place": "c:1:1"}
    assert answer["causes"] == []


def test_an_ad_that_would_shadow_the_policy_is_told_why_it_is_out() -> None:
    wants = demand("ann@x", (job(MY=1), 1))
    found = cycle([slot("a")], wants, text="NEGOTIATOR_PE_RESOURCE_EXPR = MY.Memory > 0")
    answer = about(found)
    assert answer["out"] == "the ad has an attribute MY, which would change what the policy's names mean"
    assert (answer["text"], answer["knob"]) == (f"pool policy: {answer['out']}", None)
    assert answer["causes"] == []


def test_a_concurrency_limit_names_itself_with_its_figures() -> None:
    wants = demand("ann@x", (job(ConcurrencyLimits="matlab"), 3))
    answer = about(cycle([slot("a"), slot("b")], wants, text="MATLAB_LIMIT = 1"))
    assert answer["limits"] == [{"name": "matlab", "limit": 1.0, "in_use": 1.0, "wanted": 1.0}]
    assert (answer["left"], answer["given"]) == (2, ["a"])


def test_a_share_a_ceiling_and_a_quota_are_told() -> None:
    slots = [slot(f"s{n}") for n in range(4)]
    two = (demand("ann@x", (job(), 4)), demand("bob@x", (job(Owner="bob"), 4), first=2))
    answer = about(cycle(slots, *two, priorities={"ann@x": 10.0, "bob@x": 10.0}))
    assert [(each["submitter"], each["share"], each["got"]) for each in answer["served"]] == [
        ("ann@x", 2.0, 2.0), ("bob@x", 2.0, 2.0),
    ]  # fmt: skip
    capped = about(cycle(slots, demand("ann@x", (job(), 4)), text="USER_CEILINGS = ann=3"))
    assert capped["text"] == "submitter limit exceeded"
    assert capped["ceilings"] == [{"name": "ann@x", "limit": 3.0, "in_use": 3.0, "set_by": "USER_CEILINGS"}]
    both = (demand("g.ann@x", (job(), 1)), demand("ann@x", (job(), 4), first=2))
    found = about(cycle(slots, *both, text="GROUP_NAMES = g\nUSER_CEILINGS = ann@x=2"), "ann@x", 2)
    in_use = [(each["limit"], each["in_use"]) for each in found["ceilings"]]
    assert in_use == [(2.0, 2.0)], "all groups of a user count together"
    text = "GROUP_NAMES = g\nGROUP_QUOTA_g = 1\n"
    grouped = about(cycle(slots, demand("g.ann@x", (job(), 4)), text=text), "g.ann@x")
    assert (grouped["group"]["name"], grouped["group"]["quota"], grouped["group"]["used"]) == ("g", 1.0, 1.0)


def test_who_is_served_before_is_in_the_order_of_priority() -> None:
    wants = [demand(f"u{n}@x", (job(), 1), first=n) for n in range(5)]
    found = cycle([slot("a")], *wants, priorities={f"u{n}@x": 10.0 - n for n in range(5)})
    assert [each["submitter"] for each in about(found, "u2@x", 2)["served"]] == ["u4@x", "u3@x", "u2@x", "u1@x"]


def test_what_the_cycle_was_not_asked_it_does_not_answer() -> None:
    found = cycle([slot("a")], demand("ann@x", (job(), 1)))
    assert found.trail is not None
    assert found.trail.about_request("queue", "ann@x", 99) is None
    assert found.trail.about_request("queue", "nobody", 1) is None
    assert found.trail.about_slot("nowhere") is None


def test_a_slot_is_told_what_became_of_the_requests() -> None:
    text = "A = 1\nNEGOTIATOR_PE_STARTD_ONLY_EXPR = Memory < 500\n"
    slots = [slot("a"), slot("small", Memory=100), slot("shy", Requirements=False)]
    found = cycle(slots, demand("ann@x", (job(), 1), (job(Requirements="=TARGET.Memory > 5000"), 1)), text=text)
    assert found.trail is not None
    kept_out, shy, given = (found.trail.about_slot(name) for name in ("small", "SHY", "a"))
    assert kept_out is not None and shy is not None and given is not None
    assert (kept_out.out, kept_out.knob and kept_out.knob.place) == ("pool-policy", "c:2:1")
    assert {each.cause: each.job for each in shy.requests} == {
        "slot-requirements": "1.0", "job-requirements": "2.0",
    }  # fmt: skip
    assert [each.job for each in given.given] == ["1.0"]


# -- what earlier matches cost -----------------------------------------------------------------------------------


def test_a_match_that_its_slot_does_not_tell_of_yet_counts_for_limits_and_ceilings() -> None:
    text = "MATLAB_LIMIT = 1\nUSER_CEILINGS = ann=2\n"
    wants = demand("ann@x", (job(ConcurrencyLimits="matlab"), 3))
    first = cycle([slot("a"), slot("b"), slot("c")], wants, text=text)
    (match,) = first.matches
    assert match.pledge == Pledge(submitter="ann@x", person="ann@x", weight=1.0, licences=(("matlab", 1.0),))
    again = cycle([slot("b"), slot("c")], wants, text=text, pledges=(match.pledge,))
    assert again.matches == ()
    others = cycle([slot("b"), slot("c")], demand("ann@x", (job(), 3)), text=text, pledges=(match.pledge,))
    assert len(others.matches) == 1


def test_a_slot_that_the_request_itself_was_given_is_told_from_one_that_another_got() -> None:
    plan = cycle([slot("a"), slot("b")], demand("ann@x", (job(), 1)), demand("bob@x", (job(), 1)))
    for user in ("ann@x", "bob@x"):
        answer = about(plan, user)
        found = {each["cause"]: each["slots"] for each in answer["causes"]}
        assert found["given"] == answer["given"]
        assert sorted([*found["given"], *found["taken"]]) == ["a", "b"]


def test_a_job_that_the_pool_keeps_out_names_the_knob() -> None:
    text = "NEGOTIATOR_JOB_CONSTRAINT = Forbidden =!= true"
    answer = about(cycle([slot("a")], demand("ann@x", (job(Forbidden=True), 1)), text=text))
    assert answer["knob"] == {
        "name": "NEGOTIATOR_JOB_CONSTRAINT",
        "text": "Forbidden =!= true",
        "place": answer["knob"]["place"],
    }
    assert answer["causes"] == [] and not answer["given"]
