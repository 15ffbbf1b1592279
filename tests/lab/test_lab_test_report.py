"""What `roost lab test` says while it runs, and when it is interrupted."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from roost.cli.lab.scenario_report import Report
from roost.lab.progress_line import ProgressLine
from roost.lab.scenario.file import read_scenarios
from roost.lab.scenario.outcome import Outcome, simulated, unfinished
from roost.lab.worker_pool import Progress
from roost.runtime.machine import SystemHost

FILE = """
policy = 'START = KeyboardIdle > 60'
[jobs.a]
[[scenario]]
name = "it begins, and everybody sees that it does"
steps = [{ at = "5s", submit = "a" }, { at = "20s", expect = "Claimed/Busy" }]
"""
PROGRESS = Progress(
    done=1, whole=4, failed=1, running=(("it begins, and everybody sees that it does", 2.4), ("b", 0.2))
)


@pytest.fixture
def outcome(tmp_path: Path) -> Outcome:
    file = tmp_path / "one.toml"
    file.write_text(FILE)
    (scenario,) = read_scenarios(file)
    return simulated(scenario, SystemHost())


def test_a_terminal_shows_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], outcome: Outcome
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    report = Report(4, as_json=False)
    report.progress(PROGRESS)
    line = "[#####...............] 1 of 4, 1 failed  it begins, and ever… 2 s"
    assert capsys.readouterr().err == f"\r{line}"
    report.begin(Path("one.toml"), 1)
    report.add(outcome)
    said = capsys.readouterr()
    assert said.err == f"\r{' ' * len(line)}\r"
    assert said.out == "one.toml\n  pass  it begins, and everybody sees that it does\n"


@pytest.mark.parametrize("shows_progress", [True, False])
def test_nobody_is_shown_a_line_who_does_not_look(capsys: pytest.CaptureFixture[str], shows_progress: bool) -> None:
    Report(4, as_json=False, shows_progress=shows_progress).progress(PROGRESS)
    assert capsys.readouterr().err == ""


def test_a_line_is_no_wider_than_the_terminal_and_can_be_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    line = ProgressLine()
    line.show(1.0, "a" * 200, 60)
    line.keep()
    line.clear()
    said = capsys.readouterr().err
    assert said == f"\r[{'#' * 15}] {'a' * 41}\n"


def test_what_had_ended_is_told_of_when_it_is_interrupted(capsys: pytest.CaptureFixture[str], outcome: Outcome) -> None:
    report = Report(4, as_json=True)
    report.begin(Path("one.toml"), 4)
    report.add(outcome)
    report.add(unfinished(outcome.verdict.scenario, "it has not finished after 5s"))
    # One more has ended whose turn it is not.
    report.progress(Progress(done=3, whole=4, failed=1, running=()))
    report.interrupted()
    said = capsys.readouterr()
    assert said.err == "roost: interrupted: 3 of 4 scenarios done, 1 failed\n"
    told = json.loads(said.out)
    assert (told["interrupted"], told["scenarios"], told["failed"], told["left"]) == (True, 2, 1, 2)
    first, second = told["files"][0]["scenarios"]
    assert first["passed"] and "problem" not in first
    assert second["problem"] == "it has not finished after 5s"
