"""Input that wants to cost more than it is worth."""

from __future__ import annotations

import time

import pytest

from roost.classad import ParseError
from roost.classad.forms import Form, parse_ads, read
from roost.classad.forms import source as source_module
from roost.classad.limits import NAME_BYTES_MAX, SOURCE_CHARS_MAX


class Endless:
    """A stream that never ends."""

    def __init__(self, start: str, more: str) -> None:
        self._next = start
        self._more = more

    def read(self, size: int, /) -> str:
        piece, self._next = self._next, self._more * 4096
        return piece


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "start", "more"),
    [
        (Form.OLD, 'A = "', "x"),
        (Form.OLD, "A = 1\n", "B = 1\n"),
        (Form.NEW, '[ A = "', "x"),
        (Form.NEW, " ", " "),
        (Form.NEW, "[", "a=1;"),
        (Form.JSON, '{ "A": "', "x"),
        (Form.JSON, "/*", "x"),
        (Form.XML, '<c><a n="A"><s>', "x"),
        (Form.XML, "<c", " "),
        (Form.XML, "<c>", '<a n="x"><i>1</i></a>'),
    ],
)
def test_an_ad_without_end_is_refused_at_the_limit(
    form: Form, start: str, more: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_module, "SOURCE_CHARS_MAX", 200_000)
    monkeypatch.setattr("roost.classad.forms.old.SOURCE_CHARS_MAX", 200_000)
    with pytest.raises(ParseError) as caught:
        list(read(Endless(start, more), form))
    assert caught.value.code == "limit"
    assert SOURCE_CHARS_MAX > 200_000


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (Form.XML, "<c " + "a" * 20_000),
        (Form.XML, '<c><a n="' + "\\" * 20_001),
        (Form.XML, "<!" + '"' * 20_001),
        (Form.XML, "<c><a n='x'><s>" + "&" * 50_000),
        (Form.JSON, '{"a": "' + "\\" * 50_001),
        (Form.JSON, '{"a": ' + "/* " * 20_000),
        (Form.JSON, '{"a": ' + "/" * 50_000),
        (Form.NEW, "[ a = " + "/*" * 50_000),
        (Form.NEW, "[ a = " + "'\"" * 50_000),
        (Form.OLD, "A = " + "1 " * 50_000),
        (Form.OLD, "A = " + '\\"' * 50_000),
    ],
)
def test_bad_text_is_refused_in_time_that_grows_with_its_length(form: Form, text: str) -> None:
    start = time.process_time()
    try:
        list(parse_ads(text, form))
    except ParseError as error:
        str(error)
    assert time.process_time() - start < 2


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("value", ["1", "b + 1"])
def test_a_name_beyond_the_limit_is_refused_in_every_form(form: Form, value: str) -> None:
    texts = {
        Form.OLD: "{} = {}\n",
        Form.NEW: "[ {} = {} ]",
        Form.JSON: '{{"{}": "\\/Expr({})\\/"}}',
        Form.XML: '<c><a n="{}"><e>{}</e></a></c>',
    }
    assert len(list(parse_ads(texts[form].format("a" * NAME_BYTES_MAX, value), form))) == 1
    with pytest.raises(ParseError) as caught:
        list(parse_ads(texts[form].format("a" * (NAME_BYTES_MAX + 1), value), form))
    assert caught.value.code == "limit"
