"""Advance reservations in the scheduling run: what they get, what their jobs get, and who keeps out of their way."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from roost.base.records import replace
from roost.gridengine.cell import Cell
from roost.gridengine.scheduling import (
    Booked,
    CellSnapshot,
    Grant,
    PendingJob,
    Range,
    RunningTask,
    SchedulingPlan,
    allot,
    run,
)
from roost.gridengine.scheduling.allocation import Allocation
from tests.gridengine.scheduling.cells import NOW, cell, job, places, plan, request, running, snapshot, told

_ONE = "hostgroups/@allhosts: hostlist node1\ncqueues/all.q: slots 4"
_LIC = "lic lic INT <= YES YES 0 0\nonce once INT <= YES JOB 0 0"


def booked(number: int, start: float, end: float, *hard: str, slots: int = 1, **more: Any) -> Booked:
    """Slots of all.q@node1, from and to so many seconds from now on."""
    own = {name: more.pop(name) for name in ("environment", "blocked") if name in more}
    grants = (Grant("all.q@node1", slots),)
    return Booked(number=number, request=request(*hard, **more), grants=grants, start=NOW + start, end=NOW + end, **own)


def inside(number: int, reservation: int, *hard: str, **more: Any) -> PendingJob:
    return replace(job(number, *hard, **more), reservation=reservation)


def test_jobs_that_would_run_into_a_reservation_wait_and_say_so() -> None:
    """As the recorded session: all slots of the host are reserved from 40 s on."""
    soon = (booked(1, 40, 100, slots=4),)
    jobs = (job(1), job(2, "h_rt=10"), job(3, environment="make", slots=(Range(2, 2),)), inside(4, 1))
    found = plan(cell(_ONE), *jobs, reservations=soon)
    assert not found.dispatches
    words = 'cannot run in queue "all.q@node1" because it offers only qc:slots=0.000000 due to a reservation'
    assert told(found, 1) == (f"(-l NONE) {words}",) and told(found, 2) == (f"(-l h_rt=10) {words}",)
    assert told(found, 3) == ('cannot run in PE "make" because it only offers 0 slots',)
    assert told(found, 4) == ("execution time not reached",)


def test_a_job_that_ends_before_starts() -> None:
    found = plan(cell(_ONE), job(1, "h_rt=30"), job(2, "h_rt=300"), reservations=(booked(1, 100, 200, slots=4),))
    assert list(places(found)) == [1]


def test_jobs_of_a_reservation_get_what_it_has_and_no_more() -> None:
    one = cell(f"{_ONE}\nexecution/node1: complex_values lic=4", _LIC)
    asked = (booked(7, -10, 60, "lic=1", slots=2, environment="make"),)
    jobs = [inside(number, 7, "lic=1", priority=-number) for number in (1, 2, 3)]
    found = plan(one, *jobs, job(4, "lic=3"), job(5, "lic=2"), reservations=asked)
    assert list(places(found)) == [1, 2, 5]
    # Two of four licences are the reservation's.
    assert told(found, 4) == ('(-l lic=3) cannot run at host "node1" because it offers only hc:lic=2.000000',)
    wide = inside(1, 7, environment="make", slots=(Range(2, 4),))
    assert [each.grants for each in plan(one, wide, reservations=asked).dispatches] == [(Grant("all.q@node1", 2),)]
    greedy = plan(one, inside(1, 7, "lic=2"), reservations=(booked(7, -10, 60, "lic=1"),))
    assert told(greedy, 1) == ('(-l lic=2) cannot run in queue "all.q@node1" because it offers only qc:lic=1.000000',)
    assert "unknown resource" in told(plan(one, inside(1, 7, "lic=1"), reservations=(booked(7, -10, 60),)), 1)[0]


def test_what_runs_in_a_reservation_is_booked_once() -> None:
    busy = tuple(replace(running(90 + number, "all.q@node1"), reservation=7) for number in (0, 1))
    found = plan(
        cell(_ONE), *(job(number) for number in (1, 2, 3)), inside(4, 7), running=busy,
        reservations=(booked(7, -10, 60, slots=2),),
    )  # fmt: skip
    assert list(places(found)) == [1, 2]
    # Once the reservation is gone, its tasks count as any other.
    after = plan(cell(_ONE), *(job(number) for number in (1, 2, 3)), running=busy)
    assert list(places(after)) == [1, 2]


def test_a_reservation_that_is_gone_blocked_or_over_gives_nothing() -> None:
    jobs = (inside(1, 5), inside(2, 6), inside(3, 7))
    found = plan(cell(_ONE), *jobs, reservations=(booked(6, -9, 9, blocked=True), booked(7, -9, 0)))
    assert not found.dispatches
    assert told(found, 1) == ("advance reservation 5 does not exist",)
    assert told(found, 2) == ("advance reservation 6 is in error state, and its errors are hard",)
    assert told(found, 3) == ("advance reservation 7 does not exist",)


def test_quotas_count_neither_for_reservations_nor_for_their_jobs() -> None:
    rule = "{\n   name q\n   description NONE\n   enabled TRUE\n   limit users {*} to slots=1\n}\n"
    one = cell(_ONE, files={"resource_quotas/q": rule})
    found = plan(
        one, *(inside(number, 7) for number in (1, 2)), job(3), job(4), reservations=(booked(7, 0, 9, slots=2),)
    )
    assert list(places(found)) == [1, 2, 3]


def test_reserved_slots_that_nobody_uses_suspend_no_queue() -> None:
    one = cell(f"{_ONE}\ncqueues/all.q: subordinate_list low.q=1", queues=("low.q",))
    low = job(1, queues=("low.q",))
    assert list(places(plan(one, low, reservations=(booked(7, -1, 1e9, slots=2),)))) == [1]
    used = plan(one, inside(0, 7), low, reservations=(booked(7, -1, 1e9, slots=2),))
    assert list(places(used)) == [0]


def test_a_host_that_is_reserved_for_itself() -> None:
    """As the real system: its jobs need not ask for it, and nobody else gets the host."""
    one = cell(f"{_ONE}\nexecution/node1: complex_values excl=TRUE", f"{_LIC}\nexcl excl BOOL EXCL YES YES 0 0")
    alone = (booked(7, -1, 60, "excl=TRUE", slots=2),)
    found = plan(one, inside(1, 7), job(2), reservations=alone)
    assert list(places(found)) == [1]
    assert told(found, 2) == (
        '(-l NONE) cannot run at host "node1" because for default request exclusive resource (excl) is already in use',
    )
    more = allot(snapshot(one, reservations=alone), request(), NOW, NOW + 60, lambda _: True)
    assert not isinstance(more, Allocation)


def test_what_is_granted_leaves_out_what_runs_and_what_is_reserved() -> None:
    busy = (running(90, "all.q@node1", "h_rt=100", age=0),)
    one = snapshot(cell(_ONE), running=busy, reservations=(booked(1, 500, 600, slots=3),))

    def granted(start: float, end: float, slots: int) -> bool:
        wanted = request(environment="make", slots=(Range(slots, slots),))
        return isinstance(allot(one, wanted, NOW + start, NOW + end, lambda _: True), Allocation)

    assert granted(0, 100, 3) and not granted(0, 100, 4)
    # The job ends after its limit and DURATION_OFFSET.
    assert granted(160, 500, 4) and not granted(159, 500, 4)
    assert granted(400, 600, 1) and not granted(400, 501, 2) and granted(600, 700, 4)


# -- a scheduler that is written as plainly as possible ---------------------------------------------------------------

_HOSTS = ("node1", "node2")
_OFFSET = 60.0
_EVER = float("inf")

lengths = st.sampled_from([None, 30, 90, 200])
amounts = st.integers(0, 2)


@st.composite
def snapshots(draw: st.DrawFn) -> CellSnapshot:
    capacity = {host: draw(st.integers(1, 3)) for host in _HOSTS}
    edits = [
        "hostgroups/@allhosts: hostlist node1 node2",
        f"cqueues/all.q: slots {capacity['node1']},[node2={capacity['node2']}]",
        f"execution/global: complex_values lic={draw(st.integers(1, 4))}",
        f"schedconf: max_reservation {draw(st.integers(0, 3))}",
        f"schedconf: default_duration {draw(st.sampled_from(('INFINITY', '0:2:0')))}",
        "schedconf: job_load_adjustments NONE",
    ]
    one = cell("\n".join(edits), _LIC)
    busy = [
        running(100 + number, f"all.q@{draw(st.sampled_from(_HOSTS))}", *_hard(draw), age=draw(st.integers(0, 40)))
        for number in range(draw(st.integers(0, 3)))
    ]
    reserved: list[Booked] = []
    for number in range(1, draw(st.integers(1, 4))):
        start = NOW + draw(st.sampled_from([-20, 0, 50, 150]))
        asked = request(*([f"lic={draw(amounts)}"] if draw(st.booleans()) else []))
        found = allot(
            snapshot(one, running=tuple(busy), reservations=tuple(reserved)), asked, start, start + 100, lambda _: True
        )
        if isinstance(found, Allocation):
            reserved.append(Booked(number=number, request=asked, grants=found.grants, start=start, end=start + 100))
    jobs = [
        replace(
            job(number, *_hard(draw), priority=draw(st.sampled_from([0, 100])), reserve=draw(st.booleans())),
            reservation=draw(st.sampled_from([0, 0, 1, 2])),
        )
        for number in range(1, draw(st.integers(1, 7)))
    ]
    return snapshot(one, *jobs, running=tuple(busy), reservations=tuple(reserved))


def _hard(draw: st.DrawFn) -> list[str]:
    length, lic = draw(lengths), draw(amounts)
    return [*([f"h_rt={length}"] if length else []), *([f"lic={lic}"] if lic else [])]


class Plain:
    """Bookings in time as a list; every question looks at all of them at every moment at which something changes."""

    def __init__(self, one: CellSnapshot) -> None:
        self.one, self.cell = one, one.cell
        self.capacity = {each.name: {"slots": float(each.settings.slots)} for each in one.instances}
        self.capacity["global"] = {"lic": float(dict(self.cell.hosts["global"].complex_values)["lic"])}
        #: start, end, instance, licences, slots
        self.booked: list[tuple[float, float, str, float, float]] = []
        for task in one.running:
            end = max(task.started + self.length(task), one.now + _OFFSET)
            self.booked.append((task.started, end, task.grants[0].instance, _lic(task), 1.0))
        for each in one.reservations:
            (grant,) = each.grants
            self.booked.append((each.start, each.end, grant.instance, _lic(each) * grant.slots, float(grant.slots)))

    def length(self, task: PendingJob | RunningTask) -> float:
        asked = dict(task.request.hard).get("h_rt")
        default = self.cell.scheduler.default_duration.number
        return (float(asked) if asked else float(default)) + _OFFSET

    def use(self, at: float, instance: str) -> tuple[float, float]:
        """Slots of an instance and licences of all that are booked at a moment."""
        there = [each for each in self.booked if each[0] <= at < each[1]]
        return sum(each[4] for each in there if each[2] == instance), sum(each[3] for each in there)

    def fits(self, instance: str, lic: float, start: float, end: float) -> bool:
        moments = [start, *(each[0] for each in self.booked if start < each[0] < end)]
        uses = [self.use(at, instance) for at in moments]
        return all(slots + 1 <= self.capacity[instance]["slots"] for slots, _ in uses) and (
            not lic or all(used + lic <= self.capacity["global"]["lic"] for _, used in uses)
        )

    def first(self, lic: float, start: float, length: float) -> str | None:
        """The first instance that has room from some moment on."""
        names = (one.name for one in self.one.instances)
        return next((name for name in names if self.fits(name, lic, start, start + length)), None)

    def run(self) -> tuple[list[tuple[int, str]], list[tuple[int, str, float]]]:
        """The jobs that start with their instances, and the reservations with their times."""
        started, kept = [], []
        ranks = run(self.one).priorities
        left = self.cell.scheduler.max_reservation
        inside: dict[int, list[float]] = {}
        by_number = {each.number: each for each in self.one.reservations}
        for each in sorted(self.one.pending, key=lambda job: (-ranks[job.number].priority, job.number)):
            lic = _lic(each)
            if each.reservation:
                found = by_number.get(each.reservation)
                if found is None or not found.start <= self.one.now < found.end:
                    continue
                used = inside.setdefault(found.number, [0.0, 0.0])
                (grant,) = found.grants
                has_lic = any(name == "lic" for name, _ in found.request.hard)
                if used[0] + 1 <= grant.slots and (not lic or (has_lic and used[1] + lic <= _lic(found) * grant.slots)):
                    inside[found.number] = [used[0] + 1, used[1] + lic]
                    started.append((each.number, grant.instance))
                continue
            instances = [one.name for one in self.one.instances]
            place = next(
                (name for name in instances if self.fits(name, lic, self.one.now, self.one.now + self.length(each))),
                None,
            )
            if place is not None:
                started.append((each.number, place))
                self.booked.append((self.one.now, self.one.now + self.length(each), place, lic, 1.0))
            elif each.reserve and left:
                for start in sorted({one[1] for one in self.booked if self.one.now < one[1] < _EVER}):
                    later = next(
                        (name for name in instances if self.fits(name, lic, start, start + self.length(each))), None
                    )
                    if later is not None:
                        kept.append((each.number, later, start))
                        self.booked.append((start, start + self.length(each), later, lic, 1.0))
                        left -= 1
                        break
        return started, kept


def _lic(one: PendingJob | RunningTask | Booked) -> float:
    return float(dict(one.request.hard).get("lic", "0"))


def _told(found: SchedulingPlan) -> tuple[list[tuple[int, str]], list[tuple[int, str, float]]]:
    return (
        [(each.job, each.grants[0].instance) for each in found.dispatches],
        [(each.job, each.grants[0].instance, each.start) for each in found.reservations],
    )


@settings(max_examples=150)
@given(snapshots())
def test_the_run_books_in_time_as_the_plain_scheduler(one: CellSnapshot) -> None:
    assert _told(run(one)) == Plain(one).run()
    assert run(one) == run(one)


# -- any sequence of submissions, ends, changes and kills -------------------------------------------------------------


class Booking(RuleBasedStateMachine):
    """A pool in which jobs end by their limits: what is reserved is there when its time comes."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.number, self.slots = NOW, 0, 3
        self.waiting: list[PendingJob] = []
        self.runs: list[tuple[RunningTask, float]] = []
        self.reserved: list[Booked] = []
        #: Instances whose slots were lowered under what had them.
        self.lowered = False

    def cell(self) -> Cell:
        edits = (
            "hostgroups/@allhosts: hostlist node1 node2\nschedconf: max_reservation 2\n"
            f"schedconf: default_duration 0:5:0\ncqueues/all.q: slots {self.slots}\n"
            "execution/global: complex_values lic=4"
        )
        return cell(edits, _LIC)

    def snapshot(self) -> CellSnapshot:
        one = snapshot(
            self.cell(), *self.waiting, running=tuple(task for task, _ in self.runs), reservations=tuple(self.reserved)
        )
        return replace(
            one, now=self.now, reports={host: replace(each, time=self.now) for host, each in one.reports.items()}
        )

    @rule(
        length=st.sampled_from(["h_rt=30", "h_rt=100", "h_rt=400"]), lic=amounts, reserve=st.booleans(), data=st.data()
    )
    def submit(self, length: str, lic: int, reserve: bool, data: st.DataObject) -> None:
        self.number += 1
        hard = [length, *([f"lic={lic}"] if lic else [])]
        one = replace(job(self.number, *hard, reserve=reserve), submitted=self.now)
        if self.reserved and data.draw(st.booleans()):
            one = replace(one, reservation=data.draw(st.sampled_from(self.reserved)).number)
        elif data.draw(st.booleans()):
            one = replace(one, request=replace(one.request, environment="make", slots=(Range(2, 4),)))
        self.waiting.append(one)

    @rule()
    def schedule(self) -> None:
        one = self.snapshot()
        found = run(one)
        assert found == run(one)
        by_number = {each.number: each for each in self.waiting}
        for each in found.dispatches:
            asked = by_number[each.job]
            self.waiting.remove(asked)
            task = RunningTask(
                job=each.job, task=0, request=asked.request, grants=each.grants, submitted=asked.submitted,
                started=self.now, environment=each.environment, reservation=asked.reservation,
            )  # fmt: skip
            self.runs.append((task, self.now + float(dict(asked.request.hard)["h_rt"])))

    @rule(start=st.sampled_from([0, 50, 200]), length=st.sampled_from([40, 300]), slots=st.integers(1, 3), lic=amounts)
    def reserve(self, start: int, length: int, slots: int, lic: int) -> None:
        self.number += 1
        asked = request(*([f"lic={lic}"] if lic else []), environment="make", slots=(Range(slots, slots),))
        begin = self.now + start
        found = allot(self.snapshot(), asked, begin, begin + length, lambda _: True)
        if isinstance(found, Allocation):
            self.reserved.append(
                Booked(
                    number=self.number,
                    request=asked,
                    grants=found.grants,
                    start=begin,
                    end=begin + length,
                    environment="make",
                )
            )

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        self.runs.remove(data.draw(st.sampled_from(self.runs)))

    @precondition(lambda self: self.reserved)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        self.forget(data.draw(st.sampled_from(self.reserved)))

    def forget(self, one: Booked) -> None:
        """A reservation goes, and its jobs with it."""
        self.reserved.remove(one)
        self.waiting = [each for each in self.waiting if each.reservation != one.number]
        self.runs = [each for each in self.runs if each[0].reservation != one.number]

    @rule(seconds=st.sampled_from([1, 20, 60, 250]))
    def wait(self, seconds: int) -> None:
        until = self.now + seconds
        while True:
            ends = [end for _, end in self.runs] + [one.end for one in self.reserved]
            if not ends or min(ends) > until:
                break
            self.now = min(ends)
            self.runs = [each for each in self.runs if each[1] > self.now]
            for one in [one for one in self.reserved if one.end <= self.now]:
                self.forget(one)
        self.now = until

    @rule(slots=st.integers(1, 4))
    def configure(self, slots: int) -> None:
        self.lowered |= slots < self.slots
        self.slots = slots

    @invariant()
    def nothing_is_given_twice(self) -> None:
        active = [one for one in self.reserved if one.start <= self.now < one.end]
        numbers = {one.number for one in self.reserved}
        for one in self.reserved:
            inside = [task for task, _ in self.runs if task.reservation == one.number]
            for instance, slots in one.grants:
                assert sum(_slots(task.grants, instance) for task in inside) <= slots
            assert sum(_lic(task) * _all(task.grants) for task in inside) <= _lic(one) * _all(one.grants)
        if self.lowered:
            return
        outside = [task for task, _ in self.runs if task.reservation not in numbers]
        grants = [task.grants for task in outside] + [one.grants for one in active]
        for instance in ("all.q@node1", "all.q@node2"):
            assert sum(_slots(each, instance) for each in grants) <= self.slots
        assert sum(_lic(one) * _all(one.grants) for one in (*outside, *active)) <= 4


def _slots(grants: tuple[Grant, ...], instance: str) -> int:
    return sum(slots for name, slots in grants if name == instance)


def _all(grants: tuple[Grant, ...]) -> int:
    return sum(slots for _, slots in grants)


Booking.TestCase.settings = settings(max_examples=25, stateful_step_count=25)
TestBooking = Booking.TestCase
