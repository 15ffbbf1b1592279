"""The text of an ad of plain values is that of its tree, in every style."""

from __future__ import annotations

import pytest

from roost.classad import ClassAd, parse_expression
from roost.classad.unparse import ad_node, exact_text, unparse, unparse_value

ADS = [
    {},
    {"b": 1, "A": True, "one": 1, "c": 0, "longer": False},
    {"Text": 'a "quoted" \\ text\n', "umlaut": "ä", "": "x", "is": "reserved", "two words": "y", "it's": "z"},
    {"r": 1.5, "n": float("nan"), "i": float("inf"), "m": float("-inf"), "z": -0.0, "t": 0.1, "e": 1e300, "w": 2.0},
    {"long": "x" * 300, "short": "y"},
    {"undefined": None, "nested": ClassAd(a=1), "list": [1, "a"]},
]


@pytest.mark.parametrize("values", ADS)
def test_a_plain_ad_has_the_text_of_its_tree(values: dict[str, object]) -> None:
    ad = ClassAd({name: value for name, value in values.items() if name})
    for old in (False, True):
        assert unparse_value(ad, old=old) == unparse(ad_node(ad), old=old)
    assert exact_text(ad) == unparse(ad_node(ad), exact=True)


def test_chained_ads_and_expressions_have_theirs_as_well() -> None:
    ad = ClassAd(a=1, b=parse_expression("a + 1"))
    child = ClassAd(d=2)
    child.chain_to(ad)
    for each in (ad, child):
        assert unparse_value(each) == unparse(ad_node(each))
        assert exact_text(each) == unparse(ad_node(each), exact=True)
