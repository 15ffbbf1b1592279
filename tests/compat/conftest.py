"""A pool for all tests of the bindings."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.integration.kit import Pool, running


@pytest.fixture(scope="session")
def running_pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """A pool with two slots."""
    if sys.platform != "linux":
        pytest.skip("jobs run on Linux only")
    with running(tmp_path_factory.mktemp("bindings"), cpus=2) as pool:
        yield pool


@pytest.fixture
def pool(running_pool: Pool, monkeypatch: pytest.MonkeyPatch) -> Pool:
    """The pool, as the one that programs find."""
    monkeypatch.setenv("ROOST_HOME", str(running_pool.home))
    monkeypatch.setenv("PYTHONPATH", running_pool.environment["PYTHONPATH"])
    monkeypatch.chdir(running_pool.work)
    return running_pool
