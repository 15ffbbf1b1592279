"""Reservations: what is kept for jobs with -R y, who may pass them, and what is said of those that may not."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from roost.gridengine.cell import Cell
from roost.gridengine.scheduling import Grant, PendingJob, Range, RunningTask
from tests.gridengine.scheduling.cells import NOW, cell, job, places, plan, running, told


def _cell(edits: str = "", most: int = 20, duration: str = "0:10:0", **more: Any) -> Cell:
    reserves = f"schedconf: max_reservation {most}\nschedconf: default_duration {duration}"
    return cell(f"{reserves}\ncqueues/all.q: slots 4\n{edits}", **more)


def _run(number: int, host: str, age: float, *hard: str, slots: int = 2) -> RunningTask:
    one = running(number, f"all.q@{host}", *hard, age=age)
    return dataclasses.replace(one, grants=(Grant(f"all.q@{host}", slots),), environment="make")


def _big(number: int, slots: int = 12, reserve: bool = True) -> PendingJob:
    return job(number, "h_rt=10", environment="make", slots=(Range(slots, slots),), reserve=reserve, priority=100)


#: the recorded session: two slots of each of three hosts are taken for 200 s since 4 s
_BUSY = tuple(_run(90 + number, f"node{number}", 4, "h_rt=200") for number in (1, 2, 3))


def test_the_recorded_session() -> None:
    asked = (
        _big(1),
        job(2, "h_rt=5"),
        job(3, "h_rt=300"),
        job(4, "h_rt=300", environment="make", slots=(Range(2, 2),)),
    )
    found = plan(_cell("schedconf: weight_priority 1"), *asked, running=_BUSY)
    assert places(found).keys() == {2}
    (kept,) = found.reservations
    # 200 s and 60 s of DURATION_OFFSET after the start of what runs; for 10 s and 60 s
    assert (kept.job, kept.start - NOW, kept.end - kept.start) == (1, 256, 70)
    assert sorted(kept.grants) == [(f"all.q@node{number}", 4) for number in (1, 2, 3)]
    assert sorted(told(found, 3)) == [
        f'(-l h_rt=300) cannot run in queue "all.q@node{number}" because it offers only qc:slots=0.000000 '
        "due to a reservation"
        for number in (1, 2, 3)
    ]
    assert told(found, 4) == ('cannot run in PE "make" because it only offers 0 slots',)
    assert told(found, 1) == ('cannot run in PE "make" because it only offers 6 slots',)


@pytest.mark.parametrize(("reserve", "most", "duration"), [(False, 9, "60"), (True, 0, "60"), (True, 9, "INFINITY")])
def test_without_a_reservation_jobs_pass(reserve: bool, most: int, duration: str) -> None:
    """With a default duration that is infinite, nothing is known to end."""
    busy = tuple(_run(90 + number, f"node{number}", 4) for number in (1, 2, 3))
    found = plan(_cell(most=most, duration=duration), _big(1, reserve=reserve), job(2, "h_rt=300"), running=busy)
    assert (found.reservations, list(places(found))) == ((), [2])


def test_only_so_many_jobs_get_reservations() -> None:
    one = _cell(most=1)
    found = plan(one, _big(1), _big(2), running=_BUSY)
    assert [each.job for each in found.reservations] == [1]
    two = plan(_cell(), _big(1), _big(2), running=_BUSY)
    assert [(each.job, each.start - NOW) for each in two.reservations] == [(1, 256), (2, 326)]


def test_a_licence_is_kept_and_jobs_that_do_without_it_start() -> None:
    one = _cell("execution/global: complex_values lic=2", complexes="lic lic INT <= YES YES 0 0")
    busy = (running(90, "all.q@node1", "lic=1", "h_rt=100", age=0),)
    wants = job(1, "lic=2", "h_rt=100", reserve=True, priority=100)
    found = plan(one, wants, job(2, "lic=1", "h_rt=200"), job(3, "h_rt=200"), job(4, "lic=1", "h_rt=90"), running=busy)
    assert list(places(found)) == [3, 4]
    assert told(found, 2)[0].endswith("gc:lic=0.000000 due to a reservation")


def test_exclusive_jobs_get_a_host_in_time() -> None:
    edits = "execution/node1: complex_values excl=TRUE\nhostgroups/@allhosts: hostlist node1"
    one = _cell(edits, complexes="excl excl BOOL EXCL YES YES 0 0")
    busy = (running(90, "all.q@node1", "h_rt=100", age=0),)
    alone = job(1, "excl=TRUE", "h_rt=50", reserve=True, priority=100)
    found = plan(one, alone, job(2, "h_rt=500"), job(3, "h_rt=100"), running=busy)
    assert list(places(found)) == [3]
    assert found.reservations[0].start == NOW + 160


def test_jobs_do_not_start_into_a_closing_queue() -> None:
    """At noon on Friday, before a queue that closes at one."""
    calendar = {"calendars/office": "calendar_name office\nyear NONE\nweek mon-fri=13-18=off\n"}
    one = _cell("cqueues/all.q: calendar office", files=calendar)
    found = plan(one, job(1, "h_rt=7200", reserve=True), job(2, "h_rt=600"))
    assert list(places(found)) == [2]


def test_quotas_are_kept_too() -> None:
    rule = "{\n   name q\n   description NONE\n   enabled TRUE\n   limit users {*} to slots=2\n}\n"
    one = _cell(files={"resource_quotas/q": rule})
    busy = (running(90, "all.q@node1", "h_rt=100", age=0),)
    pair = job(1, "h_rt=50", environment="make", slots=(Range(2, 2),), reserve=True, priority=100)
    found = plan(one, pair, job(2, "h_rt=500"), job(3, "h_rt=90"), running=busy)
    assert list(places(found)) == [3]
    assert found.reservations[0].start == NOW + 160


def test_slots_of_machines_that_are_in_use_now_are_kept_for_later() -> None:
    """Machines with as many slots as their hosts: those that run jobs have fewer to give away now."""
    seats = {f"node{number}": 2 for number in (1, 2, 3)}
    found = plan(_cell("schedconf: weight_priority 1"), _big(1), job(3, "h_rt=300"), running=_BUSY, seats=seats)
    (kept,) = found.reservations
    assert sorted(kept.grants) == [(f"all.q@node{number}", 4) for number in (1, 2, 3)]
    assert places(found) == {}
