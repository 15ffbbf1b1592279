"""When cycles begin and how long they take: instants and durations are data."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from roost.classad.vector import Table
from roost.config import MemoryHost, load_text
from roost.negotiator.accountant import Accountant
from roost.negotiator.cycle import negotiation
from roost.negotiator.settings import NegotiatorSettings, intervals_from, settings_from
from roost.negotiator.snapshot import Plan, Snapshot, SubmitterDemand
from roost.negotiator.timing import OUT_OF_TIME, CycleTimer, Intervals, TimeLimits, Urgency
from tests.negotiator.kit import NOW, demand, given, job, slot


def pace(began: float, ended: float) -> CycleTimer:
    found = CycleTimer(Intervals(interval_s=60, min_interval_s=5, cycle_delay_s=20))
    found.begin(began)
    found.end(ended)
    return found


def test_the_first_cycle_is_due_at_once():
    assert CycleTimer().due() < 0


@pytest.mark.parametrize(
    ("urgency", "began", "ended", "due"),
    [
        (Urgency.NONE, 100.0, 100.1, 160.0),
        (Urgency.CHANGED, 100.0, 100.1, 120.1),
        (Urgency.CHANGED, 100.0, 150.0, 160.0),
        (Urgency.URGENT, 100.0, 100.001, 100.002),
        (Urgency.URGENT, 100.0, 103.0, 106.0),
        (Urgency.URGENT, 100.0, 130.0, 135.0),
    ],
)
def test_what_is_urgent_waits_as_long_as_the_last_cycle_took_and_the_rest_for_the_gaps(urgency, began, ended, due):
    found = pace(began, ended)
    found.ask_for_cycle(urgency)
    assert found.due() == pytest.approx(due)


def test_the_more_urgent_wish_counts_and_a_cycle_answers_it():
    found = pace(100.0, 100.1)
    found.ask_for_cycle(Urgency.URGENT)
    found.ask_for_cycle(Urgency.CHANGED)
    assert found.urgency is Urgency.URGENT
    found.begin(101.0)
    assert found.urgency is Urgency.NONE


def run(limits: TimeLimits, each: float, *demands: SubmitterDemand, slots: int = 20) -> Plan:
    """A cycle of which each request takes so long."""
    ads = [slot(f"s{number:02}") for number in range(slots)]
    names = [str(ad["Name"]) for ad in ads]
    snapshot = Snapshot(
        slots=Table(zip(names, ads, strict=True)),
        claims={name: name for name in names},
        nodes=dict.fromkeys(names, "node"),
        demands=demands,
        now=NOW,
    )
    steps, passed = negotiation(snapshot, settings=NegotiatorSettings(times=limits), accounts=Accountant()), ticks(each)
    try:
        next(steps)
        while True:
            steps.send(next(passed))
    except StopIteration as end:
        return end.value


def ticks(each: float) -> Iterator[float]:
    now = 0.0
    while True:
        now += each
        yield now


def served(plan: Plan) -> dict[str, int]:
    return {user: len(slots) for user, slots in given(plan).items()}


def wanted(user: str, first: int, count: int = 3, schedd: str = "q") -> SubmitterDemand:
    requests = ((job(JobPrio=number), 1) for number in range(count))
    return demand(user, *requests, first=first, schedd=schedd)


def test_a_visit_that_takes_too_long_ends_and_the_next_submitter_is_visited():
    plan = run(TimeLimits(piespin_s=2.0), 1.0, wanted("ann@x", 1), wanted("bob@x", 4))
    assert served(plan) == {"ann@x": 2, "bob@x": 2}
    assert plan.rejected["q", 3].text == OUT_OF_TIME
    assert plan.record["timed_out"] == 2


def test_time_for_a_queue_is_all_its_submitters_together():
    users = (wanted("ann@x", 1), wanted("bob@x", 4), wanted("eve@x", 7, schedd="other"))
    assert served(run(TimeLimits(schedd_s=4.0), 1.0, *users)) == {"ann@x": 3, "bob@x": 1, "eve@x": 3}


def test_time_for_a_submitter_is_that_at_all_queues_together():
    users = (wanted("ann@x", 1, schedd="a"), wanted("ann@x", 4, schedd="b"), wanted("bob@x", 7))
    assert served(run(TimeLimits(submitter_s=4.0), 1.0, *users)) == {"ann@x": 4, "bob@x": 3}


def test_nobody_is_visited_after_the_time_for_the_cycle():
    plan = run(TimeLimits(cycle_s=3.0), 1.0, wanted("ann@x", 1), wanted("bob@x", 4))
    assert served(plan) == {"ann@x": 3}
    assert {plan.rejected["q", number].text for number in (4, 5, 6)} == {OUT_OF_TIME}


def test_the_knobs():
    config = load_text(
        "NEGOTIATOR_MAX_TIME_PER_CYCLE = 9\nNEGOTIATOR_MAX_TIME_PER_SCHEDD = 8\nNEGOTIATOR_MAX_TIME_PER_SUBMITTER = 7\n"
        "NEGOTIATOR_MAX_TIME_PER_PIESPIN = 6\nNEGOTIATOR_MIN_INTERVAL = 5\nNEGOTIATOR_CYCLE_DELAY = 4\n",
        MemoryHost(),
    )
    assert settings_from(config).times == TimeLimits(cycle_s=9, schedd_s=8, submitter_s=7, piespin_s=6)
    assert intervals_from(config) == Intervals(interval_s=60, min_interval_s=5, cycle_delay_s=4)


def test_after_a_cycle_that_failed_the_next_is_at_the_interval_whatever_asks_for_one() -> None:
    timer = pace(100.0, 101.0)
    timer.end(101.0, failed=True)
    for urgency in Urgency:
        timer.ask_for_cycle(urgency)
        assert timer.due() == 160.0
    timer.begin(160.0)
    timer.end(161.0)
    timer.ask_for_cycle(Urgency.URGENT)
    assert timer.due() < 170.0
