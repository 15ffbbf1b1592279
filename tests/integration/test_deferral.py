"""Jobs that are to start at an instant, and again and again, on a real pool."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tests.integration.kit import Pool, eventually


def test_a_job_waits_on_its_slot_for_its_time_and_one_that_comes_too_late_is_held(
    start: Callable[..., Pool], tmp_path: Path
) -> None:
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\ncase $1 in */2) sleep 3;; esac\n")
    slow.chmod(0o755)
    pool = start(f"STARTER_PROLOG = {slow} $job_owner/$job_id\n", cpus=2)
    out = pool.work / "out"
    at = int(time.time()) + 6
    waits = pool.submit(f"deferral_time = {at}\noutput = {out}", script="date +%s")
    late = pool.submit("deferral_time = QDate + 1", script="echo never")
    assert (waits, late) == (1, 2)
    waiting = eventually(lambda: [ad for ad in pool.jobs(waits) if ad.get("JobState") == "Deferred"], "a job to wait")
    assert waiting[0]["JobStatus"] == 2 and time.time() < at
    held = pool.seen(f"{late}.0", JobStatus=5)
    assert held["HoldReasonCode"] == 20 and "missed" in held["HoldReason"]
    pool.wait(waits)
    assert 0 <= int(out.read_text()) - at <= 3
    assert pool.job(f"{waits}.0")["NumJobStarts"] == 1
    assert not pool.mistakes()
