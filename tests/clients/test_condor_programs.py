"""Programs that drive HTCondor by its commands or Python modules, unmodified from PyPI, against a pool of Roost's.

They are tried where ROOST_TEST_CLIENTS
is set (`make clients`): the first time takes minutes and needs a package index. Every test run tries the quickest, law,
where it has been installed that way.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roost.cli.condor.names import COMMANDS
from roost.cli.shims import write_commands, write_modules
from roost.runtime.identity import user_name
from tests.clients.kit import ALL, PATIENCE_S, PROGRAMS, environment_with, slow, tried
from tests.integration.kit import Pool, running

if sys.platform != "linux":
    pytest.skip("jobs run on Linux only", allow_module_level=True)


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """A pool with two slots."""
    if not ALL:
        environment_with("law==0.1.21")
    with running(tmp_path_factory.mktemp("clients"), cpus=2) as pool:
        yield pool


def environment_in(pool: Pool, place: Path) -> dict[str, str]:
    """What a program finds that works in a directory: our commands, our modules, the pool."""
    commands = pool.place / "commands"
    scripts = {
        name: f"from roost.cli.condor.entry import run_and_leave\nrun_and_leave({name!r}, sys.argv[1:])\n"
        for name in COMMANDS
    }
    write_commands(commands, scripts)
    write_modules(pool.place / "modules")
    return pool.environment | {
        "PATH": f"{commands}:{os.environ['PATH']}",
        "PYTHONPATH": str(pool.place / "modules"),
        "ROOST_HOME": str(pool.home),
        "HOME": str(place),
    }


def found(pool: Pool, requirement: str, program: str) -> Any:
    """What a program that drives the pool found out."""
    return tried(pool, requirement, program, environment_in(pool, pool.work))


@slow
def test_dask_jobqueue_has_workers(pool: Pool) -> None:
    assert found(pool, "dask-jobqueue==0.9.0", "dask") == {"answer": 42, "workers": 2}


@slow
def test_dask_jobqueue_passes_its_own_tests(pool: Pool) -> None:
    python = environment_with("dask-jobqueue==0.9.0", "pytest==8.3.5")
    place = pool.work / "dask_tests"
    place.mkdir()
    shutil.copy(PROGRAMS / "dask_tests_plugin.py", place)
    # The fixture that they want is of dask's own plugin, which has to find dask-jobqueue's settings when it begins.
    command = [python, "-m", "pytest", "-q", "-rA", "-p", "dask_jobqueue", "-p", "distributed.utils_test",
               "-p", "dask_tests_plugin", "-p", "no:cacheprovider", "-o", "markers=env(NAME): where a test belongs",
               "--pyargs", "dask_jobqueue.tests.test_htcondor"]  # fmt: skip
    environment = environment_in(pool, place) | {"DASK_JOBQUEUE__HTCONDOR__INTERFACE": "lo"}
    done = subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}{pool.logs()}"
    passed = {line.rpartition("::")[2] for line in done.stdout.splitlines() if line.startswith("PASSED")}
    # The last one leaves jobs on purpose that can't be cancelled as it asks.
    pool("rm", "--all")
    assert passed >= {"test_header", "test_job_script", "test_basic", "test_extra_args_broken_cancel"}


@slow
def test_parsl_runs_and_cancels_blocks(pool: Pool) -> None:
    assert found(pool, "parsl==2026.10.26", "parsl") == {"ends": "COMPLETED", "runs": "RUNNING", "cancel": [True]}


def test_law_follows_and_cancels_jobs(pool: Pool) -> None:
    assert found(pool, "law==0.1.21", "law") == {
        "version": [25, 14, 1],
        "fails": ["failed", 3],
        "runs": "running",
        "gone": ["failed", f"via condor_rm (by user {user_name()})"],
    }


@slow
def test_b2luigi_runs_tasks_as_jobs(pool: Pool) -> None:
    assert found(pool, "b2luigi==1.3.0", "b2luigi") == {"answer": "42"}


@slow
def test_htmap_maps_holds_and_releases_by_the_python_modules(pool: Pool) -> None:
    assert found(pool, "htmap==0.6.1", "htmap") == {
        "answers": [2, 4, 6],
        "states": ["HELD", "IDLE"],
        "tags": ["doubles", "waits"],
        "left": 0,
    }


@slow
def test_pycondor_runs_a_dag_and_a_job(pool: Pool) -> None:
    assert found(pool, "pycondor==0.6.1", "pycondor") == {
        "left": "",
        "printed": ["", "one", "three", "two"],
        "rescue": [],
        "ended": 0,
    }


@slow
def test_pycondor_passes_its_own_tests(pool: Pool) -> None:
    python = environment_with("pycondor==0.6.1", "pytest==8.3.5")
    place = pool.work / "pycondor_tests"
    place.mkdir()
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--pyargs", "pycondor.tests"]
    done = subprocess.run(
        command, cwd=place, env=environment_in(pool, place), capture_output=True, text=True, timeout=PATIENCE_S,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}{done.stderr}{pool.logs()}"


@slow
def test_condorpy_waits_for_jobs_that_bring_files_back(pool: Pool) -> None:
    assert found(pool, "condorpy==0.7.0", "condorpy") == {
        "cluster": True,
        "status": "Completed",
        "files": {f"made.{number}": f"made by {number}" for number in range(3)}
        | {f"trial.{number}.out": f"out {number}" for number in range(3)},
    }


@slow
def test_htchirp_speaks_to_the_queue_of_its_job(pool: Pool) -> None:
    found_out = found(pool, "htchirp==3.0", "htchirp")
    assert found_out["printed"].startswith("7 CONDOR ["), found_out
    assert (found_out["back"], found_out["told"]) == ("input\nmore\n", True)
