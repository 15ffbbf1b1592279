"""A pool with a cell that wants a reporting file has each event in it once, in order, whatever is killed meanwhile."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from roost.runtime.identity import host_name, user_name
from tests.integration.kit import Pool, eventually
from tests.integration.test_cell_jobs import cell, node

#: What happens to a job that runs once and ends by itself: event, state, in whose name.
LIFE = [
    ("pending", "", user_name()),
    ("sent", "t", "master"),
    ("delivered", "r", "master"),
    ("finished", "r", "execution daemon"),
    ("finished", "r", "master"),
    ("deleted", "T", "scheduler"),
]


def lines(pool: Pool) -> list[list[str]]:
    file = pool.home / "gridengine" / "default" / "common" / "reporting"
    text = file.read_text() if file.exists() else ""
    return [line.split(":") for line in text.splitlines() if not line.startswith("#")]


def log(pool: Pool, job: int, task: int) -> list[tuple[str, str, str]]:
    """What `job_log` tells of a task, and of its job."""
    found = [
        line for line in lines(pool) if line[1] == "job_log" and line[4] == str(job) and line[5] in ("-1", str(task))
    ]
    return [(line[3], line[7], line[8]) for line in found]


def reporting_cell(pool: Pool, place: Path) -> None:
    cell(pool, place, slots=2)
    report(pool, place, "true")


def report(pool: Pool, place: Path, wanted: str) -> None:
    file = place / "configurations" / "global"
    words = f"accounting=true reporting={wanted} joblog=true flush_time=00:00:01"
    text, count = re.subn(r"(?m)^reporting_params .*(\\\n.*)*", f"reporting_params {words}", file.read_text())
    assert count == 1
    file.write_text(text)
    pool("cell", "apply", str(place))


def test_each_event_is_told_once_and_in_order_over_kills_of_the_queue(
    start: Callable[..., Pool], tmp_path: Path
) -> None:
    pool = start(cpus=2)
    reporting_cell(pool, tmp_path / "cell")
    jobs = 8
    ran = tmp_path / "log"
    ran.touch()
    array = pool.submit(f"queue {jobs}", f"echo >> {ran}; sleep 0.3")
    for begun in (2, 5):
        eventually(lambda begun=begun: len(ran.read_text()) >= begun, "some have begun")  # type: ignore[misc]
        assert pool.kill("schedd")
    pool.wait(array)
    eventually(lambda: sum(line[1] == "acct" for line in lines(pool)) >= jobs, lambda: str(lines(pool)))
    eventually(
        lambda: all(len(log(pool, array, task)) >= len(LIFE) for task in range(1, jobs + 1)), lambda: str(lines(pool))
    )
    assert {task: log(pool, array, task) for task in range(1, jobs + 1)} == dict.fromkeys(range(1, jobs + 1), LIFE)
    assert [line[1:5] for line in lines(pool) if line[1] == "new_job"] == [
        ["new_job", lines(pool)[0][2], str(array), "-1"]
    ]
    accounts = (pool.home / "gridengine" / "default" / "common" / "accounting").read_text().splitlines()
    assert [":".join(line[2:]) for line in lines(pool) if line[1] == "acct"] == [
        each for each in accounts if each[0] != "#"
    ]
    assert {line[9] for line in lines(pool) if line[1] == "job_log" and line[8] == "execution daemon"} == {node(pool)}
    assert {line[9] for line in lines(pool) if line[1] == "job_log" and line[8] == "master"} == {host_name()}
    times = [int(line[0]) for line in lines(pool)]
    assert times == sorted(times)

    pool("cell", "disable", "all.q")
    pool("cell", "enable", "all.q")
    eventually(lambda: sum(line[1] == "queue" for line in lines(pool)) == 2, lambda: str(lines(pool)))
    states = [(line[2], line[3], line[5]) for line in lines(pool) if line[1] == "queue"]
    assert states == [("all.q", node(pool), "d"), ("all.q", node(pool), "")]
    report(pool, tmp_path / "cell", "false")
    before = lines(pool)
    pool.wait(pool.submit("", "true"))
    assert lines(pool) == before
