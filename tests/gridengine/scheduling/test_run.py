"""What the scheduling run decides."""

from __future__ import annotations

import dataclasses

import pytest

from roost.gridengine.objects.complex import Type
from roost.gridengine.objects.share_tree import ShareNode, show_share_tree
from roost.gridengine.scheduling import NotScheduled, run
from roost.gridengine.scheduling.expression import satisfies
from tests.gridengine.scheduling.cells import NOW, cell, job, pairs, places, plan, running, snapshot, texts, told


def test_priorities_are_those_of_the_recorded_session() -> None:
    one = cell(
        "schedconf: weight_waiting_time 0",
        "lic lic INT <= YES YES 0 5000\nhot hot BOOL == YES NO 0 2500",
    )
    jobs = [
        job(1),
        job(2, "lic=1"),
        job(3, "lic=2"),
        job(4, "hot=TRUE"),
        job(5, "hot=TRUE", "lic=1"),
        job(6, priority=-500),
    ]
    found = plan(one, *jobs).priorities
    assert {number: round(each.urgency) for number, each in found.items()} == {
        1: 1000,
        2: 6000,
        3: 11000,
        4: 3500,
        5: 8500,
        6: 1000,
    }
    assert {number: each.priority for number, each in found.items()} == {
        1: 0.25,
        2: 0.5,
        3: 0.75,
        4: 0.375,
        5: 0.625,
        6: 0.25,
    }
    assert round(found[6].posix, 5) == 0.25586


def test_a_deadline_comes_nearer() -> None:
    found = plan(cell(), job(1, deadline=NOW + 58), job(2, deadline=NOW - 5)).priorities
    assert round(found[1].deadline) == 62069
    assert found[2].deadline == 3_600_000


def test_the_order_of_instances_by_load_and_by_sequence_number() -> None:
    loads = {"node1": {"np_load_avg": "0.9"}, "node2": {"np_load_avg": "0.5"}, "node3": {"np_load_avg": "0.7"}}
    assert places(plan(cell(), job(1), loads=loads)) == {1: ["all.q@node2"]}
    numbered = cell("schedconf: queue_sort_method seqno\ncqueues/all.q: seq_no 5,[node1=1]")
    assert places(plan(numbered, job(1), loads=loads)) == {1: ["all.q@node1"]}


def test_adjustments_spread_jobs_and_scaling_counts() -> None:
    spread = cell("schedconf: job_load_adjustments np_load_avg=0.5\nschedconf: load_adjustment_decay_time 0:1:0")
    found = places(plan(spread, *(job(number) for number in range(1, 7))))
    assert sorted(place for each in found.values() for place in each) == [
        *["all.q@node1"] * 2,
        *["all.q@node2"] * 2,
        *["all.q@node3"] * 2,
    ]
    scaled = cell("execution/node1: load_scaling np_load_avg=0.1")
    loads = {"node1": {"np_load_avg": "1.5"}, "node2": {"np_load_avg": "0.5"}, "node3": {"np_load_avg": "0.7"}}
    assert places(plan(scaled, job(1), loads=loads)) == {1: ["all.q@node1"]}


def test_soft_requests_order_and_do_not_refuse() -> None:
    one = cell("execution/node3: complex_values hot=TRUE", "hot hot BOOL == YES NO 0 0")
    loads = {"node3": {"np_load_avg": "1"}}
    soft = pairs("hot=TRUE")
    found = plan(one, *(job(number, soft=soft) for number in range(1, 6)), loads=loads)
    assert [each.grants[0].instance for each in found.dispatches[:4]] == ["all.q@node3"] * 4
    assert found.dispatches[4].grants[0].instance != "all.q@node3"
    queue = plan(one, job(1, soft_queues=("*@node2",)))
    assert places(queue) == {1: ["all.q@node2"]}


def test_half_of_a_consumable_fits_twice() -> None:
    one = cell("execution/global: complex_values lic=1", "lic lic INT <= YES YES 0 0")
    found = plan(one, *(job(number, "lic=0.5") for number in (1, 2, 3)))
    assert len(found.dispatches) == 2


def test_a_queue_suspends_another_in_the_same_run_whichever_starts_first() -> None:
    edits = (
        "cqueues/a.q: subordinate_list b.q=1\ncqueues/b.q: subordinate_list a.q=1\nhostgroups/@allhosts: hostlist node1"
    )
    one = cell(edits, queues=("a.q", "b.q"))
    found = plan(one, job(1, queues=("b.q",)), job(2, queues=("a.q",)))
    assert places(found) == {1: ["b.q@node1"]}
    assert 'queue instance "a.q@node1" dropped because it is temporarily not available' in found.scheduling_info(2)
    assert found.states == {"a.q@node1": "S"}


@pytest.mark.parametrize(
    ("letters", "why"),
    [
        ("d", "disabled"),
        ("s", "temporarily not available"),
        ("E", "temporarily not available"),
        ("u", "temporarily not available"),
    ],
)
def test_states_close_an_instance(letters: str, why: str) -> None:
    found = plan(cell("hostgroups/@allhosts: hostlist node1"), job(1), states={"all.q@node1": letters})
    assert texts(found.dropped)[0] == f'queue instance "all.q@node1" dropped because it is {why}'
    assert not found.dispatches
    assert found.states == {"all.q@node1": letters}


@pytest.mark.parametrize(("state", "letter"), [("off", "D"), ("suspended", "C")])
def test_calendars_close_queues(state: str, letter: str) -> None:
    calendar = {"calendars/office": f"calendar_name office\nyear NONE\nweek mon-fri=8-18={state}\n"}
    found = plan(cell("cqueues/all.q: calendar office", files=calendar), job(1))
    assert not found.dispatches
    assert set(found.states.values()) == {letter}


def test_a_silent_host_is_unknown() -> None:
    one = snapshot(cell(), job(1))
    reports = {host: one.reports[host] for host in ("node3",)}
    found = run(dataclasses.replace(one, reports=reports))
    assert places(found) == {1: ["all.q@node3"]}
    assert found.states == {"all.q@node1": "au", "all.q@node2": "au"}


def test_naming_the_queue_asks_for_its_forced_resources_unless_switched_off() -> None:
    one = cell("cqueues/gpu.q: complex_values gpu=TRUE", "gpu gpu BOOL == FORCED NO 0 0", queues=("gpu.q",))
    asked = job(1, queues=("gpu.q@node1",))
    assert places(plan(one, asked)) == {1: ["gpu.q@node1"]}
    refused = plan(one, asked, forced_implied_by_queue_request=False)
    assert "does not request 'forced' resource \"gpu\" of queue instance gpu.q@node1" in told(refused, 1)
    assert not plan(one, job(1, queues=("gpu*",))).dispatches


def test_limits_on_users() -> None:
    found = plan(
        cell("schedconf: maxujobs 2"), job(1), job(2), job(3, user="bob"), running=(running(9, "all.q@node1"),)
    )
    assert places(found).keys() == {1, 3}
    assert told(found, 2) == ("job dropped because of user limitations",)


def test_share_tree_tickets_without_usage_are_refused() -> None:
    tree = show_share_tree(ShareNode(name="Root", shares=1, children=(ShareNode(name="alice", shares=1),)))
    with pytest.raises(NotScheduled, match="weight_tickets_share"):
        plan(cell("schedconf: weight_tickets_share 10", files={"sharetree": tree}), job(1))


def test_states_that_the_run_would_not_look_at_are_refused() -> None:
    with pytest.raises(ValueError, match="X"):
        plan(cell(), states={"all.q@node1": "X"})


@pytest.mark.parametrize(
    ("expression", "fits"),
    [
        ("lx*", True),
        ("!lx*", False),
        ("sol|lx-*", True),
        ("lx*&!*86", True),
        ("(a|l*)&*64", True),
        ("lx*&", False),
        ("[kl]x*", True),
    ],
)
def test_expressions_of_texts(expression: str, fits: bool) -> None:
    assert satisfies(Type.STRING, expression, "lx-amd64") is fits
