"""Whatever is killed: jobs go on, are found again, end once, and their exit codes are known."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from roost.runtime.processes import fork_server as fork_server_module
from roost.runtime.processes.cgroup import remove_parent_group
from roost.runtime.processes.family import Family, adopt
from roost.runtime.processes.fork_server import DEATHS_MAX, ForkServer, ForkServerFailed
from roost.runtime.processes.run_records import StartRecord, read_end, read_record
from roost.runtime.processes.shepherd.processes import children, look
from roost.runtime.processes.spawn_order import NotStarted
from tests.runtime.kit import Beacon, Place, eventually, not_started, run, started
from tests.runtime.test_family import STAY, ZOO

#: A node that starts as many jobs as its third argument says, tells when the first answer is there, and stays.
NODE = """
import asyncio, sys
from pathlib import Path
from roost.runtime.processes.fork_server import ForkServer
from roost.runtime.processes.spawn_order import SpawnOrder
home, prefix, count, groups, script = sys.argv[1:]
home, count, groups = Path(home), int(count), groups == 'True'
async def main():
    fork_server = await ForkServer.start(home / 'nursery', use_groups=groups)
    async def one(number):
        order = SpawnOrder(
            key=f'{prefix}.{number}', record=home / 'jobs' / str(number), program=Path('/bin/sh'),
            arguments=('sh', '-c', script.replace('NUMBER', str(number))),
        )
        print(await fork_server.spawn(order), flush=True)
    async with asyncio.TaskGroup() as group:
        for number in range(count):
            group.create_task(one(number))
    await asyncio.Event().wait()
asyncio.run(main())
"""


def _node(place: Place, count: int, script: str) -> subprocess.Popen[bytes]:
    arguments = [str(place.path), place.prefix, str(count), str(place.groups), script]
    source = str(Path(__file__).parents[2] / "src")
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", NODE, *arguments],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": source},
    )


def _kill_node(node: subprocess.Popen[bytes]) -> None:
    node.kill()
    node.wait()
    assert node.stdout is not None
    node.stdout.close()


def _start(place: Place) -> StartRecord | None:
    return read_record(place.jobs / "0").starts.get(place.key("0"))


async def _adopted(place: Place, name: str) -> Family:
    family = await adopt(place.jobs / name, place.key(name))
    assert isinstance(family, Family), family
    return family


def test_a_node_that_was_killed_adopts_its_job_and_learns_its_exit_code(place: Place, beacon: Beacon) -> None:
    async def work() -> None:
        os.mkfifo(place.path / "go")
        node = _node(place, 1, f"echo up > {beacon.path}; read x < {place.path}/go; exit 42")
        await beacon.line()
        await eventually(lambda: _start(place) is not None)
        _kill_node(node)
        async with place.fork_server() as fork_server:
            family = await _adopted(place, "0")
            assert not family.is_ended
            usage = await family.usage()
            assert usage is not None and usage.process_count == 1
            await family.suspend()
            await family.resume()
            (place.path / "go").write_text("go\n")
            assert (await family.wait()).exit_code == 42
            assert (await (await started(fork_server, place.shell("next", "exit 1"))).wait()).exit_code == 1

    run(work())


def test_a_job_that_ended_while_no_node_was_there_has_its_exit_code(place: Place, beacon: Beacon) -> None:
    async def work() -> None:
        os.mkfifo(place.path / "go")
        node = _node(place, 1, f"echo up > {beacon.path}; read x < {place.path}/go; exit 43")
        await beacon.line()
        await eventually(lambda: _start(place) is not None)
        _kill_node(node)
        started = _start(place)
        (place.path / "go").write_text("go\n")
        await eventually(lambda: read_end(place.jobs / "0", place.key("0")) is not None)
        assert (await (await _adopted(place, "0")).wait()).exit_code == 43
        if place.groups:
            assert started is not None and started.group is not None
            parent = started.group.parent
            # Whoever ends last finds it empty; where two end at once, who comes next does.
            await eventually(lambda: remove_parent_group(parent))

    run(work())


def test_a_node_killed_while_it_starts_many_jobs_loses_none_and_starts_none_later(place: Place) -> None:
    count = 120

    async def work() -> None:
        ran = place.path / "ran"
        ran.mkdir()
        node = _node(place, count, f"echo $$ >> {ran}/NUMBER; exit 6")
        assert node.stdout is not None
        await asyncio.to_thread(node.stdout.readline)
        _kill_node(node)
        async with place.fork_server() as fork_server:
            found = {name: await adopt(place.jobs / name, place.key(name)) for name in map(str, range(count))}
            alive = {name: family for name, family in found.items() if isinstance(family, Family)}
            assert alive
            for family in alive.values():
                assert (await family.wait()).exit_code == 6
            assert {each.name for each in ran.iterdir()} == set(alive), "what has no record has not run"
            for name in set(found) - set(alive):
                order = place.shell(name, f"echo $$ >> {ran}/{name}; exit 6")
                assert (await (await started(fork_server, order)).wait()).exit_code == 6
        assert [len(each.read_text().splitlines()) for each in ran.iterdir()] == [1] * count

    run(work())


def test_jobs_outlive_their_fork_server_and_the_next_one_starts_by_itself(place: Place, beacon: Beacon) -> None:
    async def work() -> None:
        async with place.fork_server() as fork_server:
            os.mkfifo(place.path / "go")
            first = await started(
                fork_server, place.shell("1", f"echo up > {beacon.path}; read x < {place.path}/go; exit 11")
            )
            await beacon.line()
            pid = fork_server.pid
            os.kill(pid, signal.SIGKILL)
            second = await started(fork_server, place.shell("2", "exit 12"))
            assert fork_server.pid not in (0, pid)
            assert (await second.wait()).exit_code == 12
            (place.path / "go").write_text("go\n")
            assert (await first.wait()).exit_code == 11

    run(work())


def test_a_fork_server_killed_again_and_again_loses_no_order_and_doubles_none(place: Place) -> None:
    ran = place.path / "ran"
    ran.mkdir()

    async def one(fork_server: ForkServer, number: int) -> int | None:
        family = await started(fork_server, place.shell(str(number), f"echo $$ >> {ran}/{number}; exit {number % 90}"))
        return (await family.wait()).exit_code

    async def work() -> None:
        async with place.fork_server() as fork_server:
            tasks = []
            for number in range(90):
                tasks.append(asyncio.create_task(one(fork_server, number)))
                if number % 30 == 20:
                    await asyncio.sleep(0)
                    await eventually(lambda: fork_server.pid != 0)
                    os.kill(fork_server.pid, signal.SIGKILL)
            assert await asyncio.gather(*tasks) == [number % 90 for number in range(90)]
        assert [len(each.read_text().splitlines()) for each in ran.iterdir()] == [1] * 90

    run(work())


async def _kill_shepherds(fork_server: ForkServer, starting: asyncio.Task[Family | NotStarted], deaths: int) -> int:
    """Kill the first `deaths` shepherds that try to start a job; how many there were."""
    killed = 0
    while killed < deaths and not starting.done():
        shepherds = children(fork_server.pid)
        if shepherds:
            os.kill(shepherds[0], signal.SIGKILL)
            killed += 1
            await eventually(lambda gone=shepherds: children(fork_server.pid) != gone)  # type: ignore[misc]
        await asyncio.sleep(0.005)
    return killed


@pytest.mark.parametrize("deaths", [1, DEATHS_MAX])
def test_a_shepherd_that_is_killed_before_it_answers_is_replaced_a_few_times(one_place: Place, deaths: int) -> None:
    async def work() -> None:
        program = one_place.path / "program"
        program.write_text("#!/bin/sh\nexit 4\n")
        program.chmod(0o755)
        async with one_place.fork_server() as fork_server:
            for attempt in itertools.count():
                # A program that is open for writing keeps its shepherd waiting for a moment; a test that is kept from
                # the processor for longer than that comes too late, and tries again.
                with program.open("a"):
                    starting = asyncio.create_task(fork_server.spawn(one_place.order(str(attempt), program)))
                    killed = await _kill_shepherds(fork_server, starting, deaths)
                (outcome,) = await asyncio.gather(starting, return_exceptions=True)
                if killed == deaths and not isinstance(outcome, NotStarted):
                    break
            if deaths < DEATHS_MAX:
                assert isinstance(outcome, Family), outcome
                assert (await outcome.wait()).exit_code == 4
            else:
                assert isinstance(outcome, ForkServerFailed) and "died 3 times" in str(outcome), outcome

    run(work())


def test_without_its_shepherd_a_job_dies_whole_and_nobody_saw_its_end(place: Place, beacon: Beacon) -> None:
    async def work() -> None:
        async with place.fork_server() as fork_server:
            # A daemon that forgets its environment is found by nothing but the control group.
            script = STAY if place.groups else STAY.replace("os.environ.clear()", "pass")
            family = await started(fork_server, place.python("1", script, str(beacon.path)))
            pids = [int(line.split()[1]) for line in await beacon.lines(4)]
            os.kill(family.shepherd, signal.SIGKILL)
            end = await family.wait()
            assert not end.is_seen and end.started_at == family.started.started_at
            assert all((seen := look(pid)) is None or seen.is_dead for pid in pids)
            assert family.started.group is None or not family.started.group.exists()

    run(work())


def test_a_job_whose_shepherd_died_while_no_node_was_there_is_buried(place: Place, beacon: Beacon) -> None:
    async def work() -> None:
        async with place.fork_server() as fork_server:
            script = STAY if place.groups else STAY.replace("os.environ.clear()", "pass")
            family = await started(fork_server, place.python("1", script, str(beacon.path)))
            await beacon.lines(4)
            family.forget()
            os.kill(family.shepherd, signal.SIGKILL)
            found = await _adopted(place, "1")
            assert not (await found.wait()).is_seen
            assert not place.left()

    run(work())


def test_a_burial_spares_the_job_of_the_same_name_that_another_pool_has(place: Place, beacon: Beacon) -> None:
    async def work() -> None:
        async with place.fork_server() as fork_server:
            script = STAY.replace("os.environ.clear()", "pass")
            family = await started(fork_server, place.python("1", script, str(beacon.path)))
            pids = [int(line.split()[1]) for line in await beacon.lines(4)]
            other = place.path / "other"
            other.mkdir()
            assert await adopt(other / "1", place.key("1")) is None
            assert all((seen := look(pid)) is not None and not seen.is_dead for pid in pids)
            assert await adopt(place.path / "jobs" / ".." / "jobs" / "absent", place.key("1")) is None
            assert all((seen := look(pid)) is None or seen.is_dead for pid in pids), "of the same place it is the same"
            await family.wait()

    run(work())


def test_an_end_recorded_before_the_rest_was_gone_counts_after_the_burial(place: Place, beacon: Beacon) -> None:
    async def work() -> None:
        async with place.fork_server() as fork_server:
            script = ZOO.replace("os.environ.clear()", "pass") + "os._exit(8)"
            order = place.python("1", script, str(beacon.path), await_family=True)
            family = await started(fork_server, order)
            await beacon.lines(4)
            await eventually(lambda: read_end(order.record, order.key) is not None)
            assert not family.is_ended
            os.kill(family.shepherd, signal.SIGKILL)
            assert (await family.wait()).exit_code == 8
            assert not place.left()

    run(work())


def test_after_a_reboot_nobody_is_taken_for_the_job(one_place: Place, beacon: Beacon) -> None:
    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            family = await started(fork_server, one_place.shell("1", f"echo up > {beacon.path}; exec sleep 1000"))
            await beacon.line()
            path = one_place.jobs / "1"
            record = json.loads(path.read_text())
            path.write_text(json.dumps({**record, "boot": "another"}))
            found = await _adopted(one_place, "1")
            assert not (await found.wait()).is_seen
            assert not await found.signal(signal.SIGKILL)
            assert look(family.pid) is not None, "it only has the number"
            # The same boot, but the number was given out again.
            key = one_place.key("2")
            path.write_text(json.dumps({**record, "shepherd_start": 1, "start": 1, "key": key, "group": None}))
            found = await adopt(path, key)
            assert isinstance(found, Family)
            assert not await found.signal(signal.SIGKILL)
            await family.kill()
            await found.wait()

    run(work())


def test_what_could_not_be_started_is_known_to_the_next_node(one_place: Place) -> None:
    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            failure = await not_started(fork_server, one_place.order("1", "/no/such/program"))
            assert await adopt(one_place.jobs / "1", one_place.key("1")) == failure
        assert await adopt(one_place.jobs / "2", one_place.key("2")) is None

    run(work())


def test_an_end_for_which_the_disk_has_no_room_is_recorded_when_it_has(one_place: Place, beacon: Beacon) -> None:
    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            os.mkfifo(one_place.path / "go")
            order = one_place.shell("1", f"echo up > {beacon.path}; read x < {one_place.path}/go; exit 21")
            family = await started(fork_server, order)
            await beacon.line()
            size = order.record.stat().st_size
            resource.prlimit(family.shepherd, resource.RLIMIT_FSIZE, (size + 10, resource.RLIM_INFINITY))
            (one_place.path / "go").write_text("go\n")
            await eventually(lambda: order.record.stat().st_size == size + 10)
            assert not family.is_ended
            unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            resource.prlimit(family.shepherd, resource.RLIMIT_FSIZE, unlimited)
            assert (await family.wait()).exit_code == 21
            end = read_end(order.record, order.key)
            assert end is not None and end.final

    run(work())


def test_half_a_line_is_none_and_hides_no_other(one_place: Place) -> None:
    record = one_place.jobs / "1"
    record.write_text('{"key": "x", "exit_')
    assert read_end(record, "x") is None
    record.write_text(
        '{"key": "x", "exit_\n{"key": "x", "failed": "program", "errno": 2, "detail": "p", "final": true}\n{"key": 1}\n'
    )
    end = read_end(record, "x")
    assert end is not None and isinstance(end.outcome, NotStarted)


def test_a_fork_server_that_is_closed_leaves_its_jobs_running(place: Place, beacon: Beacon) -> None:
    async def work() -> None:
        async with place.fork_server() as fork_server:
            family = await started(fork_server, place.shell("1", f"echo up > {beacon.path}; exec sleep 1000"))
            await beacon.line()
            family.forget()
        async with place.fork_server():
            again = await _adopted(place, "1")
            assert again.pid == family.pid and not again.is_ended
            await again.kill()
            assert (await again.wait()).signal == signal.SIGKILL

    run(work())


def test_signals_of_a_terminal_or_an_administrator_do_not_end_a_shepherd(place: Place, beacon: Beacon) -> None:
    async def work() -> None:
        async with place.fork_server() as fork_server:
            go = place.path / "go"
            os.mkfifo(go)
            family = await started(fork_server, place.shell("1", f"echo up > {beacon.path}; read x < {go}; exit 14"))
            await beacon.line()
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
                os.kill(family.shepherd, number)
            go.write_text("go\n")
            assert (await family.wait()).exit_code == 14

    run(work())


def test_a_job_whose_record_cannot_be_read_has_an_end_all_the_same(place: Place, beacon: Beacon) -> None:
    """Its end was waited for without end."""

    async def main() -> None:
        async with place.fork_server() as fork_server:
            family = await started(fork_server, place.shell("1", f"echo up > {beacon.path}; exec sleep 1000"))
            await beacon.line()
            family.record.unlink()
            family.record.mkdir()
            os.kill(family.shepherd, signal.SIGKILL)
            end = await family.wait()
            assert not end.is_seen

    run(main())


def test_a_fork_server_or_a_shepherd_that_was_stopped_goes_on_when_it_is_needed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job's start was waited for without end, and the job was told as running."""
    monkeypatch.setattr(fork_server_module, "LOOK_S", 0.2)

    async def work() -> None:
        async with place.fork_server() as fork_server:
            os.kill(fork_server.pid, signal.SIGSTOP)
            first = await started(fork_server, place.shell("1", "exit 1"))
            assert (await first.wait()).exit_code == 1
            os.kill(first.shepherd, signal.SIGSTOP)
            second = await started(fork_server, place.shell("2", "exit 2"))
            assert second.shepherd == first.shepherd
            assert (await second.wait()).exit_code == 2

    run(work())


def test_the_end_of_a_job_whose_shepherd_was_stopped_is_seen_when_it_is_measured(place: Place, beacon: Beacon) -> None:
    async def work() -> None:
        async with place.fork_server() as fork_server:
            family = await started(fork_server, place.shell("1", f"echo up > {beacon.path}; exec sleep 1000"))
            await beacon.line()
            os.kill(family.shepherd, signal.SIGSTOP)
            os.kill(family.pid, signal.SIGTERM)
            while await family.usage() is not None:
                await asyncio.sleep(0.01)
            assert (await family.wait()).signal == signal.SIGTERM

    run(work())
