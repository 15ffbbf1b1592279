"""The guide to pool-wide policy: each of its matches is made by the real matchmaker, and comes out as the page says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.classad import ClassAd, FixedWorld
from roost.classad.vector import Table
from roost.config import Code, Config, MemoryHost, check, load_text
from roost.config.templates import pool
from roost.negotiator.accountant import Accountant
from roost.negotiator.cycle import negotiate
from roost.negotiator.settings import settings_from
from roost.negotiator.snapshot import Plan, Request, Snapshot, SubmitterDemand
from roost.schedd.jobs.book import submitter_of
from tests.negotiator.kit import NOW

PAGE = (Path(__file__).resolve().parents[2] / "docs/guides/pool-policy.md").read_text(encoding="utf-8")
BLOCKS = re.compile(r"^```config\n(.*?)^```\n\s*((?:^\|[^\n]*\n)+)", re.MULTILINE | re.DOTALL)
SLOT = 'Memory = 2048; Cpus = 1; Machine = "a.example.org"'
JOB = 'RequestMemory = 128; Cmd = "/bin/sh"; NumJobStarts = 0'


def rows() -> Iterator[tuple[str, str, str, str, str]]:
    """Configuration, situation, slot, job, what is decided."""
    for found in BLOCKS.finditer(PAGE):
        for line in found[2].splitlines()[2:]:
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            yield found[1], *cells  # type: ignore[misc]


def ad(base: str, cell: str) -> ClassAd:
    found = ClassAd()
    for part in f"{base}; {cell.strip('`') if cell.startswith('`') else ''}".split(";"):
        name, _, value = part.strip().partition(" = ")
        if name:
            found.set(name, value)
    return found


def configured(body: str) -> Config:
    return load_text(f"GROUP_NAMES = chem, students\n{body}", MemoryHost(world=FixedWorld(instant=NOW)))


def negotiated(body: str, slot: str, job: str) -> Plan:
    machine = ad(f'Name = "slot1"; State = "Unclaimed"; Requirements = true; {SLOT}', slot)
    request = ad(f'Owner = "ada"; Requirements = true; {JOB}', job)
    request["User"] = f"{request['Owner']}@x"
    queue = str(request.get("Queue", "queue"))
    submitter = submitter_of(request)
    demand = SubmitterDemand(
        schedd=queue,
        submitter=submitter,
        requests=(Request(autocluster=1, ad=request, count=1, job="1.0"),),
        ad=ClassAd(Name=submitter, ScheddName=queue, Machine=queue),
    )
    snapshot = Snapshot(
        slots=Table([("slot1", machine)]), claims={"slot1": "c"}, nodes={"slot1": "n"}, demands=(demand,), now=NOW
    )
    return negotiate(snapshot, settings=settings_from(configured(body)), accounts=Accountant())


def decided(plan: Plan) -> str:
    if plan.matches:
        return "match"
    return next((each.text for each in plan.rejected.values()), "no negotiation").replace(" found", "")


@pytest.mark.parametrize(
    ("body", "situation", "slot", "job", "wanted"), list(rows()), ids=[f"{row[1]}-{n}" for n, row in enumerate(rows())]
)
def test_the_matchmaker_decides_as_the_page_says(body: str, situation: str, slot: str, job: str, wanted: str) -> None:
    assert decided(negotiated(body, slot, job)) == wanted


@pytest.mark.parametrize("body", sorted({row[0] for row in rows()}))
def test_the_configuration_of_the_page_has_no_faults(body: str) -> None:
    assert [str(each) for each in check(configured(body))] == []


def test_the_page_describes_the_slot_and_the_job_of_its_tables() -> None:
    assert f"`{SLOT}`" in PAGE
    assert f"`{JOB}`" in PAGE


@pytest.mark.parametrize("name", [each.name for each in pool.TEMPLATES])
def test_a_pool_wide_template_is_in_the_guide(name: str) -> None:
    assert re.search(rf"^use POLICY : {name}\b", PAGE, re.MULTILINE)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        ("Pool_Minimum_Memory(lots of it)", "it must be a number above 0"),
        ("Pool_Maximum_Starts(0)", "it must be a whole number from 1"),
        ("Pool_Confine_Group(a b, True)", "write it without quotes and spaces"),
        ("Pool_Confine_Group(students, KFlops <)", "it cannot be parsed as an expression"),
        ("Pool_Confine_Group(students)", "Pool_Confine_Group needs 2 arguments"),
        ("Pool_Daily_Window(22, 25, True)", "an hour must be a number from 0 to 24"),
        ("Pool_Daily_Window(22, 22, True)", "begin and end are the same hour"),
        ("Pool_Maintenance(tomorrow, 2030-01-01T00:00:00Z, 60, True)", "write date and time as in"),
        ("Pool_Maintenance(2030-01-02T00:00:00Z, 2030-01-01T00:00:00Z, 60, True)", "it ends before it begins"),
        ("Pool_User_Cap(ada, -1)", "it must be a number above 0"),
        ("Pool_Licences(mat lab, 5)", "it must be the name of a macro"),
    ],
)
def test_an_argument_that_makes_no_sense_is_reported_where_it_stands(use: str, words: str) -> None:
    (problem,) = load_text(f"A = 1\nuse POLICY : {use}\n", MemoryHost()).log
    assert problem.code is Code.TEMPLATE_ARGUMENTS
    assert str(problem).startswith("<text>:2:1: error: ")
    assert words in problem.message


@pytest.mark.parametrize("user", ["mallory", "mallory@x", "Mallory@X"])
@pytest.mark.parametrize(
    ("use", "wanted"),
    [
        ("Pool_Confine_User({}, Memory < 100)", "no match"),
        ("Pool_Closed_Users(bob, {})", "pool policy: NEGOTIATOR_PE_JOB_ONLY_EXPR"),
        ("Pool_Maximum_Restarts(1, bob, {})", "pool policy: NEGOTIATOR_PE_JOB_ONLY_EXPR"),
    ],
)
def test_users_are_named_with_or_without_their_domain(use: str, user: str, wanted: str) -> None:
    body = f"use POLICY : {use.format(user)}\n"
    assert decided(negotiated(body, "any", '`Owner = "mallory"; NumJobStarts = 2`')) == wanted
    assert decided(negotiated(body, "any", '`Owner = "malloryx"; NumJobStarts = 2`')) == "match"


def test_templates_add_to_each_other_and_to_what_was_there() -> None:
    body = (
        "NEGOTIATOR_PE_RESOURCE_EXPR = TARGET.RequestMemory < 512\n"
        "use POLICY : Pool_Confine_Group(students, KFlops < 500000)\n"
        "use POLICY : Pool_Daily_Window(22, 6, True)\n"
    )
    slot = "`KFlops = 1000; ClockMin = 1380`"
    for job, wanted in (
        ('`AccountingGroup = "students.ann"`', "match"),
        ("`RequestMemory = 600`", "no match"),
    ):
        assert decided(negotiated(body, slot, job)) == wanted
    assert decided(negotiated(body, "`KFlops = 900000; ClockMin = 1380`", '`AccountingGroup = "students.ann"`')) == (
        "no match"
    )


def test_a_users_cap_holds_within_a_cycle_and_over_all_groups_and_queues() -> None:
    slots = [(f"slot{n}", ad('State = "Unclaimed"; Requirements = true; Cpus = 1', "")) for n in range(8)]
    for name, each in slots:
        each["Name"] = name
    busy = ad('Name = "busy"; State = "Claimed"; RemoteUser = "ada@x"; Cpus = 1; Requirements = false', "")
    jobs = [("q1", "ada@x"), ("q1", "chem.ada@x"), ("q2", "Ada@x"), ("q2", "ada.lovelace@x")]
    demands = tuple(
        SubmitterDemand(
            schedd=schedd,
            submitter=name,
            requests=(Request(autocluster=number, ad=ad("Requirements = true", ""), count=2, job=f"{number}.0"),),
        )
        for number, (schedd, name) in enumerate(jobs)
    )
    names = [name for name, _ in slots]
    snapshot = Snapshot(
        slots=Table([*slots, ("busy", busy)]),
        claims={name: name for name in names},
        nodes=dict.fromkeys(names, "n"),
        demands=demands,
        now=NOW,
    )
    found = negotiate(snapshot, settings=settings_from(configured("USER_CEILINGS = ada=4, bob@x=1\n")))
    assert sum(match.submitter != "ada.lovelace@x" for match in found.matches) == 3
    assert sum(match.submitter == "ada.lovelace@x" for match in found.matches) == 2
