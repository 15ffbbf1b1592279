"""Ranges behind `-t` and `-pe`, and what Grid Engine 8.1.9 made of them."""

from __future__ import annotations

import pytest

from roost.gridengine.commands.errors import Failure
from roost.gridengine.commands.numbers import slot_range, task_range


@pytest.mark.parametrize(
    ("text", "first", "last", "step"),
    [
        ("1-3", 1, 3, 1), ("3-1", 1, 3, 1), ("1-10:2", 1, 10, 2), ("1-10:20", 1, 10, 20), ("1:2", 1, 2, 1),
        ("1,3", 1, 3, 2), ("01-03", 1, 3, 1), (" 1-3", 1, 3, 1), ("1-3,2", 1, 3, 1), ("1,3,5", 1, 5, 2),
        ("1,2,3", 1, 3, 1), ("5,3,1", 1, 5, 2), ("1-5:2,7", 1, 7, 2), ("1.5", 1, 5, 1), ("+1", 1, 1, 1),
        ("1-3,", 1, 3, 1), (",1", 1, 1, 1), ("1-10:2,12", 1, 12, 2),
    ],
)  # fmt: skip
def test_tasks_are_numbered_as_grid_engine_numbered_them(text: str, first: int, last: int, step: int) -> None:
    assert task_range(text) == (first, last, step)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("-3", 'qsub: Range specifier "-3" has unknown trailer "3"'),
        ("1-10:0", "qsub: Negative or zero step in range is not allowed"),
        ("1-10:-1", "qsub: Negative or zero step in range is not allowed"),
        ("1-x", 'qsub: Numerical value invalid!\nThe initial portion of string "x" contains no decimal number'),
        ("1-2,4-6", "qsub: -t option only allows one range specification"),
        ("1,4,9", "qsub: -t option only allows one range specification"),
        ("1-3,5", "qsub: -t option only allows one range specification"),
        ("1-10:2:3", 'qsub: Range specifier "2:3" has unknown trailer ":3"'),
        ("1-3-5", 'qsub: Range specifier "3-5" has unknown trailer "-5"'),
        ("1 -3", 'qsub: Range specifier "1 -3" has unknown trailer " -3"'),
        ("1-3 ", 'qsub: Range specifier "3 " has unknown trailer " "'),
        ("1-3:x", 'qsub: Numerical value invalid!\nThe initial portion of string "x" contains no decimal number'),
        ("0-3", "Unable to run job: job rejected: 0 is an invalid task id\nExiting."),
        ("4294967296", "Unable to run job: job rejected: 0 is an invalid task id\nExiting."),
    ],
)
def test_what_is_no_range_of_tasks_is_told_in_grid_engines_words(text: str, said: str) -> None:
    with pytest.raises(Failure) as caught:
        task_range(text)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1-3", "1-3"), ("3-1", "1-3"), ("1-", "1-"), ("-3", "1-3"), ("1:2", "1-2"), ("1,3", "1,3"), ("1x", "1-"),
        ("1.5", "1-5"), ("1-2,4-6", "1-2,4-6"), ("-", "1-"), (",1", "1"),
    ],
)  # fmt: skip
def test_slots_are_read_as_grid_engine_read_them(text: str, found: str) -> None:
    assert slot_range(text) == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1-10:2", 'qsub: Range specifier "10:2" has unknown trailer ":2"'),
        ("--", 'qsub: Numerical value invalid!\nThe initial portion of string "-" contains no decimal number'),
        ("1 -3", 'qsub: Range specifier "1 -3" has unknown trailer " -3"'),
    ],
)
def test_what_is_no_range_of_slots_is_told_in_grid_engines_words(text: str, said: str) -> None:
    with pytest.raises(Failure) as caught:
        slot_range(text)
    assert str(caught.value) == said
