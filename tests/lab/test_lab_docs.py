"""The pages about the lab: every command, option, key and figure is there, and the examples are sound."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

import roost.lab
from roost.cli.lab import command as lab
from roost.config import MemoryHost
from roost.lab.inputs.cell import CELL_KEYS
from roost.lab.inputs.pool_file import GROUP_KEYS, HABIT_KEYS, read_pool
from roost.lab.inputs.workloads import ACCOUNTING, BEHAVIOUR, READERS
from roost.lab.scenario.cell_steps import QMOD_OPTIONS
from roost.lab.scenario.coverage import Coverage
from roost.lab.scenario.dags import DAG_KEYS, NODE_STATES, STATUSES
from roost.lab.scenario.described import JOB_KEYS
from roost.lab.scenario.file import FILE_KEYS, MACHINE_KEYS, MACHINES_KEYS, SCENARIO_KEYS, read_scenarios
from roost.lab.scenario.hooks import HOOK_KEYS, PROGRAM_KEYS
from roost.lab.scenario.jobs import LOGGED
from roost.lab.scenario.qsub import ACTING
from roost.lab.scenario.run import run_scenario
from roost.lab.scenario.steps import DAG_EXPECT_KEYS, EXPECT_KEYS, JOB_EXPECT_KEYS, PLACES, STEP_KEYS
from roost.sim.inputs.workload import MIXES
from roost.sim.metrics import Metrics

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/reference/cli-lab.md").read_text(encoding="utf-8")
FORMAT = (ROOT / "docs/reference/scenario-files.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs/guides/lab.md").read_text(encoding="utf-8")
SHIPPED = {path.name for path in (Path(roost.lab.__file__).parent / "scenarios").glob("*.toml")}


def section(page: str, title: str, level: int = 2) -> str:
    """The text under a heading, without that under the next of its level."""
    return re.split(rf"^#{{1,{level}}} ", page.split(f"\n{'#' * level} {title}\n")[1], flags=re.MULTILINE)[0]


def explained(text: str) -> set[str]:
    """What stands in the first cell of the rows of tables, between backticks."""
    cells = re.findall(r"^\| (.*?) \|", text, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def commands() -> dict[str, argparse.ArgumentParser]:
    top = argparse.ArgumentParser()
    lab.add_parser(top.add_subparsers())
    (inner,) = [each for each in top._actions if isinstance(each, argparse._SubParsersAction)]
    (commands,) = [each for each in inner.choices["lab"]._actions if isinstance(each, argparse._SubParsersAction)]
    return dict(commands.choices)


@pytest.mark.parametrize("name", commands())
def test_every_option_is_in_the_section_of_its_command_and_no_other_is(name: str) -> None:
    known = {option for action in commands()[name]._actions for option in action.option_strings} - {"-h", "--help"}
    told = {word for each in explained(section(PAGE, name)) for word in each.split() if word.startswith("-")}
    assert told == known


@pytest.mark.parametrize("page", [PAGE, GUIDE])
def test_pages_name_no_option_that_is_not_there(page: str) -> None:
    known = {option for each in commands().values() for action in each._actions for option in action.option_strings}
    assert set(re.findall(r"(?<=[`\[ ])--[a-z-]+", page)) <= known


@pytest.mark.parametrize(
    ("title", "keys"),
    [
        ("The file", FILE_KEYS),
        ("A scenario", SCENARIO_KEYS),
        ("The machine", MACHINE_KEYS),
        ("Several machines", MACHINES_KEYS),
        ("A cell", (*CELL_KEYS, *PROGRAM_KEYS)),
        ("A job", JOB_KEYS),
        ("A hook", HOOK_KEYS),
        ("A DAG", DAG_KEYS),
        ("An expected DAG", DAG_EXPECT_KEYS),
        ("A step", STEP_KEYS),
        ("An expectation", EXPECT_KEYS),
        ("An expected job", JOB_EXPECT_KEYS),
    ],
)
def test_every_key_of_a_scenario_file_is_on_its_page_and_no_other_is(title: str, keys: tuple[str, ...]) -> None:
    assert explained(section(FORMAT, title)) == set(keys)


def test_places_of_jobs_are_on_the_page() -> None:
    assert all(f"`{place}`" in section(FORMAT, "An expected job") for place in PLACES)
    assert all(f"`{event}`" in section(FORMAT, "An expected job") for event in LOGGED.values())


def test_options_of_qsub_and_qmod_are_on_the_page() -> None:
    assert set(re.findall(r"`-(\w+)`", section(FORMAT, "A cell"))) >= set(ACTING)
    assert all(f"`-{option}`" in section(FORMAT, "A step") for option in QMOD_OPTIONS)


def test_statuses_of_dags_and_states_of_nodes_are_on_the_page() -> None:
    assert all(f"`{word}`" in section(FORMAT, "An expected DAG") for word in (*STATUSES, *NODE_STATES))


def test_keys_of_pool_files_kinds_of_jobs_and_figures_are_on_the_page() -> None:
    assert explained(section(PAGE, "Pool files", 3)) == {*GROUP_KEYS, *HABIT_KEYS, "habits"}
    assert explained(section(PAGE, "Jobs", 3)) == {".swf", ACCOUNTING, *READERS, *BEHAVIOUR}
    assert all(f"`{mix}`" in section(PAGE, "simulate") for mix in MIXES)
    figures = section(PAGE, "Figures", 3)
    assert all(f"`{name}`" in figures for name in Metrics(slots=1, cores=1, days=1.0, run_s={}).summary())


def test_the_scenarios_of_the_guide_do_what_it_says(tmp_path: Path) -> None:
    file = tmp_path / "desktop.toml"
    file.write_text(re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)[0])
    host = MemoryHost(files={str(tmp_path / "desktop.config"): "use POLICY : Desktop\n"})
    good, bad = (run_scenario(each, host, Coverage()) for each in read_scenarios(file))
    assert good.passed
    (failure,) = bad.failures
    assert f"desktop.toml:{failure.expectation.line}: at 1h5m" in GUIDE
    assert f"expected {failure.wanted}\n        found    {failure.found}" in GUIDE
    assert "".join(f"        | {line}\n" for line in failure.timeline) in GUIDE
    assert failure.explanation.splitlines()[0] in GUIDE


def test_the_examples_of_the_format_pass(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    for example in re.findall(r"```toml\n(.*?)```", FORMAT, re.DOTALL):
        file.write_text(example)
        assert all(run_scenario(each, MemoryHost(), Coverage()).passed for each in read_scenarios(file))


def test_the_example_of_a_pool_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "pool.toml"
    file.write_text(re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)[0])
    desks, nodes = read_pool(file)
    assert (desks.count, desks.hardware.memory_mb) == (600, 16384)
    assert [(each.name, each.value) for each in desks.settings] == [("IsDesktop", "True")]
    assert (nodes.owners, nodes.configs) == ("nobody", (str(tmp_path / "node.config"),))


def test_the_guide_lists_every_scenario_file() -> None:
    assert explained(section(GUIDE, "Scenarios that come with Roost", 3)) == SHIPPED
