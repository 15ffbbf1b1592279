"""Resource quotas: which rule applies, what it counts together, and what it says."""

from __future__ import annotations

import pytest

from roost.gridengine.cell import Cell
from tests.gridengine.scheduling.cells import cell, job, places, plan, running, told

_LIC = "lic lic INT <= YES YES 0 0"


def _cell(*rules: str, edits: str = "", enabled: str = "TRUE") -> Cell:
    """A cell with a set of rules; several sets where a rule is `---`."""
    files = {}
    for number, part in enumerate(" ;".join(rules).split("---")):
        lines = "".join(f"   limit {rule}\n" for each in part.split(";") if (rule := each.strip()))
        files[f"resource_quotas/q{number}"] = (
            f"{{\n   name q{number}\n   description NONE\n   enabled {enabled}\n{lines}}}\n"
        )
    files["hostgroups/@big"] = "group_name @big\nhostlist node1 node2\n"
    files["usersets/staff"] = "name staff\ntype ACL\nfshare 0\noticket 0\nentries ann,bob,@wheel\n"
    return cell("execution/global: complex_values lic=10\n" + edits, _LIC, files=files)


def test_the_first_rule_that_matches_counts_and_each_user_in_braces_apart() -> None:
    """The recorded session: three slots on two hosts, and four elsewhere, for alice; four for everybody else."""
    one = _cell("users alice hosts @big to slots=3", "name everyone users {*} to slots=4")
    alice = plan(one, *(job(number) for number in range(1, 9)))
    taken = [place for each in places(alice).values() for place in each]
    assert len(taken) == 7
    assert sum(place == "all.q@node3" for place in taken) == 4
    assert 'cannot run because it exceeds limit "/////" in rule "q0/1"' in told(alice, 8)
    bob = plan(one, *(job(number, user="bob") for number in range(1, 6)))
    assert len(bob.dispatches) == 4
    assert told(bob, 5) == ('cannot run because it exceeds limit "bob/////" in rule "q0/everyone"',)


@pytest.mark.parametrize(
    ("rule", "started"),
    [
        ("users * to slots=2", 2),
        ("users {alice,bob} to slots=2", 4),
        ("users @staff to slots=1", 4),
        ("users !alice to slots=1", 4),
        ("users {*} hosts {@big} to slots=0", 4),
        ("hosts {*} to slots=1", 3),
        ("queues all.q to slots=0", 0),
        ("queues b* to slots=0", 6),
        ("projects * to slots=0", 6),
        ("projects !* to slots=0", 0),
        ("pes * to slots=0", 6),
        ("hosts {*} to slots=$num_proc-1", 3),
        ("hosts {*} to slots=$num_proc", 6),
        ("hosts {*} to slots=$mem_total*2", 6),
        ("to lic=5", 6),
    ],
)
def test_filters_and_limits(rule: str, started: int) -> None:
    """Six jobs, half of them of alice and half of bob."""
    jobs = [job(number, user=("alice", "bob")[number % 2]) for number in range(1, 7)]
    assert len(plan(_cell(rule), *jobs).dispatches) == started


def test_consumables_are_summed_and_running_jobs_count() -> None:
    jobs = [job(number, "lic=2") for number in range(1, 5)]
    assert len(plan(_cell("to lic=5"), *jobs).dispatches) == 2
    busy = (running(9, "all.q@node1", "lic=2"),)
    assert len(plan(_cell("to lic=5"), *jobs, running=busy).dispatches) == 1


def test_what_is_not_booked_bounds_the_request() -> None:
    found = plan(_cell("to h_rt=3600"), job(1, "h_rt=3601"), job(2, "h_rt=3600"), job(3))
    assert places(found).keys() == {2, 3}


def test_all_sets_must_allow_a_job_and_disabled_ones_say_nothing() -> None:
    jobs = [job(number) for number in range(1, 5)]
    assert len(plan(_cell("users * to slots=3", "---", "hosts {*} to slots=1"), *jobs).dispatches) == 3
    assert len(plan(_cell("users * to slots=0", enabled="FALSE"), *jobs).dispatches) == 4
    assert len(plan(_cell("users * to slots=3", "---", "hosts node1 to slots=0"), *jobs).dispatches) == 3


def test_groups_of_the_operating_system_count_in_user_lists() -> None:
    one = _cell("users @staff to slots=0")
    assert not plan(one, job(1, groups=("wheel",))).dispatches
    assert plan(one, job(1, groups=("users",))).dispatches
