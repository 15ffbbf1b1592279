"""MAX_CLAIM_ALIVES_MISSED: how long a claim without a lease outlives the silence of the other side."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable

from tests.integration.kit import Pool, eventually

#: So long a claim lasts whose job has no lease, s.
LASTS_S = 20.0
CONFIG = "ALIVE_INTERVAL = 10\nMAX_CLAIM_ALIVES_MISSED = 2\nNUM_CPUS = 2\n"
SLEEP = "executable = /bin/sleep\narguments = 600\n"
WITHOUT = "job_lease_duration = 0\n"


def _running(start: Callable[..., Pool]) -> tuple[Pool, str, str]:
    """A pool, a job without a lease, and one with the default of 40 minutes; both run."""
    pool = start(CONFIG)
    without, leased = (f"{pool.submit(f'{SLEEP}{lease}queue')}.0" for lease in (WITHOUT, ""))
    for name in (without, leased):
        pool.seen(name, JobStatus=2)
    # Both sides have heard of each other since the jobs began.
    time.sleep(1)
    return pool, without, leased


def _claimed(pool: Pool) -> set[str]:
    """The jobs that slots run."""
    slots = json.loads(pool("status", "--json"))
    return {slot["JobId"] for slot in slots if (slot["State"], slot["Activity"]) == ("Claimed", "Busy")}


def test_a_machine_gives_up_the_claim_of_a_silent_queue(start: Callable[..., Pool]) -> None:
    """A lease decides instead where there is one."""
    pool, without, leased = _running(start)
    queue = pool.pid("schedd")
    os.kill(queue, signal.SIGSTOP)
    began = time.monotonic()
    try:
        time.sleep(LASTS_S - 11)
        assert _claimed(pool) == {without, leased}
        eventually(lambda: without not in _claimed(pool), "the end of the claim without a lease")
        assert time.monotonic() - began > LASTS_S - 11
        time.sleep(3)
        assert _claimed(pool) == {leased}
    finally:
        os.kill(queue, signal.SIGCONT)


def test_a_queue_gives_up_the_claim_of_a_silent_machine(start: Callable[..., Pool]) -> None:
    pool, without, leased = _running(start)
    machine = pool.pid("node")
    os.kill(machine, signal.SIGSTOP)
    try:
        time.sleep(LASTS_S - 11)
        assert [pool.job(name)["JobStatus"] for name in (without, leased)] == [2, 2]
        pool.seen(without, JobStatus=1)
        time.sleep(3)
        assert pool.job(leased)["JobStatus"] == 2
    finally:
        os.kill(machine, signal.SIGCONT)
