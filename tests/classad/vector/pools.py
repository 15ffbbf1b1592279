"""Tables of random ads, and the comparison of what a table says with the scalar evaluator, row by row."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.conformance.generators import Generator

from roost.classad.ad import ClassAd
from roost.classad.errors import ParseError
from roost.classad.evaluation import evaluate
from roost.classad.expr import Expr, parse_expression
from roost.classad.unparse import unparse_value
from roost.classad.values import ListValue, Value
from roost.classad.vector import Table
from roost.classad.world import FixedWorld, World

NAMES = (
    "a", "b", "c", "x", "y", "z", "aa", "Foo", "Zed", "Memory", "Cpus", "LoadAvg", "Arch", "State", "Owner", "Start",
)  # fmt: skip
PLAIN = {
    "int": ("0", "1", "2", "3", "-1", "-7", "63", "9223372036854775807", "-9223372036854775808", "9007199254740993"),
    "real": ("0.0", "-0.0", "1.0", "2.5", "-3.5", "1e308", '-1.0/0', 'real("NaN")', "9007199254740992.0"),
    "bool": ("true", "false"),
    "string": ('"a"', '"A"', '"b"', '""', '"abc"', '"1"', '"é"', '"x,a b"', '"2.5"'),
    "odd": (
        "undefined", "error", "{1,2}", "{a,1}", "[q=1;r=a]", 'absTime("2020-01-01T00:00:00Z")', 'relTime("5")', "{}",
    ),
}  # fmt: skip


class Dictionary(Generator):
    """Expressions over few names, so that references meet."""

    def _name(self) -> str:
        if self._chance(0.93):
            return self._pick(NAMES)
        return self._pick(("MY", "TARGET", "self", "parent", "CurrentTime", "other", "Requirements", "root"))

    def _scoped(self, name: str) -> str:
        return super()._scoped(name if self._chance(0.6) else self._pick(NAMES))

    def simple(self) -> str:
        """An expression of the shapes that policies are made of."""
        roll = self._unit()
        if roll < 0.3:
            return self.typed("bool", 3)
        if roll < 0.5:
            return self.typed(self._pick(("int", "num", "real", "string", "list")), 2)
        operand = self._operand
        if roll < 0.7:
            sign = self._pick(("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", ">>>", "&&", "||"))
            return f"{operand()} {sign} {operand()}"
        if roll < 0.9:
            sign = self._pick(("==", "!=", "<", "<=", ">", ">=", "=?=", "=!="))
            link = self._pick(("&&", "||"))
            return f"{operand()} {sign} {operand()} {link} {operand()} {sign} {operand()}"
        return f"{operand()} ? {operand()} : {operand()} ?: {operand()}"

    def _operand(self) -> str:
        if self._chance(0.3):
            return self._pick(PLAIN[self._pick(("int", "real", "bool", "string"))])
        return self._scoped(self._pick(NAMES))

    def expression(self) -> Expr:
        """Any expression that can be read."""
        while True:
            text = self.simple() if self._chance(0.6) else self.wild()
            try:
                return parse_expression(text)
            except ParseError:
                continue


class Pool:
    """Random ads, in a table and in a dict."""

    def __init__(self, seed: int, rows: int) -> None:
        self.rng = Random(seed)
        self.words = Dictionary(self.rng)
        #: For each name, the cells it may have: few kinds, so that columns are of one kind, mixed, or odd.
        self.choices = {name: self._choices() for name in NAMES}
        self.ads: dict[int, ClassAd] = {key: self.ad() for key in range(rows)}
        self.table = Table(self.ads.items())
        self.next_key = rows

    def _choices(self) -> list[str]:
        rng = self.rng
        kinds = rng.choices(("int", "real", "bool", "string", "odd"), (5, 3, 3, 3, 1), k=rng.choice((1, 1, 1, 2, 3)))
        texts = [text for kind in kinds for text in PLAIN[kind] if "/" not in text and "real(" not in text]
        if rng.random() < 0.35:
            texts += [self.words.simple() for _ in range(rng.randrange(1, 4))]
        return texts

    def ad(self) -> ClassAd:
        """An ad like the others."""
        rng = self.rng
        ad = ClassAd()
        absent = rng.choice((0.0, 0.1))
        for name in rng.sample(NAMES, len(NAMES)):
            if rng.random() < absent:
                continue
            spelling = name if rng.random() < 0.95 else name.upper()
            try:
                ad.set(spelling, rng.choice(self.choices[name]))
            except ParseError:
                ad.set(spelling, "1")
            if rng.random() < 0.05:
                ad[spelling] = rng.choice((float("nan"), float("-inf"), -0.0, True, "A", 7))
        if rng.random() < 0.8:
            ad["Requirements"] = self.words.expression()
        if rng.random() < 0.5:
            ad["Rank"] = self.words.expression()
        if rng.random() < 0.02:
            ad["TARGET"] = ad["MY"] = 3
        return ad

    def change(self) -> None:
        """Update, add or remove some ads."""
        rng = self.rng
        for _ in range(rng.randrange(4)):
            roll = rng.random()
            if roll < 0.25 and len(self.ads) > 1:
                key = rng.choice(list(self.ads))
                del self.ads[key]
                self.table.remove(key)
            elif roll < 0.5:
                self.ads[self.next_key] = ad = self.ad()
                self.table.add(self.next_key, ad)
                self.next_key += 1
            else:
                key = rng.choice(list(self.ads))
                ad = self.ads[key].copy() if rng.random() < 0.7 else self.ad()
                if ad and rng.random() < 0.8:
                    name = rng.choice(list(ad))
                    if rng.random() < 0.2:
                        del ad[name]
                    else:
                        ad.set(name, rng.choice(("5", '"new"', "2.5", "a + 1", "undefined", "true")))
                self.ads[key] = ad
                self.table.update(key, ad)

    # -- checks --------------------------------------------------------------------------------

    def check_expression(self, expression: Expr, target: ClassAd | None, world: World) -> None:
        """Both ways of evaluating agree, with the row as MY, and as TARGET."""
        keys = self.table.keys()
        found = self.table.evaluate(expression, target, world)
        wanted = [evaluate(expression, self.ads[key].copy(), target, world) for key in keys]
        self._compare(f"{expression}", keys, target, found.to_list(), wanted)
        truths = [counts(value) for value in wanted]
        assert found.true.tolist() == truths, f"{expression}: true"
        if target is not None:
            found = self.table.evaluate_for(target, expression, world)
            wanted = [evaluate(expression, target, self.ads[key].copy(), world) for key in keys]
            self._compare(f"for: {expression}", keys, target, found.to_list(), wanted)

    def check_match(self, target: ClassAd, world: World) -> None:
        """Matching and ranking agree."""
        keys = self.table.keys()
        wanted = [self.ads[key].symmetric_match(target, world) for key in keys]
        self._compare("match", keys, target, self.table.match(target, world).tolist(), wanted)
        ranks = [target.rank(self.ads[key], world) for key in keys]
        self._compare("rank", keys, target, self.table.rank(target, world).tolist(), ranks)

    def _compare(self, what: str, keys: Any, target: ClassAd | None, found: list[Any], wanted: list[Any]) -> None:
        if list(map(shown, found)) == list(map(shown, wanted)):
            return
        for key, x, y in zip(keys, found, wanted, strict=True):
            if shown(x) != shown(y):
                raise AssertionError(
                    f"{what}\n  row    {self.ads[key]}\n  target {target}\n  vector {shown(x)}\n  scalar {shown(y)}"
                )


def shown(value: Value) -> tuple[str, str]:
    """A value with its type, so that NaN equals NaN, and 0.0 differs from -0.0, 0 and false."""
    if isinstance(value, ListValue | ClassAd):
        return value.__class__.__name__, unparse_value(value)
    return value.__class__.__name__, repr(value)


def counts(value: Value) -> bool:
    """Whether a value of Requirements is a match."""
    return value is True or (value.__class__ in (int, float) and value != 0)


def world_of(seed: int) -> FixedWorld:
    """A world whose clock stands."""
    return FixedWorld(instant=1_600_000_000.25 + seed, offset=3600)
