"""The page on compatibility is that of the tests."""

from __future__ import annotations

from pathlib import Path

from tests.compat.page import page

PAGE = Path(__file__).resolve().parents[2] / "docs/reference/compatibility.md"


def test_the_page_is_what_the_tests_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), f"python -m tests.compat.page > {PAGE}"
