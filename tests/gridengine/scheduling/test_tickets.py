"""Functional and override tickets: the figures are those that Grid Engine 8.1.9 printed for the same jobs."""

from __future__ import annotations

import dataclasses
import math

import pytest

from roost.gridengine.scheduling import PendingJob, RunningTask
from tests.gridengine.scheduling.cells import cell, job, plan, request, running

_USER = "name {name}\noticket {oticket}\nfshare {fshare}\ndelete_time 0\ndefault_project NONE\n"
_PROJECT = "name p1\noticket {oticket}\nfshare 200\nacl NONE\nxacl NONE\n"

#: two jobs of alice in a project, two without, two of bob, and one that is held
_JOBS = (
    job(1, project="p1"),
    job(2, project="p1"),
    job(3),
    job(4),
    job(5, user="bob"),
    job(6, user="bob"),
    job(7, held=True),
)


def _given(edits: str, user: int, project: int, policy: str, *, runs: tuple[RunningTask, ...] = ()) -> list[int]:
    files = {
        "users/alice": _USER.format(name="alice", oticket=user, fshare=100),
        "users/bob": _USER.format(name="bob", oticket=0, fshare=300),
        "projects/p1": _PROJECT.format(oticket=project),
    }
    jobs: tuple[PendingJob, ...] = tuple(one for one in _JOBS if one.number not in {task.job for task in runs})
    found = plan(cell(edits, files=files), *jobs, running=runs).priorities
    return [math.floor(getattr(found[number], policy)) for number in range(1, 8) if number in found]


def test_functional_tickets_of_jobs_that_divide_shares() -> None:
    found = _given("schedconf: weight_tickets_functional 10000", 0, 0, "functional")
    assert found == [5000, 1562, 208, 156, 1875, 937, 0]


def test_functional_tickets_of_jobs_that_do_not() -> None:
    edits = "schedconf: weight_tickets_functional 10000\nschedconf: share_functional_shares FALSE"
    assert _given(edits, 0, 0, "functional") == [5000, 2500, 277, 250, 1500, 937, 0]


def test_override_tickets() -> None:
    assert _given("", 500, 100, "override") == [600, 300, 166, 125, 0, 0, 0]
    assert _given("schedconf: share_override_tickets FALSE", 500, 100, "override") == [600, 600, 500, 500, 0, 0, 0]


@pytest.mark.parametrize("hierarchy", ["OFS", "FO", "NONE"])
def test_both_policies_together(hierarchy: str) -> None:
    edits = f"schedconf: weight_tickets_functional 10000\nschedconf: policy_hierarchy {hierarchy}"
    assert _given(edits, 500, 100, "functional") == [5000, 1562, 208, 156, 1875, 937, 0]
    assert _given(edits, 500, 100, "override") == [600, 300, 166, 125, 0, 0, 0]


def test_a_job_that_runs_has_all_that_the_policies_give() -> None:
    runs = (dataclasses.replace(running(2, "all.q@node1"), request=request(project="p1")),)
    edits = "schedconf: weight_tickets_functional 10000"
    assert _given(edits, 500, 100, "functional", runs=runs)[1] == 10000
    assert _given(edits, 500, 100, "override", runs=runs)[1] == 600


def test_the_recorded_session_of_functional_shares() -> None:
    """A job of alice runs, four of hers and four of bob's wait; alice has 100 shares, bob 300."""
    files = {
        "users/alice": _USER.format(name="alice", oticket=0, fshare=100),
        "users/bob": _USER.format(name="bob", oticket=0, fshare=300),
    }
    jobs = [job(number) for number in range(1, 5)] + [job(number, user="bob") for number in range(5, 9)]
    one = cell("schedconf: weight_tickets_functional 10000", files=files)
    found = plan(one, *jobs, running=(running(99, "all.q@node1"),)).priorities
    assert [math.floor(found[number].functional) for number in (99, *range(1, 9))] == [
        *(10000, 312, 208, 156, 125, 1875, 937, 625, 468),
    ]
    shares = {number: round(found[number].ticket_share, 5) for number in (99, 5, 4)}
    assert shares == {99: 1.0, 5: 0.1875, 4: 0.0125}


def test_only_so_many_jobs_get_functional_tickets() -> None:
    edits = "schedconf: weight_tickets_functional 10000\nschedconf: max_functional_jobs_to_schedule 2"
    assert _given(edits, 0, 0, "functional") == [5000, 0, 0, 0, 1875, 0, 0]


def test_shares_and_tickets_of_a_job() -> None:
    one = cell("schedconf: weight_tickets_functional 1000")
    found = plan(one, job(1, share=1), job(2, share=3), job(3, override=70)).priorities
    assert [found[number].functional > 0 for number in (1, 2, 3)] == [True, True, False]
    assert found[3].override == 70
