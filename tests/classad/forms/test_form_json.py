"""JSON and XML: the shapes of values, liberties and mistakes of the readers."""

from __future__ import annotations

import json

import pytest

from roost.classad import AbsTime, ClassAd, ParseError, RelTime
from roost.classad.forms import Form, format_ad, parse_ad, parse_ads
from roost.classad.forms.json import format_json

AD = ClassAd(
    r"""[ a = 1; bb = "x<y&z>\"q\" 's' \n\\ \303\251 "; c = 1.5; d = true; e = undefined; f = error;
    g = { 1, "a", { 2 }, [ x = 1; y = { } ] }; h = [ p = 1; q = [ ] ]; i = a < 1 && b > 2 & c;
    l = absTime("2020-01-01T00:00:00Z"); n = x is "a<b"; o = real("INF") ]"""
)

#: Printed by the reference library.
XML = r"""<c>
    <a n="a"><i>1</i></a>
    <a n="c"><r>1.500000000000000E+00</r></a>
    <a n="d"><b v="t"/></a>
    <a n="e"><un/></a>
    <a n="f"><er/></a>
    <a n="g"><l><i>1</i><s>a</s><l><i>2</i></l><c>
        <a n="x"><i>1</i></a>
        <a n="y"><l></l></a>
    </c></l></a>
    <a n="h"><c>
        <a n="p"><i>1</i></a>
        <a n="q"><c>
        </c></a>
    </c></a>
    <a n="i"><e>a &lt; 1 &amp;&amp; b &gt; 2 &amp; c</e></a>
    <a n="l"><at>2020-01-01T00:00:00-00:00</at></a>
    <a n="n"><e>x is "a&lt;b"</e></a>
    <a n="o"><e>real("INF")</e></a>
    <a n="bb"><s>x&lt;y&amp;z&gt;"q" 's' \n\\ \303\251 </s></a>
</c>
"""
XML_NAMES = r"""<c>
    <a n="is"><i>5</i></a>
    <a n="x\\"><i>6</i></a>
    <a n="\303\251"><i>7</i></a>
    <a n="a b"><i>1</i></a>
    <a n="a\"b"><i>3</i></a>
    <a n="a'b"><i>2</i></a>
    <a n="a&lt;b&amp;"><i>4</i></a>
</c>
"""


def test_xml_is_written_as_the_reference_library_writes_it() -> None:
    assert format_ad(AD, Form.XML) == XML
    names = ClassAd({"a b": 1, "a'b": 2, 'a"b': 3, "a<b&": 4, "is": 5, "x\\": 6, "é": 7})
    assert format_ad(names, Form.XML) == XML_NAMES
    assert parse_ad(XML_NAMES) == names
    assert format_ad(ClassAd(), Form.XML) == "<c>\n</c>\n"


def test_durations_and_negative_zero_survive() -> None:
    ad = ClassAd({"t": RelTime(5.25), "z": -0.0, "i": AbsTime(0, 3600)})
    for form in (Form.XML, Form.JSON, Form.NEW, Form.OLD):
        assert str(parse_ad(format_ad(ad, form))) == str(ad)


def test_xml_of_others_is_read() -> None:
    text = """<?xml version='1.0'?><!-- a > b --><classads>
      <c ><a n = 'A' ><i> 5 </i></a><a n="B"><s>&#65;&quot;&apos;&unknown; </s></a><a n="C"><b v="F"></b></a>
      <a n="D"><r>1e3</r></a><a n="E"><r>-inf</r></a><a n="F"><s/></a></c></classads>"""
    ad = parse_ad(text)
    assert (
        str(ad) == '[ A = 5; B = "A\\"\'&unknown; "; C = false; D = 1.000000000000000E+03; E = real("-INF"); F = "" ]'
    )


@pytest.mark.parametrize(
    "text",
    [
        "<c>",
        "<c></a></c>",
        "<c><a n='x'></a></c>",
        "<c><a><i>1</i></a></c>",
        "<c><a n='x'><i>1</i><i>2</i></a></c>",
        "<c><a n='x'><i>y</i></a></c>",
        "<c><a n='x'><e>1 +</e></a></c>",
        "<c><a n='x'><at>soon</at></a></c>",
        "<c><a n='x'><zz/></a></c>",
        "<c>text</c>",
        "<c><i>1</i></c>",
        "<c><a n='x'><b v='maybe'/></a></c>",
        "<c><a n='x'><s>\\0</s></a></c>",
        "</c>",
        "<c><a n='x",
        "< <c></c>",
    ],
)
def test_bad_xml_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        list(parse_ads(text, Form.XML))


def test_json_is_written_as_the_reference_library_writes_it() -> None:
    assert format_ad(ClassAd(), Form.JSON) == "{\n}"
    ad = ClassAd(r'[ a = { 1, { }, [ b = x + 1 ] }; c = "\b\v\"\\/"; d = 1e20; e = undefined; f = error ]')
    assert format_ad(ad, Form.JSON) == (
        '{\n  "a": [\n    1,\n    [\n    ],\n    {\n      "b": "\\/Expr(x + 1)\\/"\n    }\n  ],\n'
        '  "c": "\\b\\u000B\\"\\\\/",\n  "d": 1E+20,\n  "e": null,\n  "f": "\\/Expr(error)\\/"\n}'
    )
    assert format_json(ClassAd({"a": 1, "b": "x"}), oneline=True) == '{"a": 1,"b": "x"}'


def test_json_is_json() -> None:
    assert json.loads(format_ad(AD, Form.JSON))["g"] == [1, "a", [2], {"x": 1, "y": []}]


def test_only_escaped_slashes_make_an_expression() -> None:
    ad = parse_ad(r'{"a": "\/Expr(1 + 1)\/", "b": "/Expr(1)/", "c": "\/Expr(1)/", "d": "\\/Expr(x)\\/"}')
    assert str(ad) == r'[ a = 1 + 1; b = "/Expr(1)/"; c = "/Expr(1)/"; d = "\\/Expr(x)\\/" ]'


def test_json_escapes_name_characters() -> None:
    ad = parse_ad(r'{"a": "\u00e9\u0041\ud83d\ude00", "b": "\ud800x\udfff"}')
    assert ad["a"] == "éA😀"
    assert ad["b"] == "\ufffdx\ufffd"


def test_liberties_of_json() -> None:
    ad = parse_ad('/*c*/{, "a": TRUE, // no\n "b": "x" "y",, "c": nUll, "d": .5, "A": -9223372036854775809, }')
    assert str(ad) == '[ A = 0; b = "xy"; c = undefined; d = 5.000000000000000E-01 ]'.replace("A", "a")


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1',
        '{"a":[1,]}',
        '{"a":[,]}',
        '{"a":[1 2]}',
        '{"a":1 "b":2}',
        '{"a" 1}',
        '{"a":}',
        "{a:1}",
        '{"":1}',
        '{"a":01}',
        '{"a":1.}',
        '{"a":+1}',
        '{"a":NaN}',
        '{"a":"\\u0000"}',
        '{"a":"x}',
        '{"a":"\\/Expr(1 2)\\/"}',
        '{"a":"\\/Expr()\\/"}',
        '{"a":1]',
        '[{"a":1}',
        "[1]",
        '{"a":1} x',
        '{"a":' + "[" * 2000 + "]" * 2000 + "}",
    ],
)
def test_bad_json_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        list(parse_ads(text, Form.JSON))
