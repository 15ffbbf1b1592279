"""Configuration as pools have it: what must be reported, line by line, and what must not.

`corpus/clean` holds a directory for each pool in which nothing may be reported. `corpus/dirty` holds pools with
mistakes; next to each is a file with the findings expected of it, ``file:line CODE``, errors, warnings and notes.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from roost.policy.lint import Severity, all_rules, lint, lint_text
from roost.runtime.machine import SystemHost

GUIDES = Path(__file__).parents[3] / "docs" / "guides"
RECIPES = re.findall(r"^```config\n(.*?)^```", (GUIDES / "policy-cookbook.md").read_text(encoding="utf-8"), re.M | re.S)
CORPUS = Path(__file__).parent / "corpus"
CLEAN = sorted(path for path in (CORPUS / "clean").iterdir())
DIRTY = sorted(path for path in (CORPUS / "dirty").iterdir() if path.is_dir())


def findings(pool: Path) -> list[tuple[str, Severity]]:
    paths = sorted(pool.glob("*.sub")) or [pool]
    report = lint(SystemHost(), [str(path) for path in paths])
    assert not report.missing
    return [(f"{Path(one.place.file).name}:{one.place.line} {one.code}", one.severity) for one in report.findings]


@pytest.mark.parametrize("pool", CLEAN, ids=lambda pool: pool.name)
def test_nothing_is_reported_about_a_sound_pool(pool: Path) -> None:
    found = [one for one, severity in findings(pool) if severity is not Severity.NOTE]
    # Pools of HTCondor set much that Roost does not act on.
    assert [one for one in found if not one.endswith(" RST530")] == []


@pytest.mark.parametrize("recipe", RECIPES, ids=range(len(RECIPES)))
def test_nothing_is_reported_about_a_recipe_of_the_cookbook(recipe: str) -> None:
    found = lint_text(recipe, SystemHost(), file="recipe").findings
    assert [(one.code, one.message) for one in found if one.severity is not Severity.NOTE] == []


def test_the_classic_policy_gets_only_the_note_that_its_slots_do_not_show_as_owner() -> None:
    assert findings(CORPUS / "clean" / "classic") == [("condor_config:32 RST424", Severity.NOTE)]


@pytest.mark.parametrize("pool", DIRTY, ids=lambda pool: pool.name)
def test_every_mistake_of_a_pool_is_reported_and_nothing_else(pool: Path) -> None:
    expected = pool.with_suffix(".expected").read_text(encoding="utf-8").splitlines()
    assert sorted(one for one, _ in findings(pool)) == sorted(line for line in expected if line)


def test_every_rule_finds_something_in_a_pool() -> None:
    found = {
        line.split()[1] for path in (CORPUS / "dirty").glob("*.expected") for line in path.read_text().splitlines()
    }
    assert sorted({rule.code for rule in all_rules()} - found) == []
