"""Immediate jobs of `qsub -now y` go to interactive queues of a real pool, and other jobs to batch queues."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.gridengine.kit import Desk
from tests.cli.gridengine.test_immediate import FAILED, WAITING
from tests.integration.kit import Pool, eventually
from tests.integration.test_cell_jobs import PARTITIONABLE, cell


@pytest.mark.parametrize("kind", ["BATCH", "INTERACTIVE"])
def test_only_interactive_queues_take_immediate_jobs(start: Callable[..., Pool], tmp_path: Path, kind: str) -> None:
    pool = start(PARTITIONABLE, cpus=4)
    cell(pool, tmp_path / "cell", qtype=kind, pe_list="make")
    desk = Desk(pool)
    if kind == "BATCH":
        assert desk("qsub", "-now", "y", "-b", "y", "true", status=1).err == WAITING + FAILED
        assert desk("qsub", "-now", "y", "-w", "e", "-b", "y", "true", status=1).err == (
            "Unable to run job: error: no suitable queues\nExiting.\n"
        )
        return
    desk("qsub", "-now", "y", "-b", "y", "sleep", "0")
    # Each machine starts one after another, and the job is no less immediate.
    desk("qsub", "-now", "y", "-t", "1-3", "-b", "y", "sleep", "0")
    eventually(lambda: not desk("qstat").out, lambda: desk("qstat").out)
    desk("qsub", "-now", "y", "-pe", "make", "2", "-b", "y", "sleep", "0")
    job = desk.qsub("-b", "y", "true")
    why = "because it is not of type batch"
    eventually(lambda: why in desk("qstat", "-j", str(job)).out, lambda: desk("qstat", "-j", str(job)).out)
