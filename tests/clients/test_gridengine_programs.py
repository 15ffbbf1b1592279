"""Programs that drive Grid Engine by its commands and files, unmodified from PyPI, against a cell on a pool of Roost's.

They are tried where ROOST_TEST_CLIENTS is set (`make clients`).
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from roost.runtime.identity import user_name
from tests.clients.kit import ALL, PATIENCE_S, environment_with, tried
from tests.integration.kit import Pool, running
from tests.integration.test_cell_jobs import PARTITIONABLE, cell, queue_text

if sys.platform != "linux":
    pytest.skip("jobs run on Linux only", allow_module_level=True)

pytestmark = pytest.mark.skipif(not ALL, reason="ROOST_TEST_CLIENTS is not set: `make clients` tries these programs")


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """A pool with a cell of four slots and a second queue of one."""
    place = tmp_path_factory.mktemp("clients")
    with running(place, PARTITIONABLE, cpus=4) as pool:
        # toil asks for virtual memory, of which a machine with other sensors says nothing.
        pool.sense(load_values={"virtual_free": "16G"})
        (place / "cell/cqueues").mkdir(parents=True)
        (place / "cell/cqueues/short.q").write_text(queue_text("short.q", slots="1"))
        cell(pool, place / "cell", slots=4)
        yield pool


def found(pool: Pool, requirement: str, program: str) -> Any:
    """What a program found out in a shell that has evaluated what `roost shims gridengine` prints."""
    return tried(pool, requirement, program, environment(pool))


def environment(pool: Pool) -> dict[str, str]:
    given = pool.environment | {"ROOST_HOME": str(pool.home), "XDG_CACHE_HOME": str(pool.place / "cache")}
    line = f'eval "$({sys.executable} -m roost.cli shims gridengine --shell sh)" && env -0'
    printed = subprocess.run(["sh", "-c", line], env=given, capture_output=True, text=True, check=True).stdout
    # Programs have modules of their own; the commands know the copy of Roost that wrote them.
    return {
        name: value
        for name, _, value in (each.partition("=") for each in printed.split("\0") if each)
        if name != "PYTHONPATH"
    }


def test_dask_jobqueue_has_workers(pool: Pool) -> None:
    assert found(pool, "dask-jobqueue==0.9.0", "gridengine_dask") == {"answers": [0, 1, 4, 9, 16, 25], "workers": 2}


def test_dask_jobqueue_passes_its_own_tests(pool: Pool) -> None:
    python = environment_with("dask-jobqueue==0.9.0", "pytest==8.3.5")
    place = pool.work / "dask_tests"
    place.mkdir()
    command = [python, "-m", "pytest", "-q", "-rA", "-p", "dask_jobqueue", "-p", "distributed.utils_test",
               "-p", "no:cacheprovider", "-o", "markers=env(NAME): where a test belongs",
               "--pyargs", "dask_jobqueue.tests.test_sge"]  # fmt: skip
    given = environment(pool)
    given |= {"HOME": str(place), "PATH": f"{python.parent}:{given['PATH']}", "DASK_JOBQUEUE__SGE__INTERFACE": "lo"}
    done = subprocess.run(
        command, cwd=place, env=given, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    ends = dict(line.split(" ")[:2][::-1] for line in done.stdout.splitlines() if re.match("(PASSED|FAILED) ", line))
    found = {name.rpartition("::")[2]: end for name, end in ends.items()}
    wanted = ["test_basic", "test_config_name_sge_takes_custom_config", "test_job_script"]
    # It deletes the jobs of `root`, whoever runs it.
    wanted += ["test_complex_cancel_command"] * (user_name() == "root")
    assert {name: found.get(name) for name in wanted} == dict.fromkeys(wanted, "PASSED"), f"{done.stdout}{pool.logs()}"


def test_parsl_runs_and_cancels_blocks(pool: Pool) -> None:
    assert found(pool, "parsl==2026.10.26", "gridengine_parsl") == {
        "ends": "COMPLETED",
        "written": ["hello from all.q"],
        "runs": "RUNNING",
        "cancel": [True],
    }


def test_pysge_maps_a_function_over_an_array_job(pool: Pool) -> None:
    assert found(pool, "pysge==0.2.5", "gridengine_pysge") == {"answers": [1, 2, 5, 10]}


def test_qsubwt_waits_for_jobs(pool: Pool) -> None:
    assert found(pool, "qsubwt==1.0.2", "gridengine_qsubwt") == {"status": 0, "written": "waited 1\n", "said": ""}


def test_toil_runs_a_workflow_and_sees_a_job_fail(pool: Pool) -> None:
    assert found(pool, "toil==9.0.0", "gridengine_toil") == {"answer": 5, "failed": 1}


def test_qstats_tabulates_jobs_and_queues(pool: Pool) -> None:
    assert found(pool, "qstats==0.3.1", "gridengine_qstats") == {
        "over": [["good", "F", "failed", "1", "0", "all.q"], *(["bad", "F", "failed", "1", n, "all.q"] for n in "12")],
        "now": [
            *(["runs", "r", "running", "1", task, "all.q"] for task in "35"),
            *(["waits", "hqw", "pending", "1", task, "short.q"] for task in "12"),
        ],
        "all": 7,
        "queues": [["all.q", "2", "2", "4"], ["short.q", "0", "1", "1"]],
    }
