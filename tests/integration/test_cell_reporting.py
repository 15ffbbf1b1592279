"""A pool with a cell that wants a reporting file has each event in it once, in order, whatever is killed meanwhile."""

from __future__ import annotations

import itertools
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

#: What follows "sent" where the order did not arrive.
SENT_AGAIN = [("restart", "t", "master"), ("sent", "t", "master")]


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
    host = place / "execution" / "global"
    host.write_text(re.sub(r"(?m)^report_variables .*", "report_variables slots,num_proc,arch", host.read_text()))
    file = place / "configurations" / "global"
    file.write_text(re.sub(r"(?m)^load_report_time .*", "load_report_time 0:0:1", file.read_text()))
    (place / "sharetree").write_text("id=0\nname=Root\ntype=0\nshares=1\nchildnodes=1\n"
                                     "id=1\nname=default\ntype=0\nshares=10\nchildnodes=NONE\n")  # fmt: skip
    words = f"accounting=true reporting={wanted} joblog=true flush_time=00:00:01 sharelog=00:00:01"
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
    again = 0
    for task in range(1, jobs + 1):
        told = log(pool, array, task)
        if told[2:4] == SENT_AGAIN:
            # The queue was killed with the order on its way.
            del told[2:4]
            again += 1
        assert told == LIFE, task
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

    # Each task takes one of two slots and leaves it, whatever is killed meanwhile.
    slots = [line[-1] for line in lines(pool) if line[1] == "queue_consumable"]
    used = [float(text.removeprefix("slots=").removesuffix("=2.000000")) for text in slots]
    assert (len(used), used[-1]) == (2 * (jobs + again), 0.0)
    assert all(abs(one - other) == 1.0 for one, other in itertools.pairwise([0.0, *used])), used
    eventually(lambda: any(line[1] == "host" for line in lines(pool)), lambda: str(lines(pool)))
    told = [line[2:] for line in lines(pool) if line[1] == "host"]
    assert all((line[0], *line[2:]) == (node(pool), "X", "num_proc=2,arch=lx-amd64") for line in told), told

    def shares() -> list[list[str]]:
        return [line[4:8] for line in lines(pool) if line[1] == "sharelog"]

    eventually(lambda: ["/default/" + user_name(), user_name(), "", "10"] in shares(), lambda: str(shares()))

    pool("cell", "disable", "all.q")
    pool("cell", "enable", "all.q")
    eventually(lambda: sum(line[1] == "queue" for line in lines(pool)) == 2, lambda: str(lines(pool)))
    states = [(line[2], line[3], line[5]) for line in lines(pool) if line[1] == "queue"]
    assert states == [("all.q", node(pool), "d"), ("all.q", node(pool), "")]
    report(pool, tmp_path / "cell", "false")
    before = lines(pool)
    pool.wait(pool.submit("", "true"))
    assert lines(pool) == before
