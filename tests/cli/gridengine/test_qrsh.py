"""Jobs and slave tasks of another user: they run as that user, who alone works with them."""

from __future__ import annotations

import os
import pwd
import termios
import tty
from pathlib import Path

import pytest
from tests.cli.gridengine.kit import USER, Desk, node
from tests.integration.kit import eventually

from roost.classad import parse_expression
from roost.cli.gridengine import description, inheriting, interactive
from roost.cli.gridengine.entry import main
from roost.cli.live import connection
from roost.runtime.queue import submit_host
from roost.schedd import submit

#: Imported before the process is another user's, who may not be able to read them.
assert (
    termios
    and tty
    and connection
    and description
    and inheriting
    and interactive
    and submit_host
    and submit
    and parse_expression
)


def as_user(name: str, streams: Path, told: dict[str, str], *words: str, text: str = "") -> int:
    """Run `qrsh` in a process of a user; its exit status. What it prints is in the files ``out`` and ``err``."""
    account = pwd.getpwnam(name)
    (streams / "in").write_text(text)
    files = [os.open(streams / each, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644) for each in ("out", "err")]
    source = os.open(streams / "in", os.O_RDONLY)
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            for number, file in enumerate((source, *files)):
                os.dup2(file, number)
            os.setgroups([])
            os.setgid(account.pw_gid)
            os.setuid(account.pw_uid)
            os.environ.update(told)
            status = main("qrsh", words)
        finally:
            os._exit(status)
    for file in (source, *files):
        os.close(file)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_tasks_run_as_the_user_of_their_job_and_for_no_other(desks: tuple[Desk, Desk], tmp_path: Path) -> None:
    root, user = desks
    host, work = node(root.pool), user.pool.work
    script = user.script(
        "tasks.sh",
        f"env > {work}/variables.new; mv {work}/variables.new {work}/variables",
        f"while [ ! -e {work}/go ]; do sleep 0.05; done",
    )
    job = user.qsub("-pe", "make", "2", "-cwd", "-j", "y", "-o", f"{work}/out", str(script))
    eventually((work / "variables").exists, lambda: f"{root.pool.jobs()} {root.pool.logs()}")
    given = dict(line.partition("=")[::2] for line in (work / "variables").read_text().splitlines())
    told = {name: given[name] for name in ("JOB_ID", "SGE_TASK_ID", "ROOST_TASKS")}
    what = "id -un; cat; pwd; echo $TMPDIR; ls -ld $TMPDIR; touch mine; echo woe >&2; exit 5"
    words = ("-inherit", "-noshell", host, "/bin/sh", "-c", what)
    assert as_user(USER, tmp_path, told, *words, text="from here\n") == 5, (tmp_path / "err").read_text()
    lines = (tmp_path / "out").read_text().splitlines()
    assert lines[:3] == [USER, "from here", str(work)]
    assert lines[3].startswith(f"/tmp/{job}.1.all.q")
    assert lines[4].startswith("drwx------") and f" {USER} " in lines[4]
    assert (work / "mine").owner() == USER and (tmp_path / "err").read_text() == "woe\n"

    # What leads to the door is of no use to another user, even to root.
    done = root("qrsh", "-inherit", "-nostdin", host, "id", status=1, **told)
    assert done.err == (
        f'error: executing task of job {job} failed: execution daemon on host "{host}" didn\'t accept task\n'
        f"received task belongs to job {job} but that job is not here\n"
    )
    (work / "go").touch()
    root.pool.wait(job)
    eventually(lambda: not Path(lines[3]).exists(), "its TMPDIR is removed")


@pytest.mark.parametrize("terminal", ["n", "y"])
def test_commands_run_as_the_user_who_works_with_them(desks: tuple[Desk, Desk], tmp_path: Path, terminal: str) -> None:
    """The streams belong to the user: a program may open them once more."""
    root, user = desks
    told = {"ROOST_HOME": str(root.pool.home), "HOME": str(user.pool.work), "ROOST_TRACEBACK": "1"}
    what = "id -un; read line < /dev/stdin; echo $line > /dev/stdout; echo woe > /dev/stderr; exit 5"
    words = ("-pty", terminal, "-noshell", "/bin/sh", "-c", what)
    status = as_user(USER, tmp_path, told, *words, text="from here\n")
    assert status == 5, (tmp_path / "err").read_text()
    found = (tmp_path / "out").read_text().replace("\r", "").splitlines()
    echo = ["from here", "woe"] if terminal == "y" else []
    assert sorted(found) == sorted([USER, "from here", *echo])
