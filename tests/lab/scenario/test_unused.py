"""What a scenario file describes and no scenario uses is noted with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

import roost.lab
from roost.lab.scenario.file import read_scenarios
from tests.lab.scenario.test_pools import verdict

FILES = sorted((Path(roost.lab.__file__).parent / "scenarios").rglob("*.toml"))
TEXT = """
policy = "START = True"
[jobs.used]
[jobs.rest]
[jobs.of_node]
[jobs.group]
description = "executable = x\\nqueue 2"
[jobs.asked]
[machines.m1]
[hooks.STARTER_PROLOG]
[dags.flow]
text = "JOB A of_node"
[dags.left]
text = "JOB A used"
[[scenario]]
name = "one"
machines = { a = {} }
hooks = { STARTER_PROLOG = { takes = "5s" } }
steps = [
  { at = "1m", submit = ["used", "group"], dag = "flow" },
  { at = "2m", expect = { jobs = { "group.1" = "running" }, against = "asked", "START" = true } },
]
[scenario.jobs.own]
[[scenario]]
machines = { b = {} }
hooks = { STARTER_PROLOG = { takes = "1s" } }
steps = [{ at = "1m", submit = "used" }, { at = "2m", expect = { jobs = { used = "running" } } }]
"""
REPLACED = "every scenario describes its own, so this one has no effect; remove it"


def test_what_no_scenario_uses_is_noted_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(TEXT)
    first, second = read_scenarios(file)
    assert (
        first.notes
        == second.notes
        == (
            f"{file}:4: job 'rest': no scenario uses it; submit it in a step, or remove it",
            f"{file}:13: DAG 'left': no scenario uses it; submit it in a step, or remove it",
            f"{file}:10: hook 'STARTER_PROLOG': {REPLACED}",
            f"{file}:23: job 'own': no scenario uses it; submit it in a step, or remove it",
            f"{file}:9: machine 'm1': {REPLACED}",
        )
    )
    assert set(first.notes) <= set(verdict(first).notes)


def test_groups_of_a_user_without_jobs_and_programs_are_noted(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    text = """
    [cell]
    objects = { "cqueues/all.q" = "hostlist a\\nprolog /x/before" }
    groups = { ann = ["staff"], ben = ["staff"], ada = ["staff"], op = ["staff"] }
    [jobs.a]
    Owner = "ben"
    [jobs.b]
    [programs.before]
    [[scenario]]
    programs = { before = { takes = "1s" } }
    steps = [{ at = "1s", submit = ["a", "b"] }, { qmod = "-d all.q", user = "op" },
             { at = "1m", expect = { jobs = { a = "running" } } }]
    """
    file.write_text(text)
    (scenario,) = read_scenarios(file)
    assert scenario.notes == (
        f"{file}:8: program 'before': {REPLACED}",
        f"{file}:4: user 'ann': no scenario uses it; make the user the Owner of a job, or remove it",
    )


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_shipped_files_describe_nothing_that_they_do_not_use(file: Path) -> None:
    assert {note for scenario in read_scenarios(file) for note in scenario.notes} == set()


WITHOUT_EFFECT = """
policy = '''
START = True
USER_JOB_WRAPPER = /bin/false
DAGMAN_SUBMIT_DELAY = 60
'''
[machines.a]
[machines.b]
settings = { MAX_JOBS_RUNNING = 0, POLLING_INTERVAL = 7 }
[jobs.a]
run = "4h"
[[scenario]]
name = "orders and settings without effect"
steps = [
  { at = "1m", submit = "a" },
  { at = "2m", hold = "a" },
  { at = "3m", release = "a" },
  { at = "3m", release = "a" },
  { on = "b", at = "4m", reconfig = { MAX_JOBS_PER_OWNER = 1 } },
  { at = "9m", expect = { jobs = { a = "running" } } },
]
"""


def test_orders_and_settings_that_have_no_effect_are_noted(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(WITHOUT_EFFECT)
    (scenario,) = read_scenarios(file)
    found = verdict(scenario)
    assert not found.failures
    of_pool = "cannot be set for one machine, since the daemons of the pool read it: set it for the scenario"
    assert set(found.notes) == {
        "the lab runs no programs, and so no USER_JOB_WRAPPER: jobs run as if it had started them",
        "workflows in the lab submit nodes as soon as they are ready (DAGMAN_SUBMIT_DELAY)",
        f"b: MAX_JOBS_RUNNING {of_pool}",
        f"b: MAX_JOBS_PER_OWNER {of_pool}",
        f"{file}:18: release of job a at 3m had no effect: the job is not on hold and off its machine",
    }
