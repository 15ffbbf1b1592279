"""A job is in its control group from its first instant: by birth where the kernel allows that, else by a move."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from roost.runtime.processes.cgroup import make_parent_group, remove_parent_group
from roost.runtime.processes.family import Family, adopt
from roost.runtime.processes.shepherd.system import fork_into, forks_into
from tests.runtime.conftest import GROUPS
from tests.runtime.kit import Beacon, Place, run, started

pytestmark = pytest.mark.skipif(not GROUPS, reason="no control groups may be made here")


#: Without threads, as a shepherd is.
_PARENT = """
import os, sys
from roost.runtime.processes.shepherd.system import fork_into
child = fork_into(os.fsencode(sys.argv[1]))
if child == 0:
    os.execv("/bin/cat", ["cat", "/proc/self/cgroup"])
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not forks_into(), reason="the kernel does not know clone3, or it is forbidden")
def test_a_child_is_born_in_a_group() -> None:
    parent = make_parent_group(f"roost-test-{os.getpid()}")
    assert parent is not None
    group = parent / "one"
    group.mkdir()
    done = subprocess.run([sys.executable, "-c", _PARENT, str(group)], capture_output=True, text=True, check=False)
    assert done.stdout.rstrip().endswith(f"/{parent.name}/one"), done.stderr
    assert done.returncode == 0
    assert remove_parent_group(parent)


def test_a_group_that_an_earlier_run_of_the_name_left_frozen_is_freed(one_place: Place, beacon: Beacon) -> None:
    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            family = await started(fork_server, one_place.shell("1", f"echo up > {beacon.path}; exec sleep 1000"))
            await beacon.line()
            group = family.started.group
            assert group is not None
            await family.suspend()
            shepherd = family.shepherd
            family.forget()
            os.kill(shepherd, signal.SIGKILL)
            again = replace(one_place.shell("1", "exit 7"), record=one_place.jobs / "another")
            async with asyncio.timeout(30):
                family = await started(fork_server, again)
                assert family.started.group == group
                assert (await family.wait()).exit_code == 7

    run(work())


def test_what_is_no_group_has_no_children(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(OSError):
            fork_into(os.fsencode(path))


def test_groups_that_nobody_is_in_are_removed_by_the_next_fork_server(one_place: Place, beacon: Beacon) -> None:
    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            assert fork_server.group is not None
            family = await started(fork_server, one_place.shell("1", f"echo up > {beacon.path}; exec sleep 1000"))
            await beacon.line()
            family.forget()
        # As a shepherd leaves it that is killed before it has recorded a start.
        (fork_server.group / "left").mkdir()
        async with one_place.fork_server() as fork_server:
            assert fork_server.group is not None
            groups = [each for each in fork_server.group.iterdir() if each.is_dir()]
            assert groups == [family.started.group], "of a job that runs"
            adopted = await adopt(family.record, family.key)
            assert isinstance(adopted, Family)
            assert await adopted.kill()

    run(work())


#: Forbids clone3, as containers' guards do, and starts a plain job and one that is not, alone.
_NODE = """
import asyncio, ctypes, struct, sys
from pathlib import Path
home, prefix, forbidden = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "1"
if forbidden:
    ask, number, said, rest = (0x20, 0, 0, 0), (0x15, 0, 1, 435), (0x06, 0, 0, 0x50000 | 38), (0x06, 0, 0, 0x7FFF0000)
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in (ask, number, said, rest)))
    libc, filter = ctypes.CDLL(None, use_errno=True), struct.pack("HxxxxxxP", 4, ctypes.addressof(program))
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, filter) == 0, ctypes.get_errno()
from roost.runtime.processes.fork_server import ForkServer
from roost.runtime.processes.shepherd.system import forks_into
from roost.runtime.processes.spawn_order import SpawnOrder
assert not (forbidden and forks_into())
async def main():
    fork_server = await ForkServer.start(home / "nursery")
    for number in range(2):
        family = await fork_server.spawn(SpawnOrder(key=f"{prefix}.{number}", record=home / "jobs" / str(number),
            program=Path("/bin/sh"), arguments=("sh", "-c", "cat /proc/self/cgroup; exit 7"), niceness=number,
            stdout=home / "out"))
        assert (await family.wait()).exit_code == 7
        inside = (home / "out").read_text().rstrip().endswith(f"/{family.started.group.name}")
        print("in its group" if inside else "elsewhere", family.started.group.exists())
    await fork_server.close()
asyncio.run(main())
"""


@pytest.mark.parametrize("forbidden", [False, True], ids=["allowed", "forbidden"])
def test_a_job_has_its_group_whether_or_not_it_may_be_born_there(one_place: Place, forbidden: bool) -> None:
    arguments = [str(one_place.path), one_place.prefix, str(int(forbidden))]
    done = subprocess.run([sys.executable, "-c", _NODE, *arguments], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("in its group False\n" * 2, 0), done.stderr
