"""The chunks of tests/language, each a test. The format is described in tests/conformance/adtest.py."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.conformance import forms
from tests.conformance.adtest import Chunk, read
from tests.conformance.cases import REFUSED
from tests.conformance.ours import WORLD, encode

from roost.classad import ParseError
from roost.classad.evaluation import evaluate
from roost.classad.expr import parse_expression
from roost.classad.forms import Form, parse_ads
from roost.classad.unparse import unparse, unparse_value

FILES = sorted((Path(__file__).parent.parent / "language").glob("*.adtest"))
CHUNKS = [chunk for path in FILES for chunk in read(path)]


@pytest.mark.parametrize("chunk", CHUNKS, ids=[chunk.place for chunk in CHUNKS])
def test_chunk(chunk: Chunk) -> None:
    fields = chunk.fields
    if "parse-error" in fields:
        with pytest.raises(ParseError) as refusal:
            _read(chunk)
        wanted = fields["parse-error"]
        assert refusal.value.code == wanted or re.search(wanted, str(refusal.value)), (chunk.rule, str(refusal.value))
        return
    assert _observed(chunk) == {key: fields[key] for key in fields if key in _ANSWERS}, chunk.rule


_ANSWERS = frozenset(("want", "text", "old-text", "again", "ads"))


def _read(chunk: Chunk) -> object:
    fields = chunk.fields
    if "ad" in fields:
        return forms.read_new(fields["ad"])
    if "old" in fields:
        return list(parse_ads(_text(fields["old"]), Form.OLD))
    return parse_expression(fields["expr"])


def _observed(chunk: Chunk) -> dict[str, str]:
    fields = chunk.fields
    observed: dict[str, str] = {}
    if "ad" in fields:
        observed["again"] = str(forms.read_new(fields["ad"]))
    if "old" in fields:
        observed["ads"] = "\n".join(str(ad) for ad in forms.read_old(_text(fields["old"])))
    if "expr" in fields:
        expression = parse_expression(fields["expr"])
        observed["text"] = str(expression).strip()
        observed["old-text"] = unparse(expression.tree, old=True).strip()
        if "want" in fields:
            my = forms.read_new(fields.get("my", "[]"))
            target = forms.read_new(fields["target"]) if "target" in fields else None
            value = evaluate(expression, my, target, WORLD)
            wanted = evaluate(parse_expression(fields["want"]), forms.read_new("[]"), None, WORLD)
            same = encode(value) == encode(wanted)
            observed["want"] = fields["want"] if same else unparse_value(value)
    return {key: observed.get(key, REFUSED) for key in fields if key in _ANSWERS}


def _text(literal: str) -> str:
    value = evaluate(parse_expression(literal))
    assert isinstance(value, str)
    return value
