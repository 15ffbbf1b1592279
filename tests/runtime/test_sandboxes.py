"""Scratch directories that are used again: only where nothing of a job is in them, and nobody else knows them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from roost.classad import ClassAd
from roost.runtime.node.runs.job_environment import JOB_AD, MACHINE_AD, write_ads
from roost.runtime.node.runs.reused_sandboxes import ASIDE, SPARE_MAX, Sandboxes
from roost.runtime.processes.accounts import Account
from roost.runtime.processes.sandbox import Sandbox, remove_tree


def _in_a_loop(work: Callable[[], None]) -> None:
    async def main() -> None:
        work()

    asyncio.run(main())


def _used(sandboxes: Sandboxes, name: str) -> Sandbox:
    sandbox = sandboxes.make(name)
    write_ads(sandbox.path, ClassAd({"JobOf": name, "Long": "x" * 1000}), ClassAd({"Name": "slot1"}))
    return sandbox


def test_the_next_job_gets_the_directory_of_the_last_one_and_sees_nothing_of_it(tmp_path: Path) -> None:
    def work() -> None:
        sandboxes = Sandboxes(tmp_path)
        first = _used(sandboxes, "1.0")
        (first.path / "core").write_text("left behind")
        inode = first.path.stat().st_ino
        assert sandboxes.removed_at_once(first)
        assert not first.path.exists()
        second = sandboxes.make("2.0")
        assert second.path == tmp_path / "dir_2.0"
        assert second.path.stat().st_ino == inode
        assert {each.name: each.read_text() for each in second.path.iterdir()} == {JOB_AD: "", MACHINE_AD: ""}
        write_ads(second.path, ClassAd({"Owner": "me"}), ClassAd({"Name": "slot2"}))
        assert (second.path / JOB_AD).read_text() == 'Owner = "me"\n'
        assert sandboxes.removed_at_once(second)
        sandboxes.close()
        assert list(tmp_path.iterdir()) == []

    _in_a_loop(work)


def _linked(path: Path) -> None:
    os.link(path / JOB_AD, path.parent / "kept")


def _pointing(path: Path) -> None:
    (path / JOB_AD).unlink()
    (path / JOB_AD).symlink_to(path.parent / "victim")


def _changed(path: Path) -> None:
    path.chmod(0o755)


def _marked(path: Path) -> None:
    try:
        os.setxattr(path, "user.mark", b"1")
    except OSError:
        pytest.skip("no extended attributes here")


def _deep(path: Path) -> None:
    (path / "inner").mkdir()


@pytest.mark.parametrize("what", [_linked, _pointing, _changed, _marked, _deep])
def test_a_directory_to_which_a_job_has_done_something_is_not_used_again(
    what: Callable[[Path], None], tmp_path: Path
) -> None:
    def work() -> None:
        (tmp_path / "victim").write_text("untouched")
        sandboxes = Sandboxes(tmp_path)
        sandbox = _used(sandboxes, "1.0")
        what(sandbox.path)
        if not sandboxes.removed_at_once(sandbox):
            assert sandbox.remove() == ""
        assert not sandbox.path.exists()
        assert not (tmp_path / ASIDE).exists()
        assert (tmp_path / "victim").read_text() == "untouched"
        if (tmp_path / "kept").exists():
            assert "JobOf" in (tmp_path / "kept").read_text()

    _in_a_loop(work)


def test_directories_of_users_are_not_used_again(tmp_path: Path) -> None:
    def work() -> None:
        sandboxes = Sandboxes(tmp_path)
        assert sandboxes.removed_at_once(_used(sandboxes, "1.0"))
        me = Account(name="me", uid=os.getuid(), gid=os.getgid(), groups=(), home=tmp_path, shell="/bin/sh")
        inode = next((tmp_path / ASIDE).iterdir()).stat().st_ino
        assert sandboxes.make("2.0", owner=me).path.stat().st_ino != inode
        assert sandboxes.make("3.0", permissions="world").path.stat().st_ino != inode

    _in_a_loop(work)


def test_not_more_are_kept_than_a_busy_machine_needs(tmp_path: Path) -> None:
    def work() -> None:
        sandboxes = Sandboxes(tmp_path)
        used = [_used(sandboxes, str(number)) for number in range(SPARE_MAX + 3)]
        assert all(map(sandboxes.removed_at_once, used))
        assert len(list((tmp_path / ASIDE).iterdir())) == SPARE_MAX
        # Somebody tidies up by hand.
        for each in (tmp_path / ASIDE).iterdir():
            Sandbox(path=each).remove()
        assert sandboxes.make("new").path.is_dir()

    _in_a_loop(work)


def test_a_tree_from_which_something_goes_meanwhile_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user whose job it was may; the starter met an internal error then, and its slot was not free again."""
    (tmp_path / "dir" / "a").mkdir(parents=True)
    unlink = os.unlink

    def unlink_and_lose(name: str, *, dir_fd: int) -> None:
        try:
            unlink(name, dir_fd=dir_fd)
        except OSError:
            os.rmdir(name, dir_fd=dir_fd)
            raise

    monkeypatch.setattr(os, "unlink", unlink_and_lose)
    assert remove_tree(tmp_path / "dir") == ""
    assert not (tmp_path / "dir").exists()
