"""Byte for byte what the reference library prints, where it is installed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from tests.classad.forms.strategies import ads, trees

from roost.classad import ClassAd, unparse
from roost.classad.forms import Form, format_ad
from roost.classad.pretty import unparse_pretty

pytest.importorskip("htcondor2")
# hypothesis finds the representation of the strategies too long when it reports on them.
pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

classad2 = pytest.importorskip("classad2")

#: Where we print something else: quoted selections, durations in JSON, bare odd names in old form.
_ODD = re.compile(r"\.'|relTime\(")


def theirs(text: str) -> object | None:
    if _ODD.search(text):
        return None
    try:
        return classad2.ClassAd(text)
    except (classad2.ClassAdException, ValueError):
        return None


@given(ad=ads())
def test_whole_ads(ad: ClassAd) -> None:
    text = format_ad(ad)
    other = theirs(text)
    if other is None:
        return
    assert repr(other) == text
    assert str(other) == unparse_pretty(ad)
    for write, form in ((other.printJson, Form.JSON), (other.printOld, Form.OLD)):
        try:
            written = write()
        except UnicodeDecodeError:
            continue
        if form is Form.JSON or not re.search(r"(?m)^'", written):
            assert written == format_ad(ad, form)


@given(tree=trees)
def test_expressions_over_several_lines(tree: object) -> None:
    text = unparse(tree)
    if _ODD.search(text):
        return
    try:
        other = classad2.ExprTree(text)
    except (classad2.ClassAdException, ValueError, KeyError, AssertionError):
        return
    assert str(other) == unparse_pretty(tree)
