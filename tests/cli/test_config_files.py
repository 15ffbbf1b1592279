"""Commands about configurations read that of the pool where the command line names no file, and say so."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from roost.cli.__main__ import main
from roost.runtime.home import Home


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state directory that ROOST_HOME names, with a configuration."""
    for name in [name for name in os.environ if name.startswith(("_CONDOR_", "_ROOST_"))]:
        monkeypatch.delenv(name)
    for variable in ("ROOST_CONFIG", "CONDOR_CONFIG"):
        monkeypatch.delenv(variable, raising=False)
    home = tmp_path / "pool"
    home.mkdir()
    monkeypatch.setenv("ROOST_HOME", str(home))
    (home / "roost.config").write_text("use ROLE : Personal\nMAX_JOBS_RUNNING = 7\nSTART = KeybordIdle > 3\n")
    return home


def test_a_value_is_that_of_the_pool(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "get", "MAX_JOBS_RUNNING", "ROOST_HOME"]) == 0
    out, err = capsys.readouterr()
    assert out == f"7\n{home}\n"
    assert err == f"roost config: reading {home}/roost.config, the configuration of the pool in {home}\n"


def test_the_default_state_directory_counts(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROOST_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", str(home.parent))
    home.rename(home.parent / "roost")
    assert main(["config", "get", "MAX_JOBS_RUNNING"]) == 0


def test_a_check_is_of_the_pool(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "roost.config").write_text("MAX_JOBS_RUNNING = many\n")
    assert main(["config", "check"]) == 1
    out, err = capsys.readouterr()
    assert f"{home}/roost.config:1:1: error: " in out
    assert err.startswith(f"roost config: reading {home}/roost.config, ")


def test_the_policy_of_the_pool_is_linted(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "lint"]) == 1
    out, err = capsys.readouterr()
    assert f"{home}/roost.config:3:9: warning RST201: " in out
    assert err.startswith(f"roost policy lint: reading {home}/roost.config, the configuration of the pool in {home}\n")


def test_the_configuration_that_a_new_pool_gets_has_no_findings(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "roost.config").unlink()
    Home(home).make()
    assert main(["config", "check"]) == 0
    assert main(["policy", "lint"]) == 0
    assert capsys.readouterr().out == "1 source, 1 template, 4 names: 0 errors, 0 warnings\n"


def test_the_files_of_a_running_pool_are_read(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = home.parent / "other.config"
    other.write_text("MAX_JOBS_RUNNING = 8\n")
    (home / "run").mkdir()
    (home / "run" / "contact.json").write_text(json.dumps({"roots": [str(other)]}))
    assert main(["config", "get", "MAX_JOBS_RUNNING"]) == 0
    assert capsys.readouterr().out == "8\n"


def test_what_is_named_comes_first(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = home.parent / "other.config"
    other.write_text("MAX_JOBS_RUNNING = 9\n")
    assert main(["config", "get", "MAX_JOBS_RUNNING", "-c", str(other)]) == 0
    assert capsys.readouterr() == ("9\n", "")
    monkeypatch.setenv("ROOST_CONFIG", str(other))
    assert main(["config", "get", "MAX_JOBS_RUNNING"]) == 0
    assert capsys.readouterr() == ("9\n", f"roost config: reading {other}, which ROOST_CONFIG names\n")


@pytest.mark.parametrize("words", [["config", "show"], ["policy", "lint"]])
def test_without_any_configuration_the_command_says_what_to_name(
    words: list[str], home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "roost.config").unlink()
    monkeypatch.setattr("roost.runtime.machine.STANDARD_FILES", ())
    assert main(words) == 2
    assert capsys.readouterr().err.startswith(
        f"roost: no configuration: {home}/roost.config does not exist\n    hint: "
    )
