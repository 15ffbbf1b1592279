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
    slow.write_text(f"#!/bin/sh\nwhile [ $1 = 3 ] && [ $(date +%s) -le $(cat {tmp_path}/at) ]; do sleep 0.2; done\n")
    slow.chmod(0o755)
    pool = start(f"STARTER_PROLOG = {slow} $job_id\n", cpus=2)
    out = pool.work / "out"
    begun = time.monotonic()
    pool.wait(pool.submit("", "true"))
    # What a job takes on this machine, with all that it has to do besides.
    whole_s = time.monotonic() - begun
    at = int(time.time() + 7 + 6 * whole_s)
    (tmp_path / "at").write_text(str(at))
    waits = pool.submit(f"deferral_time = {at}\noutput = {out}", script="date +%s")
    late = pool.submit(f"deferral_time = {at}", script="echo never")
    assert (waits, late) == (2, 3)
    waiting = eventually(lambda: [ad for ad in pool.jobs(waits) if ad.get("JobState") == "Deferred"], "a job to wait")
    assert waiting[0]["JobStatus"] == 2 and time.time() < at
    held = pool.seen(f"{late}.0", JobStatus=5)
    assert held["HoldReasonCode"] == 20 and "missed" in held["HoldReason"]
    pool.wait(waits)
    assert 0 <= int(out.read_text()) - at <= 3 + 6 * whole_s
    assert pool.job(f"{waits}.0")["NumJobStarts"] == 1
    assert not pool.mistakes()


def test_a_job_of_a_crontab_takes_its_slot_for_the_next_minute_and_a_bad_one_is_held(
    start: Callable[..., Pool],
) -> None:
    pool = start("", cpus=2)
    now = int(time.time())
    every = pool.submit("cron_minute = *\non_exit_remove = false\ncron_window = 30", script="exit 0")
    wrong = pool.submit("cron_hour = 7\ncron_minute = 0-59,70", script="exit 0")
    held = pool.seen(f"{wrong}.0", JobStatus=5)
    assert held["HoldReasonCode"] == 25
    assert held["HoldReason"].startswith("CronMinute = 0-59,70: '70' is not in the range 0 to 59")
    waiting = pool.seen(f"{every}.0", JobState="Deferred")
    assert waiting["JobStatus"] == 2 and waiting["ScheddInterval"] == 300
    # The next full minute from when it was given a slot, and the one after where it came too late to that one.
    assert waiting["DeferralTime"] % 60 == 0 and now < waiting["DeferralTime"] <= time.time() + 60
    pool("rm", str(every))
    eventually(lambda: not pool.jobs(every), "the job to leave")
    assert not pool.mistakes()


def test_what_the_prolog_printed_is_kept_though_the_daemon_is_killed_before_the_start(
    start: Callable[..., Pool], tmp_path: Path
) -> None:
    """The next daemon emptied the job's output as it started the program."""
    prolog = tmp_path / "prolog"
    prolog.write_text("#!/bin/sh\necho prolog\n")
    prolog.chmod(0o755)
    pool = start(f"STARTER_PROLOG = {prolog}\n", cpus=1)
    out = pool.work / "out"
    waits = pool.submit(f"deferral_time = {int(time.time()) + 15}\ndeferral_window = 60\noutput = {out}", "echo job")

    def is_kept() -> bool:
        return any('"printed": true' in path.read_text() for path in pool.home.rglob("*.slot"))

    eventually(is_kept, "the state after the prolog is on disk")
    assert out.read_text() == "prolog\n"
    assert pool.kill("node")
    pool.wait(waits)
    assert out.read_text() == "prolog\njob\n"
    assert pool.job(f"{waits}.0")["NumJobStarts"] == 1
