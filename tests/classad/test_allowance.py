"""Several evaluations that share a limit of steps."""

from __future__ import annotations

import pytest

from roost.classad import ERROR, ClassAd, parse_expression
from roost.classad.allowance import IN_FORCE, Allowance
from roost.classad.vector import Table

#: A match that the matcher gives up after all the steps that it may take.
HOSTILE = 'regexp("(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!")'


def test_a_match_ends_with_the_steps_of_its_evaluation_and_counts_them() -> None:
    ad = ClassAd()
    with Allowance(steps=10_000, each=3_000) as allowance:
        assert ad.eval_expr(HOSTILE) is ERROR
        assert allowance.exceeded
        assert 6_000 < allowance.left < 7_000
    assert IN_FORCE.get() is None


def test_an_error_of_the_expression_itself_exceeds_nothing() -> None:
    with Allowance(steps=1000) as allowance:
        assert ClassAd().eval_expr("1 + {}") is ERROR
        assert ClassAd().eval_expr('"a" + size(3)') is ERROR
    assert not allowance.exceeded
    assert allowance.left == 1000 - 2


def test_evaluations_share_what_there_is() -> None:
    ad = ClassAd({"A": parse_expression("B + B"), "B": parse_expression("1 + 1")})
    found = []
    with Allowance(steps=20) as allowance:
        while not allowance.exceeded:
            found.append(ad.eval("A"))
    # Each opens two references, and is an evaluation.
    assert found[:-1] == [4] * 7 and found[-1] is ERROR
    with allowance:
        assert ad.eval("A") is ERROR


def test_references_that_go_deep_are_charged_for_both_attempts() -> None:
    ad = ClassAd({f"A{n}": parse_expression(f"A{n + 1}") for n in range(100)})
    ad["A100"] = 7
    with Allowance(steps=1000) as allowance:
        assert ad.eval("A0") == 7
    assert not allowance.exceeded
    assert 1000 - 200 <= allowance.left < 1000 - 100


@pytest.mark.parametrize("rows", [3, 200])
def test_columns_spend_for_each_distinct_value(rows: int) -> None:
    table = Table()
    for number in range(rows):
        table.put(str(number), ClassAd({"Name": "a" * 30 + str(number)}))
    expression = parse_expression('regexp("(a+)+$", Name)')
    with Allowance(steps=5_000, each=4_000) as allowance:
        table.evaluate(expression)
    assert allowance.exceeded
    # Nothing goes on when it is spent: each of the rows is at most a look at the allowance.
    assert -2 * rows < allowance.left <= 1_000
