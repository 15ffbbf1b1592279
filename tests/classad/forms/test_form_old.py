"""The old form against what the reference library was seen to do, and what we add to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roost.classad import ClassAd, ParseError
from roost.classad.forms import Form, ReadWarning, format_ad, parse_ad, parse_ads
from roost.classad.forms.old import unfaithful

RECORDED = json.loads((Path(__file__).parent / "old_recorded.json").read_text())


@pytest.mark.parametrize(("text", "ads"), RECORDED, ids=range(len(RECORDED)))
def test_lenient_reading_is_the_reference_librarys(text: str, ads: list[str]) -> None:
    if text.startswith("\ufeff"):
        pytest.skip("we take a byte order mark for what it is")
    assert [str(ad) for ad in parse_ads(text, Form.OLD, strict=False)] == ads


@pytest.mark.parametrize(("text", "ads"), RECORDED, ids=range(len(RECORDED)))
def test_strict_reading_gives_the_same_or_an_error(text: str, ads: list[str]) -> None:
    warnings: list[ReadWarning] = []
    list(parse_ads(text, Form.OLD, strict=False, warn=warnings.append))
    try:
        assert [str(ad) for ad in parse_ads(text, Form.OLD)] == ads or text.startswith("\ufeff")
        assert not any(warning.code == "line" for warning in warnings)
    except ParseError:
        assert any(warning.code == "line" for warning in warnings)


def test_what_is_ignored_is_reported() -> None:
    warnings: list[ReadWarning] = []
    ad = parse_ad("A = 1\nB = 2 + x; C = 3\nD = 1 // why\nE = 4K\n", warn=warnings.append, origin="f")
    assert str(ad) == "[ A = 1; B = 2 + x; D = 1; E = 4 ]"
    assert [(w.code, w.line, w.column, w.text) for w in warnings] == [
        ("junk", 2, 10, "; C = 3"),
        ("junk", 3, 7, "// why"),
        ("junk", 4, 6, "K"),
    ]
    assert str(warnings[0]).startswith("f:2:10: ignored after the expression of B")


def test_names_that_expressions_must_quote_are_reported() -> None:
    warnings: list[ReadWarning] = []
    ad = parse_ad("a b = 1", warn=warnings.append)
    assert ad["a b"] == 1
    assert [w.code for w in warnings] == ["name"]


def test_a_bad_line_ends_its_ad_where_reading_is_lenient() -> None:
    warnings: list[ReadWarning] = []
    ads = list(parse_ads("A = 1\nB = (\nC = 3\n\nD = 4\n", strict=False, warn=warnings.append))
    assert [str(ad) for ad in ads] == ["[ A = 1 ]", "[ D = 4 ]"]
    assert [(w.code, w.line, w.column) for w in warnings] == [("line", 2, 5)]


def test_a_bad_line_is_an_error_that_shows_it() -> None:
    with pytest.raises(ParseError) as caught:
        parse_ad("A = 1\nBogus line\n", origin="job.ad")
    assert str(caught.value).startswith("job.ad:2:1: there is no = in this line\n    Bogus line\n    ^")


def test_a_delimiter_ends_ads_and_blank_lines_do_not() -> None:
    ads = list(parse_ads("A = 1\n\nB = 2\n*** one\nC = 3\n*** two\n", delimiter="***"))
    assert [str(ad) for ad in ads] == ["[ A = 1; B = 2 ]", "[ C = 3 ]"]


def test_lines_may_come_one_by_one() -> None:
    assert [str(ad) for ad in parse_ads(["A = 1\n", "\n", "B = 2"])] == ["[ A = 1 ]", "[ B = 2 ]"]


def test_the_same_expression_is_parsed_once() -> None:
    one, two = parse_ads("START = KeyboardIdle > 900\n\nSTART = KeyboardIdle > 900\n")
    assert one["START"] is two["START"]


def test_letters_that_only_look_like_ascii_in_another_case_are_no_words() -> None:
    assert str(parse_ad("A = fal\u017fe")) == "[ A = fal ]"
    warnings: list[ReadWarning] = []
    assert parse_ad("\u212a = 1", warn=warnings.append)["\u212a"] == 1
    assert [w.code for w in warnings] == ["name"]


def test_strings_are_written_raw() -> None:
    ad = ClassAd({"a": 'x"y\\z', "b": 1.5, "c": 1e20})
    assert format_ad(ad, Form.OLD) == 'a = "x\\"y\\z"\nb = 1.5\nc = 1E+20\n'
    assert format_ad(ClassAd(), Form.OLD) == "\n"


def test_odd_names_are_written_so_that_they_come_back() -> None:
    ad = ClassAd({"a b": 1, "is": 2})
    assert format_ad(ad, Form.OLD) == "is = 2\na b = 1\n"


def test_what_the_form_cannot_hold_is_named() -> None:
    ad = ClassAd({"nl": "a\nb", "good": "a\\", "eq=": 1, "#": 1})
    ad.set("slash", 'strcat("a\\\\", b)')
    assert unfaithful(ad) == ["nl", "eq=", "#", "slash"]
