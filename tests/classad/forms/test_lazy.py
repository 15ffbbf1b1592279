"""Reading that parses expressions when they are first used."""

import pytest

from roost.classad import ERROR, ClassAd, Expr, ParseError
from roost.classad.forms import parse_ad

TEXT = """Memory = 2048
START = KeyboardIdle > 900 && LazyOne
Negative = -  5
Nested = [ a = Memory; b = 1 ]
Minus = -7
"""


def test_the_same_ad_comes_of_either_way_of_reading():
    lazy, eager = parse_ad(TEXT, lazy=True), parse_ad(TEXT)
    assert lazy == eager
    assert str(lazy) == str(eager)
    for name in eager:
        assert str(lazy.eval(name)) == str(eager.eval(name))


def test_an_expression_is_parsed_when_it_is_first_looked_at():
    ad = parse_ad("START = LookedAtOnce + 1\n", lazy=True)
    cell = ad.cells["start"]
    assert isinstance(cell, Expr)
    assert cell.pending
    assert str(ad["START"]) == "LookedAtOnce + 1"
    assert not cell.pending


def test_the_same_text_is_one_expression():
    first, second = (parse_ad("START = SharedText + 1\n", lazy=True) for _ in range(2))
    assert first.cells["start"] is second.cells["start"]


def test_a_constant_that_was_put_off_reads_as_its_value():
    ad = parse_ad(TEXT, lazy=True)
    assert isinstance(ad["Nested"], ClassAd)
    assert ad.eval_expr("Nested.a") == 2048
    assert ad["Minus"] == -7


def test_a_bad_text_is_an_error_where_it_is_looked_at_and_error_where_it_is_evaluated():
    ad = parse_ad("START = Bad &&\nMemory = 1\n", lazy=True)
    assert ad.eval("START") is ERROR
    assert ad.eval("Memory") == 1
    with pytest.raises(ParseError):
        ad["START"]
