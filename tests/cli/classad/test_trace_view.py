"""The drawing of a traced evaluation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.classad.forms.strategies import ads, trees

from roost.classad import ClassAd, Expr, parse_expression, unparse
from roost.classad.tracing import trace
from roost.cli.classad.trace_view import draw

# hypothesis finds the representation of the strategies too long when it reports on them.
pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")


def drawn(expression: str, my: str = "[]", target: str | None = None, width: int = 100) -> list[str]:
    other = None if target is None else ClassAd(target)
    return draw(trace(parse_expression(expression), ClassAd(my), other), width).split("\n")


def test_each_value_stands_under_its_part() -> None:
    assert drawn('Idle > 15 * 60 || TARGET.Owner == "ada"', "[Idle = 10]", '[Owner = "Ada"]') == [
        'Idle > 15 * 60 || TARGET.Owner == "ada"',
        "|    |    |    |  |            |",
        '10   |    900  |  "Ada"        true',
        "     false     true",
    ]


def test_what_was_not_needed_is_in_parentheses() -> None:
    assert drawn("a && b", "[a = false; b = 1]") == ["a && b", "| |  |", "| |  (1)", "| false", "false"]


def test_brackets_calls_selection_and_subscripts() -> None:
    assert drawn("(size(l) + l[1]) * n.x", "[l = {5, 6}; n = [x = 2]]") == [
        "(size(l) + l[1]) * n.x",
        " |    |  | ||    | | |",
        " 2    |  8 |6    | | 2",
        "      |    |     | [ x = 2 ]",
        "      |    |     16",
        "      |    { 5,6 }",
        "      { 5,6 }",
    ]


def test_attributes_that_are_expressions_follow_once() -> None:
    lines = drawn("START && START", "[START = idle; idle = x > 1; x = 0]")
    assert lines.count("MY.START =") == 1
    assert lines[5:] == ["MY.START =", "  idle", "  |", "  false", "", "MY.idle =", "  x > 1", "  | |", "  0 false"]


def test_long_expressions_are_drawn_in_pieces_that_fit() -> None:
    text = " && ".join(f"(Attribute{i} > {i} || Other{i})" for i in range(30))
    lines = drawn(text, width=60)
    assert max(map(len, lines)) <= 60
    pieces = [line.strip() for line in lines if "Attribute" in line]
    assert " ".join(pieces) == text
    assert all(piece.startswith("&& (") for piece in pieces[1:])


def test_an_expression_that_has_no_text_of_its_own_is_drawn_too() -> None:
    ad = ClassAd()
    ad["a"] = Expr(parse_expression("1 + b * 2").tree)
    assert draw(trace(parse_expression("a"), ad)).split("\n")[4:] == [
        "MY.a =",
        "  1 + b * 2",
        "    | | |",
        "    | | undefined",
        "    | undefined",
        "    undefined",
    ]


def test_a_piece_does_not_end_within_a_string_if_it_need_not() -> None:
    text = 'TARGET.Owner == "ada" || stringListMember("x", "a b c d e f")'
    lines = drawn(text, width=30)
    assert '"a b c d e f")' in [line.strip() for line in lines]
    assert "" not in lines


@given(tree=trees, my=ads(3), target=st.none() | ads(3), width=st.integers(1, 120))
def test_anything_can_be_drawn(tree: object, my: ClassAd, target: ClassAd | None, width: int) -> None:
    text = unparse(tree)  # type: ignore[arg-type]
    for expression in (Expr(tree), parse_expression(text)):  # type: ignore[arg-type]
        assert draw(trace(expression, my, target), width)
