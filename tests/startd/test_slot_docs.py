"""The page on the states of a slot says what the table says."""

from __future__ import annotations

from pathlib import Path

from roost.startd.transitions import TRANSITIONS

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "slot-states.md"


def test_the_page_has_a_line_for_every_row() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    for row in TRANSITIONS:
        assert any(line.startswith(f"| {row.number} | {row.letter} | {row.source} | {row.target} |") for line in lines)
