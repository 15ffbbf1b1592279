"""`roost lab test` as a person or a program meets it."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from roost.cli.lab import command as lab
from roost.cli.terminal import CommandError

SCENARIOS = """
config = "desktop.config"

[jobs.a]
run = "1h"

[[scenario]]
name = "a job runs where nobody is"
steps = [
  { at = "1m", submit = "a" },
  { at = "2m", expect = { state = "Claimed/Busy", job = "a", for = "30m" } },
]

[[scenario]]
name = "an owner who comes has to wait for an hour"
steps = [
  { at = "1m", submit = "a" },
  { at = "20m", keys = "50m" },
  { at = "21m", expect = { state = "Claimed/Suspended", for = "50m" } },
]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "desktop.config").write_text("use POLICY : Desktop\n")
    (tmp_path / "patient.config").write_text("use POLICY : Desktop\nMaxSuspendTime = 2 * $(HOUR)\n")
    (tmp_path / "desktop.toml").write_text(SCENARIOS)
    return tmp_path


def _test(*words: str | Path) -> int:
    parser = argparse.ArgumentParser()
    lab.add_parser(parser.add_subparsers())
    return lab.run(parser.parse_args(["lab", "test", *map(str, words)]))


def test_a_state_that_does_not_last_fails_when_it_ends(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _test(folder / "desktop.toml") == 1
    said = capsys.readouterr().out
    assert "pass  a job runs where nobody is" in said
    assert "FAIL  an owner who comes has to wait for an hour" in said
    assert "desktop.toml:19: at 30m5s (from 21m for 50m)" in said
    assert "[18] Claimed/Retiring -> Preempting/Vacating: retirement over (MaxJobRetirementTime = 0) led here." in said
    assert "2 scenarios, 2 expectations: 1 failed" in said


def test_another_policy_can_be_put_to_the_same_scenarios(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _test(folder, "--config", folder / "patient.config", "--only", "hour") == 0
    assert "1 scenario, 1 expectation: all passed" in capsys.readouterr().out


def test_a_program_gets_everything_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _test(folder / "desktop.toml", "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["version"], document["scenarios"], document["failed"]) == (1, 2, 1)
    (file,) = document["files"]
    (failure,) = file["scenarios"][1]["failures"]
    assert (failure["line"], failure["at_s"], failure["wanted"]) == (19, 1805.0, "Claimed/Suspended")
    assert failure["timeline"]
    untried = file["coverage"]["untried"]
    assert {"expression", "clause", "side", "origin"} == set(untried[0])
    assert any(each["expression"] == "CONTINUE" and "LoadAvg" in each["clause"] for each in untried)


def test_too_little_coverage_is_a_failure(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = (folder / "desktop.toml", "--only", "nobody")
    assert _test(*words, "--min-coverage", "3") == 0
    assert _test(*words, "--min-coverage", "95") == 1
    said = capsys.readouterr().out
    assert "coverage below 95 %" in said
    assert "never asked  KeyboardIdle > 5 * 60" in said


@pytest.mark.parametrize("words", [["--only", "nothing"], ["--min-coverage", "101"], ["--config", "nowhere"]])
def test_what_makes_no_sense_is_refused(folder: Path, words: list[str]) -> None:
    with pytest.raises(CommandError):
        _test(folder / "desktop.toml", *words)


def test_a_file_that_cannot_be_read_keeps_nobody_from_the_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.toml").write_text("garbage = ?\n")
    (folder / "z.toml").write_text("policy = ''")
    assert _test(folder) == 2
    said = capsys.readouterr()
    assert "a.toml:1:11: it is not TOML: Invalid" in said.err and "z.toml:1: it contains no [[scenario]]" in said.err
    assert "desktop.toml" in said.out
    assert _test(folder, "--json") == 2
    document = json.loads(capsys.readouterr().out)
    assert (document["scenarios"], document["failed"]) == (2, 1)
    assert [each.partition(":")[0].rpartition("/")[2] for each in document["unread"]] == ["a.toml", "z.toml"]


STEPS = {
    "submitt = 'a'": "did you mean 'submit'",
    "submit = 'b'": r"there is no job 'b'; describe it in \[jobs.b\]",
    "submit = 3": 'must be "NAME"',
    "hold = 'a'": "no job 'a' has been submitted",
    "vacate = 'slowly'": "vacate must be one of graceful, fast",
    "drain = { hwo = 'fast' }": "did you mean 'how'",
    "cancel_drain = false": "cancel_drain can only be true",
    "match = 'a'": "match can only be true",
    "queue = 'gone'": "queue must be one of away, back",
    "load = -1": "not negative",
    "for = '1m', keys = 1": "for belongs to load",
    "attributes = { KeyboardIdle = 3 }": "set it with keys",
    "slot = 2, keys = 1": "slot names a slot; it is valid only with one of",
    "slot = 'two', expect = 'Owner'": "slot must be a number, or a name",
    "reconfig = { START = [1] }": "must be a string as in a configuration",
    "expect = 'Clamed'": "'Clamed' is not a valid state",
    "expect = { 'a +' = 1 }": "is not an expression",
    "expect = { jobs = { a = 'gone' } }": "no job 'a' has been submitted",
    "expect = { starter = 'Sleeping' }": "starter must be one of",
    "expect = { starter = 'Sleepin' }": 'starter must be one of "", Preparing',
    "expect = {}": "it cannot fail",
    "expect = { against = 'a' }": "it cannot fail",
    "expect = { jobs = {}, hooks = {} }": "it cannot fail",
    "expect = { for = '3m', job = 'a' }": "name the state with state",
    "submit = 'a', expect = { jobs = { a = {} } }": "the job a has no expectation",
    "expect = { transition = '99' }": "not the number of a transition; the transitions are: 1, ",
    "expect = { reason = 'foo' }": "reason must be one of owner absent, ",
    "expect = { against = 'z' }": "there is no job 'z'",
    "update = { a = '=(' }": "is not an expression",
}


@pytest.mark.parametrize(("step", "complaint"), STEPS.items(), ids=list(STEPS))
def test_a_step_that_means_nothing_is_refused_with_its_line(step: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(f"policy = 'START = True'\n[jobs.a]\n[[scenario]]\nsteps = [\n  {{ at = 1, {step} }},\n]\n")
    with pytest.raises(CommandError, match=rf"x\.toml:5: scenario 'scenario 1': .*{complaint}"):
        _test(path)


JOBS = {
    "'bad name' = 3": "'bad name' is not a valid attribute name",
    "Owner = 3": "Owner must be the name of a user; found 3",
    "Owner = ''": "Owner must be the name of a user; found ''",
    "JobUniverse = 11": "Roost runs no jobs of the parallel universe",
}


@pytest.mark.parametrize(("line", "complaint"), JOBS.items(), ids=list(JOBS))
def test_a_job_that_cannot_be_is_refused_with_its_line(line: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    steps = "[[scenario]]\nsteps = [{ at = 1, expect = 'Owner' }]\n"
    path.write_text(f"policy = 'START = True'\n[jobs.a]\n{line}\n{steps}")
    with pytest.raises(CommandError, match=rf"x\.toml:3: job 'a': {complaint}"):
        _test(path)


def test_an_expectation_sees_what_starters_report_though_no_policy_asks_for_it(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(
        "policy = 'START = True'\n[jobs.a]\n[[scenario]]\nsteps = [\n  { at = 60, submit = 'a' },\n"
        "  { at = '2m', expect = { NumPids = 1, 'TARGET.JobState == \"Running\"' = true } },\n"
        "  { at = '20m', expect = { 'CpusUsage > 0.9' = true, 'JobCurrentStartDate >= JobStart - 1' = true } },\n]\n"
    )
    assert _test(path) == 0


def test_an_order_that_the_machine_refuses_ends_the_run_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    steps = '[\n  { at = 1, drain = "fast" },\n  { at = 9, drain = "fast" },\n  { at = 9, expect = "Owner" },\n]'
    path.write_text(f"policy = 'START = True'\n[[scenario]]\nsteps = {steps}\n")
    with pytest.raises(CommandError, match=r"x\.toml:5: the machine refused to drain"):
        _test(path)


def test_an_order_to_a_slot_that_there_is_not_tells_which_there_are(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    steps = '[\n  { at = 1, vacate = "fast", slot = 7 },\n  { at = 9, expect = "Owner" },\n]'
    path.write_text(f"policy = 'START = True'\nmachine = {{ cpus = 2 }}\n[[scenario]]\nsteps = {steps}\n")
    with pytest.raises(CommandError, match=r"x\.toml:5: there is no slot 7 when .*; the machine's slots are: 1, 2$"):
        _test(path)


def test_the_slot_s_requirements_are_explained_where_no_job_has_any(tmp_path: Path) -> None:
    path = tmp_path / "start.toml"
    path.write_text(
        'policy = "START = True"\n[[scenario]]\nname = "x"\n'
        'steps = [{ at = "1m", expect = { Requirements = false } }]\n'
    )
    # Another process, in which nobody has spelled the name before.
    command = [sys.executable, "-m", "roost.cli", "lab", "test", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "expected Requirements = false" in done.stdout
    assert "It would be FALSE if START were FALSE" in done.stdout


def test_requirements_are_those_of_the_slot_though_a_job_has_some_too(tmp_path: Path) -> None:
    path = tmp_path / "start.toml"
    expected = '{ at = "1m", submit = "a" }, { at = "2m", expect = { Requirements = false } }'
    path.write_text(
        'policy = "START = False"\n[jobs.a]\nrun = "1h"\nRequirements = true\n'
        f'[[scenario]]\nname = "x"\nsteps = [{expected}]\n'
    )
    assert _test(path) == 0
    path.write_text(path.read_text().replace("START = False", "START = True").replace("Requirements = true", ""))
    assert _test(path) == 1


def test_claims_that_the_owner_ends_at_once_are_named_as_the_cause(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "owner.toml"
    steps = '[{ at = "0s", keys = "1h" }, { at = "1m", submit = "a" }, { at = "5m", expect = { job = "a" } }]'
    path.write_text(
        'policy = """\nSTART = True\nIS_OWNER = KeyboardIdle < 60\nRunBenchmarks = False\n"""\n[jobs.a]\nrun = "1h"\n'
        f'[[scenario]]\nname = "x"\nsteps = {steps}\n'
    )
    assert _test(path) == 1
    said = capsys.readouterr().out
    assert re.search(r"accept each other now, but last time slot1@\S+ ended the claim: owner present\.", said), said
