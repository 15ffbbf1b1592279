"""`condor_ssh_to_job` and `condor_submit -interactive` on a real pool: shells, terminals, files, and what ends them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from roost.runtime.processes.shepherd.processes import look
from tests.integration.kit import Pool, eventually, running
from tests.integration.terminals import Terminal

COMMAND = [sys.executable, "-m", "roost.cli.condor"]
#: What the present test has started.
STARTED: list[subprocess.Popen[bytes]] = []
PARTITIONABLE = "NUM_SLOTS_TYPE_1 = 1\nSLOT_TYPE_1_PARTITIONABLE = True\nSLOT_TYPE_1 = 100%\n"


def environment(pool: Pool) -> dict[str, str]:
    return {**pool.environment, "ROOST_HOME": str(pool.home), "HOME": str(pool.work), "SHELL": "/bin/sh", "PS1": "> "}


def start(pool: Pool, *words: str, **more: Any) -> subprocess.Popen[bytes]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
    process = subprocess.Popen([*COMMAND, *words], env=environment(pool), cwd=pool.work, **pipes)
    STARTED.append(process)
    return process


@pytest.fixture(autouse=True)
def close() -> Iterator[None]:
    yield
    while STARTED:
        with STARTED.pop() as process:
            process.kill()


def done(pool: Pool, *words: str, text: bytes = b"") -> tuple[int, str, str]:
    process = start(pool, *words)
    out, err = process.communicate(text, timeout=60)
    return process.returncode, out.decode(), err.decode()


def terminal(pool: Pool, *words: str) -> Terminal:
    return Terminal([*COMMAND, *words], env=environment(pool), cwd=pool.work)


def submit(pool: Pool, script: str, **more: str) -> str:
    """A job that runs; its id."""
    lines = {"executable": "/bin/sh", "transfer_executable": "false", "arguments": f"\"-c '{script}'\"", **more}
    (pool.work / "job.sub").write_text("".join(f"{key} = {value}\n" for key, value in lines.items()) + "queue\n")
    status, out, err = done(pool, "condor_submit", "-terse", "job.sub")
    assert status == 0, err
    job = out.split()[0]
    eventually(lambda: value(pool, job, "JobStatus") == "2", lambda: f"job {job} runs", 20)
    return job


def value(pool: Pool, job: str, name: str) -> str:
    found = done(pool, "condor_q", job, "-af", name)[1].strip()
    return found or done(pool, "condor_history", job, "-af", name)[1].strip()


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    configuration = PARTITIONABLE + "ENABLE_SSH_TO_JOB = TARGET.Closed =!= True\n"
    with running(tmp_path_factory.mktemp("shells"), configuration, cpus=6) as found:
        yield found


@pytest.fixture(scope="module")
def job(pool: Pool) -> str:
    (pool.work / "in.txt").write_text("given\n")
    return submit(
        pool, "echo out > made.txt; exec sleep 300", should_transfer_files="yes",
        transfer_input_files="in.txt", environment="COLOUR=green",
    )  # fmt: skip


def test_a_command_runs_in_the_job_s_directory_with_its_environment_and_status(pool: Pool, job: str) -> None:
    line = "cat in.txt made.txt; echo $COLOUR $_CONDOR_SLOT; echo oops >&2; exit 7"
    status, out, err = done(pool, "condor_ssh_to_job", job, line)
    slot = value(pool, job, "RemoteHost").partition("@")[0]
    assert (status, out, err) == (7, f"given\nout\ngreen {slot}\n", "oops\n")


def test_a_command_is_told_of_the_job_s_processes(pool: Pool, job: str) -> None:
    # HTCondor: the program of the job is the first.
    _, out, _ = done(pool, "condor_ssh_to_job", job, "tr '\\0' ' ' < /proc/${_CONDOR_JOB_PIDS%% *}/cmdline")
    assert out == "sleep 300 "


def test_a_command_reads_what_this_one_reads(pool: Pool, job: str) -> None:
    data = os.urandom(300_000)
    process = start(pool, "condor_ssh_to_job", job, "cat")
    out, _ = process.communicate(data, timeout=60)
    assert out == data


def test_without_a_command_there_is_a_shell_with_a_terminal(pool: Pool, job: str) -> None:
    shell = terminal(pool, "condor_ssh_to_job", job)
    shell.expect("Your condor job is running with pid(s)")
    assert f"Welcome to {value(pool, job, 'RemoteHost')}!" in shell.seen
    shell.type("tty >/dev/null && stty size; cat in.txt\r")
    shell.expect("31 97\r\ngiven")
    shell.resize(22, 66)
    os.kill(shell.process.pid, signal.SIGWINCH)
    shell.type("until test \"$(stty size)\" = '22 66'; do sleep 0.1; done; echo resi''zed\r")
    shell.expect("resized")
    shell.type("exit 5\r")
    assert shell.end() == 5
    assert "Connection to condor-job" in shell.seen


def test_a_shell_without_a_terminal_reads_its_commands(pool: Pool, job: str) -> None:
    assert done(pool, "condor_ssh_to_job", job, text=b"cat made.txt\nexit 3\n") == (3, "out\n", "")


@pytest.mark.parametrize("client", ["scp", "scp -O"])
def test_scp_copies_a_file_of_the_job(pool: Pool, job: str, client: str) -> None:
    status, _, err = done(pool, "condor_ssh_to_job", "-ssh", client, job, "remote:made.txt", "copied.txt")
    if "sftp-server is not installed" in err:
        pytest.skip("there is no sftp-server")
    assert (status, (pool.work / "copied.txt").read_text()) == (0, "out\n"), err
    (pool.work / "copied.txt").unlink()


def test_sftp_brings_a_file_into_the_job_s_directory(pool: Pool, job: str) -> None:
    (pool.work / "brought.txt").write_text("brought\n")
    status, _, err = done(pool, "condor_ssh_to_job", "-ssh", "sftp", job, text=b"put brought.txt\n")
    if "sftp-server is not installed" in err:
        pytest.skip("there is no sftp-server")
    assert status == 0, err
    assert done(pool, "condor_ssh_to_job", job, "cat brought.txt")[1] == "brought\n"


def test_a_job_that_is_not_there_or_held_is_refused(pool: Pool, job: str) -> None:
    assert done(pool, "condor_ssh_to_job", "99.0", "true") == (1, "", "ERROR: Job 99.0 is not in the queue.\n")
    (pool.work / "held.sub").write_text("executable=/bin/true\nhold=true\nqueue\n")
    held = done(pool, "condor_submit", "-terse", "held.sub")[1].split()[0]
    status, _, err = done(pool, "condor_ssh_to_job", "-auto-retry", held, "true")
    assert status == 1 and f"Job {held} is held" in err


def test_the_run_lasts_as_long_as_its_shells(pool: Pool) -> None:
    job = submit(pool, "while ! test -e go; do sleep 0.1; done", should_transfer_files="yes")
    line = "echo $_CONDOR_JOB_PIDS; touch go; read line; echo $line > late.txt"
    shell = start(pool, "condor_ssh_to_job", job, line)
    assert shell.stdout is not None
    pid = int(shell.stdout.readline().split()[0])
    eventually(lambda: look(pid) is None, lambda: f"{pid} has ended", 20)
    assert value(pool, job, "JobStatus") == "2"
    shell.communicate(b"after\n", timeout=30)
    eventually(lambda: value(pool, job, "JobStatus") == "4", lambda: "the job is done", 20)
    # Made by the shell after the program's end, and brought back with the output.
    assert (pool.work / "late.txt").read_text() == "after\n"


def test_removing_the_job_ends_its_shells(pool: Pool) -> None:
    job = submit(pool, "exec sleep 300")
    shell = start(pool, "condor_ssh_to_job", job, "trap true HUP; echo $$; while :; do sleep 1; done")
    assert shell.stdout is not None
    pid = int(shell.stdout.readline())
    done(pool, "condor_rm", job)
    eventually(lambda: look(pid) is None, lambda: f"{pid} has ended", 30)
    assert shell.wait(30) != 0


def test_a_shell_stands_still_with_its_job(pool: Pool) -> None:
    job = submit(pool, "exec sleep 300")
    line = "echo $$; while :; do echo >> %s; sleep 0.02; done" % (pool.work / "ticks")
    shell = start(pool, "condor_ssh_to_job", job, line)
    assert shell.stdout is not None
    pid = int(shell.stdout.readline())
    eventually(lambda: _ticks(pool), "it ticks", 20)
    done(pool, "condor_suspend", job)
    eventually(lambda: not _ticks(pool), "it stands still", 20)
    done(pool, "condor_continue", job)
    eventually(lambda: _ticks(pool), "it goes on", 20)
    shell.kill()
    # The command is gone: so is what it was connected to, and the job stays.
    eventually(lambda: look(pid) is None, lambda: f"{pid} has ended", 20)
    assert value(pool, job, "JobStatus") == "2"


def _ticks(pool: Pool) -> bool:
    """Whether the shell writes in half a second what takes it 0.02 s."""
    path = pool.work / "ticks"
    before = path.stat().st_size if path.exists() else 0
    time.sleep(0.5)
    return path.exists() and path.stat().st_size > before


def test_an_interactive_job_is_a_shell_and_ends_with_it(pool: Pool) -> None:
    shell = terminal(pool, "condor_submit", "-i")
    shell.expect("Welcome to slot1_")
    shell.type("echo made > from-shell.txt\r")
    shell.type("exit\r")
    assert shell.end() == 0
    assert "1 job(s) submitted to cluster" in shell.seen
    job = shell.seen.partition("to cluster ")[2].partition(".")[0] + ".0"
    eventually(lambda: value(pool, job, "JobStatus") == "4", lambda: "the job is done", 20)
    assert value(pool, job, "ExitCode") == "0" and value(pool, job, "InteractiveJob") == "true"
    assert value(pool, job, "Cmd") == "/bin/sleep"


def test_an_interactive_job_takes_its_request_from_a_description(pool: Pool) -> None:
    (pool.work / "big.sub").write_text("executable=/nowhere\nrequest_cpus=2\nenvironment=COLOUR=blue\nqueue\n")
    shell = start(pool, "condor_submit", "-i", "big.sub")
    out, _ = shell.communicate(b"echo $COLOUR; grep ^Cpus $_CONDOR_MACHINE_AD\n", timeout=40)
    assert out.decode().endswith("blue\nCpus = 2\n")


def test_an_interrupt_removes_an_interactive_job(pool: Pool) -> None:
    (pool.work / "never.sub").write_text("requirements=False\nqueue\n")
    waiting = start(pool, "condor_submit", "-i", "never.sub")
    assert waiting.stdout is not None and waiting.stderr is not None
    line = b""
    while b"cluster" not in line:
        line = waiting.stdout.readline()
    job = line.split()[-1].rstrip(b".") + b".0"
    waiting.stderr.readline()
    waiting.send_signal(signal.SIGINT)
    assert waiting.wait(20) == 130
    eventually(lambda: value(pool, job.decode(), "JobStatus") == "3", lambda: "the job is removed", 20)


def test_shells_outlive_the_machine_s_daemon(pool: Pool) -> None:
    job = submit(pool, "exec sleep 300")
    shell = start(pool, "condor_ssh_to_job", job, "echo begun; read line; echo got $line")
    assert shell.stdout is not None and shell.stdin is not None
    assert shell.stdout.readline() == b"begun\n"
    pool.kill("execute")
    shell.stdin.write(b"it\n")
    shell.stdin.close()
    assert shell.stdout.readline() == b"got it\n"
    assert shell.wait(40) == 0


def test_a_machine_may_refuse_shells(pool: Pool) -> None:
    (pool.work / "closed.sub").write_text(
        "executable=/bin/sleep\ntransfer_executable=false\narguments=300\nMy.Closed=true\nqueue\n"
    )
    job = done(pool, "condor_submit", "-terse", "closed.sub")[1].split()[0]
    status, _, err = done(pool, "condor_ssh_to_job", "-auto-retry", job, "true")
    assert status == 1 and f"ENABLE_SSH_TO_JOB of this machine is not TRUE for job {job}" in err
