"""Which names an expression needs, and what one ad alone decides of it."""

import pytest

from roost.classad import ClassAd, evaluate, parse_expression, state
from roost.classad.syntax import Binary

AD = ClassAd(
    "[ a = 1; b = a + 1; c = x + 1; n = [ q = 1; r = a; t = x; u = q + 1 ]; l = { 1, a, x }; t = true; f = false;"
    " cyc = cyc + 1; tg = TARGET.z; und = undefined; err = error ]"
)


@pytest.mark.parametrize(
    ("text", "external", "internal"),
    [
        ("a", [], ["a"]),
        ("B", [], ["a", "B"]),
        ("c", ["x"], ["c"]),
        ("MY.c + TARGET.x", ["TARGET.x", "x"], ["c"]),
        ("tg", ["TARGET.z"], ["tg"]),
        ("n.r", [], ["a", "n"]),
        ("n.t", ["x"], ["n"]),
        ("n.zz", ["zz"], ["n"]),
        ("x.y.z", ["x.y.z"], []),
        ("l[2]", ["x"], ["a", "l"]),
        ("f(x, {y})", ["x", "y"], []),
        ("cyc", [], ["cyc"]),
        ("CurrentTime + MY.a", [], ["a"]),
        (".a + .x", ["x"], ["a"]),
    ],
)
def test_references_are_followed_through_the_ad(text, external, internal):
    assert AD.external_refs(text) == external
    assert AD.internal_refs(text) == internal


@pytest.mark.parametrize(
    ("text", "flat"),
    [
        ("a + x", "1 + x"),
        ("b * 2", "4"),
        ("c", "c"),
        ("t && x == 1", "x == 1"),
        ("t && x", "true && x"),
        ("x && f", "x && false"),
        ("f && x", "false"),
        ("t ? x : y", "x"),
        ("und ?: x", "x"),
        ("ifThenElse(f, x, a)", "1"),
        ("err + x", "error + x"),
        ("und + x", "undefined + x"),
        ('strcat("m", a)', '"m1"'),
        ("time()", "time()"),
        ("TARGET.a + MY.a", "TARGET.a + 1"),
        ("(a) + (x)", "1 + (x)"),
        ("cyc + 1", "cyc + 1"),
        ("n.q", "n.q"),
    ],
)
def test_flattening_computes_what_the_ad_decides(text, flat):
    assert str(AD.flatten(text)) == flat


def test_flattening_looks_at_each_attribute_once():
    # Each attribute names the next one twice: looked at again each time, this would take forever.
    chain = "; ".join(f"a{number} = a{number + 1} + a{number + 1}" for number in range(60))
    assert str(ClassAd(f"[ {chain}; a60 = 1 ]").flatten("a0")) == str(2**60)
    assert str(ClassAd(f"[ {chain}; a60 = x ]").flatten("a0 + a59")) == "a0 + a59"


def test_flattening_leaves_what_costs_too_much(monkeypatch):
    ad = ClassAd(s="a" * 60 + "!", t="x" * 1_000_000, u="y" * 1_000_000)
    assert str(ad.flatten('regexp("(a+)+$", s)')) == "error"
    monkeypatch.setattr(state, "EVALUATION_FUEL", 200_000)
    assert str(ad.flatten(", ".join(['regexp("(a+)+$", s) == 1'] * 9).join(("strcat(", ")")))).count("regexp") > 5
    assert str(ad.flatten("t != u")) == "true"
    assert len(str(ad.flatten(" || ".join(["x == t"] * 1000)))) < 20_000_000
    assert isinstance(ad.flatten(" && ".join(["t != u"] * 20)).tree, Binary)


def test_what_ends_an_evaluation_is_not_flattened():
    text = "isError(string(absTime(0, -1)))"
    assert evaluate(parse_expression(text)) == evaluate(ClassAd().flatten(text))


def test_flattening_changes_no_value():
    others = [ClassAd(), ClassAd(x=1), ClassAd("[ x = error; y = a; z = true ]"), ClassAd(x="s", y=2.5)]
    texts = [
        "a + x",
        "t && x",
        "x && f",
        "x || t",
        "err + x",
        "und + x",
        "x ?: a",
        "t ? x : y",
        "c == 2 && tg",
        "{a, x}[1]",
    ]
    for text in texts:
        flat = AD.flatten(text)
        for other in others:
            assert evaluate(flat, AD, other) == evaluate(parse_expression(text), AD, other)
