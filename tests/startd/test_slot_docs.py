"""The page on the states of a slot says what the table says."""

from __future__ import annotations

import re
from pathlib import Path

from roost.startd.states import PAIRS
from roost.startd.transitions import TRANSITIONS

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "slot-states.md"


def test_the_page_has_a_line_for_every_row() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    for row in TRANSITIONS:
        assert any(line.startswith(f"| {row.number} | {row.letter} | {row.source} | {row.target} |") for line in lines)


def test_the_arrows_of_the_diagram_are_the_transitions_of_the_table() -> None:
    """An arrow that begins or ends at a whole state stands for one at each of its activities."""

    def pairs(name: str) -> list[str]:
        known = [f"{pair.state}_{pair.activity}" for pair in PAIRS]
        return [each for each in known if each.startswith(f"{name}_")] or [name]

    arrows = re.findall(r"^    (\w+) --> (\w+) : (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    drawn = {
        (source, target, label)
        for begin, end, labels in arrows
        for label in labels.split(", ")
        for source in pairs(begin)
        for target in pairs(end)
    }
    assert drawn == {
        (f"{row.source.state}_{row.source.activity}", f"{row.target.state}_{row.target.activity}",
         f"{row.number} ({row.letter})" if row.letter else row.number)
        for row in TRANSITIONS
    }  # fmt: skip
