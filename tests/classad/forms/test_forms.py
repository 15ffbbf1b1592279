"""What holds for every text form: round trips, reading in pieces, lists of ads."""

from __future__ import annotations

import io
from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.classad.forms.strategies import ads

from roost.classad import ClassAd, ParseError
from roost.classad.forms import Form, Order, format_ad, guess_form, parse_ad, parse_ads, read, write
from roost.classad.forms.old import unfaithful
from roost.classad.values import to_bytes

# hypothesis finds the representation of the strategies too long when it reports on them.
pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

FORMS = pytest.mark.parametrize("form", list(Form))


class Dribble:
    """A binary stream that gives a few bytes at a time."""

    def __init__(self, text: str, step: int) -> None:
        self._data = to_bytes(text)
        self._step = step

    def read(self, size: int, /) -> bytes:
        piece, self._data = self._data[: self._step], self._data[self._step :]
        return piece


def carried(ad: ClassAd, form: Form) -> ClassAd:
    """`ad` without what the form cannot hold."""
    if form is Form.OLD:
        for name in unfaithful(ad):
            del ad[name]
    return ad


def same(one: ClassAd, other: ClassAd) -> bool:
    """Whether two ads are equal; a real that is not finite is read as the call that it is printed as."""
    plain = all(not isinstance(cell, float) or isfinite(cell) for cell in one.cells.values())
    nested = any(isinstance(cell, ClassAd) for cell in one.cells.values())
    return str(one) == str(other) and (one == other or not plain or nested)


@FORMS
@given(ad=ads(), order=st.sampled_from(list(Order)))
def test_reading_gives_back_what_was_written(form: Form, ad: ClassAd, order: Order) -> None:
    ad = carried(ad, form)
    back = parse_ad(format_ad(ad, form, order), form)
    assert same(back, ad)
    if order is Order.INSERTION:
        assert list(back) == list(ad)


@FORMS
@given(several=st.lists(ads(3), max_size=3), step=st.integers(1, 9))
def test_lists_of_ads_are_read_in_pieces_of_any_size(form: Form, several: list[ClassAd], step: int) -> None:
    several = [carried(ad, form) for ad in several]
    if form is Form.OLD:
        several = [ad for ad in several if ad]
    out = io.StringIO()
    write(several, form, out)
    back = list(read(Dribble(out.getvalue(), step), form))
    assert [str(ad) for ad in back] == [str(ad) for ad in several]


@given(step=st.integers(1, 9))
def test_comments_may_lie_between_pieces(step: int) -> None:
    new = "/* [ */ // [\n[ a = 1 /* ] */ ; b = \"]\" ] /* x */ // y\n /**/ [ 'c]' = 2 // ]\n ]"
    assert [str(ad) for ad in read(Dribble(new, step), Form.NEW)] == ['[ a = 1; b = "]" ]', "[ 'c]' = 2 ]"]
    xml = '<!-- <c> --><classads><c><!-- > --><a n="x"><s> > </s></a></c> <!-- <c> --> </classads>'
    assert [str(ad) for ad in read(Dribble(xml, step), Form.XML)] == ['[ x = " > " ]']


@FORMS
def test_an_ad_is_handed_out_before_the_next_is_read(form: Form) -> None:
    ad = ClassAd({"a": 1})
    out = io.StringIO()
    write([ad] * 3, form, out)
    text = out.getvalue()

    class Counting(Dribble):
        left = len(text)

        def read(self, size: int, /) -> bytes:
            self.left -= 1
            return super().read(size)

    stream = Counting(text, 1)
    next(read(stream, form))
    assert stream.left > len(text) // 3


@FORMS
def test_the_form_of_what_was_written_is_guessed(form: Form) -> None:
    ad = ClassAd("[a = 1; b = x + 1]")
    out = io.StringIO()
    write([ad, ad], form, out)
    assert list(parse_ads(out.getvalue())) == [ad, ad]
    assert list(read(io.StringIO("\n\n  " + out.getvalue()))) == [ad, ad]
    assert parse_ad(format_ad(ad, form)) == ad


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("", Form.OLD),
        ("a = 1", Form.OLD),
        ("# [\na = 1", Form.OLD),
        (" [ a = 1 ]", Form.NEW),
        ("[]", Form.NEW),
        ("{ [ a = 1 ] }", Form.NEW),
        ('{ "a": 1 }', Form.JSON),
        ("{}", Form.JSON),
        ('[ {"a": 1} ]', Form.JSON),
        ("\n<c></c>", Form.XML),
    ],
)
def test_guess_form(text: str, form: Form) -> None:
    assert guess_form(text) is form


@FORMS
def test_mistakes_are_placed_in_the_whole_text(form: Form) -> None:
    good, bad = {
        Form.OLD: ("A = 1\n\n", "B = (\n"),
        Form.NEW: ("[ A = 1 ]\n\n", "[ B = ( ]\n"),
        Form.JSON: ('{ "A": 1 }\n\n', '{ "B": ( }\n'),
        Form.XML: ('<c><a n="A"><i>1</i></a></c>\n\n', '<c><a n="B"><i>(</i></a></c>\n'),
    }[form]
    text = good * 1000 + bad
    for ads_of in (parse_ads(text, form), read(Dribble(text, 50), form, origin="some.ad")):
        count = 0
        with pytest.raises(ParseError) as caught:
            for _ in ads_of:
                count += 1
        assert count == 1000
        assert caught.value.place.line == 2001
        assert bad.strip() in str(caught.value)
        assert len(caught.value.source) < 2000
        assert str(caught.value).startswith(("2001:", "some.ad:2001:"))


def test_columns_count_in_a_long_line() -> None:
    text = "[ A = 1 ] " * 20_000 + "[ B = ( ]"
    with pytest.raises(ParseError) as caught:
        list(read(Dribble(text, 5000), Form.NEW))
    assert (caught.value.place.line, caught.value.place.column) == (1, text.rfind("]") + 1)
    assert "[ B = ( ]" in str(caught.value)


def test_parse_ad_wants_exactly_one() -> None:
    with pytest.raises(ParseError, match="more than one"):
        parse_ad("[a=1] [b=2]")
    with pytest.raises(ParseError, match="no ad"):
        parse_ad("{ }", Form.NEW)
    assert parse_ad("A = 1\n\nB = 2") == ClassAd({"A": 1, "B": 2})
    assert len(parse_ad("")) == 0


@FORMS
def test_ads_nested_too_deep_are_refused(form: Form) -> None:
    text = {
        Form.OLD: "x = " + "[a = " * 200 + "1" + "]" * 200,
        Form.NEW: "[a = " * 200 + "1" + "]" * 200,
        Form.JSON: '{"a": ' * 200 + "1" + "}" * 200,
        Form.XML: '<c><a n="a">' * 200 + "<i>1</i>" + "</a></c>" * 200,
    }[form]
    with pytest.raises(ParseError) as caught:
        parse_ad(text, form)
    assert caught.value.code == "limit"


@FORMS
@given(text=st.text(max_size=60), lenient=st.booleans())
def test_any_text_is_read_or_refused(form: Form, text: str, lenient: bool) -> None:
    opener = {Form.OLD: "A = ", Form.NEW: "[ A = ", Form.JSON: '{ "A": ', Form.XML: '<c><a n="A">'}[form]
    for whole in (text, opener + text):
        try:
            list(parse_ads(whole, form, strict=not lenient))
        except ParseError as error:
            assert str(error)


def test_orders() -> None:
    ad = ClassAd("[ zz = 1; B = 2; aaa = 3; c = [ y = 1; x = 2 ] ]")
    assert format_ad(ad, Form.NEW) == "[ B = 2; c = [ x = 2; y = 1 ]; zz = 1; aaa = 3 ]"
    assert format_ad(ad, Form.OLD, Order.NAME) == "aaa = 3\nB = 2\nc = [ x = 2; y = 1 ]\nzz = 1\n"
    assert list(parse_ad(format_ad(ad, Form.JSON, Order.INSERTION))) == ["zz", "B", "aaa", "c"]


def test_lists_look_like_those_of_the_tools() -> None:
    written = {}
    for form in Form:
        out = io.StringIO()
        write([ClassAd({"a": 1}), ClassAd({"b": True})], form, out)
        written[form] = out.getvalue()
    assert written == {
        Form.OLD: "a = 1\n\nb = true\n\n",
        Form.NEW: "{\n[ a = 1 ]\n,\n[ b = true ]\n}\n",
        Form.JSON: '[\n{\n  "a": 1\n}\n,\n{\n  "b": true\n}\n]\n',
        Form.XML: '<?xml version="1.0"?>\n<!DOCTYPE classads SYSTEM "classads.dtd">\n<classads>\n'
        '<c>\n    <a n="a"><i>1</i></a>\n</c>\n<c>\n    <a n="b"><b v="t"/></a>\n</c>\n</classads>\n',
    }


@FORMS
def test_no_ads_are_an_empty_list(form: Form) -> None:
    out = io.StringIO()
    write([], form, out)
    assert list(parse_ads(out.getvalue(), form)) == []
