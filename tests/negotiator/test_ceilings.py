"""A ceiling counts the user whom the queue vouches for, whatever the user writes about accounts."""

from __future__ import annotations

from typing import Any

import pytest

from roost.classad import ClassAd
from roost.classad.vector import Table
from roost.explain.limits import limits, remedies
from roost.model.cycle_answers import CeilingUse, JobInCycle
from roost.negotiator.accountant import Accountant
from roost.negotiator.cycle import negotiate
from roost.negotiator.snapshot import Plan, Snapshot
from roost.schedd.jobs.book import submitter_of
from tests.negotiator.kit import NOW, claimed, demand, job, slot
from tests.negotiator.test_audit import configured

CAP = "USER_CEILINGS = mal=1\n"
GROUPS = "GROUP_NAMES = chem\n"
#: What a user can write about accounts, as it stands in the job's ad.
LINES: dict[str, dict[str, Any]] = {
    "none": {},
    "a configured group": {"AccountingGroup": "chem.mal", "AcctGroup": "chem", "AcctGroupUser": "mal"},
    "another group": {"AccountingGroup": "phys.mal", "AcctGroup": "phys", "AcctGroupUser": "mal"},
    "another user": {"AccountingGroup": "bob", "AcctGroupUser": "bob"},
    "another user in a group": {"AccountingGroup": "chem.bob", "AcctGroup": "chem", "AcctGroupUser": "bob"},
    "nice_user": {"NiceUser": True},
    "+AccountingGroup": {"AccountingGroup": "ann@x"},
    "+Submitter": {"Submitter": "ann@x", "Owner": "mal"},
}


def of_mal(number: int, **more: Any) -> ClassAd:
    return job(User="mal@x", ClusterId=number, **more)


def cycle(slots: list[ClassAd], ads: list[ClassAd], text: str = CAP, accounts: Accountant | None = None) -> Plan:
    names = [str(ad["Name"]) for ad in slots]
    snapshot = Snapshot(
        slots=Table(zip(names, slots, strict=True)),
        claims={name: f"claim-{name}" for name in names},
        nodes=dict.fromkeys(names, "node"),
        demands=tuple(demand(submitter_of(ad), (ad, 4), first=number) for number, ad in enumerate(ads)),
        now=NOW,
    )
    settings = configured(GROUPS + text)
    return negotiate(snapshot, settings=settings, accounts=accounts or Accountant())


@pytest.mark.parametrize("line", list(LINES))
def test_no_line_of_a_submit_file_goes_around_a_configured_ceiling(line: str) -> None:
    slots = [slot(f"s{number}") for number in range(4)]
    assert len(cycle(slots, [of_mal(1, **LINES[line])]).matches) == 1


@pytest.mark.parametrize("line", list(LINES))
def test_no_line_of_a_submit_file_goes_around_a_ceiling_set_at_run_time(line: str) -> None:
    accounts = Accountant()
    accounts.set_bounds("mal@x", ceiling=1.0)
    slots = [slot(f"s{number}") for number in range(4)]
    assert len(cycle(slots, [of_mal(1, **LINES[line])], GROUPS, accounts).matches) == 1


def test_all_accounts_of_a_user_count_together() -> None:
    slots = [slot(f"s{number}") for number in range(20)]
    ads = [of_mal(number, **more) for number, more in enumerate(LINES.values())]
    assert len(cycle(slots, ads, "USER_CEILINGS = mal=3\n").matches) == 3


@pytest.mark.parametrize("line", list(LINES))
def test_slots_in_use_count_for_their_user(line: str) -> None:
    told = {name: value for name, value in LINES[line].items() if name == "AccountingGroup"}
    used = claimed("used", "mal@x", RemoteOwner="mal@x", **told)
    if line == "nice_user":
        used["RemoteUser"] = "nice-user.mal@x"
    assert cycle([used, slot("free")], [of_mal(1)]).matches == ()


def test_another_user_who_is_charged_to_the_account_does_not_use_up_the_ceiling() -> None:
    used = claimed("used", "ann@x", RemoteOwner="ann@x", AccountingGroup="mal@x")
    assert len(cycle([used, slot("free")], [of_mal(1)]).matches) == 1


def test_a_ceiling_set_at_run_time_holds_for_the_account_of_that_name_too() -> None:
    accounts = Accountant()
    accounts.set_bounds("robot@x", ceiling=2.0)
    ads = [job(User="ann@x", AccountingGroup="robot"), job(User="bob@x", Owner="bob", AccountingGroup="robot")]
    slots = [slot(f"s{number}") for number in range(6)]
    assert len(cycle(slots, ads, GROUPS, accounts).matches) == 2


def test_the_record_names_the_ceiling_that_holds() -> None:
    plan = cycle([slot("a"), slot("b")], [of_mal(1, **LINES["another user"])])
    assert plan.trail is not None
    answer = plan.trail.about_request("queue", "bob@x", 0)
    assert isinstance(answer, JobInCycle)
    assert answer.ceilings == [CeilingUse(name="mal@x", limit=1.0, in_use=1.0, set_by="USER_CEILINGS")]


def partitionable(name: str, **more: Any) -> ClassAd:
    return slot(name, Cpus=4, Memory=8000, PartitionableSlot=True, SlotType="Partitionable", **more)


def test_of_a_partitionable_slot_only_the_part_that_a_job_takes_counts() -> None:
    slots = [partitionable(f"p{number}") for number in range(3)]
    assert len(cycle(slots, [of_mal(1, RequestCpus=1)]).matches) == 1
    assert len(cycle(slots, [of_mal(1, RequestCpus=1)], "USER_CEILINGS = mal=2\n").matches) == 2
    assert len(cycle(slots, [of_mal(1, RequestCpus=2)], "USER_CEILINGS = mal=3\n").matches) == 1


def test_a_part_of_another_weight_counts_with_it() -> None:
    slots = [partitionable(f"p{number}") for number in range(3)]
    for each in slots:
        each.set("SlotWeight", "Memory / 1000")
    ads = [of_mal(1, RequestCpus=1, RequestMemory=2000)]
    assert len(cycle(slots, ads, "USER_CEILINGS = mal=4\n").matches) == 2


def test_a_job_that_is_larger_than_the_ceiling_is_told_so() -> None:
    plan = cycle([partitionable("p")], [of_mal(1, RequestCpus=2)])
    assert plan.trail is not None and not plan.matches
    answer = plan.trail.about_request("queue", "mal@x", 0)
    assert isinstance(answer, JobInCycle)
    assert list(limits(answer)) == ["mal@x may use 1 at once (USER_CEILINGS), but this job needs 2."]
    remedy = remedies(answer, set())[0]
    assert remedy.text.startswith("Request less, or ask the administrator to raise the ceiling (USER_CEILINGS)")


#: Requests of which a machine makes more than they say, or another thing each time: see `roost.startd.requests`.
UNCERTAIN: dict[str, tuple[dict[str, Any], int]] = {
    "no core": ({"RequestCpus": 0}, 2),
    "less than no core": ({"RequestCpus": -3}, 2),
    "part of a core": ({"RequestCpus": 0.1}, 2),
    "nothing said of cores": ({}, 2),
    "the exact form": ({"RequestCpus": 1, "_condor_RequestCpus": 2}, 1),
    "more than all in the exact form": ({"RequestCpus": 1, "_condor_RequestCpus": 6}, 0),
    "drawn by chance": ({"RequestCpus": "random(4)"}, 0),
    "by the clock": ({"RequestCpus": "int(time()) % 2 == 0 ? 1 : 4"}, 0),
    "by the slot": ({"RequestCpus": "TARGET.Cpus > 100 ? 4 : 1"}, 0),
    "from the job alone": ({"RequestCpus": "MY.Threads", "Threads": 1}, 2),
}


@pytest.mark.parametrize("name", list(UNCERTAIN))
def test_no_request_gets_more_of_partitionable_slots_than_a_ceiling_allows(name: str) -> None:
    attributes, most = UNCERTAIN[name]
    ad = job(User="mal@x", ClusterId=1)
    del ad["RequestCpus"]
    for each, value in attributes.items():
        if isinstance(value, str):
            ad.set(each, value)
        else:
            ad[each] = value
    slots = [partitionable(f"p{number}") for number in range(3)]
    assert len(cycle(slots, [ad], "USER_CEILINGS = mal=2\n").matches) == most


def test_what_machines_round_up_counts_rounded() -> None:
    slots = [partitionable(f"p{number}") for number in range(3)]
    for each in slots:
        each.set("SlotWeight", "Memory")
    ads = [of_mal(1, RequestMemory=1)]
    assert len(cycle(slots, ads, "USER_CEILINGS = mal=256\n").matches) == 2
    text = "USER_CEILINGS = mal=2000\nMODIFY_REQUEST_EXPR_REQUESTMEMORY = quantize(RequestMemory, {1000})\n"
    assert len(cycle(slots, ads, text).matches) == 2


def test_a_custom_resource_that_is_not_requested_does_not_count() -> None:
    slots = [partitionable(f"p{number}", MachineResources="Cpus Memory Disk GPUs", GPUs=4) for number in range(3)]
    for each in slots:
        each.set("SlotWeight", "Cpus + 10 * GPUs")
    assert len(cycle(slots, [of_mal(1, RequestCpus=1)], "USER_CEILINGS = mal=2\n").matches) == 2
    assert not cycle(slots, [of_mal(1, RequestCpus=1, RequestGPUs=1)], "USER_CEILINGS = mal=2\n").matches


def test_a_whole_slot_that_counts_more_than_the_ceiling_is_not_the_request_s_fault() -> None:
    plan = cycle([slot("s", Cpus=4)], [of_mal(1, RequestCpus=1)])
    assert plan.trail is not None and not plan.matches
    answer = plan.trail.about_request("queue", "mal@x", 0)
    assert isinstance(answer, JobInCycle)
    said = "mal@x may use 1 at once (USER_CEILINGS), but a slot that would run this job counts as 4."
    assert list(limits(answer)) == [said]
    assert [each.text for each in remedies(answer, set())] == [
        "Ask the administrator to raise the ceiling (USER_CEILINGS)."
    ]
