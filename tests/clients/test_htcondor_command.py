"""``htcondor``, the command of HTCondor's own wheel, unmodified, over Roost's modules and on a pool of Roost's."""

from __future__ import annotations

import importlib.util
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from roost.cli.condor.names import COMMANDS
from roost.cli.shims import write_commands
from tests.integration.kit import Pool, eventually, running

if sys.platform != "linux":
    pytest.skip("jobs run on Linux only", allow_module_level=True)
if importlib.util.find_spec("htcondor_cli") is None:
    pytest.skip("HTCondor's wheel is not installed", allow_module_level=True)

HOST = socket.gethostname()


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    with running(tmp_path_factory.mktemp("htcondor"), cpus=2) as pool:
        yield pool


def htcondor(pool: Pool, *words: str, status: int | None = 0) -> str:
    """What the command prints, on either stream."""
    commands = pool.place / "commands"
    scripts = {
        name: f"from roost.cli.condor.entry import run_and_leave\nrun_and_leave({name!r}, sys.argv[1:])\n"
        for name in COMMANDS
    }
    write_commands(commands, scripts)
    environment = pool.environment | {"PATH": f"{commands}:{os.environ['PATH']}", "ROOST_HOME": str(pool.home)}
    done = subprocess.run(
        [commands / "htcondor", *words], cwd=pool.work, env=environment | {"XDG_CACHE_HOME": str(pool.place / "cache")},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert status in (None, done.returncode), (words, done.stdout, pool.logs())
    assert "Traceback" not in done.stdout, done.stdout
    return done.stdout


def test_jobs_are_submitted_told_and_read_from_their_log(pool: Pool) -> None:
    (pool.work / "a.sub").write_text("executable = /bin/sleep\narguments = 300\nlog = a.log\nqueue\n")
    said = htcondor(pool, "job", "submit", "a.sub")
    assert "was submitted" in said
    cluster = said.split()[1]
    eventually(lambda: "currently running" in htcondor(pool, "job", "status", cluster), "a running job")
    assert f"slot1@{HOST}" in htcondor(pool, "job", "resources", cluster)
    read = htcondor(pool, "eventlog", "read", "a.log")
    assert read.splitlines()[1].split()[:2] == [f"{cluster}.0", f"slot1@{HOST}"]
    assert re.search(r"Job submitted from host: <127\.0\.0\.1:\d+\?addrs=", (pool.work / "a.log").read_text())
    assert re.search(r"Job executing on host: <127\.0\.0\.1:\d+\?addrs=", (pool.work / "a.log").read_text())


def test_a_workflow_is_followed(pool: Pool) -> None:
    (pool.work / "d.dag").write_text(
        "JOB A s\nJOB B s\nPARENT A CHILD B\nSUBMIT-DESCRIPTION s {\n executable = /bin/sleep\n arguments = 300\n}\n"
    )
    cluster = htcondor(pool, "dag", "submit", "d.dag").split()[1]
    eventually(lambda: "is running: 1 job" in htcondor(pool, "dag", "status", cluster, status=None), "a node that runs")
    status = htcondor(pool, "dag", "status", cluster)
    assert "[d.dag]" in status
    assert "DAG is running normally" in status
    assert "1 running" in htcondor(pool, "dag", "resources", cluster)


def test_the_daemons_have_a_health(pool: Pool) -> None:
    assert f"{HOST}" in htcondor(pool, "cm", "status")
    row = next(line for line in htcondor(pool, "ap", "status").splitlines() if line.startswith(HOST))
    assert row.split()[1] == "Good"
    server = htcondor(pool, "server", "status")
    for daemon in ("MASTER", "SCHEDD", "COLLECTOR"):
        assert daemon.lower() in server.lower()
