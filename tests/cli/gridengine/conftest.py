"""The pool that these tests share: one machine, with the cell of transcript 00 as far as it is about one host."""

from __future__ import annotations

import copy
import os
import pwd
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.gridengine.kit import USER, Desk, cell
from tests.integration.kit import Pool, eventually, running

if sys.platform != "linux":
    pytest.skip("jobs run on Linux only", allow_module_level=True)


@pytest.fixture(scope="package")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """A pool with a cell."""
    place = tmp_path_factory.mktemp("gridengine")
    with running(place, cpus=4) as pool:
        cell(pool, place / "cell", slots=3, report_s=1)
        yield pool


@pytest.fixture
def desk(pool: Pool) -> Iterator[Desk]:
    """The pool with an empty queue."""
    yield Desk(pool)
    pool.try_("rm", "--all")
    eventually(lambda: pool("queue", "--json") == "[]\n", "an empty queue")


@pytest.fixture(scope="package")
def desks() -> Iterator[tuple[Desk, Desk]]:
    """Before a pool of root's: root, and a user."""
    if os.geteuid() != 0:
        pytest.skip("only root can run jobs of several users")
    try:
        uid = pwd.getpwnam(USER).pw_uid
    except KeyError:
        pytest.skip(f"this machine has no user {USER}")
    place = Path(tempfile.mkdtemp(prefix="roost-users-", dir="/tmp"))
    place.chmod(0o755)
    try:
        with running(place / "pool", f"ROOST_USERS = {USER}\n", cpus=2) as pool:
            cell(pool, place / "cell")
            os.chown(pool.work, uid, -1)
            theirs = copy.copy(pool)
            theirs.home = pool.place / "theirs"
            (theirs.home / "run").mkdir(parents=True)
            shutil.copy(pool.home / "users" / f"{USER}.json", theirs.home / "run" / "contact.json")
            yield Desk(pool), Desk(theirs)
    finally:
        shutil.rmtree(place)
