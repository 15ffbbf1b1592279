"""Evaluation under limits: cycles, depth, fuel, and the worlds expressions see."""

import sys
import time

import pytest

from roost.classad import ERROR, UNDEFINED, ClassAd, FixedWorld, evaluate, parse_expression


def value(text: str, ad: ClassAd | None = None):
    return evaluate(parse_expression(text), ad)


@pytest.mark.parametrize(
    ("ad", "expected"),
    [
        ("[x = x]", UNDEFINED),
        ("[x = y; y = x]", UNDEFINED),
        ("[x = x + 1]", UNDEFINED),
        ("[x = x ?: 5]", 5),
        ("[x = isUndefined(x)]", False),
        ("[x = (x ?: 1) + (x ?: 2)]", 6),
        ('[x = strcat("a", x ?: "b")]', "aab"),
        ("[x = [x = x].x ?: 5]", 5),
    ],
)
def test_a_circular_reference_is_undefined_where_it_closes(ad, expected):
    assert ClassAd(ad).eval("x") == expected


def test_a_cycle_through_both_ads_is_undefined():
    assert ClassAd("[a = TARGET.b]").eval("a", ClassAd("[b = TARGET.a]")) is UNDEFINED


def chain(links: int) -> ClassAd:
    ad = ClassAd({f"a{links}": 7})
    for link in range(links):
        ad.set(f"a{link}", f"a{link + 1}")
    return ad


def test_a_chain_of_references_may_be_as_long_as_the_limit():
    assert chain(400).eval("a0") == 7
    assert chain(402).eval("a0") is ERROR


def test_depth_does_not_depend_on_the_interpreters_limit():
    limit = sys.getrecursionlimit()
    assert value("-(" * 250 + "1" + ")" * 250) == 1
    ad = chain(390)
    for link in range(390):
        ad.set(f"a{link}", "(" * 50 + f"a{link + 1} + 0" + ")" * 50)
    assert ad.eval("a0") == 7
    assert sys.getrecursionlimit() == limit


def test_a_long_chain_of_operators_evaluates():
    assert value("+".join(["1"] * 10_000)) == 10_000
    assert value("||".join(["false"] * 50_000)) is False


def test_doubling_references_run_out_of_fuel():
    ad = ClassAd({"a0": 1})
    for link in range(1, 60):
        ad.set(f"a{link}", f"a{link - 1} + a{link - 1}")
    start = time.perf_counter()
    assert ad.eval("a59") is ERROR
    assert time.perf_counter() - start < 20


def test_doubling_strings_are_stopped():
    ad = ClassAd({"a0": "x" * 1000})
    for link in range(1, 40):
        ad.set(f"a{link}", f"strcat(a{link - 1}, a{link - 1})")
    assert ad.eval("a39") is ERROR


def test_cyclic_expressions_with_many_branches_end():
    ad = ClassAd()
    ad.set("x", "+".join(["(x ?: 1)"] * 12))
    for name in "abcdefgh":
        ad.set(name, " + ".join(f"({other} ?: 1)" for other in "abcdefgh"))
    assert ad.eval("x") == 144
    ad.eval("a")


def test_text_that_evaluates_itself_ends():
    assert ClassAd('[ x = "eval(x)" ]').eval_expr("eval(x)") is ERROR


def test_the_world_gives_time_chance_and_zone():
    world = FixedWorld(instant=1_000_000.5, offset=3600)
    assert evaluate(parse_expression("time()"), None, None, world) == 1_000_000
    assert evaluate(parse_expression("CurrentTime"), ClassAd(), None, world) == 1_000_000
    first = evaluate(parse_expression("random(1000000)"), None, None, FixedWorld())
    assert first == evaluate(parse_expression("random(1000000)"), None, None, FixedWorld())


def test_failures_end_the_evaluation_as_error():
    assert value("random(0) ?: 1") is ERROR
    assert value("isError(random(0))") is ERROR
    assert value("true || random(0)") is True
    assert value("isError({random(0)}[0])") is True


def test_the_reference_librarys_match_ad_can_be_seen():
    left, right = ClassAd(a=1), ClassAd(b=2)
    for text, expected in [("other.b", 2), ("left.a", 1), ("parent.target.b", 2), (".RIGHT.b", 2), ("ad.a", 1)]:
        assert left.eval_expr(text, right) == expected
    assert left.eval_expr("other.b") is UNDEFINED
