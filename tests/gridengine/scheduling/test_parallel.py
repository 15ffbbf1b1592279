"""Parallel jobs: allocation rules, ranges, what bounds them, and what is said of those that wait.

The expected answers are those of Grid Engine 8.1.9; which of several equally loaded hosts comes first is not compared.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import pytest

from roost.gridengine.cell import Cell
from roost.gridengine.scheduling import Grant, PendingJob, Range, RunningTask, SchedulingPlan
from tests.gridengine.scheduling.cells import cell, job, plan, running, told

_RULES = {"fill": "$fill_up", "rr": "$round_robin", "smp": "$pe_slots", "two": "2"}
_TEXT = """pe_name            {name}
slots              {slots}
user_lists         {users}
xuser_lists        NONE
start_proc_args    NONE
stop_proc_args     NONE
allocation_rule    {rule}
control_slaves     TRUE
job_is_first_task  FALSE
urgency_slots      {urgency}
accounting_summary TRUE
qsort_args         NONE
"""


def _cell(
    edits: str = "",
    complexes: str = "",
    queues: tuple[str, ...] = (),
    files: Mapping[str, str] | None = None,
    **changed: str | int,
) -> Cell:
    """Three hosts with 4 slots, and an environment for each rule."""
    texts = {
        f"pe/{name}": _TEXT.format(
            name=name, rule=rule, **({"slots": 999, "users": "NONE", "urgency": "min"} | changed)
        )
        for name, rule in _RULES.items()
    }
    return cell(
        f"cqueues/all.q: pe_list make fill rr smp two\n{edits}",
        complexes,
        queues=queues,
        files=texts | dict(files or {}),
    )


def _parallel(
    number: int, environment: str, *hard: str, low: int, high: int | None = None, **more: object
) -> PendingJob:
    return job(number, *hard, environment=environment, slots=(Range(low, high or low),), **more)


def _slots(found: SchedulingPlan, number: int = 1) -> list[int]:
    """Slots by instance, the most first."""
    return sorted((grant.slots for one in found.dispatches if one.job == number for grant in one.grants), reverse=True)


@pytest.mark.parametrize(
    ("environment", "low", "high", "slots"),
    [
        ("fill", 6, 6, [4, 2]),
        ("rr", 6, 6, [2, 2, 2]),
        ("two", 6, 6, [2, 2, 2]),
        ("smp", 3, 3, [3]),
        ("fill", 4, 20, [4, 4, 4]),
        ("two", 2, 20, [2, 2, 2]),
        ("smp", 2, 20, [4]),
        ("rr", 5, 5, [2, 2, 1]),
        ("f*", 5, 5, [4, 1]),
    ],
)
def test_allocation_rules(environment: str, low: int, high: int, slots: list[int]) -> None:
    assert _slots(plan(_cell(), _parallel(1, environment, low=low, high=high))) == slots


def test_hosts_with_unequal_slots() -> None:
    """Recorded with 1, 4 and 2 slots: `$fill_up` takes all of the best host, `$round_robin` what it finds in turn."""
    one = _cell("cqueues/all.q: slots 4,[node1=1],[node3=2]")
    loads = {"node1": {"np_load_avg": "0.1"}, "node3": {"np_load_avg": "0.2"}}
    for environment, slots in (("fill", (4, 1, 1)), ("rr", (3, 1, 2))):
        found = plan(one, _parallel(1, environment, low=6), loads=loads)
        hosts = ("node2", "node1", "node3")
        assert found.dispatches[0].grants == tuple((f"all.q@{host}", n) for host, n in zip(hosts, slots, strict=True))


def test_the_largest_amount_of_a_list_that_is_free_now() -> None:
    asked = job(1, environment="fill", slots=(Range(2, 3), Range(6, 6), Range(13, 20)))
    assert sum(_slots(plan(_cell(), asked))) == 6
    busy = [running(90 + number, f"all.q@node{1 + number % 3}") for number in range(8)]
    assert sum(_slots(plan(_cell(), asked, running=tuple(busy)))) == 3


@pytest.mark.parametrize(
    ("environment", "slots", "reason"),
    [
        ("smp", 5, 'cannot run in PE "smp" because it only offers 0 slots'),
        ("two", 5, 'cannot run in PE "two" because it only offers 0 slots'),
        ("fill", 13, 'cannot run in PE "fill" because it only offers 12 slots'),
        ("rr", 13, 'cannot run in PE "rr" because it only offers 12 slots'),
    ],
)
def test_what_cannot_be(environment: str, slots: int, reason: str) -> None:
    assert told(plan(_cell(), _parallel(1, environment, low=slots)), 1) == (reason,)


def test_slots_of_the_environment_bound_all_its_jobs() -> None:
    found = plan(_cell(slots=4), _parallel(1, "fill", low=3), _parallel(2, "fill", low=2))
    assert (_slots(found, 1), told(found, 2)) == ([3], ('cannot run in PE "fill" because it only offers 1 slots',))


def test_a_queue_without_the_environment_and_users_without_permission() -> None:
    found = plan(_cell(queues=("b.q",)), _parallel(1, "fill", low=13))
    assert told(found, 1) == (
        'cannot run in queue "b.q" because PE "fill" is not in PE list',
        'cannot run in PE "fill" because it only offers 12 slots',
    )
    refused = plan(_cell(users="deadlineusers"), _parallel(1, "fill", low=1))
    assert told(refused, 1)[0] == 'cannot run because no access to PE "fill"'
    assert told(plan(_cell(), _parallel(1, "nosuch*", low=1)), 1) == (
        'cannot run because no PE of the cell matches "nosuch*"',
    )


def test_a_host_bounds_all_its_queues_and_one_host_may_give_several_queues() -> None:
    one = _cell(
        "execution/node1: complex_values slots=3\ncqueues/b.q: slots 2\ncqueues/b.q: pe_list fill rr smp two",
        queues=("b.q",),
    )
    assert sum(_slots(plan(one, _parallel(1, "fill", low=1, high=99)))) == 3 + 6 + 6
    assert _slots(plan(one, _parallel(1, "smp", low=5))) in ([4, 1], [3, 2])


_LICENCES = "lic lic INT <= YES YES 0 0\nonce once INT <= YES JOB 0 0"


def test_consumables_of_a_slot_and_of_a_job() -> None:
    """Recorded with 5 licences: 6 slots with one each wait, 4 start; one taken once is enough for 6 slots."""
    one = _cell("execution/global: complex_values lic=5,once=1", _LICENCES)
    found = plan(one, _parallel(1, "fill", "lic=1", low=6), _parallel(2, "fill", "lic=1", low=4))
    assert told(found, 1) == ('cannot run in PE "fill" because it only offers 5 slots',)
    assert sum(_slots(found, 2)) == 4
    short = plan(one, _parallel(2, "fill", "lic=1", low=4), _parallel(3, "fill", "lic=2", low=2, high=10))
    assert told(short, 3) == (
        '(-l lic=2) cannot run in queue "global" because it offers only gc:lic=1.000000',
        'cannot run in PE "fill" because it only offers 0 slots',
    )
    assert sum(_slots(plan(one, _parallel(4, "fill", "once=1", low=6)), 4)) == 6
    assert not plan(one, _parallel(4, "fill", "once=2", low=6)).dispatches


def test_what_a_job_takes_once_is_taken_where_its_master_is() -> None:
    one = _cell("execution/node3: complex_values once=1", _LICENCES)
    found = plan(one, _parallel(1, "rr", "once=1", low=3), loads={"node3": {"np_load_avg": "1"}})
    assert found.dispatches[0].grants[0].instance == "all.q@node3"


def test_quotas_of_environments_count_all_slots() -> None:
    rules = "   limit pes fill hosts {*} to slots=2\n   limit users alice to slots=5\n"
    quota = {"resource_quotas/q1": f"{{\n   name q1\n   description NONE\n   enabled TRUE\n{rules}}}\n"}
    one = _cell(files=quota)
    assert _slots(plan(one, _parallel(1, "fill", low=6))) == [2, 2, 2]
    assert told(plan(one, _parallel(1, "fill", low=7)), 1) == (
        'cannot run in PE "fill" because it only offers 6 slots',
    )
    assert sum(_slots(plan(one, _parallel(1, "rr", low=4, high=20)))) == 5


def test_the_master_may_have_a_queue_of_its_own() -> None:
    one = _cell("cqueues/m.q: slots 1\ncqueues/m.q: pe_list rr", queues=("m.q",))
    more = {"queues": ("all.q",), "master_queues": ("m.q@node2",)}
    found = plan(one, _parallel(1, "rr", low=4, **more), _parallel(2, "rr", low=4, **more))
    assert found.dispatches[0].grants[0] == ("m.q@node2", 1)
    assert sorted(grant for grant in found.dispatches[0].grants[1:]) == [(f"all.q@node{n}", 1) for n in (1, 2, 3)]
    assert 'queue instance "m.q@node2" dropped because it is full' in found.scheduling_info(2)
    assert len(found.dispatches) == 1


def test_exclusive_parallel_jobs_keep_all_their_hosts() -> None:
    hosts = "\n".join(f"execution/node{number}: complex_values excl=TRUE" for number in (1, 2, 3))
    one = _cell(hosts, "excl excl BOOL EXCL YES YES 0 0")
    found = plan(one, _parallel(1, "rr", "excl=TRUE", low=3), job(2))
    assert (_slots(found, 1), _slots(found, 2)) == ([1, 1, 1], [])


@pytest.mark.parametrize(("urgency", "slots"), [("min", 2), ("max", 10), ("avg", 6), ("7", 7)])
def test_slots_assumed_for_urgency(urgency: str, slots: int) -> None:
    found = plan(_cell(urgency=urgency), _parallel(1, "fill", low=2, high=10))
    assert found.priorities[1].resources == 1000 * slots


def test_a_parallel_queue_needs_no_batch_type() -> None:
    one = _cell("cqueues/all.q: qtype NONE")
    assert _slots(plan(one, _parallel(1, "smp", low=2))) == [2]
    assert not plan(one, job(1)).dispatches


def test_no_queue_is_looked_at_where_the_environment_has_too_few_slots() -> None:
    small = _cell(slots=4, queues=("b.q",))
    found = plan(small, _parallel(1, "fill", low=6), _parallel(2, "fill", low=3), running=(_held(3, "fill", 2),))
    assert told(found, 1) == (
        'cannot run in PE "fill" because it only offers 4 slots',
        'cannot run in PE "fill" because it only offers 2 slots',
    )
    assert told(found, 2) == ('cannot run in PE "fill" because it only offers 2 slots',)


def _held(number: int, environment: str, slots: int) -> RunningTask:
    grants = (Grant("all.q@node1", slots),)
    return dataclasses.replace(running(number, "all.q@node1"), environment=environment, grants=grants)


def test_parallel_jobs_hear_of_their_environment_and_not_of_unknown_resources() -> None:
    found = plan(_cell("", "lic lic INT <= YES YES 0 0"), _parallel(1, "fill", "lic=1", low=1))
    assert told(found, 1) == ('cannot run in PE "fill" because it only offers 0 slots',)


def test_a_job_without_access_is_not_told_what_others_learned_of_hosts() -> None:
    edits = "\n".join(f"execution/node{number}: complex_values disk=0" for number in (1, 2, 3))
    one = _cell(edits, "disk disk INT <= YES YES 1 0", users="deadlineusers")
    found = plan(one, job(1), _parallel(2, "fill", low=1))
    assert len(told(found, 1)) == 3
    assert told(found, 2) == (
        'cannot run because no access to PE "fill"',
        'cannot run in PE "fill" because it only offers 0 slots',
    )
