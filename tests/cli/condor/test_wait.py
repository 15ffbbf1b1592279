"""``condor_wait`` on logs of all kinds; it asks no pool."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from tests.cli.condor.kit import Done, run

SUBMITTED = "000 ({:03}.000.000) 2026-11-22 00:08:00 Job submitted from host: <vm>\n...\n"
RUNNING = "001 ({:03}.000.000) 2026-11-22 00:08:01 Job executing on host: <vm>\n...\n"
ENDED = "009 ({:03}.000.000) 2026-11-22 00:08:02 Job was aborted.\n\tvia condor_rm\n...\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log in which cluster 1 has ended."""
    path = tmp_path / "events"
    path.write_text(SUBMITTED.format(1) + RUNNING.format(1) + ENDED.format(1))
    return path


def wait(*arguments: object) -> Done:
    """Run it."""
    return run("condor_wait", *(str(each) for each in arguments))


def test_jobs_of_an_earlier_run_do_not_hide_that_a_job_of_the_same_log_runs(log: Path) -> None:
    log.write_text(log.read_text() + SUBMITTED.format(2))
    assert wait("-wait", 1, log) == (1, "Time expired.\n", "")
    assert wait("-wait", 0, log, 2) == (0, "", "")
    assert wait(log, "1.0") == (0, "All jobs done.\n", "")


def test_what_comes_while_it_waits_counts(log: Path) -> None:
    log.write_text(SUBMITTED.format(2))

    def end() -> None:
        with log.open("a") as file:
            file.write(ENDED.format(2))

    later = threading.Timer(0.1, end)
    later.start()
    assert wait("-wait", 20, log) == (0, "All jobs done.\n", "")
    later.join()


def test_nobody_to_wait_for_is_done_and_said(log: Path) -> None:
    assert wait(log, 9) == (0, "All jobs done.\n", "This log does not mention that job!\n")
    log.write_text("")
    assert wait(log) == (0, "All jobs done.\n", "This log does not mention any jobs!\n")


def test_no_time_at_all_looks_through_the_log_and_is_no_failure(log: Path) -> None:
    assert wait("-wait", 0, log) == (0, "All jobs done.\n", "")
    log.write_text(SUBMITTED.format(2))
    assert wait("-wait", 0, log) == (0, "", "")


def test_a_number_of_jobs_is_enough(log: Path) -> None:
    log.write_text(log.read_text() + SUBMITTED.format(2))
    assert wait("-num", 1, log, "-1") == (0, "Specifed number of jobs (1) done.\n", "")
    assert wait("-num", 2, "-wait", 0, log) == (0, "", "")
    assert wait("-num", 0, log) == (1, "", "-num must be greater than zero\n")


def test_what_happened_is_told(log: Path) -> None:
    done = wait("-status", log)
    assert done.lines == ["1.0.0 submitted", "1.0.0 executing on host <vm>", "1.0.0 aborted", "All jobs done."]


def test_a_log_is_transcribed_to_its_end(log: Path) -> None:
    log.write_text(log.read_text() + SUBMITTED.format(2))
    assert wait("-allevents", "-echo", log) == (0, log.read_text(), "")
    done = wait("-allevents", "-echo:JSON,UTC", log, 2)
    assert json.loads(done.out)["EventTypeNumber"] == 0 and json.loads(done.out)["EventTime"].endswith("Z")
    assert wait("-allevents", "-echo:XML", log, 2).out.count("<c>") == 1
    assert "-echo:YAML" in wait("-echo:YAML", log).err
    assert wait("-num", 1, "-allevents", log).err == "-allevents cannot be used with -num\n"


def test_a_bad_argument_is_named(log: Path) -> None:
    assert wait(log, "x") == (1, "", "Couldn't understand job number: x\n")
    assert wait("nowhere") == (1, "", "Couldn't open nowhere: No such file or directory\n")
    assert wait(log.parent).status == 1


def test_a_cluster_whose_jobs_come_one_after_another_is_over_when_it_leaves(log: Path) -> None:
    cluster = "{} (002.-01.000) 2026-11-22 00:08:00 Cluster {}\n...\n"
    text = cluster.format("035", "submitted from host: <vm>") + SUBMITTED.format(2) + ENDED.format(2)
    log.write_text(log.read_text() + text)
    assert wait("-wait", 1, log) == (1, "Time expired.\n", "")
    removed = "removed\n\tMaterialized 1 jobs from 1 items.\tComplete"
    log.write_text(log.read_text() + cluster.format("036", removed))
    assert wait(log) == (0, "All jobs done.\n", "")
