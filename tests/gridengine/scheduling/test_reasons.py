"""Placements and reasons that the real Grid Engine 8.1.9 gave in recorded sessions, in its words."""

from __future__ import annotations

from typing import Any

import pytest

from roost.gridengine.scheduling import Range
from tests.gridengine.scheduling.cells import cell, job, places, plan, running, texts, told

_CLOSED = "cqueues/all.q: slots 1\n"


def test_full_queues() -> None:
    busy = tuple(running(number, f"all.q@node{number}") for number in (1, 2, 3))
    found = plan(cell(_CLOSED), job(9), running=busy)
    assert sorted(found.scheduling_info(9)) == [
        "All queues dropped because of overload or full",
        *(f'queue instance "all.q@node{number}" dropped because it is full' for number in (1, 2, 3)),
    ]


def test_a_hard_queue_names_what_is_left_out_as_a_whole() -> None:
    two = cell("execution/node1: complex_values hot=1", "hot hot INT <= YES NO 0 0", queues=("b.q",))
    found = plan(two, job(1, "hot=9", queues=("all.q@node1",)))
    assert set(found.scheduling_info(1)) == {
        'cannot run in queue "b.q" because it is not contained in its hard queue list (-q)',
        'cannot run in queue "node2" because it is not contained in its hard queue list (-q)',
        'cannot run in queue "node3" because it is not contained in its hard queue list (-q)',
        '(-l hot=9) cannot run at host "node1" because it offers only hf:hot=1.000000',
    }


@pytest.mark.parametrize(
    ("edits", "definition", "asked", "reason"),
    [
        (
            "execution/global: complex_values lic=0",
            "lic lic INT <= YES YES 0 0",
            "lic=9",
            "(-l lic=9) cannot run globally because it offers only gc:lic=0.000000",
        ),
        (
            "cqueues/all.q: complex_values disk=2",
            "disk disk INT <= YES YES 0 0",
            "disk=3",
            '(-l disk=3) cannot run in queue "all.q@node3" because it offers only qc:disk=2.000000',
        ),
        (
            "",
            "lic lic INT <= YES YES 0 0",
            "lic=1",
            '(-l lic=1) cannot run in queue "all.q@node2" because job requests unknown resource (lic)',
        ),
        (
            "execution/node1: complex_values mem_free=512M",
            "",
            "mem_free=1G",
            '(-l mem_free=1G) cannot run at host "node1" because it offers only hf:mem_free=512.000M',
        ),
        (
            "cqueues/all.q: h_rt INFINITY,[node3=20]",
            "",
            "h_rt=60",
            '(-l h_rt=60) cannot run in queue "all.q@node3" because it offers only qf:h_rt=00:00:20',
        ),
        (
            "",
            "",
            "arch=nonsense",
            '(-l arch=nonsense) cannot run at host "node2" because it offers only hl:arch=lx-amd64',
        ),
        (
            "",
            "",
            "num_proc=77",
            '(-l num_proc=77) cannot run at host "node2" because it offers only hl:num_proc=2.000000',
        ),
        (
            "",
            "",
            "qname=nodeX",
            '(-l qname=nodeX) cannot run in queue "all.q@node2" because it offers only qf:qname=all.q',
        ),
        (
            "cqueues/all.q: complex_values gpu=TRUE",
            "gpu gpu BOOL == FORCED NO 0 0",
            "gpu=false",
            '(-l gpu=false) cannot run in queue "all.q" because of cluster queue',
        ),
        (
            "cqueues/all.q: complex_values gpu=TRUE",
            "gpu gpu BOOL == FORCED NO 0 0",
            "",
            "does not request 'forced' resource \"gpu\" of queue instance all.q@node3",
        ),
        (
            "execution/node3: complex_values scratch=6",
            "scratch scr INT <= FORCED YES 0 0",
            "",
            "does not request 'forced' resource \"scratch\" of host node3",
        ),
        (
            "execution/global: complex_values gpu=TRUE",
            "gpu gpu BOOL == FORCED NO 0 0",
            "",
            "does not request 'forced' resource \"gpu\" of host global",
        ),
        (
            "execution/node1: complex_values slots=0",
            "",
            "",
            '(-l NONE) cannot run at host "node1" because it offers only hc:slots=0.000000',
        ),
        (
            "execution/node1: complex_values wmem=0",
            "wmem wmem MEMORY <= YES YES 1G 0",
            "",
            '(-l NONE) cannot run at host "node1" because for default request it offers only hc:wmem=0.000',
        ),
        (
            "",
            "excl excl BOOL EXCL YES YES 0 1000",
            "excl=TRUE",
            '(-l excl=TRUE) cannot run in queue "all.q@node3" because job requests unknown resource (excl)',
        ),
        ("execution/node1: user_lists deadlineusers", "", "", 'has no permission for host "node1"'),
        ("cqueues/all.q: user_lists deadlineusers", "", "", 'has no permission for cluster queue "all.q"'),
        ("cqueues/all.q: user_lists NONE,[node3=deadlineusers]", "", "", 'has no permission for queue "all.q@node3"'),
        (
            "cqueues/all.q: projects p1",
            "",
            "",
            '(no project) does not have the correct project to run in cluster queue "all.q"',
        ),
    ],
)
def test_reasons(edits: str, definition: str, asked: str, reason: str) -> None:
    # More jobs than there are slots, so that the last one keeps what refused it.
    jobs = [job(number, *([asked] if asked else [])) for number in range(1, 14)]
    found = plan(cell(edits, definition), *jobs)
    assert reason in found.scheduling_info(13)


def test_what_a_host_reports_counts_where_it_is_less_than_what_is_left() -> None:
    have = cell("execution/node2: complex_values fr=100G", "fr fr MEMORY <= YES YES 0 0")
    for asked, load, reason in (
        ("90G", "8G", '(-l fr=90G) cannot run at host "node2" because it offers only hl:fr=8.000G'),
        ("900G", "200G", '(-l fr=900G) cannot run at host "node2" because it offers only hc:fr=100.000G'),
    ):
        found = plan(have, job(1, f"fr={asked}"), loads={"node2": {"fr": load}})
        assert reason in found.scheduling_info(1)


def test_exclusive_hosts_refuse_both_ways() -> None:
    one = cell(
        "execution/node1: complex_values excl=TRUE\nhostgroups/@allhosts: hostlist node1",
        "excl excl BOOL EXCL YES YES 0 0",
    )
    taken = plan(one, job(2, "excl=TRUE"), running=(running(1, "all.q@node1"),))
    assert told(taken, 2) == (
        '(-l excl=TRUE) cannot run at host "node1" because exclusive resource (excl) is already in use',
    )
    closed = plan(one, job(2), running=(running(1, "all.q@node1", "excl=TRUE"),))
    assert told(closed, 2) == (
        '(-l NONE) cannot run at host "node1" because for default request exclusive resource (excl) is already in use',
    )


def test_adjustments_close_hosts_and_their_figures_are_those_of_grid_engine() -> None:
    one = cell(
        "schedconf: job_load_adjustments np_load_avg=2.0\nschedconf: load_adjustment_decay_time 0:0:30\n"
        "hostgroups/@allhosts: hostlist node1"
    )
    young = tuple(running(number, "all.q@node1", age=3) for number in (1, 2))
    assert texts(plan(one, job(9), running=young).dropped) == (
        'queue instance "all.q@node1" dropped because it is overloaded: '
        "np_load_avg=1.800000 (= 0.000000 + 2.0 * 1.800000 with nproc=2) >= 1.75",
        "All queues dropped because of overload or full",
    )
    assert places(plan(one, job(1), job(2), job(3))) == {1: ["all.q@node1"], 2: ["all.q@node1"]}
    assert places(plan(one, job(9), running=tuple(running(n, "all.q@node1", age=31) for n in (1, 2)))) == {
        9: ["all.q@node1"]
    }


def test_load_without_adjustment() -> None:
    one = cell("hostgroups/@allhosts: hostlist node2")
    found = plan(one, job(1), loads={"node2": {"np_load_avg": "1.8"}})
    assert texts(found.dropped)[0] == (
        'queue instance "all.q@node2" dropped because it is overloaded: '
        "np_load_avg=1.800000 (no load adjustment) >= 1.75"
    )
    assert found.states == {"all.q@node2": "a"}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"held": True}, "Job is in hold state"),
        ({"error": True}, "Job is in error state"),
        ({"depends": True}, "job dropped because of job dependencies"),
        ({"not_before": 4e9}, "execution time not reached"),
    ],
)
def test_jobs_that_may_not_start_yet(fields: dict[str, Any], reason: str) -> None:
    assert told(plan(cell(), job(1, **fields)), 1) == (reason,)


def test_array_tasks_start_up_to_their_limit() -> None:
    found = plan(cell(), job(5, tasks=(2, 3, 4), concurrency=2), running=(running(5, "all.q@node1", task=1),))
    assert [(one.job, one.task) for one in found.dispatches] == [(5, 2)]
    assert told(found, 5) == ("not all array tasks may be started due to 'max_aj_instances'",)


def test_what_is_overloaded_is_told_as_such_though_it_is_disabled() -> None:
    one = cell("cqueues/all.q: load_thresholds np_load_avg=0.25\nhostgroups/@allhosts: hostlist node1 node2")
    states = {"all.q@node1": "d", "all.q@node2": "d"}
    found = plan(one, job(1), loads={"node1": {"np_load_avg": "0.3"}}, states=states)
    assert [each.sentence() for each in found.dropped] == [
        'queue instance "all.q@node1" dropped because it is overloaded: '
        "np_load_avg=0.300000 (no load adjustment) >= 0.25",
        'queue instance "all.q@node2" dropped because it is disabled',
        "All queues dropped because of overload or full",
    ]


def test_of_a_parallel_job_each_instance_is_named_after_what_its_host_refuses() -> None:
    """As 8.1.9 told of the same requests; of a job without an environment it names the hosts."""
    one = cell(
        "execution/node1: complex_values gpu=2\nexecution/node3: complex_values gpu=2",
        "gpu gpu INT <= FORCED YES 0 0",
        queues=("b.q",),
    )
    left_out = 'cannot run in queue "{}" because it is not contained in its hard queue list (-q)'
    forced = "does not request 'forced' resource \"gpu\" of host {}"
    parallel = {"environment": "make", "slots": (Range(30, 30),)}
    found = plan(one, job(1, queues=("*@node2",), **parallel)).scheduling_info(1)
    assert {each for each in found if "PE" not in each} >= {forced.format("node1"), forced.format("node3")}
    assert not any("hard queue list" in each and "node" in each for each in found)
    found = plan(one, job(1, queues=("*@node3",), **parallel)).scheduling_info(1)
    assert {left_out.format("all.q@node2"), forced.format("node1"), forced.format("node3")} <= set(found)
    found = plan(one, job(1, queues=("*@node3",))).scheduling_info(1)
    assert {left_out.format("node1"), left_out.format("node2"), forced.format("node3")} == set(found)


def test_the_user_lists_of_a_queue_come_before_its_environments() -> None:
    one = cell("cqueues/all.q: xuser_lists arusers\ncqueues/all.q: pe_list NONE\nusersets/arusers: entries alice")
    found = plan(one, job(1, environment="make", slots=(Range(1, 1),)))
    assert 'has no permission for cluster queue "all.q"' in told(found, 1)


def test_a_job_whose_time_has_not_come_has_no_priority_and_changes_none() -> None:
    one = cell("schedconf: weight_urgency 1")
    alone = plan(one, job(1))
    both = plan(one, job(1), job(2, "mem_free=1", not_before=4e9))
    assert both.priorities == alone.priorities


def test_where_all_queues_are_left_out_a_parallel_job_is_told_no_more() -> None:
    one = cell("cqueues/all.q: slots 0")
    assert told(plan(one, job(1, environment="make", slots=(Range(2, 2),))), 1) == ()


def test_after_all_queues_are_full_the_jobs_that_come_are_not_looked_at() -> None:
    refused = 'cannot run in queue "b.q" because it is not contained in its hard queue list (-q)'
    one = cell("cqueues/all.q: slots 1\nhostgroups/@allhosts: hostlist node1", queues=("b.q",))
    closed = {"b.q@node1": "d"}
    first, last = job(1, queues=("all.q",)), job(2, queues=("all.q",))
    found = plan(one, first, last, states=closed)
    # What its kind learned before is not told either: nothing refused the first job.
    assert refused not in found.scheduling_info(2)
    assert "All queues dropped because of overload or full" in found.scheduling_info(2)
    # With reservations a full queue may be used later, so the run goes on for the first job.
    later = cell("schedconf: max_reservation 5\ncqueues/all.q: slots 1\nhostgroups/@allhosts: hostlist node1")
    found = plan(later, job(1), running=(running(3, "all.q@node1"),))
    assert found.scheduling_info(1) == ('queue instance "all.q@node1" dropped because it is full',)


def test_what_is_unavailable_is_told_before_what_is_disabled() -> None:
    found = plan(cell("hostgroups/@allhosts: hostlist node1"), job(1), states={"all.q@node1": "ds"})
    assert 'queue instance "all.q@node1" dropped because it is temporarily not available' in found.scheduling_info(1)
    assert found.states == {"all.q@node1": "ds"}
