"""Open MPI's integration with Grid Engine: `mpirun` finds `$SGE_ROOT/bin/$ARC/qrsh` and starts its daemons by it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

import pytest

from tests.integration.test_cell_jobs import node
from tests.integration.test_cell_slaves import Two, environments, machines, run

__all__ = ["environments", "machines"]

pytestmark = [
    pytest.mark.skipif(shutil.which("mpirun") is None, reason="Open MPI is not installed"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can have hosts with names of their own"),
]
MPIRUN = "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun"


def test_mpirun_starts_its_processes_in_the_slots_of_the_job(machines: Callable[..., Two]) -> None:
    two = machines()
    script = f"{MPIRUN} sh -c 'echo $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE on $HOSTNAME'"
    place = two.pool.place / "bin"
    place.mkdir()
    for name in ("mpirun", "orted", "sh", "env", "ssh"):
        if found := shutil.which(name):
            (place / name).symlink_to(found)
    script = f"PATH={place}; export PATH\n{script}"
    out, err = run(two.pool, "cell_parallel = free 6", script)
    found = sorted(line.split() for line in out.splitlines() if " of 6 on " in line)
    assert [line[0] for line in found] == list("012345"), err
    assert {line[4] for line in found} == {node(two.pool), "second"}
