"""Ads on the wire are the ads that were sent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.classad import ClassAd, parse_expression
from roost.classad.values import fold, from_bytes
from roost.wire.ads import AD_ATTRIBUTES_MAX, EXPRESSION_CHARS_MAX, ad_data, ad_from, value_data
from roost.wire.errors import WireError
from tests.classad.forms.strategies import ads


def through(ad: ClassAd) -> ClassAd:
    """The ad after its way over the wire."""
    return ad_from(json.loads(json.dumps(ad_data(ad)).encode("utf-8")))


@settings(max_examples=60)
@given(ads())
def test_an_ad_comes_out_as_it_went_in(ad: ClassAd) -> None:
    assert ad_data(through(ad)) == ad_data(ad)


@settings(max_examples=40)
@given(ads(), ads())
def test_what_an_ad_is_chained_to_is_in_it(own: ClassAd, common: ClassAd) -> None:
    own.chain_to(common)
    found = through(own)
    assert found.chained is None
    for name in own:
        assert value_data(found.cell(fold(name))) == value_data(own.cell(fold(name)))
    assert {fold(name) for name in found} == {fold(name) for name in own}


def test_texts_that_were_cut_in_the_middle_of_a_character_come_through() -> None:
    ad = ClassAd({"Half": from_bytes(b"a\xc3"), "Whole": "é", "Of": parse_expression('substr("é", 0, 1)')})
    found = through(ad)
    for name in ("Half", "Whole", "Of"):
        assert found.eval(name) == ad.eval(name)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ([], "an ad is a JSON object, not an array"),
        (None, "an ad is a JSON object, not null"),
        ({"A": None}, "ad.A"),
        ({"A": [1]}, "ad.A"),
        ({"A": {"expr": 5}}, "ad.A"),
        ({"A": {"expr": "1", "more": 2}}, "ad.A"),
        ({"A": 2**63}, "more than 64 bits"),
        ({"": 1}, "ad"),
        ({"A": {"expr": "x" * (EXPRESSION_CHARS_MAX + 1)}}, "EXPRESSION_CHARS_MAX"),
        ({f"A{number}": 1 for number in range(AD_ATTRIBUTES_MAX + 1)}, "AD_ATTRIBUTES_MAX"),
    ],
)
def test_what_is_no_ad_is_refused_with_its_place(data: Any, text: str) -> None:
    with pytest.raises(WireError, match=text):
        ad_from(data)


@given(st.dictionaries(st.text(max_size=5), st.none() | st.integers() | st.floats() | st.text(max_size=5), max_size=3))
def test_any_object_is_an_ad_or_is_refused(data: dict[str, Any]) -> None:
    try:
        ad = ad_from(data)
    except WireError:
        return
    assert len(list(ad)) <= len(data)
