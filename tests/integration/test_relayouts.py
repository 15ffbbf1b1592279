"""The number of slots of a real machine changes while jobs run on it, and its daemon is killed meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.integration.kit import Pool, eventually

Start = Callable[..., Pool]

_TYPED = "SLOT_TYPE_1 = cpus=1, 1/4\nNUM_SLOTS_TYPE_1 = "
_JOB = "until test -f go.$1; do sleep 0.1; done; echo run >> ran.$1"


def _slots(pool: Pool) -> dict[str, dict[str, Any]]:
    rows = json.loads(pool("status", "--json", "--long"))
    return {row["Name"].partition("@")[0]: row for row in rows if str(row.get("Name", "")).startswith("slot")}


def _reconfigured(pool: Pool, text: str) -> str:
    with (pool.home / "roost.config").open("a") as file:
        file.write(f"{text}\n")
    return pool("reconfig")


def _killed(pool: Pool) -> None:
    """Kill the node's daemon, and wait for the next one."""
    old = pool.kill("node")
    eventually(lambda: pool.pid("node") not in (0, old))


def _leaving(pool: Pool) -> dict[str, str]:
    return {name: row["SlotLeavingReason"] for name, row in _slots(pool).items() if "SlotLeavingReason" in row}


def _end(pool: Pool, cluster: int, job: int) -> None:
    (pool.work / f"go.{job}").touch()
    pool.wait(f"{cluster}.{job}")


def test_static_slots_go_from_two_to_four_to_one_around_jobs_that_run(start: Start) -> None:
    pool = start(f"{_TYPED}2", cpus=4)
    cluster = pool.submit("request_memory = 100\narguments = $(Process)\nqueue 4", _JOB)
    for job in (0, 1):
        pool.seen(f"{cluster}.{job}", JobStatus=2)
    assert pool.job(f"{cluster}.2")["JobStatus"] == 1
    _reconfigured(pool, f"{_TYPED}4")
    for job in (2, 3):
        pool.seen(f"{cluster}.{job}", JobStatus=2)
    told = _reconfigured(pool, f"{_TYPED}1")
    assert "slot4@" in told and "accepts no further jobs and is deleted once it is free" in told
    surplus = {f"slot{number}": "the configuration has fewer slots of its type" for number in (2, 3, 4)}
    eventually(lambda: _leaving(pool) == surplus)
    assert {row["Requirements"]["expr"] for name, row in _slots(pool).items() if name in surplus} == {"false"}
    assert "is deleted once it is free" in pool("explain", "slot", "slot4")
    _killed(pool)
    where = {pool.job(f"{cluster}.{job}")["RemoteHost"].partition("@")[0]: job for job in range(4)}
    assert sorted(where) == ["slot1", "slot2", "slot3", "slot4"]
    waiting = pool.submit("request_memory = 100\narguments = 9", _JOB)
    _end(pool, cluster, where["slot3"])
    eventually(lambda: set(_slots(pool)) == {"slot1", "slot2", "slot4"})
    eventually(lambda: set(_leaving(pool)) == {"slot2", "slot4"})
    assert pool.job(f"{waiting}.0")["JobStatus"] == 1
    for name in ("slot2", "slot4", "slot1"):
        _end(pool, cluster, where[name])
    eventually(lambda: set(_slots(pool)) == {"slot1"})
    (pool.work / "go.9").touch()
    pool.wait(waiting)
    for job in (0, 1, 2, 3, 9):
        assert (pool.work / f"ran.{job}").read_text() == "run\n"
    assert pool.job(f"{cluster}.0")["NumShadowStarts"] == 1


def test_a_partitionable_slot_becomes_static_ones_once_the_jobs_on_it_are_gone(start: Start) -> None:
    whole = "SLOT_TYPE_1 = 100%\nSLOT_TYPE_1_PARTITIONABLE = True\nNUM_SLOTS_TYPE_1 = 1"
    pool = start(whole, cpus=4)
    cluster = pool.submit("request_memory = 100\narguments = $(Process)\nqueue 2", _JOB)
    for job in (0, 1):
        pool.seen(f"{cluster}.{job}", JobStatus=2)
    _reconfigured(pool, "NUM_SLOTS_TYPE_1 = 0\nNUM_SLOTS = 2")
    eventually(lambda: set(_leaving(pool)) == {"slot1", "slot1_1", "slot1_2"})
    _end(pool, cluster, 0)
    eventually(lambda: len(_slots(pool)) == 2)
    _killed(pool)
    _end(pool, cluster, 1)
    eventually(lambda: {name: row["Cpus"] for name, row in _slots(pool).items()} == {"slot1": 2, "slot2": 2})
    assert [(pool.work / f"ran.{job}").read_text() for job in (0, 1)] == ["run\n", "run\n"]
    after = pool.submit("request_memory = 100\narguments = 0", _JOB)
    pool.wait(after)


def test_an_impossible_layout_is_refused_whole(start: Start) -> None:
    pool = start(f"{_TYPED}2", cpus=4)
    with (pool.home / "roost.config").open("a") as file:
        file.write(f"{_TYPED}5\nSTARTD_ATTRS = Room\nRoom = 7\n")
    refused = pool.try_("reconfig")
    assert refused.returncode == 2
    assert "node keeps its previous configuration" in refused.stderr
    assert "slot of type 1 number 5 of 5 cannot be created" in refused.stderr
    assert "number 5 of 5" in (pool.home / "log" / "node.log").read_text()
    slots = _slots(pool)
    assert set(slots) == {"slot1", "slot2"} and "Room" not in slots["slot1"]


def test_other_cores_and_the_slots_for_them_wait_for_a_restart(start: Start) -> None:
    pool = start("NUM_SLOTS = 2", cpus=2)
    told = _reconfigured(pool, "NUM_CPUS = 4\nNUM_SLOTS = 4")
    assert "NUM_CPUS, NUM_SLOTS take effect at the next start" in told
    assert set(_slots(pool)) == {"slot1", "slot2"}
