"""The glossary has every state, activity, status, reason and refusal that a user may read, and each word once."""

from __future__ import annotations

import re
from collections import Counter
from enum import Enum
from pathlib import Path

import pytest

from roost.model.reasons import Reason, Refusal
from roost.model.starter import StarterReason
from roost.schedd.status import JobStatus
from roost.startd.states import Activity
from roost.startd.states import State as SlotState
from roost.starter.states import State as StarterState

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "glossary.md"


def tables() -> dict[str, list[list[str]]]:
    """Heading, and the first column's title, to rows."""
    found: dict[str, list[list[str]]] = {}
    key = heading = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith("| "):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if key != f"{heading}/":
                found[key].append(cells)
            else:
                key = f"{heading}/{cells[0]}"
                found[key] = []
        elif not line.startswith("|"):
            key = f"{heading}/"
    return found


@pytest.mark.parametrize(
    ("table", "kind"),
    [
        ("States of slots/state", SlotState),
        ("States of slots/activity", Activity),
        ("States of starters/state", StarterState),
        ("Reasons of slots' transitions/reason", Reason),
        ("Reasons of starters' transitions/reason", StarterReason),
        ("Refusals/refusal", Refusal),
    ],
)
def test_every_word_of_a_kind_is_in_its_table(table: str, kind: type[Enum]) -> None:
    assert [row[0].strip("`") for row in tables()[table]] == [str(each) for each in kind]


def test_every_status_of_jobs_is_there_with_its_number() -> None:
    rows = {int(row[1]): row[0].strip("`") for row in tables()["Statuses of jobs/status"]}
    assert rows == {int(each): each.name.replace("_", " ").capitalize() for each in JobStatus}


def test_every_word_has_a_meaning_and_stands_in_its_table_once() -> None:
    for name, rows in tables().items():
        assert all(all(row) for row in rows), name
        assert [word for word, count in Counter(row[0].lower() for row in rows).items() if count > 1] == [], name


def test_links_of_the_glossary_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)", PAGE.read_text(encoding="utf-8")):
        assert (PAGE.parent / target).exists(), target
