"""Pools for tests: one for all that only submit to it, and one of its own for each test that does more."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.integration.kit import Pool, running
from tests.integration.servers import Servers

if sys.platform != "linux":
    pytest.skip("jobs run on Linux only", allow_module_level=True)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """A pool that several tests submit to."""
    with running(tmp_path_factory.mktemp("pool"), cpus=4) as pool:
        yield pool


@pytest.fixture
def start(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Pool]]:
    """Start pools of one's own; in `open_path` for a test that has one."""
    place: Path = request.getfixturevalue("open_path") if "open_path" in request.fixturenames else tmp_path
    with ExitStack() as stack:

        def begin(config: str = "", *, name: str = "pool", **options: Any) -> Pool:
            return stack.enter_context(running(place / name, config, **options))

        yield begin


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    """Three message servers."""
    place = tmp_path / "servers"
    place.mkdir()
    found = Servers(place)
    try:
        for number in range(3):
            found.start(number)
        yield found
    finally:
        found.end()
