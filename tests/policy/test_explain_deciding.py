"""The clauses an explanation names really decide the value, and there is no smaller set that does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations, product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from roost.classad import ERROR, UNDEFINED, ClassAd, Value, evaluate, parse_expression, unparse_value
from roost.policy.explain import Explanation, Role, explain, repeated
from roost.policy.explain.reach import VALUES_MAX

#: For each kind of leaf: its text, and the values of its attribute that make it TRUE, FALSE, UNDEFINED.
LEAVES: dict[str, tuple[str, tuple[Value, Value, Value]]] = {
    "plain": ("{}", (True, False, UNDEFINED)),
    "compared": ("({} > 5)", (9, 0, UNDEFINED)),
    "mirrored": ("(5 >= TARGET.{})", (5, 6, UNDEFINED)),
    "text": ('({} == "Owner")', ("OWNER", "Claimed", UNDEFINED)),
}
FORMS = (
    "({} && {})", "({} || {})", "{} && {} && {}", "{} || ({} || {})", "!({})", "({} ? {} : {})", "(({}) ?: ({}))",
    "ifThenElse({}, {}, {})", "(({}) == false)", "(true != ({} || {}))", "(({} && {}) =?= true)",
    "(({} || {}) =!= false)",
)  # fmt: skip
#: Forms in which a clause can be dispensable after all: sums of conditions, and tests that cannot come out otherwise.
COUNTING = (
    "(({} && {}) =?= undefined)", "(error =!= ({} || {}))", "((({} && {}) + ({} > 0)) > 1)", "((!({}) * 3) == 3)",
)  # fmt: skip
#: Clauses for which all substitutions are tried.
FREE_MAX = 6


@dataclass
class Case:
    """An expression of leaves that are all different, and the ads that give them values."""

    text: str = ""
    #: Attribute to kind of leaf.
    leaves: dict[str, str] = field(default_factory=dict)
    my: ClassAd = field(default_factory=ClassAd)
    target: ClassAd = field(default_factory=ClassAd)
    definitions: int = 0

    def put(self, name: str, value: Value) -> None:
        """Set a leaf's attribute."""
        (self.target if self.leaves[name] == "mirrored" else self.my)[name] = value

    def domain(self, name: str) -> tuple[Value, Value, Value]:
        """The values a leaf's attribute may have instead."""
        return LEAVES[self.leaves[name]][1]

    def evaluate(self) -> Value:
        """The value as the ordinary evaluation gives it."""
        return evaluate(parse_expression(self.text), self.my, self.target)

    def explain(self) -> Explanation:
        """The explanation."""
        return explain(self.text, self.my, self.target)


@st.composite
def cases(draw: st.DrawFn, forms: tuple[str, ...], leaves_max: int, *, oddities: bool = True) -> Case:
    """A random expression, some of it behind names, with random values that may also be ERROR or odd."""
    case = Case()

    def leaf() -> str:
        kind = draw(st.sampled_from(sorted(LEAVES)))
        name = f"x{len(case.leaves)}"
        case.leaves[name] = kind
        text, domain = LEAVES[kind]
        odd = (0, 3, 2.5, ERROR) if kind == "plain" else (ERROR,)
        case.put(name, draw(st.sampled_from((*domain, *domain, *odd) if oddities else domain)))
        return text.format(name)

    def node(depth: int) -> str:
        if depth == 0 or len(case.leaves) >= leaves_max - 2 or draw(st.integers(0, 5)) == 0:
            return leaf()
        form = draw(st.sampled_from(forms))
        text = form.format(*[node(depth - 1) for _ in range(form.count("{}"))])
        if draw(st.integers(0, 3)) == 0:
            name = f"d{case.definitions}"
            case.definitions += 1
            case.my.set(name, text)
            return draw(st.sampled_from((name, f"({name})", f"MY.{name}")))
        return text

    case.text = node(3)
    return case


def leaves_of(explanation: Explanation) -> set[str]:
    """The attributes of the deciding clauses."""
    return {used.name for clause in explanation.clauses for used in clause.attributes}


def same(a: Value, b: Value) -> bool:
    """Whether two values are the same, type included."""
    return a.__class__ is b.__class__ and unparse_value(a) == unparse_value(b)


def other_values(case: Case, free: list[str]) -> list[Value]:
    """The values of the expression under every substitution for the attributes in `free`."""
    found = []
    for name in free[FREE_MAX:]:
        case.put(name, UNDEFINED)
    free = free[:FREE_MAX]
    for values in product(*[case.domain(name) for name in free]):
        for name, value in zip(free, values, strict=True):
            case.put(name, value)
        found.append(case.evaluate())
    return found


@settings(max_examples=400, deadline=None)
@given(cases((*FORMS, *COUNTING), 8))
def test_whatever_the_other_clauses_are_the_value_stays(case: Case) -> None:
    explanation = case.explain()
    assert same(explanation.value, case.evaluate())
    free = [name for name in case.leaves if name not in leaves_of(explanation)]
    assert all(same(value, explanation.value) for value in other_values(case, free))


@settings(max_examples=400, deadline=None)
@given(cases(FORMS, 7, oddities=False))
def test_without_any_one_deciding_clause_the_value_can_change(case: Case) -> None:
    explanation = case.explain()
    deciding = leaves_of(explanation)
    saved = case.my.copy(), case.target.copy()
    for dropped in sorted(deciding):
        case.my, case.target = saved[0].copy(), saved[1].copy()
        free = [name for name in case.leaves if name not in deciding or name == dropped]
        assume(len(free) <= FREE_MAX)
        assert not all(same(value, explanation.value) for value in other_values(case, free)), dropped


@settings(max_examples=200, deadline=None)
@given(cases((*FORMS, *COUNTING), 12))
def test_changes_that_are_named_have_the_result_that_is_named(case: Case) -> None:
    explanation = case.explain()
    for clause in explanation.clauses:
        change = clause.change
        if change is None or change.example is None or change.side is None:
            continue
        my, target = case.my.copy(), case.target.copy()
        (my if change.side == "MY" else target)[change.subject] = change.example
        assert same(evaluate(parse_expression(case.text), my, target), change.result)


@settings(max_examples=200, deadline=None)
@given(cases(FORMS, 12))
def test_all_changes_together_turn_the_value_round(case: Case) -> None:
    explanation = case.explain()
    my, target = case.my.copy(), case.target.copy()
    for change in explanation.changes:
        (my if change.side == "MY" else target)[change.subject] = change.example
    if explanation.changes:
        changed = evaluate(parse_expression(case.text), my, target)
        assert explanation.changed is not None
        assert same(changed, explanation.changed)
        assert bool(changed) is not (explanation.value is True or explanation.value in (3, 2.5))


#: Skeletons whose holes are filled with attributes, the same one several times among them.
SKELETONS = (
    "({} {op} {}) {no} {}", "{} {op} ({} {no} {})", "({} {op} {}) {no} ({} {op} {})",
    "!({} {op} !{}) {no} !({} {no} {})",
    "({} ? {} : {}) {op} {}", "!({} ? {} : {}) {op} !{}", "({} {op} {}) ? {} : {}", "({} ?: {}) {op} {}",
    "(({} {op} {}) =!= false) {no} {}", "(({} {op} {}) == false) {no} ({} {op} {})",
    "((!{}) + ({} {op} {})) > 0",
    "({} {op} {}) =?= undefined", "({} {op} ({} {no} {})) {no} ({} {op} {})",
)  # fmt: skip
VALUES = (True, False, UNDEFINED)


def smallest(text: str, names: str) -> Iterator[tuple[ClassAd, list[str]]]:
    """Each way to give the attributes values, with the smallest deciding set, found by trying all."""
    expression = parse_expression(text)
    ways = list(product(VALUES, repeat=len(names)))
    results = {way: unparse_value(evaluate(expression, ClassAd(dict(zip(names, way, strict=True))))) for way in ways}
    for way in ways[:: 1 if len(names) < 4 else 5]:
        for size in range(len(names) + 1):
            deciding = next(
                (some for some in combinations(range(len(names)), size) if decides(results, way, some)), None
            )
            if deciding is not None:
                yield ClassAd(dict(zip(names, way, strict=True))), [names[index] for index in deciding]
                break


def decides(results: dict[tuple[object, ...], str], way: tuple[object, ...], some: tuple[int, ...]) -> bool:
    """Whether the value stays whatever the attributes other than `some` are."""
    same = (result for other, result in results.items() if all(other[index] is way[index] for index in some))
    return all(result == results[way] for result in same)


@pytest.mark.parametrize("skeleton", SKELETONS)
def test_the_deciding_set_is_the_smallest_there_is_and_the_leftmost_of_several(skeleton: str) -> None:
    holes = skeleton.count("{}")
    for first, second in (("&&", "||"), ("||", "&&")):
        for pattern in ("ABCDE", "ABBAC", "ABAAB", "AABCB", "ABCBA", "ABCAB"):
            names = pattern[:holes]
            text = skeleton.format(*names, op=first, no=second)
            for ad, expected in smallest(text, "".join(sorted(set(names)))):
                found = sorted({clause.text for clause in explain(text, ad).clauses})
                if not expected:
                    continue  # it can have no other value: the expression is shown as a whole
                assert len(found) == len(expected), (text, str(ad), found, expected)
                if len(set(names)) == holes:
                    assert found == expected, (text, str(ad))


def test_an_expression_too_entangled_for_the_smallest_set_is_still_decided() -> None:
    names = [f"x{index}" for index in range(60)]
    clauses = [f"({names[i]} || {names[7 * i % 60]} || {names[11 * i % 60]})" for i in range(60)]
    explanation = explain(" && ".join(clauses), ClassAd(dict.fromkeys(names, True)))
    assert explanation.value is True
    assert 20 <= len(explanation.clauses) <= 60
    held = {clause.text for clause in explanation.clauses}
    assert all(held.intersection(clause.strip("()").split(" || ")) for clause in clauses)


def test_a_search_that_takes_too_long_leaves_a_set_that_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    text, ad = "(A && B) || (A && !C) || (B && C)", ClassAd({"A": True, "B": True, "C": True})
    assert {clause.text for clause in explain(text, ad).clauses} in ({"A", "B"}, {"B", "C"})
    monkeypatch.setattr(repeated, "WORK_MAX", 1)
    held = {clause.text for clause in explain(text, ad).clauses}
    for values in product(VALUES, repeat=3 - len(held)):
        free = [name for name in "ABC" if name not in held]
        changed = ClassAd({"A": True, "B": True, "C": True} | dict(zip(free, values, strict=True)))
        assert evaluate(parse_expression(text), changed) is True


def test_sums_of_more_values_than_are_kept_are_decided_by_all_their_clauses() -> None:
    count = 4 * VALUES_MAX
    text = " + ".join(f"(x{index} > 0) * {index + 1}" for index in range(count)) + " > 100000"
    explanation = explain(text, ClassAd({f"x{index}": index % 3 for index in range(count)}))
    assert explanation.value is False
    assert len(explanation.clauses) == count


@pytest.mark.parametrize(
    ("text", "deciding"),
    [
        ("T && F && F2", ["F"]),
        ("F && T", ["F"]),
        ("U && F", ["F"]),
        ("T && T2", ["T", "T2"]),
        ("T && T", ["T"]),
        ("F || T || T2", ["T"]),
        ("F || F2", ["F", "F2"]),
        ("(F || F2) && F3", ["F3"]),
        ("(T && T2) || T3", ["T3"]),
        ("(T || !T2) && !(!F)", ["F"]),
        ("!((T ? T2 : U) || T3)", ["T3"]),
        ("(E && F) || F", ["E"]),
        ("(T && U) || U", ["U"]),
        ("(T && U) || MY.u", ["MY.u"]),
        ("(F > 5) || (F > 3) || T", ["T"]),
        ("true && F", ["F"]),
        ("F || false", ["F"]),
        ("true || F", ["true"]),
        ("T && U", ["T?", "U"]),
        ("F || U || F2", ["F?", "U", "F2?"]),
        ("U && U2", ["U", "U2"]),
        ("T && E && F", ["T?", "E"]),
        ("E || T", ["E"]),
        ("!(T && F)", ["F"]),
        ("T ? F : U", ["T", "F"]),
        ("U ? F : T", ["U"]),
        ("U ?: F", ["U", "F"]),
        ("T ?: F", ["T"]),
        ("(T || U) =?= true", ["T"]),
        ("(T && U) =?= true", ["U"]),
        ("(U || U2) == false", ["U", "U2"]),
        ("(T > 0) + (F > 0)", ["T > 0", "F > 0"]),
        ("(T > 0) + U", ["U"]),
    ],
)
def test_examples_of_deciding_clauses(text: str, deciding: list[str]) -> None:
    ad = ClassAd({"T": True, "T2": True, "T3": True, "F": False, "F2": False, "F3": False, "E": ERROR, "U": UNDEFINED})
    clauses = explain(text, ad).clauses
    assert [clause.text + "?" * (clause.role is Role.CONDITION) for clause in clauses] == deciding
