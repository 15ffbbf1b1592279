"""Scenarios of several machines and users, and jobs that submit descriptions make."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from roost.lab.machines import LabError
from roost.lab.scenario.coverage import Coverage
from roost.lab.scenario.file import read_scenarios
from roost.lab.scenario.run import Verdict, observe_scenario, run_scenario
from roost.lab.scenario.values import Scenario
from roost.runtime.machine import SystemHost

OPEN = "START = True\nIS_OWNER = False\nSUSPEND = False\nPREEMPT = False\nWANT_SUSPEND = False\nKILL = False\n"
TWO = "[machines.left]\n[machines.right]\nsettings = { START = 'TARGET.Owner == \"eve\"' }\n"
SWEEP = "[jobs.a]\nrun = '10m'\ndescription = '''\nexecutable = x\npriority = $(Process)\nqueue 2\n'''\n"
END = '{ at = "5m", expect = { jobs = { "a.1" = "running" } } }'


def read(folder: Path, text: str, *steps: str) -> Scenario:
    """A scenario with these steps."""
    file = folder / "s.toml"
    named = "[[scenario]]\nname = 'one'\nsteps = [\n" + "".join(f"  {step},\n" for step in steps) + "]\n"
    file.write_text(f"policy = '''\n{OPEN}'''\n{text}\n{named}")
    (scenario,) = read_scenarios(file)
    return scenario


def verdict(scenario: Scenario) -> Verdict:
    return run_scenario(scenario, SystemHost(), Coverage())


def test_machines_have_settings_and_owners_of_their_own(tmp_path: Path) -> None:
    scenario = read(
        tmp_path,
        TWO + "[jobs.a]\nOwner = 'eve'\n[jobs.b]\n",
        '{ at = "1m", submit = ["b", "a"] }',
        '{ at = "2m", on = "left", keys = "5m" }',
        '{ at = "2m", on = "right", load = 0.5 }',
        '{ at = "3m", on = "left", expect = { job = "b", "KeyboardIdle < 10" = true, "LoadAvg < 1.1" = true } }',
        '{ at = "3m", on = "right", expect = { job = "a", "KeyboardIdle > 60" = true } }',
        '{ at = "4m", on = "right", reconfig = { START = "False" } }',
        '{ at = "5m", on = "right", expect = { against = "a", START = false } }',
        '{ at = "5m", on = "left", expect = { against = "a", START = true } }',
    )
    seen = observe_scenario(scenario, SystemHost(), Coverage())
    assert seen.verdict.failures == ()
    assert {slot for slot, _ in seen.taken} == {"slot1@left", "slot1@right"}


def test_a_failure_names_the_machine(tmp_path: Path) -> None:
    (missed,) = verdict(read(tmp_path, TWO, '{ at = "1m", on = "right", expect = "Claimed" }')).failures
    assert (missed.expectation.machine, missed.found) == ("right", "Unclaimed/Idle")
    assert all("left" not in line for line in missed.timeline)


def test_a_description_makes_one_cluster_of_jobs_with_its_ads(tmp_path: Path) -> None:
    scenario = read(
        tmp_path,
        SWEEP,
        '{ at = "1m", submit = "a" }',
        '{ at = "2m", submit = "a" }',
        '{ at = "3m", expect = { jobs = { "a.0" = { ProcId = 0, JobPrio = 0 }, "a.1" = "running" } } }',
        '{ at = "3m", expect = { jobs = { "a.1/2" = { status = "idle", ProcId = 1, ClusterId = 2 } } } }',
        '{ at = "4m", remove = "a/2" }',
        '{ at = "5m", expect = { jobs = { "a.0/2" = "removed", "a.1/2" = "removed", "a.0" = "idle" } } }',
    )
    assert verdict(scenario).failures == ()


def test_a_description_stands_in_a_file_beside_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs/a.sub").write_text("executable = x\nrequest_memory = 77\nqueue\n")
    steps = (
        '{ at = "1m", submit = "a" }',
        '{ at = "2m", expect = { jobs = { a = { RequestMemory = 77, Owner = "eve" } } } }',
    )
    assert verdict(read(tmp_path, "[jobs.a]\nOwner = 'eve'\nsubmit = 'jobs/a.sub'\n", *steps)).failures == ()


@pytest.mark.parametrize(
    ("text", "steps", "problem"),
    [
        (TWO, ['{ at = "1m", keys = "1m" }'], "there are several machines; name one with `on`: left, right"),
        (TWO, ['{ at = "1m", on = "top", keys = "1m" }'], "on must be one of the machines left, right; found 'top'"),
        (
            TWO + "[jobs.a]\n",
            ['{ at = "1m", on = "left", submit = "a" }'],
            "on names a machine; it is valid only with one of",
        ),
        ("[machines.'a b']\n", [END], "'a b' is not a valid machine name"),
        (TWO + "cpu = 2\n", [END], "did you mean 'cpus'?"),
        (SWEEP, ['{ at = "1m", submit = "a.0" }', END], "there is no job 'a.0'"),
        (SWEEP, ['{ at = "1m", submit = "a" }', '{ expect = { jobs = { a = "idle" } } }'], "its jobs are a.0, a.1"),
        (SWEEP, ['{ at = "1m", fetch = "a" }'], "a hook brings one job at a time; the description of a produces 2"),
        ("[jobs.a]\nsubmit = 'none.sub'\n", [END], "cannot read the submit description"),
        ("[jobs.a]\nsubmit = 'x'\ndescription = 'y'\n", [END], "one of submit, description and qsub"),
        ("[jobs.a]\ndescription = 'queue'\n", [END], "the submit description cannot be used"),
        (
            "[jobs.a]\ndescription = '''\nexecutable = x\n+SimRunTime = 3\nqueue'''\n",
            [END],
            "SimRunTime has no",
        ),
        (
            "[jobs.a]\ndescription = '''\nexecutable = x\ncheckpoint_exit_code = 0\nqueue'''\n",
            [END],
            "every end of the job would save its state; give it another exit_code to end with",
        ),
    ],
)
def test_what_means_nothing_is_refused_with_its_place(
    tmp_path: Path, text: str, steps: list[str], problem: str
) -> None:
    with pytest.raises(LabError, match=rf"s\.toml:\d+: .*{re.escape(problem)}"):
        read(tmp_path, text, *steps)


@pytest.mark.parametrize(("name", "value"), [("Machine", '"y.example.org"'), ("TotalCpus", "4"), ("SlotID", "3")])
def test_an_attribute_that_the_machine_says_itself_is_refused(tmp_path: Path, name: str, value: str) -> None:
    scenario = read(tmp_path, f"[machine]\n{name} = {value}\n", '{ at = "1m", expect = "Unclaimed/Idle" }')
    with pytest.raises(LabError, match=f"the machine's attribute {name} has no effect: its configuration, or Roost"):
        verdict(scenario)


def test_a_machine_is_called_as_a_host(tmp_path: Path) -> None:
    steps = ('{ at = "1m", expect = { Machine = "y.example.org", Name = "slot1@y.example.org" } }',)
    assert verdict(read(tmp_path, '[machines."y.example.org"]\n', *steps)).failures == ()


@pytest.mark.parametrize(
    ("settings", "step", "line"),
    [
        ("[settings]\nOther = '1'\nPREEMPT = 'A >'\n", '{ at = "1m", submit = "a" }', 11),
        ("[machines.m.settings]\nSTART = 'A >'\n", '{ at = "1m", submit = "a" }', 10),
        ("", '{ at = "1m", reconfig = { NUM_SLOTS = "1", START = "A >" } }', 15),
    ],
)
def test_a_setting_that_makes_no_sense_is_told_with_its_line(
    tmp_path: Path, settings: str, step: str, line: int
) -> None:
    scenario = read(tmp_path, f"{settings}[jobs.a]\nrun = '1m'\n", step, '{ at = "2m", expect = "Unclaimed/Idle" }')
    with pytest.raises(LabError) as caught:
        verdict(scenario)
    assert str(caught.value).splitlines()[0].startswith(f"{tmp_path}/s.toml:{line}: ")
    assert str(caught.value).count("s.toml") == 1 and "runtime" not in str(caught.value)
