"""All processes of a job: those that hide too are waited for, stopped, continued, killed and counted."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path

import pytest

from roost.runtime.processes.family import Family
from roost.runtime.processes.fork_server import ForkServer
from roost.runtime.processes.run_records import read_end
from roost.runtime.processes.shepherd import processes
from roost.runtime.processes.shepherd.processes import descendants, look, send, start_of
from tests.runtime.kit import Beacon, Place, eventually, run, started

#: A job with processes of all kinds: a child, a daemon that forked twice into a session of its own, one that hears no
#: signals. Each tells that it is up. Then it does what the words after it say.
ZOO = """
import os, signal, sys, time
def up(name):
    with open(sys.argv[1], 'w') as beacon:
        beacon.write(f'{name} {os.getpid()}\\n')
def child(name, prepare):
    pid = os.fork()
    if pid == 0:
        prepare()
        up(name)
        while True:
            signal.pause()
    return pid
def daemon():
    os.setsid()
    if os.fork():
        os._exit(0)
    os.environ.clear()
    os.chdir('/')
    for file in range(3):
        os.close(file)
def deaf():
    for number in (1, 2, 3, 15):
        signal.signal(number, signal.SIG_IGN)
    os.setpgid(0, 0)
child('child', lambda: None)
# Who forked only to end is gone before anybody is counted.
os.waitpid(child('daemon', daemon), 0)
child('deaf', deaf)
up('main')
"""
STAY = ZOO + "while True: signal.pause()\n"

#: Counts as fast as it can in as many processes as the second argument says, each in a byte file that grows.
COUNTING = """
import os, sys
for number in range(int(sys.argv[2])):
    if os.fork() == 0:
        if number % 2 and os.fork():
            os._exit(0)
        os.setsid() if number % 2 == 0 else None
        with open(f'{sys.argv[1]}/{number}', 'wb', buffering=0) as file:
            while True:
                file.write(b'x')
                for _ in range(1000): pass
while True:
    os.wait()
"""


async def _zoo(
    fork_server: ForkServer, place: Place, beacon: Beacon, script: str = STAY
) -> tuple[Family, dict[str, int]]:
    family = await started(fork_server, place.python("zoo", script, str(beacon.path)))
    told = dict(line.split() for line in await beacon.lines(4))
    return family, {name: int(pid) for name, pid in told.items()}


def _gone(pids: dict[str, int]) -> bool:
    return all((seen := look(pid)) is None or seen.is_dead for pid in pids.values())


def test_what_the_main_process_leaves_is_killed_when_it_ends(place: Place, beacon: Beacon) -> None:
    go = place.path / "go"
    os.mkfifo(go)

    async def work() -> None:
        async with place.fork_server() as fork_server:
            family, pids = await _zoo(fork_server, place, beacon, ZOO + f"open({str(go)!r}).read()\nos._exit(7)")
            go.write_text("go\n")
            end = await family.wait()
            assert (end.exit_code, end.left) == (7, 0)
            assert _gone(pids)

    run(work())


def test_what_it_leaves_is_waited_for_where_that_is_wanted(place: Place, beacon: Beacon) -> None:
    async def work() -> None:
        async with place.fork_server() as fork_server:
            go = place.path / "go"
            os.mkfifo(go)
            script = f"(read x < {go}; echo late > {beacon.path}) & echo early > {beacon.path}; exit 4"
            order = place.shell("1", script, await_family=True)
            family = await started(fork_server, order)
            assert await beacon.line() == "early"
            await eventually(lambda: read_end(order.record, order.key) is not None)
            assert not family.is_ended
            go.write_text("go\n")
            assert await beacon.line() == "late"
            assert (await family.wait()).exit_code == 4

    run(work())


def test_a_hard_kill_reaches_every_process(place: Place, beacon: Beacon) -> None:
    async def work() -> None:
        async with place.fork_server() as fork_server:
            family, pids = await _zoo(fork_server, place, beacon)
            assert await family.kill()
            assert _gone(pids)
            assert (await family.wait()).signal == signal.SIGKILL
            assert await family.kill(), "a kill may come twice"
            assert not await family.signal(signal.SIGTERM)
            assert await family.suspend() == 0
            assert await family.usage() is None

    run(work())


def test_a_hard_kill_ends_a_job_whose_shepherd_stands_still(place: Place, beacon: Beacon) -> None:
    """Somebody has sent SIGSTOP to it: it sees the end of the job only once it goes on."""

    async def work() -> None:
        async with place.fork_server() as fork_server:
            family, pids = await _zoo(fork_server, place, beacon)
            os.kill(family.shepherd, signal.SIGSTOP)
            assert await family.kill()
            assert _gone(pids)
            assert (await family.wait()).signal == signal.SIGKILL
            shepherd = look(family.shepherd)
            assert shepherd is None or not shepherd.is_stopped

    run(work())


def test_a_program_that_forks_without_end_is_killed(place: Place, beacon: Beacon) -> None:
    # Each process makes another one and ends, so that no list of processes is ever right.
    script = """
import os, sys
open(sys.argv[1], 'w').write('up\\n')
for _ in range(3):
    if os.fork() == 0:
        break
while True:
    if os.fork():
        os._exit(0)
    os.setsid()
"""

    async def work() -> None:
        async with place.fork_server() as fork_server:
            family = await started(fork_server, place.python("1", script, str(beacon.path)))
            await beacon.line()
            await family.kill()
            await family.wait()

    run(work())


def test_a_large_family_is_counted_and_killed(place: Place, beacon: Beacon) -> None:
    script = f"i=0; while [ $i -lt 250 ]; do sleep 1000 & i=$((i+1)); done; echo up > {beacon.path}; wait"

    async def work() -> None:
        async with place.fork_server() as fork_server:
            family = await started(fork_server, place.shell("1", script))
            await beacon.line()
            usage = await family.usage()
            assert usage is not None and usage.process_count == 251
            assert await family.suspend() == 251
            assert await family.kill()
            assert (await family.wait()).signal == signal.SIGKILL

    run(work())


def test_a_suspended_family_stands_still_and_goes_on(place: Place) -> None:
    count = 6
    counts = place.path / "counts"
    counts.mkdir()

    def sizes() -> list[int]:
        return [(counts / str(number)).stat().st_size for number in range(count)]

    def moved(before: list[int]) -> bool:
        return all(now > then for now, then in zip(sizes(), before, strict=True))

    async def work() -> None:
        async with place.fork_server() as fork_server:
            family = await started(fork_server, place.python("1", COUNTING, str(counts), str(count)))
            await eventually(lambda: len(list(counts.iterdir())) == count and all(sizes()))
            # Half of those who count have a parent that ends, sooner or later.
            while (usage := await family.usage()) is None or usage.process_count > count + 1:
                await asyncio.sleep(0.005)
            for _ in range(2):
                assert await family.suspend() == count + 1
                if not place.groups:
                    assert all(each.is_stopped for each in descendants(family.shepherd).values())
                assert family.stands_still()
                before = sizes()
                used = await family.usage()
                # Somebody else gets the processor for a while.
                await (await started(fork_server, place.shell(f"pause{before[0]}", "sleep 0.1"))).wait()
                assert sizes() == before
                assert used == await family.usage()
                await family.resume()
                assert not family.stands_still()
                await eventually(lambda: moved(before))  # noqa: B023
            await family.suspend()
            assert await family.kill(), "what stands still can be killed"

    run(work())


def test_a_suspended_job_goes_on_to_hear_its_soft_kill(place: Place, beacon: Beacon) -> None:
    script = f"trap 'exit 9' TERM; echo up > {beacon.path}; while :; do sleep 0.01; done"

    async def work() -> None:
        async with place.fork_server() as fork_server:
            family = await started(fork_server, place.shell("1", script))
            await beacon.line()
            await family.suspend()
            assert await family.signal(signal.SIGTERM)
            assert (await family.wait()).exit_code == 9

    run(work())


def test_a_signal_goes_to_the_main_process_alone(place: Place, beacon: Beacon) -> None:
    async def work() -> None:
        async with place.fork_server() as fork_server:
            family, pids = await _zoo(fork_server, place, beacon)
            assert family.pid == pids.pop("main")
            assert await family.signal(signal.SIGUSR1)
            end = await family.wait()
            assert end.signal == signal.SIGUSR1

    run(work())


def test_a_job_that_stopped_itself_can_be_killed_softly(place: Place, beacon: Beacon) -> None:
    async def work() -> None:
        async with place.fork_server() as fork_server:
            family = await started(fork_server, place.shell("1", f"echo up > {beacon.path}; kill -STOP $$; exit 5"))
            await beacon.line()
            await eventually(family.stands_still)
            assert await family.signal(signal.SIGTERM)
            assert (await family.wait()).signal == signal.SIGTERM

    run(work())


def test_use_is_measured_over_all_processes(place: Place, beacon: Beacon) -> None:
    script = """
import os, sys, time
block = b'x' * (32 << 20)
child = os.fork()
if child == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    block += b'y'
else:
    os.waitpid(child, 0)
until = time.process_time() + 0.3
while time.process_time() < until: pass
open(sys.argv[1], 'w').write('up\\n')
import signal
signal.pause()
"""

    async def work() -> None:
        async with place.fork_server() as fork_server:
            family = await started(fork_server, place.python("1", script, str(beacon.path)))
            await beacon.lines(2)
            usage = await family.usage()
            assert usage is not None
            assert usage.process_count == 2
            assert 64 << 10 <= usage.resident_kib <= 200 << 10
            assert usage.image_size_kib >= usage.resident_kib
            assert 0.55 <= usage.user_cpu_s + usage.system_cpu_s < 10
            await family.kill()
            end = await family.wait()
            assert end.user_cpu_s + end.system_cpu_s >= usage.user_cpu_s + usage.system_cpu_s - 0.02
            assert end.max_resident_kib >= 32 << 10

    run(work())


def test_a_job_that_children_are_not_waited_for_by_is_measured(place: Place) -> None:
    async def work() -> None:
        async with place.fork_server() as fork_server:
            end = await (
                await started(fork_server, place.shell("1", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"))
            ).wait()
            assert end.user_cpu_s + end.system_cpu_s > 0

    run(work())


def test_without_lists_of_children_the_family_is_found_all_the_same(
    one_place: Place, beacon: Beacon, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_place.groups = False

    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            family, pids = await _zoo(fork_server, one_place, beacon)
            quick = set(descendants(family.shepherd))
            monkeypatch.setattr(processes, "_KNOWS_CHILDREN", False)
            assert set(descendants(family.shepherd)) == quick == set(pids.values())
            await family.kill()

    run(work())


def test_a_signal_never_reaches_a_later_bearer_of_the_number() -> None:
    pid = os.getpid()
    assert not send(pid, start_of(pid) + 1, signal.SIGKILL)
    assert not send(pid, start_of(pid) - 1, signal.SIGKILL)
    assert look(pid) is not None


def test_a_process_with_a_wild_name_is_read_right(one_place: Place, beacon: Beacon) -> None:
    script = """
import sys
with open('/proc/self/comm', 'w') as file: file.write(') R 1 (x) 2 3')
open(sys.argv[1], 'w').write('up\\n')
import signal
signal.pause()
"""

    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            family = await started(fork_server, one_place.python("1", script, str(beacon.path)))
            await beacon.line()
            seen = look(family.pid)
            assert seen is not None and seen.parent == family.shepherd and seen.session == family.pid
            await family.kill()

    run(work())


def test_groups_of_control_are_removed_with_their_jobs(place: Place, beacon: Beacon) -> None:
    if not place.groups:
        pytest.skip("there are none")

    async def work() -> Path | None:
        async with place.fork_server() as fork_server:
            assert fork_server.group is not None
            families = [await started(fork_server, place.shell(str(number), "exit 0")) for number in range(5)]
            zoo, _ = await _zoo(fork_server, place, beacon)
            assert len([each for each in fork_server.group.iterdir() if each.is_dir()]) >= 1
            await zoo.kill()
            await asyncio.gather(*(family.wait() for family in families), zoo.wait())
            assert not [each for each in fork_server.group.iterdir() if each.is_dir()]
            return fork_server.group

    group = run(work())
    assert group is not None and not group.exists()


def test_a_family_that_is_forgotten_goes_on(place: Place, beacon: Beacon) -> None:
    async def work() -> None:
        async with place.fork_server() as fork_server:
            family, _ = await _zoo(fork_server, place, beacon)
            family.forget()
            with contextlib.suppress(asyncio.CancelledError):
                await family.wait()
            again = Family(family.record, family.started, os.pidfd_open(family.shepherd))
            assert await again.kill()
            await again.wait()

    run(work())
