"""Suspend thresholds and slot-wise subordination, as recorded with Grid Engine 8.1.9."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from roost.gridengine.cell import Cell
from roost.gridengine.objects.values import Quantity
from roost.gridengine.scheduling import Grant, RunningTask, SchedulingPlan
from roost.model.cell_requests import Suspender
from tests.gridengine.scheduling.cells import NOW, cell, job, plan, running, texts

_HIGH = {"node2": {"np_load_avg": "2.5"}}


def _thresholds(edits: str = "") -> Cell:
    return cell(
        "cqueues/all.q: suspend_thresholds np_load_avg=2.0\ncqueues/all.q: load_thresholds NONE\n"
        f"cqueues/all.q: suspend_interval 0:0:10\nhostgroups/@allhosts: hostlist node2\n{edits}"
    )


def _tasks(*suspended: str, queue: str = "all.q@node2") -> tuple[RunningTask, ...]:
    """Jobs 1, 2, … that started one second after the other."""
    return tuple(
        dataclasses.replace(running(number, queue, age=100 - number), suspended=letters)
        for number, letters in enumerate(suspended, 1)
    )


def _orders(found: SchedulingPlan, begins: bool) -> list[int]:
    return [one.job for one in found.suspensions if one.begins is begins]


def test_a_suspend_threshold_suspends_the_last_started_and_closes_the_instance() -> None:
    found = plan(_thresholds(), job(9), loads=_HIGH, running=_tasks("", "", ""))
    assert _orders(found, True) == [3]
    assert found.states == {"all.q@node2": "A"}
    assert texts(found.dropped)[0] == (
        'queue instance "all.q@node2" is in suspend alarm: np_load_avg=2.500000 (no load adjustment) >= 2.0'
    )


def test_of_tasks_that_started_in_one_second_the_first_is_suspended_and_resumed_first() -> None:
    tasks = tuple(dataclasses.replace(task, started=100.0 + task.job / 10) for task in _tasks("", "", ""))
    assert _orders(plan(_thresholds(), loads=_HIGH, running=tasks), True) == [1]
    tasks = tuple(dataclasses.replace(task, suspended="T") for task in tasks)
    assert _orders(plan(_thresholds(), running=tasks, threshold_times={"all.q@node2": -100.0}), False) == [1]


@pytest.mark.parametrize(
    ("suspended", "since", "load", "suspends", "resumes"),
    [
        (("", "", "T"), 5, _HIGH, [], []),
        (("", "", "T"), 10, _HIGH, [2], []),
        (("T", "T", "T"), 10, _HIGH, [], []),
        (("T", "T", "T"), 10, {}, [], [1]),
        (("T", "T", "T"), 9, {}, [], []),
        (("", "T", "T"), 60, {}, [], [2]),
    ],
)
def test_one_task_after_the_other_in_the_rhythm_of_the_interval(
    suspended: tuple[str, ...], since: float, load: dict[str, dict[str, str]], suspends: list[int], resumes: list[int]
) -> None:
    times = {"all.q@node2": NOW - since}
    found = plan(_thresholds(), loads=load, running=_tasks(*suspended), threshold_times=times)
    assert (_orders(found, True), _orders(found, False)) == (suspends, resumes)


def test_several_at_a_time_none_at_all_and_none_of_a_suspended_instance() -> None:
    tasks = _tasks("", "", "")
    many = cell("cqueues/all.q: suspend_thresholds np_load_avg=2.0\ncqueues/all.q: nsuspend 2")
    none = cell("cqueues/all.q: suspend_thresholds np_load_avg=2.0\ncqueues/all.q: nsuspend 0")
    assert _orders(plan(many, loads=_HIGH, running=tasks), True) == [3, 2]
    assert _orders(plan(none, loads=_HIGH, running=tasks), True) == []
    still = plan(_thresholds(), loads=_HIGH, running=tasks, states={"all.q@node2": "s"})
    assert (_orders(still, True), still.states) == ([], {"all.q@node2": "As"})


def _slotwise(list: str, *more: str) -> Cell:
    edits = [f"cqueues/{queue}: slots 4" for queue in ("low.q", "mid.q", "high.q")]
    return cell(
        "\n".join([*edits, f"cqueues/high.q: subordinate_list {list}", *more]), queues=("low.q", "mid.q", "high.q")
    )


def _on(number: int, queue: str, age: float, suspended: str = "") -> RunningTask:
    return dataclasses.replace(running(number, f"{queue}@node1", age=age), suspended=suspended)


#: two tasks of low.q and two of mid.q, which started in this order
_FOUR = (_on(1, "low.q", 50), _on(2, "low.q", 40), _on(3, "mid.q", 30), _on(4, "mid.q", 20))


@pytest.mark.parametrize(("action", "suspended"), [("sr", 2), ("lr", 1)])
def test_a_task_of_the_queue_with_the_highest_number_gives_way(action: str, suspended: int) -> None:
    one = _slotwise(f"slots=4(mid.q:1:sr,low.q:2:{action})")
    found = plan(one, job(9, queues=("high.q@node1",)), running=_FOUR)
    assert (len(found.dispatches), _orders(found, True)) == (1, [suspended])
    assert "S" not in "".join(found.states.values())


def test_the_recorded_session() -> None:
    """Tasks count and not slots; a task that starts below may be suspended at once; and they resume in reverse."""
    one = _slotwise("slots=4(mid.q:1:sr,low.q:2:sr)")
    lows = (_on(1, "low.q", 50, "P"), _on(2, "low.q", 40, "P"))
    mids = (_on(3, "mid.q", 30), _on(4, "mid.q", 20))
    highs = (_on(5, "high.q", 10), _on(6, "high.q", 5))
    jobs = (job(7, queues=("high.q@node1",)), job(8, queues=("low.q@node1",)))
    found = plan(one, *jobs, running=(*lows, *mids, *highs))
    assert (len(found.dispatches), _orders(found, True), _orders(found, False)) == (2, [8, 4], [])
    after = (*lows, _on(8, "low.q", 3, "P"), mids[0], _on(4, "mid.q", 20, "P"), _on(7, "high.q", 3))
    assert _orders(plan(one, running=after), False) == [4, 1]


def test_queues_below_take_no_task_that_could_not_run() -> None:
    one = _slotwise("slots=2(low.q:1:sr)")
    found = plan(one, job(1, queues=("low.q@node1",)), running=(_on(5, "high.q", 9), _on(6, "high.q", 5)))
    assert (found.dispatches, found.states) == ((), {"low.q@node1": "P"})


def test_levels() -> None:
    """The deepest level gives way first, and a limit below is never more than the one above."""
    one = _slotwise("slots=3(mid.q:1:sr)", "cqueues/mid.q: subordinate_list slots=9(low.q:1:sr)")
    found = plan(one, running=(_on(1, "low.q", 50), _on(2, "mid.q", 60), _on(3, "mid.q", 40), _on(4, "high.q", 30)))
    assert _orders(found, True) == [1]


def _causes(found: SchedulingPlan) -> list[list[str]]:
    """What suspends each task that runs."""
    return [list(each) for each in found.suspenders]


def test_what_suspends_each_task_is_told_with_every_cause() -> None:
    edits = "cqueues/b.q: subordinate_list all.q=1\nhostgroups/@allhosts: hostlist node1"
    week = {"calendars/night": "calendar_name night\nyear NONE\nweek mon-sun=suspended\n"}
    one = cell(f"{edits}\ncqueues/all.q: calendar night", queues=("b.q",), files=week)
    tasks = (running(1, "all.q@node1"), running(2, "b.q@node1"), running(3, "gone.q@node1"))
    found = plan(one, running=tasks, states={"all.q@node1": "s"})
    assert _causes(found) == [["command", "calendar", "subordination"], [], []]
    assert list(found.suspenders[0].values()) == [
        "queue instance all.q@node1 is suspended",
        "calendar night suspends all.q@node1",
        "all.q@node1 is subordinated to b.q@node1",
    ]
    assert found.states == {"all.q@node1": "CSs"}


def test_a_job_that_starts_in_the_run_suspends_others_once_it_is_there() -> None:
    edits = "cqueues/b.q: subordinate_list all.q=1\nhostgroups/@allhosts: hostlist node1"
    found = plan(cell(edits, queues=("b.q",)), job(2, queues=("b.q",)), running=(running(1, "all.q@node1"),))
    assert (len(found.dispatches), found.states, _causes(found)) == (1, {"all.q@node1": "S"}, [[]])


def test_thresholds_and_slots_are_causes_of_single_tasks() -> None:
    found = plan(_thresholds(), loads=_HIGH, running=_tasks("", "", ""))
    assert _causes(found) == [[], [], ["threshold"]]
    assert list(found.suspenders[2].values()) == [
        "all.q@node2 exceeded a suspend threshold: np_load_avg=2.500000 (no load adjustment) >= 2.0"
    ]
    still = plan(_thresholds(), running=_tasks("", "T", "T"), threshold_times={"all.q@node2": NOW - 1})
    assert _causes(still) == [[], ["threshold"], ["threshold"]]
    one = _slotwise("slots=3(mid.q:1:sr,low.q:2:sr)")
    assert _causes(plan(one, running=(*_FOUR, _on(5, "high.q", 9, "s")))) == [[], ["slots"], [], [], []]


@pytest.mark.parametrize(
    "settings", [{"suspend_thresholds": ()}, {"nsuspend": 0}, {"suspend_interval": Quantity("0", 0.0)}]
)
def test_what_no_threshold_can_suspend_any_more_goes_on_at_once(settings: dict[str, Any]) -> None:
    one = _thresholds()
    queue = one.queues["all.q"]
    changed = dataclasses.replace(queue, defaults=dataclasses.replace(queue.defaults, **settings))
    found = plan(
        dataclasses.replace(one, queues={**one.queues, "all.q": changed}), loads=_HIGH, running=_tasks("T", "", "T")
    )
    assert (_orders(found, False), _causes(found)) == ([1, 3], [[], [], []])


def test_what_no_list_can_suspend_any_more_goes_on_at_once() -> None:
    for one in (cell(queues=("low.q",)), _slotwise("slots=1(mid.q:1:sr)")):
        found = plan(one, running=(_on(1, "low.q", 50, "P"),))
        assert (_orders(found, False), _causes(found)) == ([1], [[]])


def test_of_instances_that_suspend_each_other_the_one_that_had_jobs_first_goes_on() -> None:
    edits = "\n".join(
        f"cqueues/{queue}: subordinate_list {other}=1"
        for queue, other in (("a.q", "b.q"), ("b.q", "c.q"), ("c.q", "a.q"))
    )
    one = cell(f"{edits}\nhostgroups/@allhosts: hostlist node1", queues=("a.q", "b.q", "c.q"))
    a, b, c = running(1, "a.q@node1", age=10), running(2, "b.q@node1", age=30), running(3, "c.q@node1", age=20)
    assert _causes(plan(one, running=(a, b, c))) == [["subordination"], [], ["subordination"]]
    assert _causes(plan(one, running=(a, c))) == [["subordination"], []]
    # A fourth one that is not in the circle goes first.
    top = cell(
        f"{edits}\ncqueues/top.q: subordinate_list b.q=1\nhostgroups/@allhosts: hostlist node1",
        queues=("a.q", "b.q", "c.q", "top.q"),
    )
    found = plan(top, running=(a, b, c, running(4, "top.q@node1")))
    assert _causes(found) == [["subordination"], ["subordination"], ["subordination"], []]


def test_a_parallel_job_stands_still_if_one_of_its_instances_does() -> None:
    """As Grid Engine 8.1.9: the state of the job is S, whichever of its instances is suspended."""
    tasks = (dataclasses.replace(running(1, "all.q@node1"), grants=(Grant("all.q@node1", 2), Grant("all.q@node3", 1))),
             running(2, "all.q@node1"))  # fmt: skip
    for instance, still in (
        ("all.q@node1", [True, True]),
        ("all.q@node3", [True, False]),
        ("all.q@node2", [False] * 2),
    ):
        found = plan(cell(), running=tasks, states={instance: "s"})
        assert [bool(causes) for causes in found.suspenders] == still
    assert dict(plan(cell(), running=tasks, states={"all.q@node3": "s"}).suspenders[0]) == {
        Suspender.COMMAND: "queue instance all.q@node3 is suspended"
    }


def _after(found: SchedulingPlan) -> list[list[str]]:
    """What suspends each task that runs once what was dispatched has begun."""
    return [list(each) for each in found.suspenders_after]


def test_what_starts_in_the_room_of_a_suspended_task_is_known_to_suspend_it_again() -> None:
    one = _slotwise("slots=2(low.q:1:sr)")
    low, high = _on(1, "low.q", 50, "P"), _on(2, "high.q", 30)
    found = plan(one, job(9, queues=("high.q@node1",)), running=(low, high))
    assert (len(found.dispatches), _causes(found), _after(found)) == (1, [[], []], [["slots"], []])
    # One that starts below it takes none of its room.
    found = plan(one, job(9, queues=("low.q@node1",)), running=(low, high))
    assert (len(found.dispatches), _causes(found), _after(found)) == (1, [[], []], [[], []])
    found = plan(one, running=(low, high))
    assert _after(found) == _causes(found) == [[], []]


def test_a_subordinated_queue_is_known_to_be_suspended_by_what_starts() -> None:
    one = cell("cqueues/all.q: subordinate_list b.q=1\nhostgroups/@allhosts: hostlist node1", queues=("b.q",))
    found = plan(one, job(9, queues=("all.q@node1",)), running=(running(1, "b.q@node1", age=50),))
    assert (len(found.dispatches), _causes(found), _after(found)) == (1, [[]], [["subordination"]])
