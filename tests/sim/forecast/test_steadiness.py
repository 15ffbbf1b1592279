"""What is said to be steady is steady: readings against the evaluator, second by second."""

from __future__ import annotations

from functools import partial
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.classad import ClassAd, FixedWorld, parse_expression
from roost.classad.ops import truth
from roost.sim.forecast.steadiness import Scene, read
from roost.sim.inputs.owners import OwnerTrace

NOW = 1_000_000

_numbers = st.sampled_from(["0", "1", "5", "60", "2.5", "-3"])
_atoms = st.one_of(
    _numbers,
    st.sampled_from(
        [
            "Idle",
            "time()",
            "CurrentTime",
            "Fixed",
            "Entered",
            "TARGET.Size",
            "Missing",
            "true",
            "false",
            "undefined",
            '"text"',
            "MY.Derived",
            "Flag",
            "error",
        ]
    ),
)


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(["+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "=?=", "=!=", "&&", "||"])
    return st.one_of(
        st.tuples(inner, operators, inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda x: f"(!{x})"),
        inner.map(lambda x: f"(-{x})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} ? {t[1]} : {t[2]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"ifThenElse({t[0]}, {t[1]}, {t[2]})"),
        inner.map(lambda x: f"floor({x})"),
        inner.map(lambda x: f"isUndefined({x})"),
    )


_expressions = st.recursive(_atoms, _grown, max_leaves=10)


def _machine(now: int, away_since: int) -> ClassAd:
    ad = ClassAd({"Fixed": 7, "Entered": NOW - 20, "Flag": True, "Idle": max(0, now - away_since)})
    ad.set("Derived", "Idle - Fixed > 3")
    return ad


@given(_expressions, st.integers(-50, 30))
@settings(max_examples=400, deadline=None)
def test_a_truth_keeps_for_as_long_as_it_is_said_to(text: str, offset: int) -> None:
    expression = parse_expression(text)
    away_since = NOW + offset
    job = ClassAd({"Size": 9})
    present = away_since > NOW
    scene = Scene(
        _machine(NOW, away_since),
        job,
        FixedWorld(instant=NOW),
        NOW,
        {} if present else {"idle": 1.0},
        {"idle": float(away_since)} if present else {},
        {"idle": partial(OwnerTrace(present=((NOW - 1000, away_since),)).idle_beyond, NOW)},
    )
    reading = read(expression, scene)
    for now in range(NOW, NOW + 90):
        if now > NOW and (now >= reading.until or reading.slope != 0):
            break
        value = _machine(now, away_since).eval_expr(expression, job, FixedWorld(instant=now))
        assert _truth(value) == _truth(reading.value), (text, now - NOW, reading)


def _truth(value: object) -> object:
    found = truth(value)  # type: ignore[arg-type]
    return found if isinstance(found, bool) else None


@pytest.mark.parametrize(
    ("text", "value", "until"),
    [
        ("time() - Entered > 60", False, 41),
        ("time() - Entered >= 60", False, 40),
        ("time() - Entered <= 60", True, 41),
        ("60 < time() - Entered", False, 41),
        ("Entered - time() > -60", True, 40),
        ("Entered - time() >= -60", True, 41),
        ("time() - Entered == 60", False, 40),
        ("time() - Entered == 20", True, 1),
        ("time() - Entered > 20", False, 1),
    ],
)
def test_a_timer_is_steady_to_the_second_it_runs_out(text: str, value: bool, until: int) -> None:
    scene = Scene(ClassAd({"Entered": NOW - 20}), None, FixedWorld(instant=NOW), NOW, {}, {}, {})
    reading = read(parse_expression(text), scene)
    assert (reading.value, reading.until) == (value, NOW + until)


@given(
    st.lists(st.integers(1, 900), min_size=1, max_size=20).filter(lambda gaps: len(gaps) % 2 == 0),
    st.integers(0, 2000),
    st.floats(0, 1000),
)
@settings(max_examples=200, deadline=None)
def test_idle_times_pass_a_limit_when_it_is_said_and_not_before(gaps: list[int], now: int, limit: float) -> None:
    edges = [*accumulate(gaps)]
    owner = OwnerTrace(present=tuple(zip(edges[::2], edges[1::2], strict=True)), last_key_before=-50.0)
    passes = next((at for at in range(now, 20_000) if owner.idle_s(at) > limit), None)
    assert passes == owner.idle_beyond(now, limit)


def test_what_is_not_understood_is_not_promised() -> None:
    scene = Scene(ClassAd({"Idle": 5}), None, FixedWorld(instant=NOW), NOW, {"idle": 1.0}, {}, {})
    for text in ("random() < 0.5", "Idle * Idle > 100", "size({Idle}) == 1", "Idle % 7 == 0"):
        assert read(parse_expression(text), scene).until <= NOW
