"""The files next to a DAG file."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from roost.runtime.processes.shepherd.processes import boot_id, start_of
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
    owner = f"{os.getppid()} {start_of(os.getppid())}"
    for text in (owner, f"{owner} {boot_id()} 7"):
        lock.write_text(f"{text}\n")
        with pytest.raises(Locked, match=f"process {os.getppid()}"):
            take_lock(lock, own_job="8", patience_s=0)
    for text in ("999999999 12", f"{owner} another-boot 7"):
        lock.write_text(f"{text}\n")
        assert take_lock(lock)


def test_a_lock_that_names_no_process_is_waited_for(tmp_path: Path) -> None:
    lock = tmp_path / "x.dag.lock"
    for text in ("", "of another program"):
        lock.write_text(f"{text}\n")
        began = time.monotonic()
        assert take_lock(lock, patience_s=0.3)
        assert time.monotonic() - began >= 0.3
        lock.write_text(f"{text}\n")
        gone = threading.Timer(0.2, lock.unlink)
        gone.start()
        assert take_lock(lock, patience_s=3600)
        gone.join()
        assert lock.read_text().split()[0] == str(os.getpid())


def test_of_runs_that_find_a_dead_owner_together_one_has_the_lock(tmp_path: Path) -> None:
    for number in range(5):
        lock = tmp_path / f"{number}.dag.lock"
        lock.write_text("999999999 12 another-boot 7\n")
        assert sorted(_said_by_four(lock)) == ["has it", "locked", "locked", "locked"]


def test_of_runs_that_begin_together_one_has_the_lock(tmp_path: Path) -> None:
    assert sorted(_said_by_four(tmp_path / "x.dag.lock")) == ["has it", "locked", "locked", "locked"]


def _said_by_four(lock: Path) -> list[str]:
    """What four runs say that are begun at the same instant."""
    script = (
        "import sys\nfrom pathlib import Path\nfrom roost.runtime.workflow.files import Locked, take_lock\n"
        "sys.stdin.readline()\n"
        "try:\n    take_lock(Path(sys.argv[1]), own_job=sys.argv[2], patience_s=0)\n    print('has it', flush=True)\n"
        "except Locked:\n    print('locked', flush=True)\nsys.stdin.readline()\n"
    )
    command = [sys.executable, "-c", script, str(lock)]
    runs = [
        subprocess.Popen([*command, str(job)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for job in range(4)
    ]
    said = []
    for word in ("begin", "end"):
        for run in runs:
            assert run.stdin is not None and run.stdout is not None
            run.stdin.write(f"{word}\n")
            run.stdin.flush()
        if word == "begin":
            said = [run.stdout.readline().strip() for run in runs if run.stdout is not None]
    for run in runs:
        run.communicate()
    return said


def test_a_process_that_has_ended_owns_no_lock_though_nothing_has_waited_for_it(tmp_path: Path) -> None:
    """In a container the first process may never do that."""
    lock = tmp_path / "x.dag.lock"
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as ended:
        lock.write_text(f"{ended.pid} {start_of(ended.pid)} {boot_id()} 7\n")
        with pytest.raises(Locked):
            take_lock(lock, own_job="8", patience_s=0)
        ended.kill()
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        assert take_lock(lock, own_job="8", patience_s=0)


def test_an_earlier_process_of_the_same_run_is_waited_for(tmp_path: Path) -> None:
    lock = tmp_path / "x.dag.lock"
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as earlier:
        lock.write_text(f"{earlier.pid} {start_of(earlier.pid)} {boot_id()} 7\n")
        timer = threading.Timer(0.3, earlier.kill)
        timer.start()
        assert take_lock(lock, own_job="7", patience_s=0)
        timer.join()
    assert lock.read_text().split()[0] == str(os.getpid())
