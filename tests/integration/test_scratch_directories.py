"""EXECUTE and SLOT<N>_EXECUTE: where scratch directories really are, and what becomes of them when that changes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from roost.cli.__main__ import main
from tests.integration.kit import Pool, eventually

_TRANSFER = "should_transfer_files = yes\nwhen_to_transfer_output = on_exit\ntransfer_input_files = in\n"


_WAITS = "echo begun > $1/begun; while [ ! -e $1/go ]; do sleep 0.1; done"


def _own(directory: Path) -> Path:
    """The machine's own directory in one that is configured."""
    (found,) = directory.glob("roost-*")
    return found


@pytest.mark.parametrize("daemon_is_there", [True, False])
def test_a_job_whose_scratch_directory_is_removed_is_held(start: Callable[..., Pool], daemon_is_there: bool) -> None:
    """Where the daemon had been away, the job was told as running forever after its end."""
    pool = start()
    (pool.work / "in").write_text("moved\n")
    job = pool.submit(f"arguments = {pool.work}\n{_TRANSFER}", script=_WAITS)
    eventually((pool.work / "begun").exists, "the start of the job")
    if not daemon_is_there:
        pool.down("--leave-jobs")
    (scratch,) = (pool.home / "execute").glob("dir_*")
    shutil.rmtree(scratch)
    if not daemon_is_there:
        pool.up()
    (pool.work / "go").touch()
    held = pool.seen(f"{job}.0", JobStatus=5)
    assert held["NumJobStarts"] == 1 and str(scratch) in held["HoldReason"] and "No such file" in held["HoldReason"]


def _set(pool: Pool, **knobs: object) -> None:
    path = pool.home / "roost.config"
    path.write_text(path.read_text() + "".join(f"{name} = {value}\n" for name, value in knobs.items()))


def test_scratch_directories_are_where_execute_says_for_each_slot(start: Callable[..., Pool], tmp_path: Path) -> None:
    for name in ("all", "second"):
        (tmp_path / name).mkdir()
    config = f"NUM_SLOTS = 2\nEXECUTE = {tmp_path}/all\nSLOT2_EXECUTE = {tmp_path}/second\n"
    pool = start(config)
    (pool.work / "in").write_text("moved\n")
    script = (
        'pwd > where.$1; cat in >> where.$1; echo "$_CONDOR_SCRATCH_DIR" >> where.$1\n'
        "while [ ! -e $2 ]; do sleep 0.1; done"
    )
    jobs = pool.submit(f"arguments = $(Process) {pool.work}/go\n{_TRANSFER}queue 2\n", script=script)
    slots = [pool.seen(f"{jobs}.{proc}", JobStatus=2)["RemoteHost"] for proc in (0, 1)]
    (pool.work / "go").touch()
    pool.wait(jobs)
    for proc, slot in enumerate(slots):
        directory = tmp_path / ("second" if re.match("slot2@", slot) else "all")
        path, text, told = (pool.work / f"where.{proc}").read_text().splitlines()
        assert (Path(path).parent, text, told) == (_own(directory), "moved", path)
    assert {slot.partition("@")[0] for slot in slots} == {"slot1", "slot2"}
    for name in ("all", "second"):
        assert not list(_own(tmp_path / name).glob("dir_*"))


def test_a_job_that_runs_while_execute_changes_keeps_its_directory(start: Callable[..., Pool], tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    pool = start(f"EXECUTE = {tmp_path}/old\n")
    (pool.work / "in").write_text("moved\n")
    script = "pwd > where; while [ ! -e $1 ]; do sleep 0.1; done; cat in >> where"
    job = pool.submit(f"arguments = {pool.work}/go\n{_TRANSFER}", script=script)
    pool.seen(f"{job}.0", JobStatus=2, NumJobStarts=1)
    eventually(lambda: list(_own(tmp_path / "old").glob("dir_*/where")), "the start of the job")
    pool.down("--leave-jobs")
    old = _own(tmp_path / "old")
    (old / "dir_left").mkdir()
    (old / "dir_left" / "file").write_text("of a run that is forgotten")
    (tmp_path / "old" / "dir_of_others").mkdir()
    _set(pool, EXECUTE=tmp_path / "new")
    pool.up()
    assert not (old / "dir_left").exists()
    other = pool.submit("output = other\n", script="pwd")
    (pool.work / "go").touch()
    pool.wait(job, other)
    path, text = (pool.work / "where").read_text().splitlines()
    assert (Path(path).parent, text) == (old, "moved")
    assert not list(old.glob("dir_*"))
    assert pool.job(f"{job}.0")["NumJobStarts"] == 1
    again = pool.submit(f"{_TRANSFER}", script="pwd > again")
    pool.wait(again)
    assert Path((pool.work / "again").read_text().strip()).parent == _own(tmp_path / "new")
    pool.down()
    pool.up()
    # What is neither configured nor used any more goes; what is not of this machine stays.
    eventually(lambda: not old.exists(), "the removal of the old directory")
    assert (tmp_path / "old" / "dir_of_others").is_dir()


def test_an_execute_directory_that_cannot_be_used_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = Pool(tmp_path / "pool", f"EXECUTE = {tmp_path}/missing\nSLOT2_EXECUTE = here\n")
    assert main(["config", "check", "-c", str(pool.home / "roost.config")]) == 1
    text = capsys.readouterr().out
    assert "missing does not exist; create the directory, or name another" in text
    assert "SLOT2_EXECUTE = here is not an absolute path" in text
    try:
        refused = pool.try_("up", "-d")
        assert refused.returncode != 0
        assert "missing does not exist" in refused.stderr + pool.logs()
    finally:
        pool.try_("down", "--fast")
        pool.end_all()
