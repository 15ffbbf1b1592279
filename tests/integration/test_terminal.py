"""The commands that people use all day, on a real pool: run, logs, ssh, retry, watch, top, and the summary of wait."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.integration.kit import Pool, eventually, running

ROOST = [sys.executable, "-m", "roost.cli"]
STEPS = "for i in 1 2 3; do echo step $i; sleep 0.4; done; echo sorry >&2; exit 3"


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    with running(tmp_path_factory.mktemp("terminal"), cpus=3) as pool:
        yield pool


@contextmanager
def start(pool: Pool, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command that has been started; it is killed if a test fails while it runs."""
    environment = {**pool.environment, "ROOST_HOME": str(pool.home)}
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*ROOST, *words], env=environment, cwd=pool.work, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def the_jobs(pool: Pool, status: int) -> list[dict[str, Any]]:
    """The jobs of that status, once there are any: those of earlier tests may still be leaving."""
    return eventually(lambda: [job for job in pool.jobs() if job["JobStatus"] == status])


def done(pool: Pool, *words: str) -> tuple[int, bytes, bytes]:
    with start(pool, *words) as process:
        out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def test_a_command_runs_as_a_job_with_its_streams_files_and_status(pool: Pool) -> None:
    code = "printf 'a\\377b'; echo \"$1\" >&2; echo made > made.txt; exit 7"
    status, out, err = done(pool, "run", "--", "sh", "-c", code, "sh", 'it\'s "$HOME" $(x)  y')
    assert (status, out, err) == (7, b"a\xffb", b'it\'s "$HOME" $(x)  y\n')
    assert (pool.work / "made.txt").read_text() == "made\n"
    status, _, err = done(pool, "run", "sh", "-c", "kill -9 $$")
    assert (status, err) == (137, b"")
    (pool.work / "own.sh").write_text('#!/bin/sh\ncat "$1"; echo "$PWD"\n')
    (pool.work / "own.sh").chmod(0o755)
    status, out, _ = done(pool, "run", "--input", "made.txt", "./own.sh", "made.txt")
    first, second = out.decode().splitlines()
    assert (status, first) == (0, "made")
    # It ran from where its file was taken to.
    assert Path(second) != pool.work
    assert not list(pool.work.glob("roost-run-*"))


def test_a_command_that_runs_shows_what_it_prints_while_it_runs(pool: Pool) -> None:
    with start(pool, "run", "sh", "-c", "echo first; while ! test -e go; do sleep 0.1; done; echo second") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"first\n"
        (job,) = the_jobs(pool, 2)
        name = f"{job['ClusterId']}.0"
        assert done(pool, "ssh", name, "touch", "go")[0] == 0
        out, err = process.communicate(timeout=60)
    assert (out, err, process.returncode) == (b"second\n", b"", 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_command_that_is_interrupted_removes_its_job(pool: Pool, number: signal.Signals) -> None:
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("the tests run in the background of a shell, where commands ignore interrupts")
    with start(pool, "run", "sh", "-c", "echo here; sleep 1000") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"here\n"
        process.send_signal(number)
        process.communicate(timeout=60)
    assert process.returncode == (-9 if number == signal.SIGKILL else 128 + number)
    eventually(lambda: not pool.jobs())


def test_a_command_that_cannot_run_says_why(pool: Pool) -> None:
    assert b"run needs a command" in done(pool, "run")[2]
    status, _, err = done(pool, "run", "./absent")
    assert status == 2
    assert b"./absent: no such file" in err
    with start(pool, "run", "-a", "requirements = TARGET.Nothing == 3", "true") as process:
        assert process.stderr is not None
        assert re.fullmatch(rb"roost: job \d+\.0 waits for a machine: .*\n", process.stderr.readline())
        (job,) = the_jobs(pool, 1)
        pool("rm", f"{job['ClusterId']}.0", "--reason", "not now")
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"was removed" in err
    assert b"not now" in err


def test_logs_of_a_job_that_waits_runs_and_has_ended_are_the_same(pool: Pool) -> None:
    cluster = pool.submit("output = o.$(Process)\nerror = e.$(Process)\nhold = true\nqueue 2", script=STEPS)
    status, _, err = done(pool, "logs", str(cluster))
    assert status == 2
    assert b"o.0: No such file or directory" in err
    pool("release", str(cluster))
    with start(pool, "logs", "-f", "--stream", "out", f"{cluster}.0") as process:
        followed, _ = process.communicate(timeout=60)
    assert (process.returncode, followed) == (0, b"step 1\nstep 2\nstep 3\n")
    pool.wait(cluster, status=1)
    status, out, err = done(pool, "logs", f"{cluster}.1")
    assert (status, out, err) == (0, b"step 1\nstep 2\nstep 3\n", b"sorry\n")
    assert done(pool, "logs", "-n", "1", "--stream", "out", f"{cluster}.1")[1] == b"step 3\n"
    assert done(pool, "logs", "-n", "0", "--stream", "out", f"{cluster}.1")[1] == b""
    rows = json.loads(pool("logs", "--json", str(cluster)))
    assert [(row["job"], row["stream"], row["text"]) for row in rows] == [
        (f"{cluster}.{proc}", stream, text)
        for proc in range(2)
        for stream, text in (("out", "step 1\nstep 2\nstep 3\n"), ("err", "sorry\n"))
    ]


def test_logs_are_read_while_the_job_runs_and_its_files_are_elsewhere(pool: Pool) -> None:
    cluster = pool.submit(
        "output = moved.out\nshould_transfer_files = yes\n", script="echo now; while ! test -e go; do sleep 0.1; done"
    )
    eventually(lambda: done(pool, "logs", str(cluster))[1] == b"now\n")
    assert not (pool.work / "moved.out").exists()
    (row,) = json.loads(pool("logs", "--stream", "out", "--json", str(cluster)))
    assert row["path"].endswith("/_condor_stdout")
    assert done(pool, "ssh", str(cluster), "touch", "go")[0] == 0
    pool.wait(cluster)


def test_logs_of_a_job_that_begins_again_begin_again(pool: Pool) -> None:
    cluster = pool.submit(
        "output = again.out\nshould_transfer_files = yes\n",
        script='echo "a long first line, run $_CONDOR_NUM"; test $NEW && exit 0; sleep 1000',
    )
    with start(pool, "logs", "-f", str(cluster)) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"a long first line")
        pool("hold", str(cluster))
        pool("edit", str(cluster), "--set", 'Environment="NEW=1"')
        pool("release", str(cluster))
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    # Either it was seen that there was less, or the same was there when it was looked at again.
    assert out.count(b"a long first line") <= 1
    assert (pool.work / "again.out").read_text().startswith("a long first line")


def _comparable(ad: dict[str, Any]) -> dict[str, Any]:
    """What two submissions of the same description have in common."""
    own = {"ClusterId", "GlobalJobId", "QDate", "EnteredCurrentStatus", "SubmitRequestId", "LastRejMatchTime",
           "LastRejMatchReason", "AutoClusterId", "AutoClusterAttrs"}  # fmt: skip
    return {name: value for name, value in ad.items() if name not in own}


def test_jobs_that_failed_run_again_as_they_were(pool: Pool) -> None:
    text = """executable = /bin/sh
transfer_executable = false
arguments = "-c 'echo $(Process); exit $(Process)'"
output = r.$(Process)
environment = "A=1 B='x y'"
+Foo = strcat("a", "b")
max_retries = 0
periodic_hold = NumJobStarts > 12
rank = KFlops
requirements = TARGET.Nothing =!= 3
accounting_group = group_x
concurrency_limits = x:1
request_disk = 12MB
priority = 5
batch_name = again
job_lease_duration = 100
queue 3
"""
    cluster = pool.submit(text)
    before = pool.jobs(cluster)
    pool.wait(cluster, status=1)
    said = json.loads(pool("retry", "--json", str(cluster)))
    again = said["cluster"]
    assert said["of"] == [f"{cluster}.1", f"{cluster}.2"]
    pool.wait(again, status=1)
    after = [pool.job(f"{again}.{proc}") for proc in range(2)]
    assert [ad["ExitCode"] for ad in after] == [1, 2]
    fields = {"Arguments", "Out", "Environment", "Foo", "OnExitRemove", "PeriodicHold", "Rank", "Requirements",
              "AccountingGroup", "ConcurrencyLimits", "RequestDisk", "JobPrio", "JobBatchName", "JobLeaseDuration",
              "Iwd", "UserLog", "Cmd"}  # fmt: skip
    for old, new in zip(before[1:], after, strict=True):
        assert {name: new.get(name) for name in fields} == {name: old.get(name) for name in fields}
        assert (new["NumJobStarts"], new["JobRunCount"]) == (1, 1)


def test_a_job_that_was_removed_is_submitted_again_as_by_its_description(pool: Pool) -> None:
    text = 'executable = /bin/true\nrequirements = TARGET.Nothing == 3\nrequest_memory = 64\n+Bar = "b"\n'
    cluster = pool.submit(f"{text}max_retries = 2\n")
    (before,) = pool.jobs(cluster)
    pool("rm", str(cluster))
    pool.wait(cluster, status=1)
    again = json.loads(pool("retry", "--json", str(cluster)))["cluster"]
    (after,) = pool.jobs(again)
    assert _comparable(after) == _comparable(before)
    more = json.loads(pool("retry", "--json", "--memory", "99", f"{cluster}.0"))["cluster"]
    assert pool.jobs(more)[0]["RequestMemory"] == 99
    pool("hold", str(more))
    eventually(lambda: pool.jobs(more)[0]["JobStatus"] == 5)
    assert json.loads(pool("retry", "--json", "--memory", "77", str(more))) == {
        "cluster": None, "of": [], "released": [f"{more}.0"],
    }  # fmt: skip
    assert [(ad["RequestMemory"], ad["JobStatus"]) for ad in pool.jobs(more)] == [(77, 1)]
    assert "has no failed jobs; 1 job still idle or running" in pool.try_("retry", str(more)).stderr
    assert "99999 has no failed jobs" in pool.try_("retry", "99999").stderr
    pool("rm", str(more), str(again))


def test_waiting_ends_with_a_summary(pool: Pool) -> None:
    cluster = pool.submit("output = s.o\nerror = s.$(Process)\nqueue 2", script="echo no such knob >&2; exit $1")
    pool.wait(cluster)
    bad = pool.submit("error = s.b", script="echo one >&2; echo the disk is full >&2; exit 4")
    done_ = pool.try_("wait", str(cluster), str(bad))
    lines = done_.stdout.splitlines()
    assert done_.returncode == 1
    assert lines[:3] == [f"job {bad}.0 ended with status 4", "    one", "    the disk is full"]
    assert lines[3].startswith("3 jobs ended, 2 of them with status 0")
    assert f"`roost retry {bad}`" in lines[4]
    data = json.loads(pool.try_("wait", "--json", str(bad)).stdout)
    assert data["last_lines"] == {f"{bad}.0": ["one", "the disk is full"]}
    assert data["ended"] == 1


def test_batches_are_watched_until_all_jobs_have_ended(pool: Pool) -> None:
    script = f"while ! test -e {pool.work}/end; do sleep 0.1; done"
    first = pool.submit("batch_name = w\nqueue 2", script=script)
    second = pool.submit("executable = /bin/sleep\narguments = 1000\nbatch_name = w\nhold = true")
    eventually(lambda: sum(ad["JobStatus"] == 2 for ad in pool.jobs(first)) == 2)
    lines = pool("queue").splitlines()
    assert lines[1].split()[-5:] == ["2", "-", "1", "3", "w"]
    (batch,) = json.loads(pool("queue", "--batches", "--json"))
    assert (batch["clusters"], batch["running"], batch["held"], batch["total"]) == ([first, second], 2, 1, 3)
    with start(pool, "watch", "--json", "--interval", "0.2") as process:
        assert process.stdout is not None
        (seen,) = json.loads(process.stdout.readline())
        assert (seen["done"], seen["total"], seen["left_s"]) == (0, 3, None)
        (pool.work / "end").touch()
        pool("rm", str(second))
        out, _ = process.communicate(timeout=60)
    (last,) = json.loads(out.splitlines()[-1])
    assert (last["done"], last["total"], last["left_s"]) == (3, 3, 0)
    assert process.returncode == 0
    assert "no jobs are in the queue" in pool.try_("watch").stderr


def test_what_running_jobs_use_is_shown(pool: Pool) -> None:
    cluster = pool.submit("request_memory = 200\nbatch_name = busy", script="while ! test -e over; do :; done")
    eventually(lambda: pool.job(cluster).get("CpusUsage", 0) >= 0.02)
    lines = pool("top", "--once", "--sort", "memory").splitlines()
    words = lines[1].split()
    assert (words[0], words[4], words[6], words[-1]) == (f"{cluster}.0", "1", "200", "busy")
    assert float(words[3]) >= 0.02
    (row,) = json.loads(pool("top", "--json"))
    assert row["RequestMemory"] == 200
    pool("rm", str(cluster))
    eventually(lambda: not pool.jobs())
    assert pool("top").splitlines()[-1] == "no jobs are running"


def test_a_dry_run_is_a_table(pool: Pool) -> None:
    text = "executable = /bin/echo\narguments = $(x)\nrequest_memory = 1GB\noutput = o.$(x)\nqueue x from seq 60 |\n"
    lines = pool("submit", "--dry-run", "-", text=text).splitlines()
    assert lines[0].split() == ["JOB", "CPUS", "MEMORY", "DISK", "OUTPUT", "COMMAND"]
    assert lines[1].split()[:4] == ["1.0", "1", "1024", "MB"]
    assert lines[50].split()[-3:] == ["o.50", "echo", "50"]
    assert lines[51] == "… and 10 jobs more (--long prints all of them)"
    assert lines[-1] == "60 jobs would be submitted in 1 cluster"
    assert "ClusterId" in pool("submit", "--dry-run", "--long", "-", text=text)
