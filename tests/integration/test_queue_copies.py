"""What programs that read HTCondor's files see of a real pool, whatever is killed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from roost.schedd.records.history import BytesStore, backwards
from tests.integration.kit import Pool, eventually
from tests.schedd.records.log_reading import LogReader

CONFIG = "JOB_QUEUE_LOG = $(SPOOL)/job_queue.log\nHISTORY = $(SPOOL)/history\n"


def told(path: Path) -> LogReader:
    reader = LogReader()
    reader.feed(path.read_text())
    return reader


def test_the_queues_log_and_history_follow_the_queue_over_kills(start: Callable[..., Pool]) -> None:
    pool = start(CONFIG, cpus=2)
    log, history = pool.home / "spool" / "job_queue.log", pool.home / "spool" / "history"
    (held,) = {pool.submit("executable = /bin/true\nhold = true\nqueue 2\n")}
    first = told(log).sequence
    for _ in range(2):
        done = pool.submit("executable = /bin/true\narguments = x\nqueue 3\n")
        pool("wait", str(done))
        before = told(log).sequence
        pool.kill("schedd")
        eventually(lambda before=before: told(log).sequence == before + 1)
    eventually(lambda: set(told(log).jobs()) == {f"{held}.0", f"{held}.1"})
    jobs = told(log).jobs()
    assert {jobs[key]["jobstatus"] for key in jobs} == {"5"}
    assert told(log).sequence == first + 2
    assert log.with_name(f"job_queue.log.{first + 1}").exists()
    ads = [entry.ad for entry in backwards(BytesStore(history.read_bytes()))]
    assert sorted((ad["ClusterId"], ad["ProcId"]) for ad in ads) == [
        (held + more, proc) for more in (1, 2) for proc in range(3)
    ]
