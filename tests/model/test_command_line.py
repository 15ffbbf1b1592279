"""Arguments and environments as submit files and job ads write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.classad import ClassAd
from roost.model.command_line import (
    CommandLineError,
    arguments_from_submit,
    arguments_of,
    environment_from_raw,
    environment_from_submit,
    environment_of,
    environment_to_raw,
    join_raw,
    quote,
    split_raw,
    unquote,
)

_WORDS = st.lists(st.text(st.sampled_from("ab=;' \"\t\n\\$é"), max_size=6), max_size=5).map(tuple)
_NAMES = st.text("ABC_1", min_size=1, max_size=3)
_VALUES = st.text(st.sampled_from("ab=;' \"\t\n\\$é"), max_size=6)


@given(_WORDS)
def test_what_the_new_form_writes_it_reads(words: tuple[str, ...]) -> None:
    assert split_raw(join_raw(words)) == words
    assert arguments_from_submit(quote(join_raw(words))) == words


@given(st.text(max_size=12))
def test_double_quotes_come_off_as_they_went_on(text: str) -> None:
    assert unquote(quote(text)) == text


@given(st.dictionaries(_NAMES, _VALUES, max_size=4))
def test_environments_survive_the_new_form(environment: dict[str, str]) -> None:
    assert environment_from_raw(environment_to_raw(environment)) == environment


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ()),
        ("one two", ("one", "two")),
        (r"a \"b\"", ("a", '"b"')),
        ("\"3 simple 'a b' it''''s\"", ("3", "simple", "a b", "it's")),
        ('"""quoted"" word"', ('"quoted"', "word")),
        ("\"''\"", ("",)),
        ("\"two' 'words\"  ", ("two words",)),
    ],
)
def test_arguments_of_submit_files(text: str, words: tuple[str, ...]) -> None:
    assert arguments_from_submit(text) == words


@pytest.mark.parametrize(
    ("text", "at", "problem"),
    [
        ('"a \'b c"', 2, "A single quote is not closed"),
        ('"a" b', 2, "Something follows the closing double quote"),
        ('"a', 0, "The double quote is not closed"),
        ('a "b"', 2, "A double quote stands in arguments of the old form"),
    ],
)
def test_what_is_wrong_with_arguments_is_said_with_its_place(text: str, at: int, problem: str) -> None:
    with pytest.raises(CommandLineError) as caught:
        arguments_from_submit(text)
    assert (caught.value.at, caught.value.problem) == (at, problem)


@pytest.mark.parametrize("text", ['"A"', '"=x"', "A;B=1", "=1"])
def test_entries_without_name_or_value_are_refused(text: str) -> None:
    with pytest.raises(CommandLineError, match="NAME=value"):
        environment_from_submit(text)


def test_the_last_entry_of_a_name_counts() -> None:
    assert environment_from_submit('"A=1 B=\'x y\' C=""q"" A=2"') == {"A": "2", "B": "x y", "C": '"q"'}
    assert environment_from_submit("A=1; B=two words ;") == {"A": "1", "B": "two words "}


def test_ads_say_both_forms_and_the_new_one_counts() -> None:
    assert arguments_of(ClassAd({"Args": "a 'b c'"})) == ("a", "'b", "c'")
    assert arguments_of(ClassAd({"Args": "a", "Arguments": "'b c'"})) == ("b c",)
    assert arguments_of(ClassAd()) == ()
    assert environment_of(ClassAd({"Env": "A=1|B=2", "EnvDelim": "|"})) == {"A": "1", "B": "2"}
    assert environment_of(ClassAd({"Env": "A=1", "Environment": "A='x y'"})) == {"A": "x y"}
