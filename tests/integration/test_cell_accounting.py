"""A pool with a cell writes an accounting file: one line for each ended run, whatever is killed meanwhile."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from roost.gridengine.accounting_lines import read_line
from roost.model.cell_accounting import AccountingRecord
from roost.runtime.identity import user_name
from tests.integration.kit import Pool, eventually
from tests.integration.test_cell_jobs import cell, node


def file_of(pool: Pool) -> Path:
    return pool.home / "gridengine" / "default" / "common" / "accounting"


def records(pool: Pool) -> list[AccountingRecord]:
    if not file_of(pool).exists():
        return []
    return [read_line(line) for line in file_of(pool).read_text().splitlines() if not line.startswith("#")]


def test_ended_runs_are_written_as_grid_engine_does(start: Callable[..., Pool], tmp_path: Path) -> None:
    pool = start(cpus=2)
    cell(pool, tmp_path / "cell", slots=2, priority="5")
    array = pool.submit("cell_resources = h_rt=0:1:0\nqueue 2", "exit 3")
    killed = pool.submit("", "kill -9 $$")
    eventually(lambda: len(records(pool)) == 3, lambda: str(records(pool)))
    found = {(one.job, one.task): one for one in records(pool)}
    assert set(found) == {(array, 1), (array, 2), (killed, 0)}
    first, last = found[array, 1], found[killed, 0]
    assert (first.queue, first.host, first.owner, first.priority) == ("all.q", node(pool), user_name(), 5)
    assert (first.failed, first.exit_status, first.category) == (0, 3, "-l h_rt=60")
    assert (last.failed, last.exit_status, last.category) == (100, 137, "NONE")
    assert first.submitted <= first.started <= first.ended
    assert first.resources["ru_minflt"] > 0 and first.resources["ru_maxrss"] > 500
    assert first.cpu_s >= first.resources["ru_utime"] + first.resources["ru_stime"]


@pytest.mark.parametrize("daemon", ["schedd", "node"])
def test_each_run_is_written_once_over_kills(start: Callable[..., Pool], tmp_path: Path, daemon: str) -> None:
    pool = start(cpus=2)
    cell(pool, tmp_path / "cell", slots=2)
    jobs = 12
    log = tmp_path / "log"
    log.touch()
    cluster = pool.submit(f"queue {jobs}", f"echo >> {log}; sleep 0.3")
    for begun in (3, 6, 9):
        eventually(lambda begun=begun: len(log.read_text()) >= begun, "some have begun")  # type: ignore[misc]
        if begun == 6 and file_of(pool).exists():
            # An administrator rotates it.
            shutil.move(file_of(pool), file_of(pool).with_name("accounting.old"))
        assert pool.kill(daemon)
    pool.wait(cluster)

    def written() -> list[AccountingRecord]:
        old = file_of(pool).with_name("accounting.old")
        lines = old.read_text().splitlines() if old.exists() else []
        return [read_line(line) for line in lines if not line.startswith("#")] + records(pool)

    def well() -> list[int]:
        return sorted(one.task for one in written() if one.failed == 0)

    eventually(lambda: len(well()) >= jobs, lambda: str(written()))
    assert well() == list(range(1, jobs + 1)), f"{written()}\n{pool.logs()}"
