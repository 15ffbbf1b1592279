"""Tasks that wait for tasks of other arrays: who is released by whom, and that nothing of it is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.schedd import events as ev
from roost.schedd.identifiers import JobId
from roost.schedd.status import JobStatus
from tests.schedd.kit import Driven, source


def array(queue: Driven, first: int, last: int, step: int, *after: int) -> int:
    count = (last - first) // step + 1
    more = {"CellArrayPredecessors": ",".join(map(str, after))} if after else {}
    return queue.submit(source(count, CellTasks=f"{first}-{last}:{step}", CellJobName="a", **more))


def held(queue: Driven, cluster: int) -> list[int]:
    """The tasks on hold, by the place of each in its array."""
    found = queue.queue.book.clusters[cluster]
    return [proc for proc in found.procs() if found.status(proc) is JobStatus.HELD]


def leave(queue: Driven, cluster: int, *procs: int) -> None:
    queue.act(ev.Action.REMOVE, *(JobId(cluster, proc) for proc in procs))


def test_each_task_waits_for_its_own_also_over_a_restart() -> None:
    queue = Driven()
    first = array(queue, 1, 4, 1)
    second = array(queue, 1, 4, 1, first)
    assert held(queue, second) == [0, 1, 2, 3]
    leave(queue, first, 2)
    assert held(queue, second) == [0, 1, 3]
    queue.restart()
    leave(queue, first, 0, 1)
    assert held(queue, second) == [3]
    queue.restart()
    assert held(queue, second) == [3]
    leave(queue, first, 3)
    assert held(queue, second) == []
    queue.check()


def test_a_hold_of_the_user_stays() -> None:
    queue = Driven()
    first = array(queue, 1, 2, 1)
    second = array(queue, 1, 2, 1, first)
    queue.act(ev.Action.HOLD, JobId(second, 0), CellHolds="u")
    leave(queue, first, 0, 1)
    assert held(queue, second) == [0]
    queue.act(ev.Action.RELEASE, JobId(second, 0), CellHolds="u")
    assert held(queue, second) == []


def test_a_release_of_the_users_hold_leaves_that_of_the_array() -> None:
    queue = Driven()
    first = array(queue, 1, 1, 1)
    second = array(queue, 1, 1, 1, first)
    queue.act(ev.Action.RELEASE, JobId(second, 0), CellHolds="uos")
    assert held(queue, second) == [0]


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 9), st.data())
def test_a_task_waits_as_long_as_a_task_is_there_that_shares_a_number(
    mine: int, theirs: int, last: int, data: st.DataObject
) -> None:
    queue = Driven()
    first = array(queue, 1, last, theirs)
    second = array(queue, 1, last, mine, first)
    count = (last - 1) // theirs + 1
    numbers = [set(range(1 + proc * theirs, min(last, (proc + 1) * theirs) + 1)) for proc in range(count)]
    left = set(range(len(numbers)))
    for proc in data.draw(st.permutations(sorted(left))):
        leave(queue, first, proc)
        left.discard(proc)
        there = set().union(*(numbers[each] for each in left))
        expected = [
            place
            for place in range((last - 1) // mine + 1)
            if there & set(range(1 + place * mine, min(last, (place + 1) * mine) + 1))
        ]
        assert held(queue, second) == expected


@pytest.mark.parametrize("last", [3, 5])
def test_arrays_of_other_ranges_are_refused(last: int) -> None:
    queue = Driven()
    first = array(queue, 1, 4, 1)
    array(queue, 1, last, 1, first)
    assert len(queue.queue.book.clusters) == 1
