"""Late materialization as users see it: max_materialize and max_idle against a real pool."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.condor.kit import Desk, run
from tests.integration.kit import Pool, eventually, running

if sys.platform != "linux":
    pytest.skip("jobs run on Linux only", allow_module_level=True)

NUMBERS = ("JobMaterializeNextProcId", "JobsPresent", "JobsRunning", "JobsIdle", "JobsHeld", "JobMaterializePaused")


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Pool]:
    with running(tmp_path, cpus=1) as pool:
        yield pool


def test_jobs_enter_the_queue_a_few_at_a_time_and_a_held_cluster_makes_none(pool: Pool) -> None:
    desk = Desk(pool)

    def numbers() -> list[int]:
        """What -factory says of the cluster."""
        return [int(word) for word in desk("condor_q", "-factory", "-af", *NUMBERS).out.split()]

    text = "executable = /bin/sleep\narguments = $(n)\nlog = log\nmax_idle = 2\nqueue n in 101 102 103 104 105 106\n"
    done = desk("condor_submit", text=text)
    assert done.lines[-1] == "6 job(s) submitted to cluster 1." and not done.err
    eventually(lambda: numbers() == [3, 3, 1, 2, 0, 0], "one job to run and two to wait")
    assert desk("condor_q", "-af", "ProcId", "Args").lines == ["0 101", "1 102", "2 103"]
    table = desk("condor_q", "-factory").lines
    assert table[3] == "ID     OWNER          SUBMITTED  LIMIT PRESNT   RUN    IDLE   HOLD NEXTID MODE DIGEST"
    assert table[4].split()[0] == "1." and table[4].split()[4:] == ["_", "3", "1", "2", "0", "3", "Norm"]
    (batch,) = [line for line in desk("condor_q").lines if "ID: 1" in line]
    assert batch.split()[5:] == ["_", "1", "2", "6", "1.0-2"]
    (row,) = json.loads(desk("condor_q", "-factory", "1", "-json").out)
    assert row["JobMaterializeMaxIdle"] == 2 and "ProcId" not in row and "JobStatus" not in row
    assert not desk("condor_q", "-factory", "2", "-af", "ClusterId").out
    # A job that is still to come.
    said = pool.try_("explain", "job", "1.4")
    assert "job 1.4 is not in the queue yet: 3 of the 6 jobs of its cluster are or were (max_idle = 2)" in said.stderr
    # Jobs to come are edited with those in the queue.
    desk("condor_qedit", "1", "JobMaterializeMaxIdle", "3")
    desk("condor_qedit", "1", "Args", '"300"')
    eventually(lambda: numbers() == [4, 4, 1, 3, 0, 0], "one more to wait")
    assert set(desk("condor_q", "-af", "Args").lines) == {"300"}
    # A held cluster makes no more, over a restart of the daemons; only held jobs go with -held.
    assert desk("condor_hold", "1").out == "All jobs in cluster 1 have been held\n"
    eventually(lambda: numbers() == [4, 4, 0, 0, 4, 1], "all on hold")
    assert desk("condor_rm", "-held", "-constraint", "ProcId == 1").status == 0
    pool.down()
    pool.up()
    eventually(lambda: numbers() == [4, 3, 0, 0, 3, 1], "the daemons")
    assert desk("condor_release", "1").out == "All jobs in cluster 1 have been released\n"
    eventually(lambda: numbers() == [5, 4, 1, 3, 0, 0], "jobs to be made")
    assert desk("condor_rm", "-constraint", "JobStatus == 1").status == 0
    eventually(lambda: numbers()[0] == 6, "jobs in place of those that were removed")
    assert desk("condor_rm", "1").out == "All jobs in cluster 1 have been marked for removal\n"
    eventually(lambda: not desk("condor_q", "-factory", "-af", "ClusterId").out, "the cluster to leave")
    log = (pool.work / "log").read_text()
    assert [line[:3] for line in log.splitlines() if line[:3] in ("000", "035", "036", "037", "038")] == [
        "035", "000", "000", "000", "000", "037", "038", "000", "000", "036",
    ]  # fmt: skip
    assert "Materialized 6 jobs from 6 items.\tComplete" in log
    assert desk("condor_wait", "log").out == "All jobs done.\n"


def test_removing_the_cluster_removes_the_jobs_to_come_and_waiting_for_it_counts_them(pool: Pool) -> None:
    desk = Desk(pool)
    text = "executable = /bin/sleep\narguments = 600\nmax_materialize = 1\nqueue 1000\n"
    desk("condor_submit", text=text)
    eventually(lambda: desk("condor_q", "-af", "JobStatus").lines == ["2"], "the job to run")
    assert "1000 jobs still in the queue" in pool.try_("wait", "1", "--timeout", "0.1").stderr
    assert desk("condor_rm", "1").out == "All jobs in cluster 1 have been marked for removal\n"
    eventually(lambda: not desk("condor_q", "-factory", "-af", "ClusterId").out, "the cluster to leave")
    assert len(desk("condor_history", "-af", "ProcId").lines) == 1
    desk("condor_submit", "-factory", text="executable = /bin/sleep\nhold = true\nqueue 3\n")
    assert desk("condor_q", "-factory", "-af", "ClusterId", "JobMaterializeLimit", "JobsHeld").lines == ["2 3 3"]
    assert desk("condor_submit", "-factory", "-spool", text="executable = /bin/sleep\nqueue\n", status=1).err
    for option in ("-totals", "-nobatch", "-run", "-better-analyze"):
        assert "-factory shows clusters" in desk("condor_q", "-factory", option, status=1).err
    assert "-factory asks the queue" in run("condor_q", "-factory", "-jobs", "x").err
