"""Reading expressions: places, remedies and limits of errors, and spans."""

import pytest

from roost.classad import ParseError, parse_expression
from roost.classad.limits import SOURCE_CHARS_MAX
from roost.classad.parser import parse_tree
from roost.classad.syntax import Binary, children


def error(text: str) -> ParseError:
    with pytest.raises(ParseError) as caught:
        parse_tree(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "code", "column", "hint"),
    [
        ("", "operand", 1, None),
        ("a = b", "operator", 3, "=="),
        ("(a && b", "bracket", 1, ")"),
        ("a)", "bracket", 2, None),
        ("a && ", "operand", 3, None),
        ("a && && b", "operand", 6, None),
        ("f(1,)", "operand", 5, "comma"),
        ("a b", "operator", 3, None),
        ("a and b", "operator", 3, "&&"),
        ("{1, 2", "bracket", 1, "}"),
        ("[a = 1", "bracket", 1, "]"),
        ('["a" = 1]', "ad", 2, "'a'"),
        ("[a = 1, b = 2]", "bracket", 7, None),
        ("a ? b", "bracket", 3, "test ? value : other"),
        ('"abc', "string", 1, '"'),
        ("/* abc", "comment", 1, "*/"),
        ("1 // abc", "comment", 3, "/*"),
        ("“Owner”", "token", 1, '"'),
        ("$(MINUTE) * 3", "token", 1, "macro"),
        ("10K", "number", 1, "1024"),
        ("0x1F", "number", 1, None),
        ("010", "number", 1, "10"),
        ("1.", "number", 1, None),
        ('"\\0"', "string", 2, None),
        ('absTime("yesterday")', "time", 1, "yyyy-mm-dd"),
        ("a ?: -b", "operand", 6, "parentheses"),
        ("a.5", "operator", 2, None),
        ("a => 1", "operator", 3, ">="),
        ("a =< 1", "operator", 3, "<="),
        ("a =! 1", "operator", 3, "!="),
        ("a := 1", "operator", 3, "=="),
        ("a ~= 1", "operator", 3, "regexp("),
        ("KeyboardIdle > 15 minutes", "operator", 19, "15 * 60"),
        ("a > 2 hours", "operator", 7, "2 * 60 * 60"),
        ("a > 2 GB", "operator", 7, "1024"),
        ("a ** 2", "operand", 4, "pow("),
        ('a like "x*"', "operator", 3, "regexp("),
        ("Memory >= 2,500", "operator", 12, "without commas"),
        ("Memory >= 2,000", "number", 13, "without commas"),
        ("a\u00a0== 1", "token", 2, "blank"),
    ],
)
def test_an_error_names_its_place_and_the_remedy(text, code, column, hint):
    found = error(text)
    assert (found.code, found.place.line, found.place.column) == (code, 1, column)
    assert (hint is None) or (found.hint is not None and hint in found.hint)


def test_an_error_shows_the_line_with_a_caret():
    assert str(error("a &&\n\t(b == 1 &&\n c")).splitlines() == [
        "2:2: this ( is not closed",
        "    \t(b == 1 &&",
        "    \t^",
        "    hint: add the missing )",
    ]


def test_a_long_line_is_cut_around_the_error():
    text = "a + " * 1000 + "= 1"
    shown = str(error(text)).splitlines()
    assert len(shown[1]) < 140
    assert shown[2].index("^") == shown[1].index("= 1")


def test_nesting_beyond_the_limit_is_an_error_with_a_name():
    for opener, closer in (("(", ")"), ("{", "}"), ("f(", ")"), ("- ", ""), ("a ?: ", ""), ("[a=", "]")):
        assert error(opener * 100_000 + "1" + closer * 100_000).code == "limit"
    assert error("a ? " * 100_000 + "1" + " : b" * 100_000).code == "limit"


def test_chains_may_be_long():
    for operator in ("||", "&&", "+", "==", "/"):
        tree = parse_tree(f" {operator} ".join(["a"] * 50_000))
        assert isinstance(tree, Binary)
        assert str(parse_expression("a" + ".b" * 5_000)).count(".b") == 5_000


def test_a_text_beyond_the_limit_is_refused():
    assert error(" " * (SOURCE_CHARS_MAX + 1)).code == "limit"


def test_spans_give_back_the_text_of_each_part():
    text = '(KeyboardIdle>900)&&  MY.State != "Owner" || f(x,{1,[a=-2]})[0] ?: y'
    seen = set()
    work = [parse_tree(text)]
    while work:
        node = work.pop()
        assert parse_tree(text[slice(*node.span)]) == node
        seen.add(text[slice(*node.span)])
        work += children(node)
    assert {"(KeyboardIdle>900)", "KeyboardIdle>900", 'MY.State != "Owner"', "-2", "f(x,{1,[a=-2]})[0] ?: y"} <= seen


def test_a_number_with_an_m_may_be_meant_in_minutes() -> None:
    assert error("10m").hint == "write the number out: 10 * 1024 * 1024 if mebibytes are meant, 10 * 60 if minutes are"
    assert error("10k").hint == "write the number out: 10 * 1024"
