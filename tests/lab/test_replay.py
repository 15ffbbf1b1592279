"""Scenario files on real daemons and processes whose time is driven: invariant 6 of the architecture.

Here a sample of the shipped files and of the recipes, all of their scenarios that are short; `make replay` takes all.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import roost.lab
from roost.cli.lab import command as lab
from roost.lab.replay import stand_in
from roost.lab.replay.comparison import differences, timelines
from roost.lab.replay.driven_loop import DrivenLoop
from roost.lab.replay.jobs import StandIns
from roost.lab.replay.worlds import BothWorlds
from roost.lab.scenario.coverage import Coverage
from roost.lab.scenario.file import read_scenarios
from roost.lab.scenario.run import observe_scenario
from roost.lab.scenario.values import Scenario
from roost.model.reasons import Reason
from roost.runtime.machine import SystemHost
from roost.runtime.processes.shepherd.processes import descendants
from roost.runtime.processes.shepherd.system import read_kernel_file
from roost.schedd.status import JobStatus
from roost.startd.work import Taken

#: Scenarios that last at most so long are replayed in every test run, s.
SHORT_S = 620.0
#: A longer one that is: jobs that get a slot again and again and do not begin have pauses in both worlds.
PAUSED = "a job that waits makes room for the machine's owner, and comes back for its time"

SHIPPED = [
    scenario
    for folder in ("scenarios", "scenarios/recipes")
    for file in sorted((Path(roost.lab.__file__).parent / folder).glob("*.toml"))
    for scenario in read_scenarios(file)
]

#: Scenarios of cells that last at most so long are replayed in every test run, s.
SHORT_CELL_S = 62.0
CELLS = [
    scenario
    for file in sorted((Path(roost.lab.__file__).parent / "scenarios/cells").glob("*.toml"))
    for scenario in read_scenarios(file)
]

SUSPENDED = """
policy = '''
START = True
WANT_SUSPEND = True
SUSPEND = KeyboardIdle < 60
CONTINUE = KeyboardIdle > 60
PREEMPT = Activity == "Suspended" && time() - EnteredCurrentActivity > 120
'''

[jobs.a]
run = "3m"

[[scenario]]
name = "an owner who stays"
steps = [
  { at = "1m", submit = ["a", "a"] },
  { at = "2m", keys = "10s" },
  { at = "2m10s", expect = "Claimed/Suspended" },
  { at = "6m", keys = "5m" },
  { at = "8m30s", expect = { state = "Claimed/Busy", jobs = { a = "completed" } } },
]
"""

STANDING = """
policy = '''
START = True
WANT_SUSPEND = True
SUSPEND = KeyboardIdle < 60
CONTINUE = KeyboardIdle > 60
PREEMPT = False
'''

[jobs.a]
run = "1h"

[[scenario]]
name = "the job still stands when it is over"
steps = [
  { at = "1m", submit = "a" },
  { at = "2m", keys = "10m" },
  { at = "3m", expect = "Claimed/Suspended" },
]
"""

SAVING = """
policy = '''
START = True
PERIODIC_CHECKPOINT = time() - LastPeriodicCheckpoint > 60
'''

[jobs.saving]
run = "1h"
checkpoints = true
WantCheckpointSignal = true

[[scenario]]
name = "who is asked to save its work goes on"
steps = [
  { at = "1m", submit = "saving" },
  { at = "4m", expect = { state = "Claimed/Busy", "time() - LastPeriodicCheckpoint < 70" = true } },
]
"""

PARTS = """
policy = '''
NUM_SLOTS_TYPE_1 = 1
SLOT_TYPE_1 = 100%
SLOT_TYPE_1_PARTITIONABLE = true
CLAIM_WORKLIFE = 60
START = True
'''
machine = { cpus = 2 }

[jobs.whole]
RequestCpus = 2
run = "1m40s"
[jobs.other]
run = "10m"

[[scenario]]
name = "what a part had is given away again"
steps = [
  { at = "1m", submit = ["whole", "other"] },
  { at = "3m30s", slot = "1_1", expect = { state = "Claimed/Busy", job = "other" } },
]
"""


@pytest.fixture(scope="module")
def worlds() -> Iterator[BothWorlds]:
    """One stage for all scenarios."""
    with BothWorlds(SystemHost()) as found:
        yield found


def _named(scenario: Scenario) -> str:
    return f"{Path(scenario.file).stem}: {scenario.name}"


def _passes(worlds: BothWorlds, scenario: Scenario) -> None:
    outcome = worlds.run(scenario)
    assert outcome.verdict.passed
    assert outcome.problem == ""
    assert not outcome.differences, "\n".join(line for each in outcome.differences for line in each.lines)


@pytest.mark.parametrize(
    "scenario",
    [
        *(each for each in SHIPPED if each.end_s <= SHORT_S or each.name == PAUSED),
        *(each for each in CELLS if each.end_s <= SHORT_CELL_S and not each.unreplayed),
    ],
    ids=_named,
)
def test_real_daemons_do_what_the_simulation_does(worlds: BothWorlds, scenario: Scenario) -> None:
    if os.geteuid() != 0 and "root@" in Path(scenario.file).read_text():
        pytest.skip("only root runs a prolog as root")
    _passes(worlds, scenario)


def test_jobs_are_suspended_continued_and_evicted_alike_and_twice_the_same(
    worlds: BothWorlds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "stay.toml"
    file.write_text(SUSPENDED)
    (scenario,) = read_scenarios(file)
    simulated = observe_scenario(scenario, SystemHost(), Coverage()).taken
    once = worlds.replay(scenario)
    begin = StandIns.open

    async def slowly(jobs: StandIns) -> None:
        await begin(jobs)
        await asyncio.sleep(0.5)

    # However long it takes to build it up.
    monkeypatch.setattr(StandIns, "open", slowly)
    again = worlds.replay(scenario)
    found = differences(scenario, once.start, simulated, once.taken)
    assert not found, "\n".join(line for each in found for line in each.lines)
    assert {"14", "15", "16"} <= {each.number for _, each in once.taken}
    # Who is first of two that do something at the same instant is not always the same: messages wait 20 ms for others.
    for (slot, one), (same_slot, other) in zip(once.taken, again.taken, strict=True):
        assert (slot, one.number, one.reason) == (same_slot, other.number, other.reason)
        assert abs(one.at - other.at) < 0.2


def test_nothing_of_a_job_is_left_to_the_next_scenario(worlds: BothWorlds, tmp_path: Path) -> None:
    file = tmp_path / "standing.toml"
    file.write_text(STANDING)
    (scenario,) = read_scenarios(file)
    _passes(worlds, scenario)
    replay = worlds.replay(scenario)
    assert [each.status for each in replay.jobs] == [JobStatus.RUNNING, JobStatus.SUSPENDED]
    marked = f"{Path(stand_in.__file__)}".encode()
    mine = descendants(os.getpid())
    left = [pid for pid in mine if marked in read_kernel_file(f"/proc/{pid}/cmdline")]
    assert left == []


@pytest.mark.parametrize("text", [SAVING, PARTS])
def test_jobs_save_their_work_and_parts_are_given_back_alike(worlds: BothWorlds, tmp_path: Path, text: str) -> None:
    file = tmp_path / "one.toml"
    file.write_text(text)
    (scenario,) = read_scenarios(file)
    _passes(worlds, scenario)


def test_what_differs_is_shown_with_both_timelines(tmp_path: Path) -> None:
    file = tmp_path / "stay.toml"
    file.write_text(SUSPENDED)
    (scenario,) = read_scenarios(file)
    taken = observe_scenario(scenario, SystemHost(), Coverage()).taken
    start = taken[0][1].at
    assert differences(scenario, start, taken, taken) == []
    place = next(index for index, (_, each) in enumerate(taken) if each.number == "14")
    slot, one = taken[place]
    other = [*taken[:place], (slot, replace(one, reason=Reason.CONTINUATION)), *taken[place + 1 :]]
    (found,) = differences(scenario, start, taken, other)
    assert (found.slot, found.at_s) == ("slot1@machine", 120.0)
    assert "SUSPEND true" in found.simulated
    assert "CONTINUE true" in found.real
    (line,) = [each for each in found.lines if each.startswith(">")]
    assert [each.strip() for each in line[1:].split("|")] == [found.simulated.strip(), found.real.strip()]
    late = [*taken[:place], (slot, replace(one, at=one.at + 60)), *taken[place + 1 :]]
    assert len(differences(scenario, start, taken, late)) == 1
    missing = taken[:place]
    (found,) = differences(scenario, start, taken, missing)
    assert found.real == ""


def test_benchmarks_that_a_part_of_a_slot_ended_count_once(tmp_path: Path) -> None:
    file = tmp_path / "stay.toml"
    file.write_text(SUSPENDED)
    (scenario,) = read_scenarios(file)
    slot, row = observe_scenario(scenario, SystemHost(), Coverage()).taken[0]

    def taken(*numbers: str) -> list[tuple[str, Taken]]:
        rows = [replace(row, number=number, at=float(at)) for at, number in enumerate(numbers)]
        return [(slot, replace(each, reason=Reason.CLAIM_MOVED) if each.number == "8" else each) for each in rows]

    parts = timelines(taken("3", "6", "8", "1", "3", "6", "8", "1", "3", "4"))
    assert [(each.number, each.at) for each in parts[slot]] == [("3", 8.0), ("4", 9.0)]
    assert [each.number for each in timelines(taken("3", "4", "3", "4"))[slot]] == ["3", "4", "3", "4"]


def test_driven_time_goes_on_for_whoever_waits_for_less_than_a_clock_can_tell() -> None:
    loop = DrivenLoop()
    turns = []

    async def wait_until_due() -> None:
        loop.drive()
        never, due = asyncio.Event(), loop.time() + 1e-10
        while (left := due - loop.time()) > 0 and len(turns) < 5:
            turns.append(left)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(never.wait(), left)

    try:
        loop.run_until_complete(wait_until_due())
    finally:
        loop.close()
    assert len(turns) == 1


def test_the_command_says_whether_both_worlds_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "start.toml"
    file.write_text(
        "policy = 'START = KeyboardIdle > 60'\n[jobs.a]\n[[scenario]]\nname = 'it begins'\n"
        "steps = [{ at = '5s', submit = 'a' }, { at = '20s', expect = 'Claimed/Busy' }]\n"
    )
    parser = argparse.ArgumentParser()
    lab.add_parser(parser.add_subparsers())
    args = parser.parse_args(["lab", "test", "--real", "--json", str(file)])
    assert lab.run(args) == 0
    told = json.loads(capsys.readouterr().out)
    (scenario,) = told["files"][0]["scenarios"]
    assert scenario["passed"]
    assert scenario["differences"] == []
