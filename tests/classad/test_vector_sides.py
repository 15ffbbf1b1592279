"""What the matchmaker asks of a table beyond matching: sides, own attributes, rows told apart, numbers and texts."""

from __future__ import annotations

import random

import numpy as np
import pytest

from roost.classad import ClassAd, Expr, FixedWorld
from roost.classad.vector import Table
from roost.classad.vector import table as table_module
from roost.classad.vector.compiler import compile_vector

WORLD = FixedWorld(instant=1_700_000_000.0)
CELLS = (1, 2.5, True, "text", "=TARGET.Value + 1", "=Nothing", "=[a = 1].a + TARGET.Value", "=error", "=Rank")


def cell(text: object) -> object:
    return Expr.parse(text[1:]) if isinstance(text, str) and text.startswith("=") else text


def drawn(seed: int) -> tuple[Table, dict[int, ClassAd], ClassAd]:
    source = random.Random(seed)
    ads = {}
    for number in range(20):
        ad = ClassAd(Number=number)
        for name in ("Rank", "Requirements", "Plain"):
            if source.random() < 0.9:
                ad[name] = cell(source.choice(CELLS))
        ads[number] = ad
    return Table(ads.items()), ads, ClassAd(Value=source.choice((1, 2.0)), Requirements=cell("=TARGET.Number > 3"))


@pytest.mark.parametrize("seed", range(15))
def test_both_sides_of_a_match_are_what_matching_asks(seed):
    table, ads, job = drawn(seed)
    # The first time few rows are asked one by one, then the expression is compiled.
    for _ in range(2):
        accepted, accepts = table.sides(job, WORLD)
        for row, ad in enumerate(ads.values()):
            assert bool(accepted[row]) == ad.matches(job, WORLD)
            assert bool(accepts[row]) == ("Requirements" in ad and job.matches(ad, WORLD))
        assert (accepted & accepts == table.match(job, WORLD)).all()


def test_what_is_asked_once_of_few_rows_is_not_compiled(monkeypatch):
    compiled = []
    monkeypatch.setattr(table_module, "compile_vector", lambda tree: compiled.append(tree) or compile_vector(tree))
    few, many = ({n: ClassAd(Number=n, Requirements=True) for n in range(size)} for size in (32, 33))
    job = ClassAd(Requirements=cell("=TARGET.Number > 7 && TARGET.Number < 9"))
    for ads, times in ((few, [0, 1, 1]), (many, [2, 2])):
        table = Table(ads.items())
        for expected in times:
            assert np.flatnonzero(table.sides(job, WORLD)[0]).tolist() == [8]
            assert len(compiled) == expected


@pytest.mark.parametrize("seed", range(15))
def test_an_own_attribute_is_never_the_other_ads(seed):
    table, ads, job = drawn(seed)
    job["Plain"] = "the job's"
    expected = [ad.eval("Plain", job, WORLD) if "Plain" in ad else None for ad in ads.values()]
    for one, other in zip(table.attribute("Plain", job, WORLD).to_list(), expected, strict=True):
        assert other is None or repr(one) == repr(other)
    assert (table.lacking("Plain") == [each is None for each in expected]).all()


@pytest.mark.parametrize("seed", range(15))
def test_rows_told_apart_have_the_values_that_they_have_together(seed):
    table, _, job = drawn(seed)
    expression = Expr.parse("MY.Rank * 2 + Number + TARGET.Value")
    together = table.evaluate(expression, job, WORLD).numbers_or(-7.0)
    apart = table.evaluate_apart(expression, "rank", job, WORLD)
    rows = np.array([3, 17, 0, 3])
    assert apart.numbers_or(-7.0).tolist() == together.tolist()
    assert apart.numbers_at(rows, -7.0).tolist() == together.take(rows).tolist()
    singles = apart.singles(-7.0)
    assert singles is None or set(singles) == set(together.tolist())


@pytest.mark.parametrize("seed", range(15))
def test_numbers_and_texts_of_a_result(seed):
    table, _, job = drawn(seed)
    result = table.attribute("Rank", job, WORLD)
    codes, texts = result.texts()
    for value, number, code in zip(result.to_list(), result.numbers_or(-7.0), codes.tolist(), strict=True):
        is_number = value.__class__ in (bool, int, float)
        assert number == (float(value) if is_number else -7.0)
        assert (texts[code] if code >= 0 else None) == (value if isinstance(value, str) else None)
    some = np.array([5, 0, 19])
    assert result.numbers_at(some, -7.0).tolist() == result.numbers_or(-7.0).take(some).tolist()
    single = table.evaluate("3")
    assert single.is_single
    assert single.number_or(0.0) == 3.0
    assert table.evaluate("true").is_true


def test_expressions_of_a_table_and_names_that_all_ads_have():
    table = Table([(1, ClassAd(a=1, b=cell("=x + 1"))), (2, ClassAd(a=2, c=cell("=y")))])
    assert sorted((name, str(expression)) for name, expression in table.expressions()) == [("b", "x + 1"), ("c", "y")]
    assert table.everywhere() == {"a"}
    assert np.array_equal(table.lacking("b"), [False, True])
    assert table.lacking("nowhere").all()
