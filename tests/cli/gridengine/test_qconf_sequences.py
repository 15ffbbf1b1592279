"""Random sequences of changes by `qconf`: a pool keeps what the room alone makes of them, and no cell comes out wrong.

The steps are those that were recorded from Grid Engine, in an order drawn at random.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.cli.gridengine.kit import Desk
from tests.cli.gridengine.memory import CellInMemory, played, used_by_qconf
from tests.cli.gridengine.qconf_steps import Step, sections
from tests.cli.gridengine.test_qconf_steps import plain
from tests.gridengine import dumps
from tests.gridengine.questions import DATA
from tests.integration.kit import running

from roost.cli.cell_pool import configured
from roost.gridengine.cell import read_cell, write_cell
from roost.gridengine.references import settle_cell

#: All steps that change something, by root.
STEPS = [
    step
    for steps in sections().values()
    for step in steps
    if step.user == "root" and not step.words.startswith("qconf -s") and "clearusage" not in step.words
]


def drawn(seed: int, number: int) -> list[Step]:
    """Steps in an order of chance."""
    return random.Random(seed).choices(STEPS, k=number)


@pytest.mark.parametrize("seed", range(6))
def test_no_sequence_leaves_a_cell_that_could_not_be_read(
    seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pool = CellInMemory(configured(dumps.cell("plain")))
    used_by_qconf(pool, monkeypatch)
    for step in drawn(seed, 120):
        before, revision = pool.cell, pool.revision
        done = played(step, tmp_path)
        assert "internal error" not in done.err, (step, done)
        if pool.cell is before:
            continue
        assert read_cell(write_cell(pool.cell)) == pool.cell, step
        assert [each.message for each in settle_cell(pool.cell)[1]] == [], step
        if pool.revision == revision:
            assert write_cell(pool.cell) == write_cell(before), step


def test_a_pool_keeps_what_the_room_makes_of_a_sequence(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path_factory.mktemp("sequence")
    with running(place, cpus=1) as real:
        real("cell", "import", str(DATA / "plain"))
        desk = Desk(real)
        steps = drawn(77, 80)
        with pytest.MonkeyPatch.context() as patch:
            hosts_of_pool(patch)
            environment = {"ROOST_HOME": str(real.home), "SGE_ROOT": str(desk.root)}
            real_said = [played(step, real.work, **environment) for step in steps]
        real("cell", "export", str(place / "out"))
    room = CellInMemory(configured(dumps.cell("plain")))
    used_by_qconf(room, monkeypatch)
    for step, said in zip(steps, real_said, strict=True):
        done = played(step, place)
        told = [(one.status, *(plain(text) for text in (one.out, one.err))) for one in (said, done)]
        assert told[0] == told[1], step
    found = {str(path.relative_to(place / "out")): path for path in (place / "out").rglob("*") if path.is_file()}
    assert {name: path.read_text() for name, path in found.items()} == write_cell(room.cell)


def hosts_of_pool(patch: pytest.MonkeyPatch) -> None:
    """Let the command say that it is used on sgehub."""
    from roost.cli.gridengine import qconf_editing

    patch.setattr(qconf_editing, "host_name", lambda: "sgehub")
