"""The text forms of the ClassAd room under the names that `ours` uses."""

from __future__ import annotations

from roost.classad.ad import ClassAd
from roost.classad.forms import Form, format_ad, parse_ad, parse_ads


def read_new(text: str) -> ClassAd:
    """The ad of a text in new form. Raises ParseError."""
    return parse_ad(text, Form.NEW)


def read_old(text: str) -> list[ClassAd]:
    """The ads of a text in old form, read as leniently as the reference does."""
    return list(parse_ads(text, Form.OLD, strict=False))


def read_json(text: str) -> list[ClassAd]:
    """The ads of a text in JSON form. Raises ParseError."""
    return list(parse_ads(text, Form.JSON))


def write_old(ad: ClassAd) -> str:
    """An ad in old form."""
    return format_ad(ad, Form.OLD)


def write_json(ad: ClassAd) -> str:
    """An ad in JSON form."""
    return format_ad(ad, Form.JSON)
