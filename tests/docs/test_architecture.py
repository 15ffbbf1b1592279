"""The page of the architecture and the checklists for contributors name what is there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src/roost"
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
LISTS = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ROOMS = dict(re.findall(r"^\| `(\w+)` \| .* \| (yes|no) \|$", PAGE, re.MULTILINE))
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]


def code(text: str) -> set[str]:
    """What stands between backticks in tables, split at blanks."""
    return {word.strip(",;") for each in re.findall(r"`([^`\n]+)`", text) for word in each.split()}


def test_every_room_is_in_the_table_with_its_kind() -> None:
    assert set(ROOMS) == {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    pure = {name.removeprefix("roost.") for name in CONTRACTS[1]["source_modules"]}
    assert {name for name, effects in ROOMS.items() if effects == "no"} == pure


def test_the_drawing_of_the_rooms_has_the_layers_of_the_contract() -> None:
    drawing = re.findall(r"```mermaid\n(flowchart TD\n    compat.*?)```", PAGE, re.DOTALL)[0]
    ids = dict(re.findall(r'(\w+)\["([^"]+)"\]', drawing))
    order = [name for line in drawing.splitlines() for name in re.findall(r"(\w+)(?:\[[^]]*\])?(?: -->|$)", line)]
    drawn = [set(re.findall(r"\w+", ids.get(name, name))) for name in dict.fromkeys(order) if name != "TD"]
    assert drawn == [set(re.findall(r"\w+", layer)) for layer in CONTRACTS[0]["layers"]]


@pytest.mark.parametrize("path", sorted(word for word in code(PAGE) if re.fullmatch(r"[a-z_]+/[\w/]+(\.py)?/?", word)))
def test_a_module_that_the_page_names_is_there(path: str) -> None:
    assert (SOURCE / path).exists() or (ROOT / path).exists()


@pytest.mark.parametrize(
    "path", sorted(word for word in code(LISTS) if re.fullmatch(r"(src|tests|docs)/[\w/.-]+", word))
)
def test_a_file_that_the_checklists_name_is_there(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("name", sorted(word for word in code(LISTS) if re.fullmatch(r"test_\w+", word)))
def test_a_test_that_the_checklists_name_is_there(name: str) -> None:
    assert any(f"def {name}(" in path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))


@pytest.mark.parametrize("target", sorted(set(re.findall(r"`make (\w+)", LISTS + PAGE))))
def test_a_target_of_make_that_is_named_is_there(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
