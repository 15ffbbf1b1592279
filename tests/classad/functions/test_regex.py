"""The two regular expression engines agree, and both know the syntax's corners."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from roost.classad.functions import regex
from roost.classad.functions.pcre import regex as pcre
from roost.classad.functions.pcre.machine import MatchLimit, Program
from roost.classad.functions.pcre.nodes import PatternError
from roost.classad.functions.pcre.parser import parse
from roost.classad.functions.pcre.sets import Options
from roost.classad.functions.pcre.translator import translate, ways
from roost.classad.state import State

PLAIN = Options()


def _atoms() -> st.SearchStrategy[str]:
    return st.sampled_from(
        [
            "a",
            "b",
            ".",
            "[ab]",
            "[^a]",
            "\\d",
            "\\w",
            "\\s",
            "^",
            "$",
            "\\b",
            "\\A",
            "\\z",
            "\\Z",
            "(?i:A)",
            "\\n",
        ]
    )


def _grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    quantifier = st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "*?", "+?", "{2,}"])
    return st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map("|".join).map(lambda text: f"({text})"),
        st.tuples(inner, quantifier).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
        st.tuples(inner, st.sampled_from(["(?=", "(?!", "(?<=a)(?:", "(?<!b|aa)(?:"])).map(
            lambda pair: f"{pair[1]}{pair[0]})"
        ),
    )


PATTERNS = st.recursive(_atoms(), _grow, max_leaves=8)
SUBJECTS = st.text("abAB1 \n", max_size=8).map(str.encode)
OPTIONS = st.builds(Options, any_case=st.booleans(), multiline=st.booleans(), dot_all=st.booleans())


@settings(max_examples=300)
@given(PATTERNS, SUBJECTS, OPTIONS)
def test_the_own_matcher_and_the_standard_library_find_the_same(pattern: str, subject: bytes, options: Options) -> None:
    parsed = parse(pattern.encode(), options)
    text = translate(parsed.body)
    assume(text is not None and ways(parsed.body, len(subject)) < 1e6)
    compiled = pcre.Regex(pattern.encode(), options)
    for start in range(len(subject) + 1):
        spans, _ = Program(parsed).search(subject, start)
        assert compiled.search(State(), subject, start) == spans


@given(st.binary(max_size=12).filter(lambda pattern: b"\0" not in pattern))
def test_any_bytes_are_a_pattern_or_refused(pattern: bytes) -> None:
    try:
        compiled = pcre.Regex(pattern, PLAIN)
        compiled.search(State(), b"abc (1)\n")
    except (PatternError, MatchLimit):
        return


@given(st.text("()[]{}?*+|\\^$-:<>=!#'&,.aR01PKQEgkx", max_size=14))
def test_any_soup_of_signs_is_a_pattern_or_refused(pattern: str) -> None:
    try:
        compiled = pcre.Regex(pattern.encode(), PLAIN)
        compiled.search(State(), b"a1(a)\n")
    except (PatternError, MatchLimit):
        return


@pytest.mark.parametrize(
    "pattern",
    ["(*UTF)a", "(*CRLF)a", "a(*ACCEPT)b", "a(*COMMIT)", "\\p{Greek}", "[[.a.]]", "(?C'x')", "\\N{U+41}"],
)
def test_what_is_not_supported_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        pcre.Regex(pattern.encode(), PLAIN)


def test_kept_patterns_are_bounded() -> None:
    for number in range(2000):
        regex.compiled(f"a{number}", "")
    kept = pcre.compile_pattern.cache_info()
    assert kept.maxsize is not None and kept.currsize <= kept.maxsize
