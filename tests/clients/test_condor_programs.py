"""Programs that drive HTCondor by its commands or Python modules, unmodified from PyPI, against a pool of Roost's.

Each has a virtual environment of its own, kept below the cache directory. They are tried where ROOST_TEST_CLIENTS
is set (`make clients`): the first time takes minutes and needs a package index.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roost.cli.condor.names import COMMANDS
from roost.cli.shims import condor_script, write_commands, write_modules
from roost.runtime.home import user_name
from tests.integration.kit import Pool, running

if sys.platform != "linux":
    pytest.skip("jobs run on Linux only", allow_module_level=True)
if not os.environ.get("ROOST_TEST_CLIENTS"):
    pytest.skip("ROOST_TEST_CLIENTS is not set: programs from PyPI are not tried", allow_module_level=True)

PROGRAMS = Path(__file__).parent / "programs"
#: How long a program may take, s.
PATIENCE_S = 180


def environment_with(requirement: str) -> Path:
    """The interpreter of a virtual environment with a package; made once."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "roost" / "test-clients"
    place = cache / f"{requirement.replace('==', '-')}-{sys.version_info[0]}.{sys.version_info[1]}"
    python = place / "bin" / "python"
    if not (place / "ready").exists():
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement]
        done = subprocess.run(pip, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"{requirement} can't be installed: {done.stderr.strip()[-300:]}")
        (place / "ready").touch()
    return python


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """A pool with two slots."""
    with running(tmp_path_factory.mktemp("clients"), cpus=2) as pool:
        yield pool


def tried(pool: Pool, requirement: str, program: str) -> Any:
    """What a program that drives the pool found out."""
    python = environment_with(requirement)
    commands = pool.place / "commands"
    write_commands(commands, {name: condor_script(name) for name in COMMANDS})
    place = pool.work / program
    place.mkdir()
    script = Path(shutil.copy(PROGRAMS / f"{program}_try.py", place))
    write_modules(pool.place / "modules")
    environment = pool.environment | {
        "PATH": f"{commands}:{os.environ['PATH']}",
        "PYTHONPATH": str(pool.place / "modules"),
        "ROOST_HOME": str(pool.home),
        "HOME": str(place),
    }
    done = subprocess.run(
        [python, script],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}{pool.logs()}"
    return json.loads(done.stdout.splitlines()[-1])


def test_dask_jobqueue_has_workers(pool: Pool) -> None:
    assert tried(pool, "dask-jobqueue==0.9.0", "dask") == {"answer": 42, "workers": 2}


def test_parsl_runs_and_cancels_blocks(pool: Pool) -> None:
    assert tried(pool, "parsl==2026.10.26", "parsl") == {"ends": "COMPLETED", "runs": "RUNNING", "cancel": [True]}


def test_law_follows_and_cancels_jobs(pool: Pool) -> None:
    assert tried(pool, "law==0.1.21", "law") == {
        "version": [25, 14, 1],
        "fails": ["failed", 3],
        "runs": "running",
        "gone": ["failed", f"via condor_rm (by user {user_name()})"],
    }


def test_b2luigi_runs_tasks_as_jobs(pool: Pool) -> None:
    assert tried(pool, "b2luigi==1.3.0", "b2luigi") == {"answer": "42"}


def test_htmap_maps_holds_and_releases_by_the_python_modules(pool: Pool) -> None:
    assert tried(pool, "htmap==0.6.1", "htmap") == {
        "answers": [2, 4, 6],
        "states": ["HELD", "IDLE"],
        "tags": ["doubles", "waits"],
        "left": 0,
    }
