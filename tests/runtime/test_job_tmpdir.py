"""The TMPDIR of a job of a cell: nothing but that is removed, whatever happened to the record of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from roost.runtime.node.runs import job_tmpdir
from roost.runtime.node.runs.job_tmpdir import make_tmpdir, remove_tmpdir, removed_at_once, tmpdir_of
from roost.runtime.processes.sandbox import SandboxFailed


def test_a_directory_that_is_there_is_left_alone(tmp_path: Path) -> None:
    listed = tmp_path / "run.tmpdir"
    (tmp_path / "1.1.all.q").mkdir()
    path = make_tmpdir(tmp_path, "1.1.all.q", listed, None)
    assert path == tmp_path / "1.1.all.q.2" == tmpdir_of(listed)
    (path / "file").write_text("x")
    assert not remove_tmpdir(listed)
    assert [each.name for each in tmp_path.iterdir()] == ["1.1.all.q"]


def test_what_cannot_be_listed_is_not_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, data: bytes) -> int:
        return write(descriptor, data[:5])

    write = os.write
    monkeypatch.setattr(os, "write", full)
    with pytest.raises(SandboxFailed, match="No space left"):
        make_tmpdir(tmp_path, "1.1.all.q", tmp_path / "run.tmpdir", None)
    assert not list(tmp_path.iterdir())


def test_only_a_directory_without_anything_in_it_is_removed_at_once(tmp_path: Path) -> None:
    listed = tmp_path / "run.tmpdir"
    path = make_tmpdir(tmp_path, "1.1.all.q", listed, None)
    (path / "file").touch()
    assert not removed_at_once(path, listed)
    assert (path / "file").exists() and tmpdir_of(listed) == path
    (path / "file").unlink()
    assert removed_at_once(path, listed)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("data", [b"", b"/", b"relative", bytes(20)])
def test_a_record_that_was_lost_removes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(job_tmpdir, "remove_tree", lambda path: pytest.fail(f"{path} is removed"))
    (tmp_path / "relative").mkdir()
    listed = tmp_path / "run.tmpdir"
    listed.write_bytes(data)
    assert tmpdir_of(listed) is None and not remove_tmpdir(listed)
    assert (tmp_path / "relative").exists()


def test_a_link_in_its_place_is_removed_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/file").touch()
    path = make_tmpdir(tmp_path, "1.1.all.q", tmp_path / "a.tmpdir", None)
    path.rmdir()
    path.symlink_to(tmp_path / "precious")
    assert remove_tmpdir(tmp_path / "a.tmpdir") == ""
    assert (tmp_path / "precious/file").exists() and not path.is_symlink()


def test_a_directory_that_cannot_be_made_names_the_attribute(tmp_path: Path) -> None:
    with pytest.raises(SandboxFailed, match="see the queue's `tmpdir`"):
        make_tmpdir(tmp_path / "nosuch", "1.1.all.q", tmp_path / "a.tmpdir", None)
