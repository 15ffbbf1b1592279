"""A place for each test, in which nothing may be left."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from roost.runtime.processes.cgroup import make_parent_group, remove_parent_group
from tests.runtime.kit import Beacon, Place

#: Jobs run on Linux only.
collect_ignore = (
    [f"test_{name}.py" for name in ("family", "hook_programs", "starting", "survival")]
    if sys.platform != "linux"
    else []
)


def _groups_work() -> bool:
    parent = make_parent_group(f"roost-test-{os.getpid()}")
    return parent is not None and remove_parent_group(parent)


GROUPS = _groups_work()


def _place(path: Path, *, groups: bool) -> Iterator[Place]:
    place = Place(path, groups=groups)
    yield place
    left = place.left()
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert not left, f"processes of jobs are left: {left}"


@pytest.fixture(params=["groups", "tree"])
def place(request: pytest.FixtureRequest, open_path: Path) -> Iterator[Place]:
    """A place where families are kept together by control groups, and one where they are not."""
    if request.param == "groups" and not GROUPS:
        pytest.skip("no control groups may be made here")
    yield from _place(open_path, groups=request.param == "groups")


@pytest.fixture
def one_place(open_path: Path) -> Iterator[Place]:
    """A place for what does not depend on control groups."""
    yield from _place(open_path, groups=GROUPS)


@pytest.fixture
def beacon(open_path: Path) -> Iterator[Beacon]:
    """Where jobs tell how far they are."""
    beacon = Beacon(open_path / "beacon")
    yield beacon
    beacon.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """A PostgreSQL server of one's own; its URL."""
    pytest.importorskip("psycopg", reason="psycopg is not installed, so that PostgreSQL cannot be reached")
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not programs:
        pytest.skip("PostgreSQL is not installed")
    binaries = programs[-1].parent
    place = Path(tempfile.mkdtemp(prefix="roost-pg-", dir="/tmp"))
    shell = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    try:
        if shell:
            shutil.chown(place, "postgres")
        run = {"check": True, "capture_output": True, "cwd": "/", "timeout": 60}
        subprocess.run([*shell, str(binaries / "initdb"), "-D", f"{place}/data", "-A", "trust", "-U", "roost"], **run)  # type: ignore[call-overload]
        options = f"-c listen_addresses= -c unix_socket_directories={place} -c fsync=off"
        control = [*shell, str(binaries / "pg_ctl"), "-D", f"{place}/data", "-w"]
        subprocess.run([*control, "-l", f"{place}/log", "-o", options, "start"], **run)  # type: ignore[call-overload]
        try:
            yield f"postgresql+psycopg://roost@/postgres?host={place}"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], **run)  # type: ignore[call-overload]
    finally:
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/queue.sqlite"
    found: str = request.getfixturevalue("postgres")
    engine = create_engine(found)
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()
    return found
