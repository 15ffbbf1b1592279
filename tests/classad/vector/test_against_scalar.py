"""Bulk evaluation gives exactly what evaluating ad by ad gives."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from tests.classad.vector.pools import PLAIN, Pool, shown, world_of

from roost.classad.ad import ClassAd
from roost.classad.evaluation import evaluate
from roost.classad.expr import parse_expression
from roost.classad.vector import Table

#: Random pools in all; each is asked 36 expressions as MY and as TARGET, and changed in between.
POOLS = 144
BATCHES = 8


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_expressions_over_random_tables_that_change(batch: int) -> None:
    for seed in range(batch, POOLS, BATCHES):
        pool, world = Pool(seed, Random(seed).choice((1, 3, 8, 20))), world_of(seed)
        for turn in range(12):
            target = pool.ad() if turn % 3 else None
            for _ in range(3):
                pool.check_expression(pool.words.expression(), target, world)
            if target is not None:
                pool.check_match(target, world)
            pool.change()
            assert {key: pool.table.ad(key) for key in pool.table} == pool.ads


@pytest.mark.parametrize("batch", range(2))
def test_the_same_questions_again_while_rows_and_targets_change(batch: int) -> None:
    for seed in range(batch, 30, 2):
        pool, world = Pool(seed, Random(seed).choice((2, 6, 14))), world_of(seed)
        expressions = [pool.words.expression() for _ in range(5)]
        targets = [pool.ad() for _ in range(3)]
        for _ in range(6):
            for target in targets:
                for expression in expressions:
                    pool.check_expression(expression, pool.rng.choice((target, target, None)), world)
                pool.check_match(target, world)
                name = pool.rng.choice(list(pool.choices))
                if name in target:
                    del target[name]
                else:
                    target.set(name, pool.rng.choice(pool.choices[name]))
            pool.change()


OPERATORS = (
    *("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "=?=", "=!="),
    *("&&", "||", "&", "|", "^", "<<", ">>", ">>>", "?:"),
)
VALUES = {
    "int": PLAIN["int"],
    "real": (*PLAIN["real"], '-real("INF")', "-1e308", "0.5", "9223372036854775808.0"),
    "bool": PLAIN["bool"],
    "string": (*PLAIN["string"], r'"\303-"', '"é2"', r'"\377"', '"𐍈"'),
    "exceptional": ("undefined", "error"),
    "time": ('absTime("2020-01-01T00:00:00Z")', 'absTime("2021-01-01T00:00:00Z")', 'relTime("5")', 'relTime("0")'),
    "list": ("{1,2}", "{}", "{x}"),
}
MIXED = ("1", "2.5", "true", '"a"', "undefined", "error", "{1}", 'relTime("5")', "-9223372036854775808", "0")


def pairs(first: tuple[str, ...], second: tuple[str, ...]) -> Table:
    """A table of all pairs of values of x and y."""
    ads = []
    for at, (x, y) in enumerate(product(first, second)):
        ad = ClassAd()
        for name, text in (("x", x), ("y", y)):
            value = evaluate(parse_expression(text))
            if "{x}" in text or "relTime" in text:
                ad.set(name, text)
            else:
                ad[name] = value
        ads.append((at, ad))
    return Table(ads)


@pytest.mark.parametrize("kinds", [*product(VALUES, VALUES), ("mixed", "mixed")], ids="-".join)
def test_every_operator_on_columns_of_every_pair_of_kinds(kinds: tuple[str, str]) -> None:
    first, second = (VALUES.get(kind, MIXED) for kind in kinds)
    table = pairs(first, second)
    ads = [table.ad(key) for key in table]
    texts = [f"x {operator} y" for operator in OPERATORS]
    texts += [f"x {operator} ({second[at % len(second)]})" for at, operator in enumerate(OPERATORS)]
    texts += [f"({first[at % len(first)]}) {operator} y" for at, operator in enumerate(OPERATORS)]
    texts += ["-x", "+x", "~x", "!x", "x ? y : 1", "isUndefined(x)", "isError(x)", "isReal(x)", "isString(x)"]
    texts += ["countMatches(a, x)", "countMatches(MY.a, y)", "evalInEachContext(TARGET.a, x)", "isBoolean(x ?: y)"]
    texts += ["y[x]", "x.a", "strcat(x, y)", "int(x)", "min({x, y, 3})", "ifThenElse(x, y, x)", "x && y || !x && y"]
    for text in texts:
        expression = parse_expression(text)
        found = table.evaluate(expression)
        wanted = [evaluate(expression, ad) for ad in ads]
        assert list(map(shown, found.to_list())) == list(map(shown, wanted)), text
        assert list(map(shown, found.values.tolist())) == list(map(shown, wanted)), text
