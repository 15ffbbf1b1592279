"""`classad2`: what programs get is what they get of HTCondor's own module."""

from __future__ import annotations

import inspect
import math
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roost.compat import classad2 as ours
from tests.compat.programs import DIFFERENCES, PROGRAMS, answer


@pytest.fixture(scope="module")
def theirs() -> ModuleType:
    return pytest.importorskip("classad2", reason="the reference library is not installed: pip install htcondor")


DIFFERENT = {program for difference in DIFFERENCES for program in difference.programs}


def test_each_program_has_the_same_answer(theirs: ModuleType) -> None:
    answers = {program: (answer(theirs, program), answer(ours, program)) for program in PROGRAMS}
    assert {program: pair for program, pair in answers.items() if pair[0] != pair[1] and program not in DIFFERENT} == {}


def test_what_is_listed_as_different_is_different(theirs: ModuleType) -> None:
    assert set(PROGRAMS) >= DIFFERENT
    assert [program for program in DIFFERENT if answer(theirs, program) == answer(ours, program)] == []


def test_all_public_names_are_there_with_the_same_arguments(theirs: ModuleType) -> None:
    missing = {name for name in dir(theirs) if not name.startswith("_") and inspect.isclass(getattr(theirs, name))}
    assert {name for name in missing if not hasattr(ours, name)} == set()
    for kind in ("ClassAd", "ExprTree"):
        for name, method in vars(getattr(theirs, kind)).items():
            if name.startswith("_") or not callable(method):
                continue
            mine = getattr(getattr(ours, kind), name)
            assert list(inspect.signature(mine).parameters) == list(inspect.signature(method).parameters), name


# -- generated -----------------------------------------------------------------------------------------------------

NAMES = st.from_regex("[A-Za-z_][A-Za-z_0-9]{0,8}", fullmatch=True)
LEAVES = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats()
PLAIN = st.recursive(
    LEAVES | st.text(st.characters(codec="ascii")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


def plain(value: Any) -> Any:
    """A value without the classes of either module."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else (value, math.copysign(1, value))
    if isinstance(value, list):
        return [plain(each) for each in value]
    if type(value).__name__ == "ClassAd":
        return {name: plain(each) for name, each in value.items()}
    return (type(value).__name__, str(value)) if type(value).__module__ != "builtins" else value


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.dictionaries(NAMES, PLAIN, max_size=5))
def test_ads_of_python_data_look_the_same(theirs: ModuleType, data: dict[str, Any]) -> None:
    if any("\0" in str(value) for value in data.values()) or "\\x00" in repr(data):
        return
    first, second = theirs.ClassAd(data), ours.ClassAd(data)
    for look in (str, repr, list, len, plain, lambda ad: ad.printOld(), lambda ad: ad.printJson()):
        assert look(second) == look(first)


TEXTS = st.recursive(
    st.sampled_from(["a", "MY.b", "TARGET.c", "zz", "1", "2.5", '"x"', "true", "undefined", "error", "a.b", "[q = a]"]),
    lambda inner: (
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "*", "<", "==", "=?=", "&&", "||"]), inner)
        | st.builds("{}({}, {})".format, st.sampled_from(["strcat", "max", "ifThenElse", "size"]), inner, inner)
        | st.builds("{{ {}, {} }}".format, inner, inner)
        | st.builds("({} ? {} : {})".format, inner, inner, inner)
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=TEXTS, value=TEXTS)
def test_generated_expressions_have_the_same_value_and_text(theirs: ModuleType, text: str, value: str) -> None:
    assert look(ours, text, value) == look(theirs, text, value)


def look(module: ModuleType, text: str, value: str) -> object:
    """What an expression in an ad and its match come to in a module."""
    text, value = text.replace("'", '"'), value.replace("'", '"')
    try:
        expression, scope = module.ExprTree(text), module.ClassAd({"b": 2, "a": module.ExprTree(value)})
        target = module.ClassAd({"c": 3, "a": "other"})
        values = [expression.eval(scope), expression.eval(scope, target), scope.eval("a"), scope["a"]]
        texts = [str(expression), repr(expression), str(expression.simplify(scope)), scope.printJson()]
        return [plain(each) for each in values], texts
    except module.ClassAdException:
        return "refused"
