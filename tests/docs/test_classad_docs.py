"""The documentation of the language says what the code does."""

import re
from pathlib import Path

import pytest
from website.manual import classad as docs

from roost.classad import ParseError, parse_expression
from roost.classad.forms import parse_ad
from roost.classad.functions import FUNCTIONS

ROOT = Path(__file__).resolve().parents[2]
ERRORS = (ROOT / "docs/errors/parse.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", ERRORS, re.MULTILINE | re.DOTALL))


def test_every_error_code_has_a_section():
    found = set()
    for module in (ROOT / "src/roost/classad").rglob("*.py"):
        found |= set(re.findall(r'code="(\w+)"', module.read_text(encoding="utf-8")))
    assert set(SECTIONS) == found


@pytest.mark.parametrize("code", [code for code in SECTIONS if "```" in SECTIONS[code]])
def test_the_example_of_an_error_has_that_error(code):
    [(kind, example)] = re.findall(r"```(\w*)\n(.*?)\n```", SECTIONS[code], re.DOTALL)
    with pytest.raises(ParseError) as caught:
        if kind:
            parse_ad(example)
        else:
            parse_expression(example)
    assert caught.value.code == code


def test_every_function_says_what_it_does():
    bare = [builtin.name for builtin in FUNCTIONS.values() if len(docs.meaning(builtin).split()) < 4]
    assert bare == []
    assert docs.MEANINGS.keys() <= {builtin.name for builtin in FUNCTIONS.values()}
