"""Programs from PyPI, unmodified, each in a virtual environment of its own that is kept below the cache directory."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.kit import Pool

#: Whether all are tried, and installed where they are not there.
ALL = bool(os.environ.get("ROOST_TEST_CLIENTS"))
slow = pytest.mark.skipif(not ALL, reason="ROOST_TEST_CLIENTS is not set: of programs from PyPI only law is tried")

PROGRAMS = Path(__file__).parent / "programs"
#: How long a program may take, s.
PATIENCE_S = 180


def environment_with(*requirements: str) -> Path:
    """The interpreter of a virtual environment with packages; made once."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "roost" / "test-clients"
    name = "+".join(requirements).replace("==", "-")
    place = cache / f"{name}-{sys.version_info[0]}.{sys.version_info[1]}"
    python = place / "bin" / "python"
    if not (place / "ready").exists():
        if not ALL:
            pytest.skip(f"{name} is not installed: `make clients` does that once, and tries the others, too")
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements]
        done = subprocess.run(pip, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"{name} can't be installed: {done.stderr.strip()[-300:]}")
        (place / "ready").touch()
    return python


def tried(pool: Pool, requirement: str, program: str, environment: dict[str, str]) -> Any:
    """What a program that drives the pool found out, in its directory below the pool's work."""
    python = environment_with(requirement)
    place = pool.work / program
    place.mkdir()
    script = Path(shutil.copy(PROGRAMS / f"{program}_try.py", place))
    done = subprocess.run(
        [python, script],
        cwd=place,
        # What the program brings is found as in an environment that is activated.
        env=environment | {"HOME": str(place), "PATH": f"{python.parent}:{environment['PATH']}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}{pool.logs()}"
    return json.loads(done.stdout.splitlines()[-1])
