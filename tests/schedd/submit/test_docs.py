"""The reference pages tell of every command and every code, and are up to date."""

from __future__ import annotations

from pathlib import Path

import pytest

from roost.schedd.submit import SubmitCode
from roost.schedd.submit.docs import missing, pages, unknown

DOCS = Path(__file__).parents[3] / "docs"


def test_no_command_is_left_out_and_none_is_made_up() -> None:
    assert (missing(), unknown()) == ([], [])


def test_every_code_is_told() -> None:
    text = pages()["reference/submit-errors.md"]
    assert [code for code in SubmitCode if f"`{code}`" not in text] == []


@pytest.mark.parametrize("path", pages())
def test_the_pages_are_up_to_date(path: str) -> None:
    assert (DOCS / path).read_text(encoding="utf-8") == pages()[path], "write it again: make docs"
