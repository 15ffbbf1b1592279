"""MAX_CLAIM_ALIVES_MISSED: how long a claim without a lease outlives the silence of the other side."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable

import pytest

from tests.integration.kit import Pool, eventually

#: So long a claim lasts whose job has no lease, s.
LASTS_S = 20.0
CONFIG = "ALIVE_INTERVAL = 10\nMAX_CLAIM_ALIVES_MISSED = 2\nNUM_CPUS = 1\n"
SLEEP = "executable = /bin/sleep\narguments = 600\n"


def _running(start: Callable[..., Pool], lease: str) -> tuple[Pool, int]:
    pool = start(CONFIG)
    cluster = pool.submit(f"{SLEEP}{lease}queue\n")
    pool.seen(f"{cluster}.0", JobStatus=2)
    # Both sides have heard of each other since the job began.
    time.sleep(1)
    return pool, cluster


def _is_claimed(pool: Pool) -> bool:
    (slot,) = json.loads(pool("status", "--json"))
    return bool(slot["State"] == "Claimed" and slot["Activity"] == "Busy")


@pytest.mark.parametrize(("lease", "lost"), [("job_lease_duration = 0\n", True), ("", False)], ids=["none", "long"])
def test_a_machine_gives_up_the_claim_of_a_silent_queue(start: Callable[..., Pool], lease: str, *, lost: bool) -> None:
    """A lease decides instead where there is one: the default is 40 minutes."""
    pool, _ = _running(start, lease)
    queue = pool.pid("schedd")
    os.kill(queue, signal.SIGSTOP)
    began = time.monotonic()
    try:
        time.sleep(LASTS_S - 11)
        assert _is_claimed(pool)
        if lost:
            eventually(lambda: not _is_claimed(pool), "the end of the claim")
            assert time.monotonic() - began > LASTS_S - 11
        else:
            time.sleep(LASTS_S)
            assert _is_claimed(pool)
    finally:
        os.kill(queue, signal.SIGCONT)


@pytest.mark.parametrize(("lease", "lost"), [("job_lease_duration = 0\n", True), ("", False)], ids=["none", "long"])
def test_a_queue_gives_up_the_claim_of_a_silent_machine(start: Callable[..., Pool], lease: str, *, lost: bool) -> None:
    pool, cluster = _running(start, lease)
    machine = pool.pid("node")
    os.kill(machine, signal.SIGSTOP)
    try:
        time.sleep(LASTS_S - 11)
        assert pool.job(f"{cluster}.0")["JobStatus"] == 2
        if lost:
            pool.seen(f"{cluster}.0", JobStatus=1)
        else:
            time.sleep(LASTS_S + 5)
            assert pool.job(f"{cluster}.0")["JobStatus"] == 2
    finally:
        os.kill(machine, signal.SIGCONT)
