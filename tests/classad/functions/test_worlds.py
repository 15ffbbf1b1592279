"""Functions that ask the world: each answer comes from it, and from nowhere else."""

from __future__ import annotations

import random

import pytest

from roost.classad.evaluation import evaluate
from roost.classad.expr import parse_expression
from roost.classad.values import ERROR, UNDEFINED, AbsTime, RelTime, Value
from roost.classad.world import FixedWorld

WORLD = FixedWorld(
    instant=1_600_000_000.75,
    offset=-3600,
    homes={"ann": "/home/ann"},
    user_maps={"groups": {"ann": "physics, chemistry", "bob": " , "}},
)


def value_of(text: str, world: FixedWorld = WORLD) -> Value:
    return evaluate(parse_expression(text), world=world)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("time()", 1_600_000_000),
        ("currentTime()", AbsTime(1_600_000_000, -3600)),
        ("absTime()", AbsTime(1_600_000_000, -3600)),
        ("timeZoneOffset()", RelTime(-3600.0)),
        ("dayTime()", RelTime(11 * 3600 + 26 * 60 + 40.0)),
        ("formatTime()", "Sun Sep 13 11:26:40 2020"),
        ('formatTime(0, "%F %H %Z %s")', "1969-12-31 23 -01 0"),
        ("getHours(absTime(0, 7200))", 23),
        ("absTime(0)", AbsTime(0, -3600)),
        ("splitTime(0).Hours", 23),
        ("splitTime(0).Offset", -3600),
    ],
)
def test_clock_and_zone(text: str, wanted: Value) -> None:
    assert value_of(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('userHome("ann")', "/home/ann"),
        ('userHome("ann", "/x")', "/home/ann"),
        ('userHome("bob")', UNDEFINED),
        ('userHome("bob", "/x")', "/x"),
        ('userMap("groups", "ann")', "physics, chemistry"),
        ('userMap("groups", "ann", "CHEMISTRY")', "chemistry"),
        ('userMap("groups", "ann", "law")', "physics"),
        ('userMap("groups", "ann", undefined)', "physics"),
        ('userMap("groups", "bob", "law")', UNDEFINED),
        ('userMap("groups", "bob", "law", "none")', "none"),
        ('userMap("groups", "eve", "law", "none")', "none"),
        ('userMap("groups", "eve")', UNDEFINED),
        ('userMap("other", "ann")', UNDEFINED),
    ],
)
def test_users(text: str, wanted: Value) -> None:
    assert value_of(text) == wanted


def test_the_same_seed_gives_the_same_random_numbers() -> None:
    def draw() -> list[Value]:
        world = FixedWorld(source=random.Random(7))
        return [value_of(text, world) for text in ("random(1000)", "random()", "random(2.5)")] * 2

    assert draw() == draw()


def test_random_integers_stay_below_their_limit() -> None:
    world = FixedWorld(source=random.Random(1))
    drawn = {value_of("random(3)", world) for _ in range(100)}
    assert drawn == {0, 1, 2}


def test_failures_end_the_whole_evaluation() -> None:
    for text in ("random(0)", "userHome()", "absTime(5, -1)"):
        assert value_of(f"isError({text}) || true") is ERROR
