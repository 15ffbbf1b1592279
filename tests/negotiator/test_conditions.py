"""Conditions of the pool's policy are evaluated once for requests that look the same, and never for fewer."""

from __future__ import annotations

import pytest

from roost.classad import ClassAd, FixedWorld, parse_expression
from roost.classad.vector import Table
from roost.negotiator.conditions import LOOKS_MAX, Condition

WORLD = FixedWorld(instant=1.7e9)
SLOTS = Table(
    (f"slot{number}", ClassAd({"KFlops": number * 1000, "Wanted": parse_expression("TARGET.Depth")}))
    for number in range(4)
)


def condition(text: str) -> tuple[Condition, list[ClassAd]]:
    """A condition, and the requests for which it was evaluated."""
    expression, asked = parse_expression(text), []

    def evaluate(ad: ClassAd):  # type: ignore[no-untyped-def]
        asked.append(ad)
        return SLOTS.evaluate(expression, ad, WORLD)

    return Condition.of(SLOTS, expression, evaluate), asked


def on(found: Condition, **attributes: object) -> list[object]:
    return found.on(ClassAd(attributes)).to_list()


def test_requests_that_agree_in_what_is_asked_share_one_evaluation():
    found, asked = condition('TARGET.Group =!= "x" || MY.KFlops > 1000')
    assert on(found, Group="x", Owner="ann") == on(found, Group="x", Owner="eve") == [False, False, True, True]
    assert on(found, Owner="ann") == on(found, Owner="eve") == [True] * 4
    assert len(asked) == 2


@pytest.mark.parametrize("values", [(1, 1.0), (1, True), (0.0, -0.0), ("x", "X")])
def test_values_that_are_equal_and_not_the_same_are_told_apart(values: tuple[object, object]):
    found, asked = condition("TARGET.Depth =?= 1")
    for value in values:
        on(found, Depth=value)
    assert len(asked) == 2
    assert on(condition("TARGET.Depth =?= 1")[0], Depth=1) == [True] * 4
    assert on(found, Depth=1.0) == [False] * 4


def test_what_slots_ask_of_the_job_in_turn_counts_too():
    found, asked = condition("MY.Wanted > 2")
    assert (on(found, Depth=3), on(found, Depth=1)) == ([True] * 4, [False] * 4)
    assert len(asked) == 2


def test_expressions_of_the_job_lists_and_the_clock_are_looked_at_each_time():
    found, asked = condition("TARGET.Depth > 2")
    one, other = ClassAd(Low=1), ClassAd(Low=3)
    for ad in (one, other):
        ad.put("Depth", parse_expression("Low"))
    assert (found.on(one).to_list(), found.on(other).to_list()) == ([False] * 4, [True] * 4)
    assert len(asked) == 2
    timed, asked = condition("time() > TARGET.Depth")
    assert on(timed, Depth=1) == on(timed, Depth=1)
    assert len(asked) == 2


def test_only_so_many_looks_are_kept():
    found, asked = condition("TARGET.Depth > 2")
    for _ in range(2):
        for depth in range(LOOKS_MAX + 1):
            on(found, Depth=depth)
    assert len(asked) == LOOKS_MAX + 2
