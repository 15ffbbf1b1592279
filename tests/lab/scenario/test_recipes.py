"""Every recipe of the policy cookbook has a scenario file in which jobs run under it, and no file lacks its recipe.

`roost lab test` runs them here; tests/lab/test_replay.py runs the short ones on real daemons, `make replay` all.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

import roost.lab
from roost.lab.scenario.coverage import Coverage
from roost.lab.scenario.file import read_scenarios
from roost.lab.scenario.run import run_scenario
from roost.lab.scenario.values import Scenario
from roost.runtime.machine import SystemHost

PAGE: Final = Path(__file__).resolve().parents[3] / "docs/guides/policy-cookbook.md"
FILES: Final = sorted((Path(roost.lab.__file__).parent / "scenarios/recipes").glob("*.toml"))
SCENARIOS: Final = [each for file in FILES for each in read_scenarios(file)]
_BLOCK: Final = re.compile(r"^```(config|job)\n(.*?)^```", re.MULTILINE | re.DOTALL)
RECIPES: Final = {
    kind: [text for found, text in _BLOCK.findall(PAGE.read_text("utf-8")) if found == kind]
    for kind in ("config", "job")
}


def _policies() -> dict[str, Path]:
    """The policy of each file, as it stands there."""
    return {
        text: file
        for file in FILES
        for text in re.findall(r"^policy = '''\n(.*?)^'''", file.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    }


@pytest.mark.parametrize("recipe", RECIPES["config"])
def test_a_recipe_has_a_scenario_file_with_its_very_lines(recipe: str) -> None:
    assert recipe in _policies()


def test_a_recipe_of_jobs_has_a_scenario_with_its_very_lines() -> None:
    (recipe,) = RECIPES["job"]
    text = (FILES[0].parent / "what_users_say.toml").read_text("utf-8")
    jobs = re.findall(r"^\[jobs\.\w+\]\n(.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    lines = [f'{name} = "={value}"' for name, _, value in (line.partition(" = ") for line in recipe.splitlines())]
    assert jobs
    assert all(line in job for job in jobs for line in lines)


def test_every_scenario_file_is_that_of_a_recipe() -> None:
    others = {file.name for text, file in _policies().items() if text not in RECIPES["config"]}
    assert others == set()
    assert len(FILES) == len(RECIPES["config"]) + len(RECIPES["job"])


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: f"{Path(one.file).stem}: {one.name}")
def test_jobs_run_under_a_recipe_as_its_scenario_says(scenario: Scenario) -> None:
    failures = run_scenario(scenario, SystemHost(), Coverage()).failures
    assert [(each.wanted, each.found) for each in failures] == []
