"""`qsub -w`, in the words and with the exit statuses of Grid Engine 8.1.9."""

from __future__ import annotations

import pytest
from tests.cli.gridengine.kit import Desk, node
from tests.cli.gridengine.test_qstat import started

FOUND = "verification: found suitable queue(s)\n"
REFUSED = "Unable to run job: error: no suitable queues\nExiting.\n"
#: What no instance of the pool has.
FAR = ("-l", "arch=far")
TRUE = ("-b", "y", "true")


def jobs(desk: Desk) -> int:
    return desk("qstat").out.count("\n")


@pytest.mark.parametrize("word", ["v", "p"])
def test_a_job_that_is_only_verified_is_not_submitted(desk: Desk, word: str) -> None:
    assert desk("qsub", "-w", word, *TRUE).out == FOUND
    assert desk("qsub", "-w", word, "-terse", "-sync", "y", "-t", "1-3", *TRUE).out == FOUND
    done = desk("qsub", "-w", word, *FAR, *TRUE, status=1)
    assert done.out == ""
    assert done.err.startswith("Unable to run job: (-l arch=far) cannot run at host ")
    assert done.err.endswith("verification: no suitable queues\nExiting.\n")
    assert desk("qsub", "-w", word, "-l", "nosuch=1", *TRUE, status=1).err == (
        'Unable to run job: unknown resource "nosuch"\nExiting.\n'
    )
    assert jobs(desk) == 0


def test_a_job_that_cannot_run_is_refused_or_warned_of(desk: Desk) -> None:
    done = desk("qsub", "-w", "e", "-h", *FAR, *TRUE, status=1)
    assert (done.out, done.err) == ("", REFUSED)
    assert jobs(desk) == 0
    out = desk("qsub", "-w", "w", "-h", *FAR, *TRUE).out
    assert out.startswith("warning: no suitable queues\nYour job ")
    assert desk("qsub", "-w", "e", "-h", *TRUE).out.startswith("Your job ")
    assert desk("qsub", "-w", "w", "-h", *TRUE).out.startswith("Your job ")
    held = "verification: job is already running or is held\n"
    assert desk("qalter", "-w", "v", "*").out == held * 3
    assert "-w x" in desk("qsub", "-w", "x", *TRUE, status=7).err


def test_only_p_asks_about_the_cell_as_it_is(desk: Desk) -> None:
    job = desk.qsub("-o", "/dev/null", "-j", "y", "-t", "1-3", "-b", "y", "sleep", "60")
    started(desk, job, 3)
    assert desk("qsub", "-w", "v", *TRUE).out == FOUND
    assert "verification: no suitable queues" in desk("qsub", "-w", "p", *TRUE, status=1).err
    desk("qdel", str(job))
    desk("qmod", "-d", "all.q")
    try:
        assert desk("qsub", "-w", "v", *TRUE).out == FOUND
        why = f'queue instance "all.q@{node(desk.pool)}" dropped because it is disabled'
        assert why in desk("qsub", "-w", "p", *TRUE, status=1).err
        assert desk("qsub", "-w", "e", "-h", *TRUE).out.startswith("Your job ")
    finally:
        desk("qmod", "-e", "all.q")
