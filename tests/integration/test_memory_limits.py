"""CGROUP_MEMORY_LIMIT_POLICY on a real pool: a job that needs more than its slot has is held, with the reason."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator

import pytest

from roost.runtime.processes.cgroup import base_group, remove_parent_group
from roost.runtime.processes.memory_control import MemoryControl, find_memory_control
from tests.integration.kit import Pool, eventually

Start = Callable[..., Pool]

_EATS = "python3 -c \"eaten = bytearray(300 * 2**20); print('ate')\""
_SLOTS = "NUM_SLOTS_TYPE_1 = 1\nSLOT_TYPE_1 = 100%\nSLOT_TYPE_1_PARTITIONABLE = True\n"


def _limits() -> bool:
    found = find_memory_control(f"roost-test-{os.getpid()}", "", None)
    return isinstance(found, MemoryControl) and remove_parent_group(found.parent)


limited = pytest.mark.skipif(not _limits(), reason="there is no memory controller of version 1")


@pytest.fixture
def base() -> Iterator[str]:
    """A control group of one's own."""
    name = f"roost-test-pool-{os.getpid()}"
    yield name
    for each in (base_group(name, "memory"), base_group(name)):
        if each is not None and each.exists():
            eventually(lambda path=each: remove_parent_group(path))  # type: ignore[misc]


@limited
def test_a_job_above_its_limit_is_held_and_one_within_it_is_not(start: Start, base: str) -> None:
    pool = start(f"{_SLOTS}CGROUP_MEMORY_LIMIT_POLICY = hard\nDISABLE_SWAP_FOR_JOB = True\nBASE_CGROUP = {base}\n")
    small = pool.submit("request_memory = 128\noutput = small\n", f"{_EATS}; exit 0")
    large = pool.submit("request_memory = 1024\noutput = large\n", _EATS)
    # The shell would have ended well: it is the program that it runs which was killed.
    ad = pool.seen(f"{small}.0", JobStatus=5)
    assert (ad["HoldReasonCode"], ad["HoldReasonSubCode"]) == (34, 102)
    assert "memory limit of its slot, 128 MB (request_memory is 128 MB); its largest use was 128 MB" in ad["HoldReason"]
    pool.wait(large)
    assert (pool.work / "large").read_text() == "ate\n"
    daemons = json.loads(pool("status", "--daemons", "--json"))
    assert "shortcomings" not in daemons


@limited
def test_a_job_above_its_limit_is_tried_again_with_more(start: Start, base: str) -> None:
    pool = start(f"{_SLOTS}CGROUP_MEMORY_LIMIT_POLICY = hard\nDISABLE_SWAP_FOR_JOB = True\nBASE_CGROUP = {base}\n")
    listed = pool.submit("request_memory = 64 MB, 128 MB, 0.5 GB\noutput = listed\nlog = listed.log\n", _EATS)
    added = pool.submit(
        "request_memory = 64\nretry_request_memory_increase = 32 MB\nretry_request_memory_max = 100 MB\n", _EATS
    )
    pool.wait(listed)
    assert (pool.work / "listed").read_text() == "ate\n"
    evictions = [line for line in (pool.work / "listed.log").read_text().splitlines() if "the next run uses" in line]
    assert [line.rpartition("; ")[2] for line in evictions] == [
        "the next run uses RequestMemory = 128 MB",
        "the next run uses RequestMemory = 512 MB",
    ]
    # 64, 96 and 100 MB were not enough, and there is no more to try.
    ad = pool.seen(f"{added}.0", JobStatus=5)
    assert (ad["RequestMemory"], ad["NumHolds"], ad["NumVacates"]) == (100, 1, 2)
    assert ad["NumHoldsByReason"] == {"expr": "[ JobOutOfResources = 1 ]"}
    assert 0 <= ad["InitialWaitDuration"] < 60


@limited
def test_limits_begin_and_end_by_reconfig(start: Start) -> None:
    pool = start(_SLOTS)
    file = pool.home / "roost.config"
    before = file.read_text()
    for policy, status in (("none", 4), ("hard", 5), ("soft", 4), ("custom", 5)):
        file.write_text(
            f"{before}CGROUP_MEMORY_LIMIT_POLICY = {policy}\nDISABLE_SWAP_FOR_JOB = True\n"
            "CGROUP_HARD_MEMORY_LIMIT_EXPR = TARGET.RequestMemory / 2\n"
        )
        pool("reconfig")
        job = pool.submit("request_memory = 256\n", _EATS)
        ad = pool.seen(f"{job}.0", JobStatus=status)
        if policy == "custom":
            assert "memory limit of its slot, 128 MB (request_memory is 256 MB)" in ad["HoldReason"]


def test_where_memory_cannot_be_limited_the_pool_starts_and_says_so(start: Start) -> None:
    # A group cannot be made below what is no group but a file.
    pool = start(f"{_SLOTS}CGROUP_MEMORY_LIMIT_POLICY = hard\nBASE_CGROUP = cgroup.procs\n")
    pool.down()
    done = pool.try_("up", "-d")
    words = "the memory of jobs is not limited, though CGROUP_MEMORY_LIMIT_POLICY asks for it"
    assert done.returncode == 0, done.stderr
    assert words in done.stderr
    assert words in (pool.home / "log" / "node.log").read_text()
    assert words in pool("status", "--daemons")
    assert words in json.loads(pool("status", "--daemons", "--json"))["shortcomings"]["node"]
    job = pool.submit("request_memory = 128\noutput = out\n", _EATS)
    pool.wait(job)
    assert (pool.work / "out").read_text() == "ate\n"
    file = pool.home / "roost.config"
    file.write_text(file.read_text() + "CGROUP_MEMORY_LIMIT_POLICY = none\n")
    pool("reconfig")
    eventually(lambda: words not in pool("status", "--daemons"))
