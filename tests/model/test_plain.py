"""Frozen data as plain data and back: nothing is lost, and nothing is taken for what it is not."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.classad import ClassAd, Expr, parse_expression
from roost.model.plain import AdTexts, PlainError, from_plain, resolved, to_plain


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Speed(IntEnum):
    SLOW = 0
    FAST = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    name: str
    size: int | Fraction = 0
    maybe: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    flag: bool
    colour: Colour
    speed: Speed
    at: float
    key: bytes
    inner: Inner | None
    items: tuple[Inner, ...] = ()
    named: Mapping[str, int] = field(default_factory=dict)
    ad: ClassAd = field(default_factory=ClassAd)
    rule: Expr | None = None


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(),
        st.text(st.characters(codec="utf-8", exclude_characters="\0")),
        st.sampled_from([parse_expression(text) for text in ("a + 1", "TARGET.x", 'f(b)["c"]', "-x", "[ a = b ]")]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.from_regex(r"[a-z][a-z0-9_]{0,4}", fullmatch=True), inner)
    ),
    max_leaves=6,
)
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
ADS = st.dictionaries(NAMES, VALUES, max_size=5).map(ClassAd)
INNERS = st.builds(
    Inner,
    name=st.text(),
    size=st.one_of(st.integers(), st.fractions().filter(lambda one: one.denominator > 1)),
    maybe=st.one_of(st.none(), st.floats(allow_nan=False)),
)
OUTERS = st.builds(
    Outer,
    flag=st.booleans(),
    colour=st.sampled_from(Colour),
    speed=st.sampled_from(Speed),
    at=st.floats(allow_nan=False),
    key=st.binary(),
    inner=st.one_of(st.none(), INNERS),
    items=st.lists(INNERS, max_size=3).map(tuple),
    named=st.dictionaries(st.text(), st.integers(), max_size=3),
    ad=ADS,
    rule=st.one_of(st.none(), st.just(parse_expression("1 / x > 0.1 + y"))),
)


@given(OUTERS)
def test_what_was_written_is_read_back(outer: Outer) -> None:
    text = json.dumps(to_plain(outer), allow_nan=False)
    again = from_plain(Outer, json.loads(text), "outer")
    assert again == outer
    assert json.dumps(to_plain(again), allow_nan=False) == text


@given(ADS)
def test_an_ad_is_read_back_with_names_as_spelled_and_in_their_order(ad: ClassAd) -> None:
    outer = Outer(flag=True, colour=Colour.RED, speed=Speed.SLOW, at=0.0, key=b"", inner=None, ad=ad)
    again = from_plain(Outer, json.loads(json.dumps(to_plain(outer))), "outer").ad
    assert list(again) == list(ad)
    assert str(again) == str(ad)


ONE = Outer(flag=True, colour=Colour.RED, speed=Speed.FAST, at=math.inf, key=b"k", inner=Inner(name="n"))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("flag", 1, "outer.flag: true or false is wanted here, not 1"),
        ("colour", "green", "outer.colour: one of 'red', 'blue' is wanted here, not 'green'"),
        ("speed", True, "outer.speed: one of 0, 1 is wanted here, not True"),
        ("speed", 1.0, "outer.speed: one of 0, 1"),
        ("at", "infinity", "outer.at: a number is wanted here"),
        ("at", True, "outer.at: a number is wanted here, not True"),
        ("key", "zz", "outer.key: a text of hexadecimal digits"),
        ("inner", [], "outer.inner: an object is wanted here"),
        ("items", {}, "outer.items: an array is wanted here"),
        ("items", [None], "outer.items[0]: an object is wanted here"),
        ("named", {"a": "b"}, "outer.named.a: an integer is wanted here"),
        ("ad", {"x": "1 +"}, "outer.ad.x: an expression is wanted here"),
        ("ad", {"x": 1}, "outer.ad.x: an expression is wanted here"),
        ("rule", "", "outer.rule: an expression is wanted here"),
        ("rule", "x" * 99 + "(", "outer.rule: an expression is wanted here, not 'xxx"),
    ],
)
def test_a_mistake_is_named(path: str, value: object, message: str) -> None:
    plain: Any = to_plain(ONE)
    with pytest.raises(PlainError) as caught:
        from_plain(Outer, {**plain, path: value}, "outer")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("size", ["1/0", "half", 0.5, True, None])
def test_one_of_several_kinds_has_to_fit(size: object) -> None:
    with pytest.raises(PlainError, match="an integer or a fraction is wanted here"):
        from_plain(Inner, {"name": "n", "size": size, "maybe": None}, "inner")


def test_members_are_complete_and_no_others() -> None:
    plain: Any = to_plain(ONE)
    for name in plain:
        with pytest.raises(PlainError, match=f"outer.{name}: a member is wanted"):
            from_plain(Outer, {key: value for key, value in plain.items() if key != name}, "outer")
    with pytest.raises(PlainError, match=r"outer\.more: nothing is wanted"):
        from_plain(Outer, {**plain, "more": None}, "outer")


def test_fields_that_are_left_out_have_to_be_given() -> None:
    plain: Any = to_plain(ONE, without=("inner", "ad"))
    assert not {"inner", "ad"} & set(plain)
    ad = ClassAd({"a": 1})
    again = from_plain(Outer, plain, "outer", {"inner": None, "ad": ad})
    assert again.inner is None and again.ad is ad
    with pytest.raises(PlainError, match=r"outer\.ad: nothing is wanted"):
        from_plain(Outer, to_plain(ONE), "outer", {"ad": ad})


def test_what_has_no_plain_form_is_a_mistake_of_the_program() -> None:
    for value in (object(), {1: 2}, {1, 2}):
        with pytest.raises(TypeError):
            to_plain(value)


def test_ads_that_values_have_in_common_are_written_once() -> None:
    ad, other = ClassAd({"ad": 1, "b": "text"}), ClassAd({"c": 2.5})
    ads = AdTexts()
    for _ in range(2):
        plain = to_plain((ad, other, ad, "ad"), ads=ads)
        assert plain == [{"ad": 0}, {"ad": 1}, {"ad": 0}, "ad"]
        assert ads.texts == [to_plain(ad), to_plain(other)]
        assert resolved(plain, ads.texts) == to_plain((ad, other, ad, "ad"))
        ads.again()
    for number in (2, -1):
        with pytest.raises(PlainError, match="the number of an ad"):
            resolved([{"ad": number}], [{}, {}])
