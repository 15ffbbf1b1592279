"""The page that goes through the five documents names pages, modules, scenarios and tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src/roost"
PAGE = (ROOT / "docs/documents.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([^`\n]+)`", PAGE)))
_FOLDER = SOURCE / "lab/scenarios"
SCENARIOS = {path.relative_to(_FOLDER).as_posix() for path in _FOLDER.rglob("*.toml")}


@pytest.mark.parametrize("path", [each for each in NAMED if each.startswith(("tests/", "src/"))])
def test_a_test_or_folder_that_is_named_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize(
    "path",
    [
        each
        for each in NAMED
        if re.fullmatch(r"[a-z_]+/[\w/]*(\.py)?", each) and not each.startswith(("tests/", "src/"))
    ],
)
def test_a_module_that_is_named_exists(path: str) -> None:
    assert (SOURCE / path).exists()


@pytest.mark.parametrize("name", [each for each in NAMED if re.fullmatch(r"test_\w+", each)])
def test_a_test_function_that_is_named_exists(name: str) -> None:
    assert any(f"def {name}(" in path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))


def test_every_scenario_that_is_named_exists() -> None:
    assert {each for each in NAMED if each.endswith(".toml")} <= SCENARIOS


def test_the_page_says_whether_there_is_a_room_of_grid_engine_that_runs_jobs() -> None:
    """The text has to be written again when the room and its commands arrive."""
    assert ("no Grid Engine job runs yet" in PAGE) == (not (SOURCE / "cli/gridengine").exists())


@pytest.mark.parametrize("number", range(1, 6))
def test_every_document_has_a_row_in_the_summary_and_a_section(number: int) -> None:
    assert re.search(rf"^\| \[{number}\. ", PAGE, re.MULTILINE)
    assert re.search(rf"^## {number}\. ", PAGE, re.MULTILINE)
