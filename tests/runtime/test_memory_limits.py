"""The memory of a job is limited: version 1's controller is real, version 2's files are in a directory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.classad import ClassAd
from roost.config import Config, MemoryHost, load_text
from roost.runtime.processes.cgroup import base_group, remove_parent_group
from roost.runtime.processes.family import adopt, bury
from roost.runtime.processes.fork_server import ForkServer
from roost.runtime.processes.memory_control import (
    MemoryControl,
    MemoryLimit,
    find_memory_control,
    hand_down,
    memory_limit,
)
from tests.runtime.kit import Beacon, Place, eventually, not_started, run, started

_MIB = 1024 * 1024
#: Takes so many MiB, and says so.
_EATS = "import sys; eaten = bytearray(int(sys.argv[1]) * 2**20); print('ate', flush=True)"


def _limits() -> bool:
    found = find_memory_control(f"roost-test-{os.getpid()}", "", None)
    return isinstance(found, MemoryControl) and remove_parent_group(found.parent)


#: There is a memory controller of version 1, which is there whatever the groups of version 2 are.
LIMITS = _limits()

limited = pytest.mark.skipif(not LIMITS, reason="there is no memory controller of version 1")


async def _limiting(fork_server: ForkServer) -> Path:
    assert await fork_server.limit_memory() == ""
    assert fork_server.memory is not None
    return fork_server.memory.parent


def _in_group(group: Path) -> list[str]:
    return [each.name for each in group.iterdir() if each.is_dir()] if group.exists() else []


@limited
def test_a_job_that_needs_more_than_its_limit_is_killed_and_its_record_says_so(place: Place) -> None:
    async def work() -> None:
        async with place.fork_server() as fork_server:
            parent = await _limiting(fork_server)
            limit = MemoryLimit(hard=48 * _MIB, no_swap=True)
            family = await started(fork_server, place.python("1", _EATS, "200", memory=limit))
            end = await family.wait()
            assert (end.exit_code, end.signal) == (None, 9)
            assert end.out_of_memory is not None
            allowed, peak = end.out_of_memory
            assert allowed == 48 * _MIB and 40 * _MIB < peak <= allowed
            # A daemon that comes later reads the same.
            again = await adopt(family.record, family.key)
            assert again is not None and not hasattr(again, "stage")
            assert (await again.wait()).out_of_memory == end.out_of_memory
            await eventually(lambda: not _in_group(parent))
        assert not parent.exists()

    run(work())


@limited
def test_a_job_within_its_limit_and_one_without_are_not_killed(one_place: Place) -> None:
    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            await _limiting(fork_server)
            for name, limit in (("1", MemoryLimit(hard=400 * _MIB)), ("2", None), ("3", MemoryLimit(soft=20 * _MIB))):
                out = one_place.path / f"out{name}"
                order = one_place.python(name, _EATS, "100", memory=limit, stdout=out)
                end = await (await started(fork_server, order)).wait()
                assert (end.exit_code, end.out_of_memory, out.read_text()) == (0, None, "ate\n")

    run(work())


@limited
def test_a_child_that_is_killed_for_memory_takes_the_whole_job_with_it(place: Place) -> None:
    async def work() -> None:
        async with place.fork_server() as fork_server:
            await _limiting(fork_server)
            script = "import subprocess, sys, time; subprocess.run([sys.executable, '-c', sys.argv[1], '200'])\n"
            order = place.python("1", script + "time.sleep(1000)", _EATS, memory=MemoryLimit(hard=64 * _MIB))
            end = await (await started(fork_server, order)).wait()
            assert end.signal == 9 and end.out_of_memory is not None

    run(work())


@limited
def test_a_job_that_ends_well_though_its_child_was_killed_for_memory_says_so(one_place: Place) -> None:
    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            await _limiting(fork_server)
            script = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1], '200'])"
            order = one_place.python("1", script, _EATS, memory=MemoryLimit(hard=64 * _MIB))
            end = await (await started(fork_server, order)).wait()
            assert end.out_of_memory is not None

    run(work())


@limited
def test_the_settings_reach_the_kernel_and_the_shepherd_is_outside(one_place: Place, beacon: Beacon) -> None:
    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            parent = await _limiting(fork_server)
            limit = MemoryLimit(hard=128 * _MIB, soft=64 * _MIB, no_swap=True)
            order = one_place.shell("1", f"echo up > {beacon.path}; exec sleep 1000", memory=limit)
            family = await started(fork_server, order)
            await beacon.line()
            group = family.started.memory_group
            assert group is not None and group.parent == parent
            told = {name: (group / f"memory.{name}").read_text().strip() for name in _FILES}
            assert told == {
                "limit_in_bytes": str(128 * _MIB),
                "soft_limit_in_bytes": str(64 * _MIB),
                "memsw.limit_in_bytes": str(128 * _MIB),
            }
            assert (group / "cgroup.procs").read_text().split() == [str(family.pid)]
            # What a killed shepherd leaves is removed by who buries the job.
            os.kill(family.shepherd, 9)
            await family.wait()
            bury(family.record, family.key, family.started)
            assert not group.exists()

    run(work())


_FILES = ("limit_in_bytes", "soft_limit_in_bytes", "memsw.limit_in_bytes")


@limited
def test_groups_can_be_made_below_another_one(one_place: Place) -> None:
    base = f"roost-test-base-{os.getpid()}"

    async def work() -> None:
        fork_server = await ForkServer.start(one_place.path / "nursery", use_groups=one_place.groups, base=base)
        parent = await _limiting(fork_server)
        assert parent.parent == base_group(base, "memory")
        out = one_place.path / "out"
        order = one_place.shell("1", "cat /proc/self/cgroup", memory=MemoryLimit(hard=64 * _MIB), stdout=out)
        assert (await (await started(fork_server, order)).wait()).exit_code == 0
        # The group of version 1's controller, and that of version 2 where there may be one.
        inside = [line.split(":", 2) for line in out.read_text().splitlines() if f"/{base}/" in line]
        assert [each[1] for each in inside if each[1]] == ["memory"]
        assert bool([each for each in inside if not each[1]]) == one_place.groups
        # One that has no limit, and starts the other way, leaves its shepherd where it was.
        for number in range(6):
            await (await started(fork_server, one_place.order(f"p{number}", "/bin/true"))).wait()
        await fork_server.close()
        assert not parent.exists()

    try:
        run(work())
    finally:
        for each in (base_group(base, "memory"), base_group(base)):
            if each is not None and each.exists():
                each.rmdir()


# -- version 2 -----------------------------------------------------------------------------------------------------


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[Path]:
    """The group of one job, in a directory that looks like version 2's."""
    group = tmp_path / "unified" / "roost"
    group.mkdir(parents=True)
    yield group


def _files(group: Path, events: str, peak: str | None) -> None:
    group.mkdir()
    for name in ("cgroup.procs", "memory.max", "memory.high", "memory.swap.max", "memory.oom.group"):
        (group / name).write_text("")
    (group / "memory.events").write_text(events)
    if peak is not None:
        (group / "memory.peak").write_text(peak)


@pytest.mark.parametrize(
    ("events", "peak", "seen"),
    [
        ("low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\n", "33554432\n", (32 * _MIB, 32 * _MIB)),
        ("low 0\nhigh 0\nmax 12\noom 1\noom_kill 3\n", None, (32 * _MIB, 32 * _MIB)),
        # The machine itself ran out of memory, and the job was far from its limit.
        ("low 0\nhigh 0\nmax 0\noom 0\noom_kill 1\n", "1048576\n", None),
        ("low 0\nhigh 0\nmax 12\noom 0\noom_kill 0\n", "33554432\n", None),
    ],
)
def test_with_version_2_the_jobs_own_group_has_the_limit(
    tmp_path: Path, fake: Path, events: str, peak: str | None, seen: tuple[int, int] | None
) -> None:
    place = Place(tmp_path, groups=False)

    async def work() -> None:
        async with place.fork_server() as fork_server:
            fork_server.memory = MemoryControl(parent=fake, unified=True)
            order = place.shell("1", "exit 3", memory=MemoryLimit(hard=32 * _MIB, soft=16 * _MIB, no_swap=True))
            packed = fork_server.memory.packed(MemoryLimit(), "x")
            assert packed["group"] == os.fsencode(fake / "x")
            group = fake / Path(os.fsdecode(_group(fork_server, order.key))).name
            _files(group, events, peak)
            end = await (await started(fork_server, order)).wait()
            assert end.out_of_memory == seen
            told = {name: (group / name).read_text() for name in ("memory.max", "memory.high", "memory.swap.max")}
            assert told == {"memory.max": "33554432", "memory.high": "16777216", "memory.swap.max": "0"}
            assert (group / "memory.oom.group").read_text() == "1"
            # The job has gone there by itself: 0 is who writes it.
            assert (group / "cgroup.procs").read_text() == "0"

    run(work())


def _group(fork_server: ForkServer, key: str) -> bytes:
    from roost.runtime.processes.fork_server import _group_of

    return os.fsencode(_group_of(key))


def test_a_limit_that_cannot_be_set_is_the_machines_fault_and_the_job_does_not_run(tmp_path: Path, fake: Path) -> None:
    place = Place(tmp_path, groups=False)

    async def work() -> None:
        async with place.fork_server() as fork_server:
            fork_server.memory = MemoryControl(parent=fake, unified=True)
            order = place.shell("1", f"touch {tmp_path}/ran", memory=MemoryLimit(hard=32 * _MIB))
            failure = await not_started(fork_server, order)
            assert failure.stage == "memory" and failure.is_machines_fault
            assert "memory of the job cannot be limited" in failure.text and "memory.max" in failure.text
            assert not (tmp_path / "ran").exists()

    run(work())


def test_the_controller_is_handed_down_from_the_root(tmp_path: Path) -> None:
    parent = tmp_path / "system.slice" / "roost"
    parent.mkdir(parents=True)
    for each, before in ((tmp_path, "cpu memory"), (parent.parent, "cpu"), (parent, "")):
        (each / "cgroup.subtree_control").write_text(before)
    hand_down(parent, tmp_path)
    told = [(each / "cgroup.subtree_control").read_text() for each in (tmp_path, parent.parent, parent)]
    assert told == ["cpu memory", "+memory", "+memory"]


def test_without_groups_it_is_said_why_memory_is_not_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roost.runtime.processes.memory_control.base_group", lambda base, controller: None)
    found = find_memory_control("roost", "", None)
    assert isinstance(found, str) and "Delegate=yes" in found


# -- what the policy says --------------------------------------------------------------------------------------------


def _config(text: str) -> Config:
    return load_text(text, MemoryHost())


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("", None),
        ("CGROUP_MEMORY_LIMIT_POLICY = none", None),
        ("CGROUP_MEMORY_LIMIT_POLICY = HARD", MemoryLimit(hard=512 * _MIB)),
        (
            "CGROUP_MEMORY_LIMIT_POLICY = hard\nDISABLE_SWAP_FOR_JOB = True",
            MemoryLimit(hard=512 * _MIB, no_swap=True),
        ),
        ("CGROUP_MEMORY_LIMIT_POLICY = soft", MemoryLimit(soft=512 * _MIB)),
        ("CGROUP_MEMORY_LIMIT_POLICY = custom", None),
        (
            "CGROUP_MEMORY_LIMIT_POLICY = custom\nCGROUP_HARD_MEMORY_LIMIT_EXPR = 2 * Memory\n"
            "CGROUP_SOFT_MEMORY_LIMIT_EXPR = TARGET.RequestMemory + 0.5",
            MemoryLimit(hard=1024 * _MIB, soft=200 * _MIB + _MIB // 2),
        ),
        ("CGROUP_MEMORY_LIMIT_POLICY = custom\nCGROUP_HARD_MEMORY_LIMIT_EXPR = Memroy", None),
    ],
)
def test_the_policy_gives_the_limit(text: str, limit: MemoryLimit | None) -> None:
    slot, job = ClassAd({"Memory": 512}), ClassAd({"RequestMemory": 200})
    assert memory_limit(_config(text), slot, job) == limit


def test_a_run_without_a_limit_has_no_groups_of_memory(one_place: Place) -> None:
    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            family = await started(fork_server, one_place.order("1", "/bin/true"))
            await family.wait()
            assert family.started.memory_group is None and fork_server.memory is None
            await asyncio.sleep(0)

    run(work())
