"""Sessions that Grid Engine 8.1.9 has played come out the same in a pool: states, placements, reasons and output.

Without Grid Engine the recorded answers are played: `make test` plays the shortest, ``ROOST_TEST_SESSIONS=all`` all of
them. Where ROOST_GRIDENGINE_CELL names a program that runs a cell (see test_conformance.py), ROOST_GRIDENGINE_SESSIONS
new ones are drawn from ROOST_GRIDENGINE_SEED on, and played on both.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gridengine.sessions.drawing import Play
from tests.gridengine.sessions.playing import played, read, recorded
from tests.gridengine.sessions.systems import GridEngine, Roost
from tests.transcripts.world import World, world

KEPT = sorted((Path(__file__).parent / "sessions/kept").glob("*.json"), key=lambda path: path.stat().st_size)
PROGRAM = os.environ.get("ROOST_GRIDENGINE_CELL", "")
SEED = int(os.environ.get("ROOST_GRIDENGINE_SEED", "1"))
DRAWN = int(os.environ.get("ROOST_GRIDENGINE_SESSIONS", "1")) if PROGRAM else 0


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Four hosts with a pool."""
    with world(tmp_path_factory.mktemp("sessions") / "world") as made:
        yield made


CHOSEN = KEPT if os.environ.get("ROOST_TEST_SESSIONS") == "all" else KEPT[:1]


@pytest.mark.parametrize("path", CHOSEN, ids=lambda path: path.stem)
def test_a_pool_comes_to_what_grid_engine_came_to(place: World, path: Path) -> None:
    found = [each.text for each in played(Roost(place), read(path))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("seed", range(SEED, SEED + DRAWN))
def test_a_new_session_comes_out_the_same(place: World, seed: int) -> None:
    session = recorded(GridEngine(PROGRAM), Play(seed)(12))
    found = [each.text for each in played(Roost(place), session)]
    assert not found, "\n".join(found)
