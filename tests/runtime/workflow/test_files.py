"""The files beside a DAG file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from roost.runtime.workflow.files import Locked, RunFiles, take_lock, unused


def test_a_picture_that_is_not_to_be_overwritten_gets_the_next_number(tmp_path: Path) -> None:
    path = tmp_path / "x.dot"
    assert unused(path) == tmp_path / "x.dot.0"
    (tmp_path / "x.dot.0").touch()
    assert unused(path) == tmp_path / "x.dot.1"


def test_the_newest_rescue_file_counts_and_newer_ones_are_set_aside(tmp_path: Path) -> None:
    files = RunFiles(primary=str(tmp_path / "x.dag"))
    assert files.last_rescue() == 0
    for number in (1, 2, 3):
        files.rescue(number).touch()
    assert files.last_rescue() == 3
    files.retire_rescues(1)
    assert files.last_rescue() == 1
    assert Path(f"{files.rescue(3)}.old").exists()


def test_a_dag_that_runs_is_not_run_twice_and_one_that_died_goes_on(tmp_path: Path) -> None:
    lock = tmp_path / "x.dag.lock"
    assert not take_lock(lock)
    parent = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[19]
    lock.write_text(f"{os.getppid()} {parent}\n")
    with pytest.raises(Locked):
        take_lock(lock)
    lock.write_text("999999999 12\n")
    assert take_lock(lock)
