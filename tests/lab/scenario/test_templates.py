"""Every template of the catalogue has a scenario in which jobs run, or do not, under it; or a reason for having none.

`roost lab test` runs them here; `make replay` runs them on real daemons, too.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

import roost.lab
from roost.config.template import Template
from roost.config.templates import ALL
from roost.lab.scenario.coverage import Coverage
from roost.lab.scenario.file import read_scenarios
from roost.lab.scenario.run import run_scenario
from roost.lab.scenario.values import Scenario
from roost.runtime.machine import SystemHost

FOLDER: Final = Path(roost.lab.__file__).parent / "scenarios"
FILES: Final = sorted(FOLDER.rglob("*.toml"))
SCENARIOS: Final = [each for file in sorted((FOLDER / "templates").glob("*.toml")) for each in read_scenarios(file)]

_ROLE: Final = "says which daemons run on a machine, and nothing of jobs: tests/runtime/test_master.py"
_CRON: Final = "runs programs that publish attributes: tests/node/test_cron.py"
_NAMES: Final = "only names conditions, which the templates of desktops use"
#: Templates that no job runs under, each with the reason.
WITHOUT: Final = {
    **dict.fromkeys(("Personal", "CentralManager", "Submit", "Execute"), _ROLE),
    **dict.fromkeys(("StartdCronPeriodic", "StartdCronContinuous", "StartdCronOneShot"), _CRON),
    **dict.fromkeys(("PeriodicCronHook", "ContinuousCronHook", "OneShotCronHook", "Monitor"), _CRON),
    **dict.fromkeys(("ScheddCronPeriodic", "ScheddCronContinuous", "ScheddCronOneShot"), _CRON),
    **dict.fromkeys(("POLICY_EXPR_FRAGMENTS", "UWCS_DESKTOP_POLICY_VALUES", "POLICY_HOURS_TO_START"), _NAMES),
    "TESTINGMODE_POLICY_VALUES": "only names conditions",
    "GPUs": "asks the driver of the machine for its GPUs",
    "Defrag": "drains machines of a pool: scenarios/defragmentation.toml sets the same knobs",
    "ScheddUserMapFile": "names a file of the queue's machine",
    "SetJobAttrFromUserMap": "AssignProjectName uses it",
    "AssignAccountingGroup": "names a file of the queue's machine: tests/integration/test_submission_rules.py",
}


def _used() -> dict[str, Path]:
    pattern = re.compile(r"^use (?:POLICY|FEATURE|ROLE) *: *(\w+)", re.MULTILINE | re.IGNORECASE)
    return {name.lower(): file for file in FILES for name in pattern.findall(file.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("template", ALL, ids=lambda one: f"{one.category}:{one.name}")
def test_a_template_has_a_scenario_or_a_reason_for_having_none(template: Template) -> None:
    assert (template.name.lower() in _used()) is not (template.name in WITHOUT)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: f"{Path(one.file).stem}: {one.name}")
def test_jobs_run_under_a_template_as_its_scenario_says(scenario: Scenario) -> None:
    failures = run_scenario(scenario, SystemHost(), Coverage()).failures
    assert [(each.wanted, each.found) for each in failures] == []
