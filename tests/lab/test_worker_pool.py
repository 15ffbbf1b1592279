"""Scenarios in processes of their own: none stops the others, and nothing is left of those that are ended."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing import active_children
from pathlib import Path

import pytest

from roost.cli.lab import command as lab
from roost.lab import worker_pool
from roost.lab.replay import leftovers
from roost.lab.replay.leftovers import RunDirectory, sweep
from roost.lab.scenario.file import read_scenarios
from roost.lab.scenario.values import Scenario
from roost.lab.worker_pool import Progress, RunOptions, WorkerPool

#: A scenario of ten days, and short ones.
SCENARIOS = """
policy = 'START = KeyboardIdle > 60'

[jobs.a]
run = "400d"

[[scenario]]
name = "ten days"
steps = [{ at = "5s", submit = "a" }, { at = "10d", expect = "Claimed/Busy" }]

[[scenario]]
name = "it begins"
steps = [{ at = "5s", submit = "a" }, { at = "20s", expect = "Claimed/Busy" }]

[[scenario]]
name = "it begins elsewhere"
steps = [{ at = "5s", submit = "a" }, { at = "25s", expect = "Claimed/Busy" }]
"""
#: One that takes minutes in simulation.
LASTING = """
policy = 'START = KeyboardIdle > 60'
machine = { cpus = 64 }

[jobs.a]
run = "400d"

[[scenario]]
name = "it lasts"
steps = [{ at = "5s", submit = "a" }, { at = "300d", expect = "Claimed/Busy" }]
"""
#: Longest time until something is as it has to be, s.
SOON_S = 120.0
#: Limits of scenarios, s: the first is enough where the machine has little else to do.
LIMITS_S = (5, 20, 60)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "days.toml"
    found.write_text(SCENARIOS)
    return found


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where runs have their directories, for this test alone."""
    found = tmp_path / "runs"
    found.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(found))
    monkeypatch.setattr(leftovers, "MEMORY", found)
    return found


def _soon(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + SOON_S
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def _test(*words: str | Path) -> int:
    parser = argparse.ArgumentParser()
    lab.add_parser(parser.add_subparsers())
    return lab.run(parser.parse_args(["lab", "test", *map(str, words)]))


def _named(text: str) -> list[int]:
    """Processes with a text in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdecimal() and text.encode() in (entry / "cmdline").read_bytes().replace(b"\0", b" "):
                found.append(int(entry.name))
    return found


def _is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_a_scenario_that_takes_too_long_fails_and_the_others_go_on(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for limit_s in LIMITS_S:
        assert _test("--real", "--jobs", "1", "--limit", f"{limit_s}s", "--json", file) == 1
        told = json.loads(capsys.readouterr().out)
        if told["failed"] == 1:
            break
    assert (told["scenarios"], told["failed"]) == (3, 1)
    long, short, other = told["files"][0]["scenarios"]
    assert short["passed"] and other["passed"] and not long["passed"]
    assert "the real daemons did not reach the end of the scenario after " in long["problem"]
    assert " of 10d1s, it " in long["problem"]


@pytest.fixture
def scenarios(file: Path, tmp_path: Path) -> list[Scenario]:
    """One that is not over for long, and two that soon are."""
    lasting = tmp_path / "lasting.toml"
    lasting.write_text(LASTING)
    return [*read_scenarios(lasting), *read_scenarios(file)[:0:-1]]


def test_a_process_that_dies_fails_its_scenario_and_another_takes_its_place(scenarios: list[Scenario]) -> None:
    killed = False

    def kill_first(made: Progress) -> None:
        nonlocal killed
        if made.running and not killed:
            killed = True
            workers._workers[0].process.kill()

    with WorkerPool(RunOptions(real=False, limit_s=SOON_S), 2) as workers:
        first, second, third = workers.outcomes(scenarios, kill_first)
    assert first.problem == "its process was killed by SIGKILL"
    assert [each.verdict.scenario.name for each in (second, third)] == ["it begins elsewhere", "it begins"]
    assert second.passed and third.passed
    assert not active_children()


def test_a_process_that_does_not_answer_is_given_up_with_what_it_does(
    scenarios: list[Scenario], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_pool, "GRACE_S", 0.2)
    monkeypatch.setattr(worker_pool, "_WORDS_S", 0.1)
    stopped = False

    def stop_first(made: Progress) -> None:
        nonlocal stopped
        if made.running and not stopped:
            stopped = True
            (worker,) = active_children()
            assert worker.pid is not None
            os.kill(worker.pid, signal.SIGSTOP)

    with WorkerPool(RunOptions(real=False, limit_s=0.1), 1) as workers:
        outcomes = workers.outcomes(scenarios[:1], stop_first)
        (first,) = outcomes
    assert "its process does not respond: its state is unknown" in first.problem
    assert not active_children()


def test_a_run_that_is_terminated_leaves_nothing_and_says_how_far_it_was(file: Path, tmp_path: Path) -> None:
    place = tmp_path / "runs"
    place.mkdir()
    command = [sys.executable, "-m", "roost.cli", "lab", "test", "--real", "--jobs", "1", str(file)]
    with subprocess.Popen(
        command, env={**os.environ, "TMPDIR": str(place)}, stderr=subprocess.PIPE, text=True, stdout=subprocess.DEVNULL
    ) as process:
        _soon(lambda: any(place.glob("roost-replay-*/nats/port")))
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=SOON_S)
    assert process.returncode == 130
    assert "of 3 scenarios done, 0 failed" in said
    assert not list(place.iterdir())
    assert not _named(str(place))


#: Begins a run with a process in it, says which, and dies.
_DIES = """
import asyncio, os, pathlib, sys
from roost.lab.replay.leftovers import RunDirectory
from roost.runtime.processes.fork_server import ForkServer
from roost.runtime.processes.spawn_order import SpawnOrder

async def begin():
    home = RunDirectory(pathlib.Path(sys.argv[1])).path / "1"
    (home / "jobs").mkdir(parents=True)
    fork_server = await ForkServer.start(home / "nursery")
    family = await fork_server.spawn(SpawnOrder(
        key="left", record=home / "jobs" / "left.run", program=pathlib.Path("/bin/sleep"), arguments=("sleep", "1000"),
    ))
    print(family.pid, flush=True)
    os._exit(9)

asyncio.run(begin())
"""


@pytest.fixture
def left(place: Path) -> Iterator[int]:
    done = subprocess.run([sys.executable, "-c", _DIES, str(place)], stdout=subprocess.PIPE, text=True)
    pid = int(done.stdout)
    yield pid
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def test_what_a_dead_run_left_is_cleared_away_and_what_lives_is_left_alone(place: Path, left: int) -> None:
    mine = RunDirectory(place)
    assert len(list(place.iterdir())) == 2
    assert _is_there(left)
    assert sweep() == 1
    _soon(lambda: not _is_there(left))
    assert list(place.iterdir()) == [mine.path]
    mine.remove()
    assert (sweep(), list(place.iterdir())) == (0, [])
