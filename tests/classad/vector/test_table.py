"""What a table keeps, what it forgets, and what bounds it."""

from __future__ import annotations

import numpy as np
import pytest

import roost.classad.state as state
import roost.classad.vector as vector
from roost.classad.ad import ClassAd
from roost.classad.evaluation import evaluate
from roost.classad.expr import Expr, parse_expression
from roost.classad.values import ERROR, UNDEFINED
from roost.classad.vector import CellKind, Table
from roost.classad.vector.columns import UNUSED_WORDS_MAX
from roost.classad.world import FixedWorld


def ad(**texts: str) -> ClassAd:
    """An ad from the texts of its expressions."""
    made = ClassAd()
    for name, text in texts.items():
        made.set(name, text)
    return made


def slots(count: int) -> Table:
    """Numbered slots of two policies."""
    starts = ("KeyboardIdle > 5", 'KeyboardIdle > 5 && Owner == "bob"')
    return Table(
        (f"slot{at}", ad(KeyboardIdle=str(at), START=starts[at % 2], Requirements="START && TARGET.ImageSize < 100"))
        for at in range(count)
    )


def job(**texts: str) -> ClassAd:
    """A job that takes any slot."""
    return ad(**{"Requirements": "true", "ImageSize": "10", "Owner": '"Bob"', **texts})


def test_an_ad_comes_back_with_names_spelling_order_and_nested_ads() -> None:
    original = ad(b="1", A="[ x = 1; y = x ]", Cc="{ 1, a }", d="a + 1", E='"text"', f="undefined", g="-0.0")
    other = ad(B="2", a="true")
    table = Table([("k", original), ("l", other)])
    for key, wanted in (("k", original), ("l", other)):
        found = table.ad(key)
        assert found == wanted and list(found) == list(wanted) and str(found) == str(wanted)
    assert table.ad("k").eval_expr("a.y") == 1
    table.ad("k")["b"] = 7
    original["A"]["x"] = 9
    assert table.ad("k").eval_expr("a.y") == 1 and table.value("k", "B") == 1


def test_chained_attributes_become_the_rows_own() -> None:
    child = ad(a="b + 1")
    child.chain_to(ad(b="2"))
    table = Table([(1, child)])
    assert table.evaluate("a").to_list() == [3] and list(table.ad(1)) == ["a", "b"]


def test_match_and_rank_follow_updates_removals_and_additions() -> None:
    table = slots(20)
    alone = job(Owner='"carl"', Rank="TARGET.KeyboardIdle * 2")
    assert np.flatnonzero(table.match(job())).tolist() == list(range(6, 20))
    assert np.flatnonzero(table.match(alone)).tolist() == list(range(6, 20, 2))
    table.update("slot8", ad(KeyboardIdle="0", START="true", Requirements="START"))
    table.remove("slot6")
    table.add("new", ad(Requirements="TARGET.ImageSize == 10"))
    matched = {table.keys()[row] for row in np.flatnonzero(table.match(alone))}
    assert matched == {"slot8", "slot10", "slot12", "slot14", "slot16", "slot18", "new"}
    ranks = dict(zip(table.keys(), table.rank(alone).tolist(), strict=True))
    assert ranks["slot10"] == 20.0 and ranks["new"] == 0.0 and ranks["slot8"] == 0.0


def test_nothing_remembered_outlives_a_change_of_what_it_came_from() -> None:
    table = slots(10)
    assert table.match(job()).sum() == 4
    table.update("slot0", ad(KeyboardIdle="50", START="KeyboardIdle > 5", Requirements="START"))
    assert table.match(job()).sum() == 5
    assert table.evaluate("Owner ?: 1", job()).to_list() == ["Bob"] * 10
    assert table.evaluate("Owner ?: 1", ClassAd()).to_list() == [1] * 10
    assert table.evaluate("Owner ?: 1", job()).to_list() == ["Bob"] * 10
    table.add("x", ad(Owner='"row"'))
    assert table.evaluate("Owner ?: 1", job()).to_list() == ["Bob"] * 10 + ["row"]


def test_a_result_keeps_its_values_when_the_table_changes() -> None:
    table = slots(4)
    found = table.evaluate("KeyboardIdle")
    mask = table.match(job())
    table.update("slot1", ad(KeyboardIdle="99"))
    assert found.to_list() == [0, 1, 2, 3] and not mask.any()
    assert found.values.dtype == np.int64 and (found.state == CellKind.INTEGER).all()


def test_update_changes_the_versions_of_changed_columns_only() -> None:
    table = slots(10)
    versions = {name: column.version for name, column in table._columns.items()}
    table.update("slot3", table.ad("slot3"))
    assert versions == {name: column.version for name, column in table._columns.items()}
    changed = table.ad("slot3")
    changed["KeyboardIdle"] = 3.0
    table.update("slot3", changed)
    moved = {name for name, column in table._columns.items() if column.version != versions[name]}
    assert moved == {"keyboardidle"} and table.evaluate("KeyboardIdle").to_list()[3].__class__ is float


def test_states_tell_values_from_undefined_and_error() -> None:
    table = Table([(1, ad(a="1")), (2, ad(a='"x"')), (3, ClassAd()), (4, ad(a="error")), (5, ad(a="{ b }"))])
    assert table.evaluate("a").state.tolist() == [4, 6, 1, 2, 7]
    assert table.evaluate("a").to_list()[:4] == [1, "x", UNDEFINED, ERROR]
    assert table.evaluate("a").true.tolist() == [True, False, False, False, False]


def test_a_key_is_added_once_and_changed_only_if_there() -> None:
    table = slots(2)
    with pytest.raises(KeyError):
        table.add("slot1", ClassAd())
    with pytest.raises(KeyError):
        table.extend([("a", ClassAd()), ("a", ClassAd())])
    with pytest.raises(KeyError):
        table.update("other", ClassAd())
    with pytest.raises(KeyError):
        table.remove("other")
    table.put("slot1", ad(a="1"))
    table.put("third", ad(a="2"))
    assert table.keys() == ("slot0", "slot1", "third") and table.evaluate("a ?: 0").to_list() == [0, 1, 2]


def test_an_empty_table_answers() -> None:
    table = slots(1)
    table.remove("slot0")
    assert len(table) == 0 and table.match(job()).shape == (0,) and table.rank(job()).shape == (0,)
    assert table.evaluate("1 + a").to_list() == [] and table.evaluate("1").values.shape == (0,)


def test_the_clock_is_read_once_for_all_rows() -> None:
    class Running(FixedWorld):
        def now(self) -> float:
            self.instant += 1
            return self.instant

    table = Table((at, ad(a="time() - b", b=str(at))) for at in range(3))
    assert table.evaluate("a + b + (CurrentTime - time())", world=Running(instant=100.0)).to_list() == [101] * 3


@pytest.mark.parametrize("links", [30, 39, 40, 41, 47, 48, 49, 60, 398, 399, 400, 401])
def test_long_chains_of_references_end_where_the_scalar_evaluator_ends_them(links: int) -> None:
    chain = {f"a{at}": f"a{at + 1}" for at in range(links)} | {f"a{links}": "1"}
    row = ad(**chain)
    assert Table([(1, row)]).evaluate("a0").to_list() == [evaluate(parse_expression("a0"), row)]


@pytest.mark.parametrize("levels", [6, 8, 9, 10, 12])
def test_expressions_that_double_run_out_of_fuel_as_in_the_scalar_evaluator(
    levels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (state, vector.table):
        monkeypatch.setattr(module, "EVALUATION_FUEL", 1000)
    row = ad(**{f"a{at}": f"a{at + 1} + a{at + 1}" for at in range(levels)}, **{f"a{levels}": "1"})
    assert Table([(1, row)]).evaluate("a0").to_list() == [evaluate(parse_expression("a0"), row)]


def test_expressions_too_deep_to_compile_are_left_to_the_scalar_evaluator() -> None:
    for text in ("1" + " + a" * 3000, "(" * 160 + "a" + ")" * 160, "!" * 900 + "a"):
        row = ad(a="1")
        assert Table([(1, row)]).evaluate(text).to_list() == [row.eval_expr(text)]


def test_rows_with_hundreds_of_different_policies() -> None:
    table = Table((at, ad(x=str(at % 7), START=f"x > {at % 300} || TARGET.y == {at}")) for at in range(600))
    found = table.evaluate("START && x >= 0", ad(y="5")).to_list()
    assert found == [at % 7 > at % 300 or at == 5 for at in range(600)]


def test_columns_stay_within_nine_bytes_a_number() -> None:
    table = Table((at, ClassAd({f"n{column}": at * column for column in range(50)})) for at in range(1000))
    assert table.nbytes <= 1000 * (50 * 9 + 4) + 50 * 16


def test_attributes_of_few_ads_cost_what_they_hold() -> None:
    table = Table((at, ClassAd({"a": 1, f"only{at}": at})) for at in range(2000))
    assert table.nbytes < 2000 * 100
    assert table.evaluate("only7 ?: -1").to_list() == [7 if at == 7 else -1 for at in range(2000)]
    for at in range(1999):
        table.remove(at)
    assert len(table._columns) == 2


def test_strings_no_row_uses_any_more_are_forgotten() -> None:
    table = Table((at, ad(s='"x"')) for at in range(10))
    for turn in range(1000):
        table.update(turn % 10, ClassAd(s=f"text{turn}"))
    assert len(table._columns["s"].words.values) <= 2 * 10 + UNUSED_WORDS_MAX + 1
    assert sorted(table.evaluate("s").to_list()) == [f"text{turn}" for turn in range(990, 1000)]


def test_what_is_remembered_is_bounded_in_bytes() -> None:
    table = Table(((at, ClassAd(a=at)) for at in range(1000)), memory_bytes_max=100_000)
    for number in range(300):
        assert table.evaluate(f"a * {number} > 5").true.sum() == sum(at * number > 5 for at in range(1000))
        assert table._memory.nbytes <= 100_000


def test_the_text_of_an_expression_is_kept_once() -> None:
    table = Table(
        (at, ClassAd(a=Expr.parse(f"b{' ' * at} + 1").tree and Expr(parse_expression("b + 1").tree)))
        for at in range(50)
    )
    assert len(table._columns["a"].words.values) == 1
