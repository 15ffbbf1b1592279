"""Translated code against closures: the same value, the same fuel spent, the same random numbers drawn."""

from __future__ import annotations

import random
from typing import Final

import pytest

from roost.classad import translator
from roost.classad.ad import ClassAd
from roost.classad.compiler import Compiler
from roost.classad.evaluation import deeply, evaluate
from roost.classad.expr import Expr, parse_expression
from roost.classad.limits import REFERENCE_DEPTH_MAX
from roost.classad.parser import parse_tree
from roost.classad.state import Code, EvaluationStopped, State
from roost.classad.syntax import AdNode, Binary, Literal, Name, Op
from roost.classad.translator import NODES_MAX, TRANSLATED_AFTER, translate
from roost.classad.values import AbsTime, ListValue, Value
from roost.classad.world import FixedWorld

NAMES: Final = ("a", "b", "c", "d", "Memory", "LoadAvg", "State", "nowhere")
SCOPE_NAMES: Final = ("my", "target", "self", "parent", "root", "ad", "other", "left", "CurrentTime")
ODD_NAMES: Final = (*SCOPE_NAMES, "'a b'", "'é{}'")
OPERATORS: Final = ("==", "!=", "<", "<=", ">", ">=", "is", "isnt", "=?=", "+", "-", "*", "/", "%", "|", ">>")
LITERALS: Final = (
    *("true", "false", "undefined", "error", "0", "1", "-1", "5", "9223372036854775807"),
    *("-9223372036854775808", "9007199254740993", "9007199254740992.0", "0.5", "-0.0", "1.0", "5.0", "1e308"),
    *('"x"', '"X"', '"{0}é"', '"k"', '""', "{1, a}", "{1, 2}", "[a = 1; b = a]"),
    *('absTime("2020-01-01T00:00:00Z")', 'relTime("5")'),
)
#: The Kelvin sign is a capital whose small letter is ASCII.
TEXTS: Final = ("x", "X", "\u212a", "K", "{0}É", "{0}é", "", "\udc80", 'a"b\\')


class Generator:
    """Random expressions and ads over few names, so that most names mean something."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def expression(self, depth: int) -> str:
        """An expression that is mostly of the kinds that are translated."""
        rng = self.rng
        if depth <= 0:
            return self.leaf()
        x, y = (lambda: self.expression(depth - 1 - rng.randrange(2))), (lambda: self.expression(depth - 1))
        match rng.randrange(12):
            case 0 | 1:
                return f"({x()} {rng.choice(('&&', '||'))} {y()} {rng.choice(('&&', '||'))} {x()})"
            case 2 | 3:
                return f"({x()} && ({y()} && {x()}))" if rng.random() < 0.5 else f"({x()} || {y()})"
            case 4 | 5 | 6:
                return f"({self.leaf()} {rng.choice(OPERATORS)} {y()})"
            case 7:
                return f"({x()} {rng.choice(OPERATORS)} {self.leaf()})"
            case 8:
                return f"{rng.choice(('!', '!', '-', '+', '~'))}({x()})"
            case 9:
                return f"({x()} ? {y()} : {x()} ? {x()} : {y()})"
            case 10:
                return rng.choice((f"(({x()}) ?: ({y()}))", f"ifThenElse({x()}, {y()}, {x()})"))
            case _:
                calls = (
                    *(f"strcat({x()}, {y()})", f"isUndefined({x()})", f"nosuch({x()})", f"random({x()})"),
                    *(f"size({y()})", f"{{{x()}}}[0]", f"[a = {x()}; b = 3].a", f".{self.name()}"),
                    f'eval("a + b") == {x()}',
                )
                return rng.choice(calls)

    def leaf(self) -> str:
        """A name or a constant."""
        roll = self.rng.random()
        if roll < 0.35:
            return self.name()
        if roll < 0.5:
            return f"TARGET.{self.name()}"
        return f"MY.{self.name()}" if roll < 0.6 else self.rng.choice(LITERALS)

    def name(self) -> str:
        return self.rng.choice(NAMES if self.rng.random() < 0.93 else ODD_NAMES)

    def ad(self) -> ClassAd:
        """An ad of plain values and expressions, sometimes chained to another."""
        ad = ClassAd()
        for name in NAMES[:-1]:
            if self.rng.random() < 0.8:
                ad.put(name, self.value())
        if self.rng.random() < 0.1:
            ad.put(self.rng.choice(SCOPE_NAMES), self.value())
        if self.rng.random() < 0.15:
            base = self.ad()
            base.put("nowhere", 7)
            ad.chain_to(base)
        return ad

    def value(self) -> Value | Expr:
        """A cell of any class."""
        rng = self.rng
        match rng.randrange(9):
            case 0 | 1:
                return rng.choice((0, 1, 5, -1, 2**63 - 1, -(2**63), 2**53 + 1))
            case 2 | 3:
                return rng.choice((0.5, 5.0, -0.0, 1e308, float("nan"), float("-inf"), 2.0**53))
            case 4:
                return rng.choice(TEXTS)
            case 5:
                return rng.random() < 0.5
            case 6:
                return rng.choice((AbsTime(5), ListValue((1, "x")), ClassAd({"a": 1, "b": 2})))
            case _:
                return Expr(parse_tree(self.expression(2)))


def observe(code: Code, my: ClassAd | None, target: ClassAd | None, marked: bool) -> tuple[object, ...]:
    """What an evaluation does."""
    world = FixedWorld(instant=1_700_000_000.0, source=random.Random(5))
    state = State(my, target, world)
    if marked:
        state.marks, state.depth = set(), REFERENCE_DEPTH_MAX
    before = state.ad
    value: object
    try:
        value = deeply(lambda: code(state))
    except EvaluationStopped as stopped:
        return type(stopped), state.fuel, world.random()
    return type(value), shown(value), state.fuel, world.random(), state.ad is before


def shown(value: object) -> str:
    """A value as text that tells apart what differs."""
    return f"{value.items!r}" if isinstance(value, ListValue) else f"{value!r}"


def expressions(ad: ClassAd | None) -> list[Expr]:
    """The expressions of an ad and those it is chained to."""
    found = []
    while ad is not None:
        found += [cell for cell in ad.cells.values() if isinstance(cell, Expr)]
        ad = ad.chained
    return found


def use(expression: Expr, code: Code | None) -> None:
    assert code is not None
    object.__setattr__(expression, "_code", code)


@pytest.mark.parametrize("block", range(8))
def test_translated_code_does_exactly_what_the_closures_do(block: int) -> None:
    for seed in range(block * 200, block * 200 + 200):
        generator = Generator(seed)
        text = generator.expression(4)
        tree = parse_tree(text)
        my, target = generator.ad(), generator.ad() if generator.rng.random() < 0.75 else None
        pair = (None, None) if generator.rng.random() < 0.05 else (my, target)
        cells = expressions(my) + expressions(target)
        for cell in cells:
            use(cell, Compiler().compile(cell.tree))
        wanted = [observe(Compiler().compile(tree), *pair, marked) for marked in (False, True)]
        for cell in cells:
            use(cell, translate(cell.tree))
        code = translate(tree)
        assert code is not None
        assert [observe(code, *pair, marked) for marked in (False, True)] == wanted, f"seed {seed}: {text}"


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        # Reals and integers meet as reals, where neighbours beyond 2**53 are the same number.
        ("x == 9007199254740992.0", 2**53 + 1),
        ("9007199254740992.0 < x", 2**53 + 1),
        ("x == 9007199254740993", 2.0**53),
        # Only ASCII letters have another case.
        ('x == "k"', "\u212a"),
        ('x == "\u212a"', "k"),
        ('x != "\u00e9"', "\u00c9"),
        ('x == "abc"', "ABC"),
    ],
)
def test_comparisons_at_the_edges_are_those_of_the_closures(text: str, cell: Value) -> None:
    tree = parse_tree(text)
    code = translate(tree)
    assert code is not None
    assert code(State(ClassAd({"x": cell}))) is Compiler().compile(tree)(State(ClassAd({"x": cell})))


def test_my_sees_the_ads_around_a_nested_one() -> None:
    inner, outer = ClassAd(), ClassAd({"seen": 7})
    expression = Expr(parse_tree("(MY.hidden ?: MY.seen) + MY.seen"))
    use(expression, translate(expression.tree))
    inner.put("x", expression)
    outer.put("inner", inner)
    assert evaluate(parse_expression("inner.x"), outer) == 14
    assert evaluate(parse_expression("inner.x"), outer, ClassAd()) == 14


def test_an_expression_is_translated_when_it_is_hot() -> None:
    expression = Expr(parse_tree("MemoryOfThisTest > 5 && true"))
    ad = ClassAd({"MemoryOfThisTest": 6})
    codes = {}
    for count in range(TRANSLATED_AFTER + 2):
        assert evaluate(expression, ad) is True
        codes[count] = expression.code
    assert codes[0] is codes[TRANSLATED_AFTER - 2]
    assert codes[TRANSLATED_AFTER] is translate(expression.tree)


def test_equal_expressions_share_their_translation() -> None:
    assert translate(parse_tree("Cpus  >  1")) is translate(parse_tree("Cpus > 1"))


def test_a_translation_goes_with_its_last_expression() -> None:
    import gc

    code = translate(parse_tree("GoneSoon > 1"))
    assert parse_tree("GoneSoon > 1") in translator._TRANSLATIONS
    del code
    gc.collect()
    assert parse_tree("GoneSoon > 1") not in translator._TRANSLATIONS


def test_beyond_the_number_of_translations_expressions_stay_closures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translator, "TRANSLATIONS_MAX", len(translator._TRANSLATIONS))
    assert translate(parse_tree("OneTooMany > 1")) is None
    expression = Expr(parse_tree("OneTooMany > 1"))
    assert [evaluate(expression, ClassAd({"OneTooMany": 2})) for _ in range(TRANSLATED_AFTER + 2)].count(True)


@pytest.mark.parametrize(
    "text",
    [
        "(a " + "+ 1) * (2" * 60 + ")",
        "!" * 100 + "a",
        "a && (b || " * 50 + "c" + ")" * 50,
        "a ? b : " * 150 + "c",
        "a ? (b ? " * 50 + "1" + " : 2) : 3" * 50,
        "(a ?: " * 80 + "b" + ")" * 80,
        "strcat(a, " * 60 + "b" + ")" * 60,
        " && ".join(f"a{i} != {i}" for i in range(140)),
        " + ".join(["a"] * 140),
    ],
)
def test_long_and_deep_trees_are_translated_as_far_as_python_goes(text: str) -> None:
    tree = parse_tree(text)
    code = translate(tree)
    assert code is not None
    for ad in (ClassAd({"a": 5, "b": True, "c": 1.5}), ClassAd({"a": True, "b": False, "c": "x"}), ClassAd()):
        assert observe(code, ad, None, False) == observe(Compiler().compile(tree), ad, None, False)


def test_trees_beyond_the_limit_stay_closures() -> None:
    names = (NODES_MAX + 1) // 2
    assert translate(parse_tree(" + ".join(["a"] * names))) is not None
    assert translate(parse_tree(" + ".join(["a"] * (names + 1)))) is None


def test_no_text_of_an_expression_becomes_code() -> None:
    hostile = '""" + __import__(\'os\').abort() + """\n\\u0022 {0} {x!r} %s \udcff \u2028 \''
    tree = Binary(Op.EQ, Name(hostile), Literal(hostile))
    code = translate(Binary(Op.AND, tree, Binary(Op.IS, Name(hostile), Literal(hostile))))
    assert code is not None
    assert code(State(ClassAd({hostile: hostile}))) is True
    assert "__import__" not in code.__globals__["__builtins__"]  # type: ignore[attr-defined]


def test_a_cycle_through_translated_expressions_ends() -> None:
    ad = ClassAd()
    tree = parse_tree("[a = b + 1; b = (a ?: 1) + 1]")
    assert isinstance(tree, AdNode)
    for name, node in tree.attributes:
        ad.put(name, Expr(node))
    before = ad.eval("a")
    for cell in expressions(ad):
        use(cell, translate(cell.tree))
    assert ad.eval("a") == before == 3


def test_a_hot_pair_matches_as_before() -> None:
    machine = ClassAd({"Memory": 10})
    job = ClassAd({"RequestMemory": 5})
    machine["Requirements"] = parse_expression("TARGET.RequestMemory <= Memory")
    job["Requirements"] = parse_expression("TARGET.Memory >= RequestMemory && TARGET.Nothing is undefined")
    assert [machine.symmetric_match(job) for _ in range(TRANSLATED_AFTER + 2)] == [True] * (TRANSLATED_AFTER + 2)
