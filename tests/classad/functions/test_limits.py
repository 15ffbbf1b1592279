"""What a function may use is bounded, and beyond the bound the value is ERROR."""

from __future__ import annotations

import pytest

from roost.classad import limits
from roost.classad.ad import ClassAd
from roost.classad.evaluation import evaluate
from roost.classad.expr import Expr, parse_expression
from roost.classad.state import EvaluationStopped, State
from roost.classad.syntax import Call, Literal
from roost.classad.tracing import trace
from roost.classad.translator import translate
from roost.classad.values import ERROR, Value
from roost.classad.vector import Table


def call(name: str, *arguments: str | int) -> Value:
    return evaluate(Expr(Call(name, tuple(Literal(argument) for argument in arguments))))


def test_a_string_beyond_the_limit_is_error() -> None:
    half = "x" * (limits.STRING_BYTES_MAX // 2 + 1)
    assert call("strcat", half, half) is ERROR
    assert call("join", ",", half, half) is ERROR
    assert call("regexps", "a+", "a", half + "\\0" + half) is ERROR


def test_a_replacement_that_multiplies_is_error() -> None:
    assert call("replaceAll", "a", "b" * 100_000, "a" * 10_000) is not None
    assert call("replaceAll", "a", "a" * 10_000, "b" * 100_000) is ERROR


def test_a_list_beyond_the_limit_is_error() -> None:
    assert call("split", "a " * (limits.LIST_ITEMS_MAX + 1)) is ERROR
    assert call("argsToList", "a " * (limits.LIST_ITEMS_MAX + 1)) is ERROR


@pytest.mark.parametrize("comparison", ["s == t", "s < t", "s is t", "member(s, {t})", 'anyCompare("!=", {s}, s)'])
def test_comparing_long_strings_is_paid_for(comparison: str) -> None:
    ad = ClassAd(s="x" * 4_000_000, t="x" * 3_999_999 + "y")
    once, often = parse_expression(comparison), parse_expression(" == ".join([f"({comparison})"] * 40))
    assert evaluate(once, ad) is not ERROR
    assert evaluate(often, ad) is ERROR
    assert translate(often.tree) is not None
    with pytest.raises(EvaluationStopped):
        translate(often.tree)(State(ad))  # type: ignore[misc]
    assert trace(often, ad).value is ERROR
    table = Table([("ad", ad)])
    assert table.evaluate(once).to_list() == [evaluate(once, ad)]
    assert table.evaluate(often).to_list() == [ERROR]


def test_a_long_string_against_a_short_one_costs_nothing() -> None:
    ad = ClassAd(s="x" * 4_000_000)
    for comparison in ('s == "x"', '"x" == s', 's < "y"', '"w" < s', 's is "x"', 's != "é"'):
        assert evaluate(parse_expression(" + ".join([f"int({comparison})"] * 500)), ad) in (0, 500)


def test_work_over_long_lists_is_paid_for() -> None:
    lists = "{" + ",".join(["1"] * 1000) + "}"
    nested = "{" + ",".join(f"sum(L{number % 2})" for number in range(3000)) + "}"
    text = f"[L0 = {lists}; L1 = {lists}; x = sum({nested})].x"
    assert evaluate(parse_expression(text)) is ERROR


@pytest.mark.parametrize(
    ("pattern", "subject"),
    [
        ("(a+)+$", "a" * 40 + "b"),
        ("(a|a)*$", "a" * 40 + "b"),
        ("(a|aa)+$", "a" * 60 + "b"),
        ("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 60 + "A"),
        ("(.*)*(.*)*$^x?", "a" * 200 + "\n"),
        ("((a*)*)*$\\n", "a" * 100 + "x\n"),
        ("a?" * 40 + "a" * 40 + "$", "a" * 39 + "b" + "a" * 40 + "b"),
        ("(?:(?:a{0,100}){0,10}){0,10}$", "a" * 99 + "b"),
        ("(a?){0,60000}$", "a" * 60_000 + "b"),
        ("\\s+$", " " * 50_000 + "x"),
        ("(?R)?a", "aaaa"),
        ("^(a(?1)?b)$", "a" * 5000 + "b" * 5000),
        ("(x)?" * 2000, "y"),
        ("(" * 200 + "a*" + ")*" * 200 + "$", "a" * 50 + "b"),
        ("(?=" * 90 + "a" + ")" * 90, "a"),
        ("[a-z]*" * 500 + "$", "a" * 500 + "1"),
        ("(?<!" + "a|" * 3000 + "b)c", "c" * 3000),
    ],
)
def test_hostile_patterns_come_to_an_end(pattern: str, subject: str) -> None:
    # That this returns at all, within the suite's patience, is the test.
    assert call("regexp", pattern, subject) in (True, False, ERROR)
    assert call("replaceAll", pattern, subject, "-") is not None


def test_long_text_with_simple_patterns_is_no_problem() -> None:
    subject = "node-17.example.org " * 20_000
    assert call("regexp", "node-(\\d+)\\.example\\.net", subject) is False
    assert call("regexp", ".*example.*", subject) is True
    assert call("regexp", "(node|host)-1[0-9]*\\.", subject) is True
