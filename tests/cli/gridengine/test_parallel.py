"""`qsub -pe` and what `qstat` says of parallel jobs: the words and columns of Grid Engine 8.1.9."""

from __future__ import annotations

from tests.cli.gridengine.kit import Desk, node
from tests.cli.gridengine.test_qstat import FULL_HEAD, HEAD, started
from tests.integration.kit import eventually


def test_a_parallel_job_and_one_that_waits(desk: Desk) -> None:
    output = desk.pool.work / "pe.out"
    script = desk.script("pe.sh", "echo NSLOTS=$NSLOTS NHOSTS=$NHOSTS NQUEUES=$NQUEUES PE=$PE", "cat $PE_HOSTFILE")
    done = desk.qsub("-N", "st", "-j", "y", "-o", str(output), "-pe", "m*", "2", "-sync", "y", str(script))
    host = node(desk.pool)
    assert output.read_text() == f"NSLOTS=2 NHOSTS=1 NQUEUES=1 PE=make\n{host} 2 all.q@{host} UNDEFINED\n"

    job = desk.qsub("-N", "r1", "-b", "y", "-pe", "make", "2-3,6", "-masterq", "all.q", "sleep", "60")
    assert job > done
    started(desk, job)
    waits = desk.qsub("-N", "f4", "-b", "y", "-pe", "make", "4-20", "sleep", "60")
    assert desk.plain(desk("qstat", "-s", "r").out, job).splitlines()[2][35:] == (
        "     r     11/21/2026 06:54:46 all.q@node1                        3        "
    )
    line = desk.plain(desk("qstat", "-s", "p").out, waits).splitlines()[2]
    assert line.endswith(f"qw    11/21/2026 06:54:46 {'':30}     4        ")
    full = desk.plain(desk("qstat", "-f", "-s", "r").out, job)
    assert full.startswith(FULL_HEAD) and " BIP   0/3/3 " in full
    assert full.splitlines()[3].endswith("r     11/21/2026 06:54:46     3        ")
    requests = desk.plain(desk("qstat", "-r", "-s", "r").out, job)
    assert requests.startswith(HEAD)
    assert requests.partition("Full jobname:")[2].splitlines() == [
        "     r1",
        "       Master Queue:     all.q@node1",
        "       Requested PE:     make 2,3,6",
        "       Granted PE:       make 3",
        "       Hard Resources:   ",
        "       Soft Resources:   ",
        "       Master task hard requested queues: all.q",
        "       Binding:          NONE",
    ]
    details = desk("qstat", "-j", str(job)).out
    assert "\nparallel environment:  make range: 2,3,6\n" in details
    assert "\nmaster hard queue_list:     all.q\n" in details
    assert "<slots>3</slots>" in desk("qstat", "-xml", "-s", "r").out

    def why() -> str:
        return desk("qstat", "-j", str(waits)).out.partition("scheduling info:")[2]

    # Where all queues are full, Grid Engine says that and nothing of the environment.
    eventually(lambda: "All queues dropped because of overload or full" in why(), why)
    assert "cannot run in PE" not in why()


def test_requests_that_cannot_be_are_refused(desk: Desk) -> None:
    for arguments, complaint in (
        (("-pe", "nosuch", "2"), 'job rejected: the requested parallel environment "nosuch" does not exist'),
        (("-masterq", "all.q"),
         "job rejected: specification of master queue is not allowed for non-parallel jobs"),
    ):  # fmt: skip
        assert complaint in desk("qsub", *arguments, "-b", "y", "true", status=1).err
