"""Files that are whole or not there at all, whatever writes besides them and whatever dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from roost.runtime.files.whole_files import FOREIGN_S, open_beside, sweep, write_first, write_whole
from roost.runtime.home import Home
from roost.runtime.node.runs.reports import file_name

_KILLED = """
import os, signal, sys
from pathlib import Path
from roost.runtime.files.whole_files import open_beside
for name in sys.argv[2:]:
    os.write(open_beside(Path(sys.argv[1], name))[0], b"half")
print("written", flush=True)
signal.pause()
"""


def _names(directory: Path) -> list[str]:
    return sorted(each.name for each in directory.iterdir())


def test_many_writers_of_one_file_all_succeed_and_one_of_them_wins_whole(tmp_path: Path) -> None:
    contents = [f"{number:05}\n" * 2_000 for number in range(400)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda text: write_whole(tmp_path / "target", text), contents))
    assert (tmp_path / "target").read_text() in contents
    assert _names(tmp_path) == ["target"]


def test_a_failed_write_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "target" / "within").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        write_whole(tmp_path / "target", "text")
    assert _names(tmp_path) == ["target"]
    write_whole(tmp_path / "private", b"\xff", mode=0o600)
    assert ((tmp_path / "private").read_bytes(), (tmp_path / "private").stat().st_mode & 0o777) == (b"\xff", 0o600)


def test_of_those_who_write_first_there_is_one(tmp_path: Path) -> None:
    def first(number: int) -> bool:
        try:
            write_first(tmp_path / "target", str(number))
        except FileExistsError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = [number for number, done in enumerate(pool.map(first, range(200))) if done]
    assert [int((tmp_path / "target").read_text())] == won
    assert _names(tmp_path) == ["target"]


def test_daemons_that_start_together_have_one_secret(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.make()
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: home.secret(), range(64)))
    assert len(found) == 1 and len(found.pop()) == 32


def test_what_a_killed_writer_left_is_swept_and_what_a_living_one_writes_is_not(tmp_path: Path) -> None:
    (tmp_path / ".roost-other.tmp").touch()
    command = [sys.executable, "-c", _KILLED, str(tmp_path), "a", "b"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as killed:
        assert killed.stdout is not None
        killed.stdout.readline()
        descriptor, own = open_beside(tmp_path / "a")
        os.close(descriptor)
        assert len(_names(tmp_path)) == 4
        sweep(tmp_path)
        assert len(_names(tmp_path)) == 4
        killed.send_signal(signal.SIGKILL)
        # A zombie writes nothing any more.
        os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)
        sweep(tmp_path, ["a"])
        assert len(_names(tmp_path)) == 3
        sweep(tmp_path)
        assert _names(tmp_path) == sorted((".roost-other.tmp", own.name))


def test_writers_of_other_machines_are_given_a_day(tmp_path: Path) -> None:
    descriptor, own = open_beside(tmp_path / "a")
    os.close(descriptor)
    parts = own.name.split("-")
    foreign = own.with_name("-".join((*parts[:2], "0" * 12, *parts[3:])))
    own.rename(foreign)
    sweep(tmp_path)
    assert _names(tmp_path) == [foreign.name]
    long_ago = time.time() - FOREIGN_S - 60
    os.utime(foreign, (long_ago, long_ago))
    sweep(tmp_path)
    assert _names(tmp_path) == []


def test_an_earlier_boots_writer_is_dead(tmp_path: Path) -> None:
    descriptor, own = open_beside(tmp_path / "a")
    os.close(descriptor)
    parts = own.name.split("-")
    own.rename(own.with_name("-".join((*parts[:3], "0" * 12, *parts[4:]))))
    sweep(tmp_path)
    assert _names(tmp_path) == []


def test_names_of_runs_are_names_of_files_each_its_own() -> None:
    runs = [
        "1.0#1@vm",
        "1.0_1_vm",
        "1.0_1@vm",
        "1.0#1@q_1@h",
        "1.0#1@q@1_h",
        "1.0#1@q/1",
        "1.0#1@q 1",
        "1.0#11@vm",
        "1.0#1#1@vm",
    ]
    names = [file_name(run) for run in runs]
    assert names[0] == "1.0_1_vm"
    assert len(set(names)) == len(runs)
    assert not [name for name in names if set(name) & set("/# @")]
    assert len(file_name("x/" * 2000)) < 200


def test_a_state_directory_says_when_its_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path)
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_bavail=1, f_blocks=9))
    assert home.full() == ""
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_bavail=0, f_blocks=9))
    assert f"the disk of {tmp_path} is full" in home.full()
