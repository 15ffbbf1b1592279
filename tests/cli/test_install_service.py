"""The files by which systemd runs the daemons, as systemd itself reads them where it is installed."""

from __future__ import annotations

import configparser
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from roost.cli.__main__ import main

ROOT = os.geteuid() == 0


def _unit(path: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(path.read_text())
    return parser


def test_a_unit_runs_the_pool_of_its_state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/config")
    home = tmp_path / "pool"
    assert main(["install-service", "--root", str(tmp_path), "--home", str(home)]) == 0
    path = tmp_path / ("etc/systemd/system/roost.service" if ROOT else "config/systemd/user/roost.service")
    unit = _unit(path)
    assert unit["Install"]["WantedBy"] == ("multi-user.target" if ROOT else "default.target")
    service = unit["Service"]
    assert (service["KillMode"], service["Type"]) == ("process", "exec")
    for name, words in (
        ("ExecStart", ["up", "--home", str(home)]),
        ("ExecReload", ["reconfig", "--home", str(home)]),
        ("ExecStop", ["down", "--leave-jobs", "--home", str(home)]),
    ):
        program, *rest = shlex.split(service[name])
        assert rest[-len(words) :] == words
        assert os.access(program, os.X_OK)
    verify = shutil.which("systemd-analyze")
    if verify is not None:
        done = subprocess.run([verify, "verify", str(path)], capture_output=True, text=True, check=False)
        assert str(path) not in done.stderr, done.stderr


@pytest.mark.skipif(not ROOT, reason="only root installs for the system")
def test_an_account_of_its_own_is_made_and_owns_the_state_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ROOST_HOME", raising=False)
    assert main(["install-service", "--root", str(tmp_path), "--as-user", "roost"]) == 0
    assert _unit(tmp_path / "etc/systemd/system/roost.service")["Service"]["User"] == "roost"
    assert (tmp_path / "etc/tmpfiles.d/roost.conf").read_text() == "d /var/lib/roost 0700 roost roost -\n"
    assert (tmp_path / "etc/sysusers.d/roost.conf").read_text() == 'u roost - "Roost workload manager" /var/lib/roost\n'
    sysusers = shutil.which("systemd-sysusers")
    if sysusers is not None:
        subprocess.run([sysusers, f"--root={tmp_path}", "roost.conf"], capture_output=True, check=True)
        (line,) = [each for each in (tmp_path / "etc/passwd").read_text().splitlines() if each.startswith("roost:")]
        assert line.split(":")[5] == "/var/lib/roost"


def test_what_a_unit_cannot_say_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install-service", "--root", str(tmp_path), "--home", "/a b"]) == 2
    assert "a unit needs a path of letters" in capsys.readouterr().err
    assert main(["install-service", "--root", str(tmp_path), "--as-user", "root"]) == 2
    assert "--as-user" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
