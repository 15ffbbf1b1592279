"""Regular expressions mean the same on every Python that Roost supports.

Before 3.11.5 `re` compiles possessive repeats and atomic groups wrongly where they contain something that backtracks
(CPython issues 100061, 101955 and 106052): a string that is never closed was accepted. So Roost uses neither, and
patterns that are safe without them: there is only one way to match, so a pattern that fails does so in linear time.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from re import _parser  # type: ignore[attr-defined]

import pytest

from roost.classad import ParseError, Syntax, evaluate, parse_expression
from roost.classad.forms import Form, parse_ads
from roost.classad.functions.pcre.parser import parse
from roost.classad.functions.pcre.sets import Options
from roost.classad.functions.pcre.translator import translate
from roost.classad.lexer import tokenize
from roost.config.patterns import compile_pattern, unsupported
from roost.model.command_line import CommandLineError, split_raw

SOURCE = Path(__file__).parents[1] / "src" / "roost"
UNSAFE = ("POSSESSIVE_REPEAT", "POSSESSIVE_REPEAT_ONE", "ATOMIC_GROUP")

#: Imports every module of Roost and writes all patterns that have been compiled on the way, with their flags.
COLLECT = """
import importlib, json, pkgutil, re, sys
from re import _compiler
found, compile_ = [], _compiler.compile
def compiled(pattern, flags=0):
    if isinstance(pattern, (str, bytes)):
        found.append((pattern if isinstance(pattern, str) else pattern.decode("latin-1"), int(flags)))
    return compile_(pattern, flags)
_compiler.compile = compiled
import roost
for module in pkgutil.walk_packages(roost.__path__, "roost."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ImportError as missing:
            assert not str(missing.name).startswith("roost"), missing
json.dump(found, sys.stdout)
"""


def operations(parsed: object) -> Iterator[str]:
    """The names of all operations in a parsed pattern, at any depth."""
    if isinstance(parsed, _parser.SubPattern):
        parsed = parsed.data
    if isinstance(parsed, list | tuple):
        for item in parsed:
            yield from operations(item)
    elif hasattr(parsed, "name"):
        yield parsed.name


def unsafe(pattern: str, flags: int = 0) -> bool:
    return any(name in UNSAFE for name in operations(_parser.parse(pattern, flags & ~re.DEBUG)))


def test_the_check_finds_what_is_unsafe():
    assert unsafe("a++") and unsafe("(?:a|b)*+") and unsafe("x(?>a|b)") and unsafe("(?=(?:b(a{2,3}+)))")
    assert not unsafe(r"a+\+(?:b|c)*[*+]+?")


def test_no_pattern_compiled_by_an_import_is_unsafe():
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", COLLECT], capture_output=True, text=True, check=True, timeout=600
    )
    found = json.loads(ran.stdout)
    assert len(found) > 200
    assert [pattern for pattern, flags in found if unsafe(pattern, flags)] == []


def patterns_in_code() -> Iterator[tuple[str, str]]:
    """Every text of the code that goes to a function of `re`, with its place; its computed parts are left out."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "re"
                and node.args
            ):
                for part in ast.walk(node.args[0]):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str | bytes):
                        text = part.value if isinstance(part.value, str) else part.value.decode("latin-1")
                        yield f"{path.name}:{part.lineno}", text


def test_no_pattern_in_the_code_is_unsafe():
    texts = list(patterns_in_code())
    assert len(texts) > 250
    assert [(place, text) for place, text in texts if unsupported(text)] == []


@pytest.mark.parametrize(
    "pattern", [b"a++b", b"(?:a|b)*+c", b"(?>a|ab)c", b"x(?>(?:[^']|'')*)'", b"a{2,3}+a", b"(a?+)b"]
)
def test_unsafe_patterns_of_users_are_not_given_to_re(pattern: bytes):
    assert translate(parse(pattern, Options()).body) is None


@pytest.mark.parametrize("pattern", ["a++", "(?>a|ab)c", "[a-z]{2}+", "x?+"])
def test_unsafe_patterns_of_administrators_are_refused(pattern: str):
    with pytest.raises(re.error, match="are not supported"):
        compile_pattern(pattern)


@pytest.mark.parametrize("pattern", [r"a\++", "[*+]+", r"[\]*]?", "a+b*", r"\(?>"])
def test_safe_patterns_of_administrators_are_accepted(pattern: str):
    assert compile_pattern(pattern)


# -- what the unsafe patterns got wrong ---------------------------------------------------------------------------


@pytest.mark.parametrize("syntax", list(Syntax))
@pytest.mark.parametrize("text", ['"""', '"a" "', "'a' '", '"a\\"b', '"\\"x" "'])
def test_a_string_that_is_not_closed_is_refused(text: str, syntax: Syntax):
    with pytest.raises(ParseError) as refused:
        tokenize(text, syntax)
    assert refused.value.code == "string"


@pytest.mark.parametrize("text", ["'a''", "a 'b''c", "'''"])
def test_a_quote_of_arguments_that_is_not_closed_is_refused(text: str):
    with pytest.raises(CommandLineError):
        split_raw(text)
    assert str(evaluate(parse_expression(f'argsToList("{text}")'))) == "error"


# -- linear time --------------------------------------------------------------------------------------------------

#: Texts of growing length that no pattern may match in more than linear time.
HOSTILE = {
    "unclosed string": lambda n: '"' + "x" * n,
    "escapes": lambda n: '"' + '\\"x' * (n // 3),
    "adjacent strings": lambda n: '"a" ' * (n // 4) + '"b',
    "quotes": lambda n: '"' * (n | 1),
    "blanks between strings": lambda n: '"a"' + " " * n + '"b',
    "single quotes": lambda n: "'" * (n | 1),
}


def cost_s(action: object, text: str) -> float:
    began = time.process_time()
    action(text)  # type: ignore[operator]
    return time.process_time() - began


def ignore_refusal(action: object) -> object:
    def run(text: str) -> None:
        with suppress(ParseError, CommandLineError):
            action(text)  # type: ignore[operator]

    return run


@pytest.mark.parametrize(
    "action",
    [
        pytest.param(lambda text: tokenize(text, Syntax.NEW), id="new strings"),
        pytest.param(lambda text: tokenize(text, Syntax.OLD), id="old strings"),
        pytest.param(split_raw, id="arguments"),
        pytest.param(lambda text: list(parse_ads("<c><a n=" + text, Form.XML)), id="xml"),
        pytest.param(lambda text: list(parse_ads("<c " + text.replace('"', "a"), Form.XML)), id="xml tag"),
    ],
)
@pytest.mark.parametrize("shape", list(HOSTILE))
def test_hostile_texts_take_linear_time(action: object, shape: str):
    run = ignore_refusal(action)
    # Quadratic time would be hours; linear time is milliseconds. The limit is for a loaded machine.
    assert cost_s(run, HOSTILE[shape](400_000)) < 20


@pytest.mark.parametrize("text", [" " * 100_000 + "x", "1" * 100_000 + "x", "1 " * 50_000, "s" + " " * 100_000 + "m x"])
def test_a_hostile_duration_takes_linear_time(text: str):
    run = ignore_refusal(lambda duration: evaluate(parse_expression(f'relTime("{duration}")')))
    assert cost_s(run, text) < 20
