"""A place for each test, in which nothing may be left."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.runtime.cgroup import make_parent_group, remove_parent_group
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
    # Jobs of other users have to find the way.
    for each in (path, *path.parents):
        if str(each).startswith("/tmp/") and each.owner() == path.owner():
            each.chmod(each.stat().st_mode | 0o711)
    place = Place(path, groups=groups)
    yield place
    left = place.left()
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, f"processes of jobs are left: {left}"


@pytest.fixture(params=["groups", "tree"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A place where families are kept together by control groups, and one where they are not."""
    if request.param == "groups" and not GROUPS:
        pytest.skip("no control groups may be made here")
    yield from _place(tmp_path, groups=request.param == "groups")


@pytest.fixture
def one_place(tmp_path: Path) -> Iterator[Place]:
    """A place for what does not depend on control groups."""
    yield from _place(tmp_path, groups=GROUPS)


@pytest.fixture
def beacon(tmp_path: Path) -> Iterator[Beacon]:
    """Where jobs tell how far they are."""
    beacon = Beacon(tmp_path / "beacon")
    yield beacon
    beacon.close()
