"""The files beside a DAG file."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from roost.runtime.shepherd.processes import boot_id, start_of
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
    for text in ("999999999 12", f"{owner} another-boot 7", "", "of another program"):
        lock.write_text(f"{text}\n")
        assert take_lock(lock)


def test_of_runs_that_begin_together_one_has_the_lock(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom pathlib import Path\nfrom roost.runtime.workflow.files import Locked, take_lock\n"
        "sys.stdin.readline()\n"
        "try:\n    take_lock(Path(sys.argv[1]), own_job=sys.argv[2], patience_s=0)\n    print('has it', flush=True)\n"
        "except Locked:\n    print('locked', flush=True)\nsys.stdin.readline()\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "x.dag.lock")]
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
    assert sorted(said) == ["has it", "locked", "locked", "locked"]


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
