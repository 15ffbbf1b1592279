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


def _running(start: Callable[..., Pool], name: str) -> tuple[Pool, str, str]:
    """A pool, a job without a lease, and one with the default of 40 minutes; both run."""
    pool = start(CONFIG, name=name)
    without, leased = (f"{pool.submit(f'{SLEEP}{lease}queue')}.0" for lease in (WITHOUT, ""))
    for job in (without, leased):
        pool.seen(job, JobStatus=2)
    return pool, without, leased


def _claimed(pool: Pool) -> set[str]:
    """The jobs that slots run."""
    slots = json.loads(pool("status", "--json"))
    return {slot["JobId"] for slot in slots if (slot["State"], slot["Activity"]) == ("Claimed", "Busy")}


def test_machine_and_queue_give_up_the_claim_of_a_silent_other_side(start: Callable[..., Pool]) -> None:
    """In one pool the queue falls silent, in another at the same time the machine. A lease decides if there is one."""
    deaf, without, leased = _running(start, "deaf")
    dark, dark_without, dark_leased = _running(start, "dark")
    # Both sides have heard of each other since the jobs began.
    time.sleep(1)
    queue, machine = deaf.pid("schedd"), dark.pid("node")
    os.kill(queue, signal.SIGSTOP)
    os.kill(machine, signal.SIGSTOP)
    began = time.monotonic()
    try:
        time.sleep(LASTS_S - 11)
        assert _claimed(deaf) == {without, leased}
        assert [dark.job(name)["JobStatus"] for name in (dark_without, dark_leased)] == [2, 2]
        eventually(lambda: without not in _claimed(deaf), "the end of the claim without a lease")
        assert time.monotonic() - began > LASTS_S - 11
        dark.seen(dark_without, JobStatus=1)
        time.sleep(3)
        assert _claimed(deaf) == {leased}
        assert dark.job(dark_leased)["JobStatus"] == 2
    finally:
        os.kill(queue, signal.SIGCONT)
        os.kill(machine, signal.SIGCONT)
