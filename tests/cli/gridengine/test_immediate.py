"""`qsub -now y`: a job starts now, in an interactive queue, or not at all; what Grid Engine 8.1.9 printed."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.gridengine.kit import Desk
from tests.integration.kit import eventually
from tests.integration.test_cell_jobs import used

WAITING = "Waiting for immediate job to be scheduled.\n\n"
FAILED = "Your qsub request could not be scheduled; try again later.\n"


def left(desk: Desk) -> list[object]:
    return list(json.loads(desk.pool("queue", "--json")))


def test_an_immediate_job_starts_or_leaves_no_trace_in_the_queue(desk: Desk, tmp_path: Path) -> None:
    done = desk("qsub", "-now", "y", "-N", "a", "-b", "y", "sleep", "100")
    job = int(done.out.split()[2])
    assert (done.out, done.err) == (
        f'Your job {job} ("a") has been submitted\n',
        f"{WAITING}Your immediate job {job} has been successfully scheduled.\n",
    )
    assert "job_type:                   binary,immediate" in desk("qstat", "-j", str(job)).out
    # An array starts as a whole or not at all, and so does what asks for more than there is.
    ran = tmp_path / "ran"
    done = desk("qsub", "-now", "y", "-t", "1-3", "-N", "arr", "-b", "y", "touch", str(ran), status=1)
    array = int(done.out.split()[2].partition(".")[0])
    assert (done.out, done.err) == (f'Your job-array {array}.1-3:1 ("arr") has been submitted\n', WAITING + FAILED)
    assert len(left(desk)) == 1 and not ran.exists()
    done = desk("qsub", "-now", "y", "-terse", "-t", "1-2", "-b", "y", "sleep", "0")
    array = int(done.out.partition(".")[0])
    assert done.err == f"{WAITING}Your immediate job {array}.1-2:1 has been successfully scheduled.\n"
    eventually(lambda: used(desk.pool) == 1, "the array has ended")
    # It waits for its end, too.
    done = desk("qsub", "-now", "y", "-sync", "y", "-N", "syn", "-b", "y", "exit 3", status=3)
    assert done.err.endswith("exited with exit code 3.\n")


def test_an_immediate_job_cannot_wait(desk: Desk) -> None:
    for words in (("-h",), ("-a", "203001010000"), ("-hold_jid", "x"), ("-tc", "1", "-t", "1-2")):
        done = desk("qsub", "-now", "y", *words, "-b", "y", "true", status=2)
        assert "an immediate job cannot wait" in done.err
    assert left(desk) == []
