"""Limits of queue and master on a real pool: what is refused, in which words, what runs at a time, and for how long."""

from __future__ import annotations

import itertools
import os
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.kit import Pool, eventually, running

SLEEPERS = "executable = /bin/sleep\narguments = 600\nrequest_memory = 1\n{}\nqueue {}\n"


def test_submissions_beyond_a_user_s_limit_are_refused_until_the_limit_is_higher(start: Callable[..., Pool]) -> None:
    pool = start("MAX_JOBS_PER_OWNER = 3\nMAX_JOBS_PER_SUBMISSION = 4\n", cpus=1)
    large = pool.try_("submit", text=SLEEPERS.format("", 5))
    assert "exceed MAX_JOBS_PER_SUBMISSION = 4: the submission has 5 jobs" in large.stderr
    pool("submit", text=SLEEPERS.format("hold = true\naccounting_group = physics", 2))
    refused = pool.try_("submit", text=SLEEPERS.format("accounting_group_user = other\naccounting_group = b", 2))
    assert refused.returncode != 0
    assert "Number of submitted jobs would exceed MAX_JOBS_PER_OWNER = 3: " in refused.stderr
    assert "already has 2 jobs in the queue and is submitting 2" in refused.stderr
    assert len(pool.jobs()) == 2
    config = pool.home / "roost.config"
    config.write_text(config.read_text().replace("PER_OWNER = 3", "PER_OWNER = 4"))
    pool("reconfig")
    pool("submit", text=SLEEPERS.format("hold = true", 2))
    assert len(pool.jobs()) == 4


def test_as_many_jobs_run_as_the_limit_says_and_more_when_it_is_raised(start: Callable[..., Pool]) -> None:
    pool = start("MAX_JOBS_RUNNING = 1\n", cpus=3)
    cluster = int(pool("submit", text=SLEEPERS.format("", 3)).split()[-1].rstrip("."))
    now_running = lambda: [job for job in pool.jobs(cluster) if job["JobStatus"] == 2]  # noqa: E731
    eventually(now_running)
    pool.seen(f"{cluster}.0", JobStatus=2)
    # Others have been looked at since: a cycle of the matchmaker that has heard of them gives them nothing.
    other = int(pool("submit", text=SLEEPERS.format("", 1)).split()[-1].rstrip("."))
    pool("rm", f"{cluster}.0")
    eventually(lambda: [job["ProcId"] for job in now_running()] == [1])
    assert sum(job["JobStatus"] == 2 for job in pool.jobs()) == 1
    config = pool.home / "roost.config"
    config.write_text(config.read_text().replace("MAX_JOBS_RUNNING = 1", "MAX_JOBS_RUNNING = 3"))
    pool("reconfig")
    eventually(lambda: [job["JobStatus"] for job in pool.jobs()] == [2, 2, 2])
    assert {job["ClusterId"] for job in pool.jobs()} == {cluster, other}


def test_slots_are_asked_for_at_the_rate_of_the_start_delay(start: Callable[..., Pool]) -> None:
    pool = start("JOB_START_COUNT = 2\nJOB_START_DELAY = 5\n", cpus=4)
    cluster = int(pool("submit", text=SLEEPERS.format("", 4)).split()[-1].rstrip("."))
    eventually(lambda: [job["JobStatus"] for job in pool.jobs(cluster)] == [2, 2, 2, 2])
    starts = sorted(job["LastMatchTime"] for job in pool.jobs(cluster))
    assert starts[2] - starts[1] >= 3, "the second two wait for the rest of the interval"


def test_jobs_are_told_apart_by_the_listed_attributes_alone(start: Callable[..., Pool]) -> None:
    pool = start("SIGNIFICANT_ATTRIBUTES = Colour\nSTART = TARGET.Size < 5\nSTARTD_DEBUG = D_LOAD\n", cpus=1)
    text = SLEEPERS.format("+Colour = 1\n+Size = 10 - 9 * $(Process)", 2)
    cluster = int(pool("submit", text=text).split()[-1].rstrip("."))
    # The second is taken to be as large as the first.
    eventually(lambda: "no match found" in pool.try_("explain", "job", f"{cluster}.1").stdout)
    assert [job["JobStatus"] for job in pool.jobs(cluster)] == [1, 1]
    config = pool.home / "roost.config"
    config.write_text(config.read_text().replace("SIGNIFICANT_ATTRIBUTES = Colour\n", ""))
    pool("reconfig")
    eventually(lambda: [job["JobStatus"] for job in pool.jobs(cluster)] == [1, 2])
    loads = re.compile(r" roost\.node\.load: slot1: SystemLoad: [0-9.]+ CondorLoad: [0-9.]+ OwnerLoad: [0-9.]+\n")
    eventually(lambda: loads.search((pool.home / "log" / "node.log").read_text()))


def test_a_shutdown_that_takes_longer_than_its_time_becomes_a_fast_one(start: Callable[..., Pool]) -> None:
    pool = start("SHUTDOWN_GRACEFUL_TIMEOUT = 2\nMachineMaxVacateTime = 3600\n", cpus=1)
    cluster = pool.submit("job_max_vacate_time = 3600", "trap '' TERM\necho on > stubborn\nwhile :; do sleep 1; done")
    pool.seen(f"{cluster}.0", JobStatus=2)
    eventually((pool.work / "stubborn").exists)
    pool.down()
    assert not [each for each in pool.processes().values() if "sleep" in each]
    pool.up()
    assert pool.job(f"{cluster}.0")["JobStatus"] in (1, 2), "it waits in the queue, or runs again"


def test_a_daemon_that_dies_waits_as_the_backoff_says(start: Callable[..., Pool], tmp_path: Path) -> None:
    log = tmp_path / "logs" / "MasterLog"
    pool = start(f"MASTER_BACKOFF_CONSTANT = 2\nMASTER_BACKOFF_FACTOR = 1\nMASTER_LOG = {log}\n", cpus=1)
    before = pool.kill("schedd")
    died = time.monotonic()
    pid = pool.home / "run" / "schedd.pid"
    eventually(lambda: pid.exists() and int(pid.read_text() or before) != before)
    assert time.monotonic() - died >= 2.0
    told = log.read_text()
    assert f" INFO roost.master: schedd is process {before}\n" in told
    assert "Z INFO roost.master: schedd was killed by SIGKILL; restarting it in 3 s; see " in told
    config = pool.home / "roost.config"
    config.write_text(config.read_text().replace(str(log), f"{log}2"))
    eventually(lambda: pool.try_("reconfig").returncode == 0, "the queue is still starting")
    pool.kill("central")
    eventually(lambda: "central was killed by SIGKILL" in Path(f"{log}2").read_text())
    assert "central was killed" not in log.read_text()


def test_logs_are_where_and_as_long_as_the_configuration_says(start: Callable[..., Pool], tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    pool = start(f"SCHEDD_LOG = {logs}/SchedLog\nSTARTD_LOG = {logs}/StartLog\nSTARTD_DEBUG = D_FULLDEBUG\n", cpus=1)
    pool.wait(pool.submit("executable = /bin/true"))
    assert "is ready" in (logs / "SchedLog").read_text()
    assert (pool.home / "log" / "schedd.log").resolve() == logs / "SchedLog"
    assert re.search(r" DEBUG roost\.(node|starter|hooks)", (logs / "StartLog").read_text())
    config = pool.home / "roost.config"
    config.write_text(config.read_text().replace("D_FULLDEBUG", "D_ALWAYS") + "MAX_STARTD_LOG = 10000\n")
    pool("reconfig")
    size = len((logs / "StartLog").read_text())
    for _ in range(3):
        pool.wait(pool.submit("executable = /bin/true\nqueue 40"))
    eventually((logs / "StartLog.1").exists)
    assert (logs / "StartLog").stat().st_size <= 10_000
    assert size and " DEBUG " not in (logs / "StartLog").read_text()


def test_users_whom_a_list_denies_are_refused_and_a_list_of_hosts_is(start: Callable[..., Pool]) -> None:
    pool = start("DENY_WRITE = *\n", cpus=1)
    refused = pool.try_("submit", text=SLEEPERS.format("", 1))
    assert refused.returncode != 0
    assert "may not submit jobs: DENY_WRITE denies it to " in refused.stderr
    assert pool.jobs() == [], "what changes nothing is answered"
    config = pool.home / "roost.config"
    config.write_text(config.read_text().replace("DENY_WRITE = *", "DENY_WRITE = *.example.org"))
    assert "DENY_WRITE: *.example.org is a host" in pool.try_("reconfig").stderr
    assert pool.try_("submit", text=SLEEPERS.format("", 1)).returncode != 0, "the configuration is unchanged"
    config.write_text(config.read_text().replace("DENY_WRITE = *.example.org", "DENY_WRITE = mallory@*"))
    pool("reconfig")
    pool("submit", text=SLEEPERS.format("hold = true", 1))


def test_jobs_whose_files_take_turns_all_end_with_their_output(start: Callable[..., Pool]) -> None:
    pool = start("MAX_CONCURRENT_UPLOADS = 1\nMAX_CONCURRENT_DOWNLOADS = 1\n", cpus=4)
    for number in range(4):
        (pool.work / f"in{number}").write_text(f"{number}" * 2_000_000)
    text = "should_transfer_files = YES\ntransfer_input_files = in$(Process)\noutput = out$(Process)\nlog = log\n"
    pool.wait(pool.submit(f"{text}queue 4", "cat in?"))
    log = (pool.work / "log").read_text()
    for number in range(4):
        stages = re.findall(rf"^040 \(\d+\.00{number}\.000\) \S+ \S+ (.*)\n(.*)$", log, re.MULTILINE)
        for (stage, _), (after, more) in itertools.pairwise(stages):
            if stage.startswith("Entered queue to transfer "):
                assert after == stage.replace("Entered queue to transfer", "Started transferring")
                assert re.fullmatch(r"\tSeconds spent in queue: \d+", more)
    for number in range(4):
        assert (pool.work / f"out{number}").read_text() == f"{number}" * 2_000_000


def test_what_is_moved_is_limited_for_jobs_that_say_nothing(start: Callable[..., Pool]) -> None:
    pool = start("MAX_TRANSFER_OUTPUT_MB = 1\nMAX_TRANSFER_INPUT_MB = RequestCpus * 2\n", cpus=1)
    moving = "should_transfer_files = YES\n"
    large = pool.submit(moving, "head -c 3000000 /dev/zero > large")
    (pool.work / "in").write_bytes(bytes(3_000_000))
    fed = pool.submit(f"{moving}transfer_input_files = in\n", "true")
    own = pool.submit(f"{moving}max_transfer_output_mb = 5\n", "head -c 3000000 /dev/zero > own")
    assert pool.seen(f"{large}.0", JobStatus=5)["HoldReasonCode"] == 33
    assert pool.seen(f"{fed}.0", JobStatus=5)["HoldReasonCode"] == 32
    pool.wait(own)
    assert (pool.work / "own").stat().st_size == 3_000_000


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs jobs as others")
def test_jobs_do_not_run_as_their_owner_where_that_is_not_allowed() -> None:
    # In a place that other users can get to.
    with tempfile.TemporaryDirectory(prefix="roost-limits-") as directory:
        place = Path(directory)
        place.chmod(0o755)
        with running(place / "pool", "STARTER_ALLOW_RUNAS_OWNER = False\nJOB_EXECDIR_PERMISSIONS = world\n") as pool:
            config = pool.home / "roost.config"
            for more, expected in (
                ("", "nobody\n755\n"),
                ("NOBODY_SLOT_USER = daemon\nJOB_EXECDIR_PERMISSIONS = user\n", "daemon\n700\n"),
                ("SLOT1_USER = bin\n", "bin\n700\n"),
            ):
                config.write_text(config.read_text() + more)
                pool("reconfig")
                pool.wait(pool.submit("should_transfer_files = YES\noutput = out\n", "id -un; stat -c %a ."))
                assert (pool.work / "out").read_text() == expected
