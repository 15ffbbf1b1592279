"""`qrsh COMMAND`, `qlogin` and `qsh` on a real pool: streams, statuses, terminals, and what becomes of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.kit import Pool, eventually, running
from tests.integration.terminals import Terminal
from tests.integration.test_cell_jobs import PARTITIONABLE, cell, node

COMMAND = [sys.executable, "-m", "roost.cli.gridengine"]
WAITING = "waiting for interactive job to be scheduled ..."


def in_terminal(pool: Pool, *words: str) -> Terminal:
    """A command that runs in a terminal of its own."""
    return Terminal([*COMMAND, *words], env=environment(pool), cwd=pool.work)


def environment(pool: Pool, **more: str) -> dict[str, str]:
    return {**pool.environment, "ROOST_HOME": str(pool.home), "HOME": str(pool.work), **more}


def command(pool: Pool, *words: str, **more: Any) -> subprocess.Popen[bytes]:
    """A command with pipes."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
    return subprocess.Popen([*COMMAND, *words], env=environment(pool), cwd=pool.work, **pipes)


def done(pool: Pool, *words: str, text: bytes = b"") -> tuple[int, bytes, bytes]:
    process = command(pool, *words)
    out, err = process.communicate(text, timeout=40)
    return process.returncode, out, err


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    place = tmp_path_factory.mktemp("interactive")
    with running(place, PARTITIONABLE, cpus=6) as found:
        cell(found, place / "cell", slots=6)
        yield found


def test_a_command_has_its_streams_and_its_status(pool: Pool) -> None:
    assert done(pool, "qrsh", "echo out; echo err >&2; exit 3") == (3, b"out\n", b"err\n")
    assert done(pool, "qrsh", "cat; echo", "  more", text=b"one\ntwo") == (0, b"one\ntwomore\n", b"")


def test_a_verifier_sees_and_corrects_an_interactive_job(pool: Pool, tmp_path: Path) -> None:
    script = tmp_path / "jsv"
    script.write_text(
        "#!/bin/sh\nwhile read -r word name value; do case $word in START) echo STARTED;; "
        f'PARAM) echo "$name $value" >> {tmp_path}/told;; '
        "BEGIN) echo PARAM N verified; echo ENV ADD FOO new; echo RESULT STATE CORRECT;; esac; done\n"
    )
    script.chmod(0o755)
    words = ("qrsh", "-jsv", str(script), 'echo "$REQUEST $FOO"; exit 4')
    assert done(pool, *words) == (4, b"verified new\n", b"")
    told = (tmp_path / "told").read_text().splitlines()
    assert {"CONTEXT client", "CLIENT qrsh"} <= set(told)


def test_much_goes_both_ways_and_in_order(pool: Pool) -> None:
    data = os.urandom(21_000_000)
    status, out, err = done(pool, "qrsh", "cat", text=data)
    assert (status, len(out), err) == (0, len(data), b"")
    assert out == data
    assert not list((pool.home / "run" / "sessions").glob("*"))


def test_a_job_of_qrsh_is_told_of_itself_and_its_options_act(pool: Pool, tmp_path: Path) -> None:
    words = 'echo $JOB_NAME $JOB_SCRIPT $QUEUE $ENVIRONMENT; pwd; echo "<$FOO>"; ulimit -t'
    (pool.work / ".sge_request").write_text("-v FOO=file -S /bin/nosuch\n")
    (pool.work / "here").mkdir(exist_ok=True)
    try:
        _, out, err = done(pool, "qrsh", "-l", "h_cpu=77", "-wd", str(pool.work / "here"), words)
    finally:
        (pool.work / ".sge_request").unlink()
    assert out.decode().splitlines() == ["echo QRSH all.q BATCH", str(pool.work / "here"), "<file>", "77"], err
    assert done(pool, "qrsh", "-noshell", "echo", "*", "a  b") == (0, b"* a  b\n", b"")
    (pool.work / "script").write_text("#!/bin/sh\nread line\necho $line $1 > /dev/stdout\nexit 4\n")
    assert done(pool, "qrsh", "-b", "n", "script", "end", text=b"the\n") == (4, b"the end\n", b"")
    assert done(pool, "qrsh", "-nostdin", "cat; [ ! -t 1 ]", text=b"x") == (0, b"", b"")
    assert done(pool, "qrsh", "kill -9 $$")[0] == 137


def test_words_and_statuses_are_those_of_grid_engine(pool: Pool) -> None:
    status, out, err = done(pool, "qrsh", "-verbose", "hostname")
    (job,) = [int(word) for word in out.decode().split() if word.isdecimal()]
    assert out.decode().splitlines()[0] == f'Your job {job} ("hostname") has been submitted'
    assert err.decode() == (
        f"{WAITING}\nYour interactive job {job} has been successfully scheduled.\n"
        f"Establishing builtin session to host {node(pool)} ...\n"
    )
    late = 'Your "{}" request could not be scheduled, try again later.\n'
    assert done(pool, "qrsh", "-l", "hostname=nosuch", "true") == (1, b"", late.format("qrsh").encode())
    status, out, err = done(pool, "qlogin", "-l", "hostname=nosuch")
    assert (status, err.decode()) == (1, WAITING + late.format("qlogin"))
    assert '("QLOGIN") has been submitted' in out.decode()
    for words, text in (
        (("qrsh", "-l", "nosuch=1", "true"), 'unknown resource "nosuch"'),
        (("qrsh", "-q", "nosuch.q", "true"), 'Job was rejected because job requests unknown queue "nosuch.q"'),
        (("qrsh", "-pty", "x", "true"), 'error: invalid option argument "-pty x"'),
        (("qrsh", "-pty"), "error: -pty option must have argument"),
        (("qlogin", "hostname"), "error: Unknown option script"),
        (("qsh",), "error: no DISPLAY variable found with interactive job "),
        (("qsh", "-display", ":0"), 'error: local DISPLAY variable ":0" delivered with interactive job '),
    ):
        assert done(pool, *words) == (1, b"", f"{text}\n".encode()), words


def test_a_login_shell_has_a_terminal_with_its_size(pool: Pool) -> None:
    terminal = in_terminal(pool, "qrsh")
    terminal.type("stty size; echo $0; tty; trap 'stty size' WINCH; echo rea''dy\n")
    terminal.expect("31 97")
    terminal.expect("ready")
    assert "/dev/pts/" in terminal.look() and "\n-" in terminal.look().replace("\r", "")
    terminal.resize(42, 111)
    os.kill(terminal.process.pid, signal.SIGWINCH)
    terminal.type("\n")
    terminal.expect("42 111")
    # What is typed goes there as it is: the job is interrupted, and this command is not.
    terminal.type("sleep 500 # lo''ng\n")
    terminal.expect("# lo")
    time.sleep(0.3)
    terminal.type("\x03")
    terminal.type("echo $?; exit 7\n")
    terminal.expect("130")
    assert terminal.end() == 7


def test_pty_gives_a_command_a_terminal_that_ends_with_its_input(pool: Pool) -> None:
    status, out, _ = done(pool, "qrsh", "-pty", "y", "[ -t 0 ] && cat && echo end", text=b"hello\n")
    assert (status, out.replace(b"\r", b"").split()) == (0, [b"hello", b"hello", b"end"])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_job_ends_with_the_command_that_works_with_it(pool: Pool, tmp_path: Path, number: int) -> None:
    mark = tmp_path / "mark"
    process = command(pool, "qrsh", f"echo $$ > {mark}; exec sleep 300")
    eventually(lambda: mark.exists() and mark.read_text().strip(), "the job runs")
    pid = int(mark.read_text())
    os.kill(process.pid, number)
    process.communicate(timeout=20)
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)
    eventually(lambda: not Path(f"/proc/{pid}").exists(), "the job is gone", 30)
    eventually(lambda: not pool.jobs(), "the queue is empty", 30)
    eventually(lambda: not list((pool.home / "run" / "sessions").glob("*")), "nothing is kept", 20)


#: `qrsh` that never learns where its job runs.
SLOW = (
    "import sys, time, roost.cli.gridengine.interactive as i; i.wait_for_machine = lambda *_: time.sleep(1000);"
    "from roost.cli.gridengine.entry import main; sys.exit(main('qrsh', sys.argv[1:]))"
)


@pytest.mark.parametrize("runs", [False, True])
def test_a_command_that_is_killed_before_it_knows_the_machine_leaves_no_session(
    pool: Pool, tmp_path: Path, runs: bool
) -> None:
    mark = tmp_path / "mark"
    text = f"echo $$ > {mark}; exec sleep 300"
    process = subprocess.Popen([sys.executable, "-c", SLOW, text], env=environment(pool), cwd=pool.work)
    if runs:
        eventually(lambda: mark.exists() and mark.read_text().strip(), "the job runs")
    else:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        eventually(lambda: children.read_text().strip(), "there is a process that watches over the command")
    process.kill()
    process.wait(20)
    eventually(lambda: not pool.jobs(), "the queue is empty", 30)
    eventually(lambda: not list((pool.home / "run" / "sessions").glob("*")), "nothing is kept", 20)


def test_a_stopped_command_loses_no_job_and_a_deleted_job_ends_its_command(pool: Pool, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    process = command(pool, "qrsh", f"echo one; while [ ! -e {mark} ]; do sleep 0.05; done; echo two; exec sleep 300")
    assert process.stdout is not None
    assert process.stdout.readline() == b"one\n"
    os.kill(process.pid, signal.SIGSTOP)
    mark.touch()
    time.sleep(1)
    os.kill(process.pid, signal.SIGCONT)
    assert process.stdout.readline() == b"two\n"
    pool("rm", str(pool.jobs()[0]["ClusterId"]))
    process.communicate(timeout=20)
    assert process.returncode in (137, 143)


def test_no_killed_daemon_loses_any_of_the_streams(pool: Pool) -> None:
    process = command(pool, "qrsh", "while read line; do echo got $line; echo err $line >&2; done; echo end; exit 5")
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    for number in range(6):
        process.stdin.write(b"%d\n" % number)
        process.stdin.flush()
        if number % 2:
            for role in ("node", "schedd"):
                pool.kill(role)
        assert process.stdout.readline() == b"got %d\n" % number
    out, err = process.communicate(timeout=40)
    assert (process.returncode, out) == (5, b"end\n")
    assert err == b"".join(b"err %d\n" % number for number in range(6))
