"""Any expression whatever is explained: nothing is raised, and the value is that of the ordinary evaluation."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from roost.classad import UNDEFINED, ClassAd, evaluate, parse_expression, unparse_value
from roost.policy.explain import explain
from roost.policy.render import render_json, render_text

LEAVES = (
    "a", "b", "s", "u", "t", "f", "d", "e", "c1", "TARGET.q", "MY.d", "n.x", "n.y", "l[0]", "l[2]", "5", "0.0", "true",
    "undefined", "error", '"x"', "isUndefined(d)", 'eval("d")', "n", "l", "{d}", "[k = d].k", "random(0)", ".a",
    "ifThenElse(d)", "nosuch(a)", "self.d", "TARGET.TARGET.a", "'odd name'",
)  # fmt: skip
OPERATORS = ("&&", "||", "==", "!=", "=?=", "=!=", "<", ">=", "+", "-", "*", "/", "?:", "&")


def machine() -> ClassAd:
    ad = ClassAd({"a": 1, "b": 2.5, "s": "abc", "u": UNDEFINED, "t": True, "f": False, "odd name": 3})
    for name, text in (
        ("n", "[x = 1; y = a]"),
        ("l", "{1, a, t && f}"),
        ("d", "a > 1 || t"),
        ("e", "d && TARGET.z"),
        ("c1", "c2"),
        ("c2", "!c1 || d"),
    ):
        ad.set(name, text)
    return ad


def job() -> ClassAd:
    ad = ClassAd({"z": 5, "a": 7})
    ad.set("q", "a > TARGET.a && z == 5 && TARGET.d")
    return ad


def combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({}) {} ({})".format, inner, st.sampled_from(OPERATORS), inner),
        st.builds("!({})".format, inner),
        st.builds("({}) ? ({}) : ({})".format, inner, inner, inner),
        st.builds("ifThenElse({}, {}, {})".format, inner, inner, inner),
    )


@settings(max_examples=400, deadline=None)
@given(
    st.recursive(st.sampled_from(LEAVES), combined, max_leaves=12),
    st.sampled_from(((True, True), (True, False), (False, False))),
    st.integers(0, 100),
)
def test_any_expression_is_explained(text: str, ads: tuple[bool, bool], width: int) -> None:
    my, target = machine() if ads[0] else None, job() if ads[1] else None
    explanation = explain(text, my, target)
    value = evaluate(parse_expression(text), my, target)
    assert unparse_value(explanation.value) == unparse_value(value)
    assert explanation.clauses
    for clause in explanation.clauses:
        holder = clause.path[-1].text if clause.path else explanation.text
        assert holder[clause.span[0] : clause.span[1]] == clause.text
    assert render_text(explanation, width)
    assert render_json(explanation)
