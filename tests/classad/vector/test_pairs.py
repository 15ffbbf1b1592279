"""Two tables matched with each other give exactly what evaluating pair by pair gives."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from tests.classad.vector.pools import Pool, counts, shown, world_of

from roost.classad import ClassAd, Expr, FixedWorld
from roost.classad.evaluation import evaluate
from roost.classad.forms import parse_ad
from roost.classad.values import UNDEFINED, Value
from roost.classad.vector import Table
from roost.classad.vector.pairs import PairRun, Pairs, Side

BATCHES = 4
POOLS = 64


def pair_by_pair(left: list[ClassAd], right: list[ClassAd], side: Side, ask) -> list[tuple[str, str]]:
    return [shown(ask(x, y) if side is Side.LEFT else ask(y, x)) for x in left for y in right]


def own(ad: ClassAd, name: str, other: ClassAd, world: FixedWorld) -> Value:
    return ad.eval(name, other, world) if name in ad else UNDEFINED


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_expressions_over_random_tables(batch: int) -> None:
    for seed in range(batch, POOLS, BATCHES):
        rng, world = Random(seed), world_of(seed)
        jobs, slots = Pool(seed, rng.choice((1, 3, 7))), Pool(seed + 10**6, rng.choice((1, 4, 9)))
        rows = np.array(sorted(rng.sample(range(len(slots.ads)), rng.randrange(1, len(slots.ads) + 1))), np.int64)
        left = [jobs.table.ad(key) for key in jobs.table]
        keys = slots.table.keys()
        right = [slots.table.ad(keys[row]) for row in rows.tolist()]
        pairs = Pairs(jobs.table, slots.table, rows, world)
        for side in Side:
            for expression in [slots.words.expression() for _ in range(4)]:
                found = pairs.evaluate(expression, side).to_list()
                wanted = pair_by_pair(
                    left, right, side, lambda my, other, e=expression, w=world: evaluate(e, my, other, w)
                )
                assert list(map(shown, found)) == wanted, f"{seed} {side} {expression}"
            for name in ("Requirements", "Rank", "Start"):
                found = pairs.attribute(name, side).to_list()
                wanted = pair_by_pair(left, right, side, lambda my, other, n=name, w=world: own(my, n, other, w))
                assert list(map(shown, found)) == wanted, f"{seed} {side} {name}"
            accepts = [
                counts(own(*((x, "Requirements", y) if side is Side.LEFT else (y, "Requirements", x)), world))
                for x in left
                for y in right
            ]
            assert pairs.accepting(side).ravel().tolist() == accepts


def table(*texts: str) -> Table:
    return Table((at, parse_ad(text)) for at, text in enumerate(texts))


def test_what_looks_at_one_side_is_computed_for_its_rows_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: dict[str, int] = {}
    enter = PairRun._enter

    def watched(run, expression, on_row):
        sizes[str(expression)] = run.rows.size
        return enter(run, expression, on_row)

    monkeypatch.setattr(PairRun, "_enter", watched)
    jobs = table(*(f"[Size = {n}; Twice = Size * 2]" for n in range(5)))
    slots = table(*(f"[Memory = {n}; Half = Memory / 2; Fits = TARGET.Twice <= MY.Half]" for n in range(7)))
    found = Pairs(jobs, slots, np.arange(7), FixedWorld(instant=0)).attribute("Fits", Side.RIGHT)
    assert found.true.reshape(5, 7).tolist() == [[2 * n <= m // 2 for m in range(7)] for n in range(5)]
    assert sizes == {"TARGET.Twice <= MY.Half": 35, "Size * 2": 5, "Memory / 2": 7}


def test_a_circle_through_both_sides_is_what_the_scalar_evaluator_makes_of_it() -> None:
    jobs, slots = table("[a = TARGET.b; c = 1]", "[a = 5]"), table("[b = TARGET.a]", "[b = TARGET.c]", "[b = 7]")
    world = FixedWorld(instant=0)
    pairs = Pairs(jobs, slots, np.arange(3), world)
    left, right = [jobs.ad(key) for key in jobs], [slots.ad(key) for key in slots]
    wanted = pair_by_pair(left, right, Side.LEFT, lambda my, other: my.eval("a", other, world))
    assert list(map(shown, pairs.attribute("a", Side.LEFT).to_list())) == wanted


def test_tables_without_rows() -> None:
    assert Pairs(Table(), table("[a = 1]"), np.arange(1), FixedWorld(instant=0)).accepting(Side.LEFT).shape == (0, 1)
    pairs = Pairs(table("[a = 1]"), table("[b = 1]"), np.zeros(0, np.int64), FixedWorld(instant=0))
    assert pairs.evaluate(Expr.parse("a + b"), Side.LEFT).to_list() == []
