"""A shepherd whose job came to its own end is given the next one; nothing of the first is seen by the second."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from roost.runtime.processes import shepherd_lines
from roost.runtime.processes.family import Family, adopt
from roost.runtime.processes.run_records import read_end
from roost.runtime.processes.shepherd.processes import look
from tests.runtime.kit import Beacon, Place, eventually, not_started, run, started


def test_the_next_job_gets_the_shepherd_of_the_one_that_ended(place: Place) -> None:
    async def work() -> None:
        async with place.fork_server() as fork_server:
            shepherds = set()
            for number in range(4):
                family = await started(fork_server, place.shell(str(number), f"exit {number}"))
                assert (await family.wait()).exit_code == number
                shepherds.add(family.shepherd)
                assert family.started.group is None or not family.started.group.exists()
            assert len(shepherds) == 1
            (shepherd,) = shepherds
        await eventually(lambda: look(shepherd) is None)

    run(work())


def test_a_run_that_is_over_is_not_taken_for_the_one_that_its_shepherd_has_now(place: Place, beacon: Beacon) -> None:
    """A daemon that comes later ends the first: the second goes on."""

    async def work() -> None:
        async with place.fork_server() as fork_server:
            first = place.shell("1", "exit 4")
            ended = await started(fork_server, first)
            await ended.wait()
            script = f"mkfifo {place.path}/go; echo up > {beacon.path}; read word < {place.path}/go"
            family = await started(fork_server, place.shell("2", script))
            await beacon.line()
            assert family.shepherd == ended.shepherd
            found = await adopt(first.record, first.key)
            assert isinstance(found, Family) and found.is_ended
            assert await found.kill()
            assert (await found.wait()).exit_code == 4
            with (place.path / "go").open("w") as go:
                go.write("on\n")
            assert (await family.wait()).exit_code == 0

    run(work())


def test_what_an_earlier_job_used_and_left_is_not_the_next_ones(place: Place) -> None:
    signals = "grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status"
    script = f"umask; cat /proc/self/oom_score_adj; pwd; ls /proc/self/fd | wc -l; {signals}"

    async def work() -> None:
        told = []
        for names in (("1",), ("2", "3")):
            async with place.fork_server() as fork_server:
                if len(names) == 2:
                    busy = "import os, time\nwhile time.process_time() < 0.8: pass\nif os.fork() == 0: time.sleep(1000)"
                    order = place.python(names[0], busy, umask=0o077, oom_score=500, niceness=1)
                    first = await (await started(fork_server, order)).wait()
                    assert first.user_cpu_s + first.system_cpu_s > 0.7
                family = await started(fork_server, place.shell(names[-1], script, stdout=Path("out")))
                end = await family.wait()
                assert end.user_cpu_s + end.system_cpu_s < 0.6
                told.append((place.path / "out").read_text())
        assert told[0] == told[1]

    run(work())


def test_a_shepherd_whose_job_was_killed_is_not_used_again(place: Place, beacon: Beacon) -> None:
    async def work() -> None:
        async with place.fork_server() as fork_server:
            family = await started(fork_server, place.shell("1", f"echo up > {beacon.path}; exec sleep 1000"))
            await beacon.line()
            assert await family.kill()
            following = await started(fork_server, place.shell("2", "exit 2"))
            assert following.shepherd != family.shepherd
            assert (await following.wait()).exit_code == 2

    run(work())


def test_a_shepherd_that_dies_without_a_job_is_replaced(place: Place) -> None:
    async def work() -> None:
        async with place.fork_server() as fork_server:
            family = await started(fork_server, place.shell("1", "exit 1"))
            await family.wait()
            os.kill(family.shepherd, signal.SIGKILL)
            # Whether its death is known by then or not.
            following = await started(fork_server, place.shell("2", "exit 2"))
            assert (await following.wait()).exit_code == 2

    run(work())


def test_a_start_that_fails_leaves_the_shepherds_of_others(place: Place) -> None:
    async def work() -> None:
        async with place.fork_server() as fork_server:
            await (await started(fork_server, place.shell("1", "exit 1"))).wait()
            await not_started(fork_server, place.order("2", "/no/such/program"))
            assert (await (await started(fork_server, place.shell("3", "exit 3"))).wait()).exit_code == 3

    run(work())


def test_of_the_shepherds_with_nothing_to_do_one_stays(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shepherd_lines, "IDLE_S", 0.05)

    async def work() -> None:
        async with place.fork_server() as fork_server:
            gates = [place.path / f"gate{number}" for number in range(3)]
            for gate in gates:
                os.mkfifo(gate)
            families = [await started(fork_server, place.shell(gate.name, f"read x < {gate}")) for gate in gates]
            shepherds = {family.shepherd for family in families}
            assert len(shepherds) == 3
            for gate in gates:
                gate.write_text("go\n")
            await asyncio.gather(*(family.wait() for family in families))
            await eventually(lambda: sum(look(shepherd) is not None for shepherd in shepherds) == 1)
            following = await started(fork_server, place.shell("3", "exit 3"))
            assert following.shepherd in shepherds
            assert (await following.wait()).exit_code == 3
        await eventually(lambda: look(following.shepherd) is None)

    run(work())


_NODE = """
import asyncio, sys
from pathlib import Path
from roost.runtime.processes.fork_server import ForkServer
from roost.runtime.processes.spawn_order import SpawnOrder
home, prefix, groups, go = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "1", sys.argv[4]
async def main():
    fork_server = await ForkServer.start(home / "nursery", use_groups=groups)
    for number in range(2):
        script = f"echo up > {go}.up; read x < {go}; exit 9" if number else "exit 1"
        family = await fork_server.spawn(SpawnOrder(key=f"{prefix}.{number}", record=home / "jobs" / str(number),
            program=Path("/bin/sh"), arguments=("sh", "-c", script)))
        print(family.shepherd, flush=True)
        await family.wait()
asyncio.run(main())
"""


def test_the_second_job_of_a_shepherd_outlives_the_node_and_the_shepherd_goes_with_it(place: Place) -> None:
    go = place.path / "go"
    os.mkfifo(go)
    os.mkfifo(f"{go}.up")
    arguments = [str(place.path), place.prefix, "1" if place.groups else "0", str(go)]
    node = subprocess.Popen([sys.executable, "-c", _NODE, *arguments], stdout=subprocess.PIPE, text=True)
    assert node.stdout is not None
    first, second = int(node.stdout.readline()), int(node.stdout.readline())
    Path(f"{go}.up").read_text()
    node.kill()
    node.wait()
    node.stdout.close()
    assert first == second and look(second) is not None

    async def work() -> None:
        async with place.fork_server():
            go.write_text("go\n")
            await eventually(lambda: read_end(place.jobs / "1", place.key("1")) is not None)
            await eventually(lambda: look(second) is None)
        end = read_end(place.jobs / "1", place.key("1"))
        assert end is not None and end.final

    run(work())
