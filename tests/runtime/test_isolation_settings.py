"""What jobs do not see of their machine, as configured, and what is said where that cannot be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from roost.classad import ClassAd
from roost.config import Config
from roost.runtime.home import Home
from roost.runtime.processes import isolation
from roost.runtime.processes.isolation import Isolation, isolation_of, isolation_problem


def _config(tmp_path: Path, text: str) -> Config:
    home = Home(tmp_path)
    home.config_file.write_text(text)
    found = home.config(None, "STARTD")
    assert not found.errors
    return found


def _isolation(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> Isolation | None:
    monkeypatch.setattr(isolation, "_unable", lambda: "")
    kept = (tmp_path / "dir_1",)
    return isolation_of(_config(tmp_path, text), ClassAd(SlotID=1), ClassAd(WantsTmp=True), kept)


def test_a_machine_isolates_nothing_unless_it_is_told_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _isolation(tmp_path, "", monkeypatch) is None
    assert isolation_problem(_config(tmp_path, "")) == ""


@pytest.mark.parametrize(
    "value", ["/var/tmp, /tmp,/tmp/", 'IfThenElse(TARGET.WantsTmp, "/tmp,/var/tmp", "")', '"/tmp,/var/tmp"']
)
def test_directories_are_a_list_or_an_expression(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    found = _isolation(tmp_path, f"MOUNT_UNDER_SCRATCH = {value}\n", monkeypatch)
    assert found is not None and found.private == (Path("/tmp"), Path("/var/tmp"))
    assert found.kept == (tmp_path / "dir_1",) and not found.processes and not found.no_rights


@pytest.mark.parametrize("value", ["Undefined", '""', "TARGET.Nothing", "/no/such/place", "/"])
def test_what_names_no_directory_makes_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    assert _isolation(tmp_path, f"MOUNT_UNDER_SCRATCH = {value}\n", monkeypatch) is None


def test_without_root_only_rights_are_forgone_and_the_machine_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    text = "MOUNT_UNDER_SCRATCH = /tmp\nUSE_PID_NAMESPACES = True\nJOB_NO_NEW_PRIVILEGES = True\n"
    config = _config(tmp_path, text)
    found = isolation_of(config, ClassAd(), ClassAd(), (tmp_path,))
    assert found is not None and (found.private, found.processes, found.no_rights) == ((), False, True)
    assert isolation_problem(config) == (
        "jobs are not isolated, though the configuration has MOUNT_UNDER_SCRATCH and USE_PID_NAMESPACES: "
        "only daemons that root runs can make namespaces"
    )


def test_a_container_without_the_capability_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(isolation, "read_kernel_file", lambda path: b"Name:\tx\nCapEff:\t00000000a80425fb\n")
    said = isolation_problem(_config(tmp_path, "USE_PID_NAMESPACES = True\n"))
    assert "lacks the capability CAP_SYS_ADMIN" in said
