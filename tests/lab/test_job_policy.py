"""What the queue decides about jobs, in the lab as in a pool: the lab runs the queue's own core."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from roost.config import MemoryHost
from roost.lab.machines import LabError
from roost.lab.scenario.coverage import Coverage
from roost.lab.scenario.file import read_scenarios
from roost.lab.scenario.run import Verdict, run_scenario
from roost.lab.simulate import Request, plan_of
from roost.runtime.machine import SystemHost
from roost.sim.world import BEGINNING, Outcome, World

OPEN = "START = True\nIS_OWNER = False\nSUSPEND = False\nPREEMPT = False\nWANT_SUSPEND = False\nKILL = False\n"


def simulated(folder: Path, description: str, policy: str = "") -> tuple[World, Outcome]:
    """A day of one machine with a submit description."""
    file = folder / "j.sub"
    file.write_text("executable = /bin/sleep\n" + description)
    host = MemoryHost(files={"/m": OPEN + policy})
    plan = plan_of(Request(configs=("/m",), machines=1, owners="nobody", workload=(str(file),), days=1.0), host)
    world = World(replace(plan, told=True))
    return world, world.run()


def test_jobs_are_held_by_their_own_expressions(tmp_path: Path) -> None:
    late = "periodic_hold = JobStatus == 2 && (time() - JobCurrentStartDate) > 300\n+SimRunTime = 7200\nqueue 2\n"
    world, outcome = simulated(tmp_path, late)
    assert outcome.problems == ()
    assert {name: status.name for name, status in world.queue.status.items()} == {"1.0": "HELD", "1.1": "HELD"}
    ad = world.queue.ad_of("1.1")
    assert ad is not None
    assert ad["HoldReasonCode"] == 3
    assert str(ad["HoldReason"]).startswith("The job attribute PeriodicHold expression")


def test_failures_are_retried_as_often_as_the_description_says(tmp_path: Path) -> None:
    world, outcome = simulated(tmp_path, "max_retries = 2\n+SimExitCode = 1\n+SimRunTime = 60\nqueue\n")
    assert outcome.problems == ()
    assert (world.queue.status["1.0"].name, world.queue.starts["1.0"]) == ("COMPLETED", 3)
    assert world.queue.last_ads["1.0"]["NumJobStarts"] == 3


def test_the_administrator_removes_jobs_and_limits_how_many_run(tmp_path: Path) -> None:
    policy = "SYSTEM_PERIODIC_REMOVE = JobStatus == 2 && (time() - JobCurrentStartDate) > 600\n"
    world, outcome = simulated(tmp_path, "+SimRunTime = 7200\nqueue 3\n", policy)
    assert outcome.problems == ()
    assert {status.name for status in world.queue.status.values()} == {"REMOVED"}
    assert outcome.summary["jobs_completed"] == 0


def test_a_submission_that_the_queue_refuses_is_on_record(tmp_path: Path) -> None:
    world, _ = simulated(tmp_path, "+SimSubmitTime = $(Process) < 2 ? 0 : 100\nqueue 3\n", "MAX_JOBS_PER_OWNER = 2\n")
    assert list(world.queue.status) == ["1.0", "1.1"]
    assert re.match("Number of submitted jobs would exceed MAX_JOBS_PER_OWNER = 2", world.queue.refused["1.2"])


@pytest.mark.parametrize("universe", ["local", "scheduler"])
def test_jobs_beside_the_queue_run_and_take_nothing_of_the_pool(tmp_path: Path, universe: str) -> None:
    limit = f"START_{universe.upper()}_UNIVERSE = Total{universe.capitalize()}JobsRunning < 2\n"
    text = f"universe = {universe}\nrequest_memory = 9000\n+SimRunTime = 3600\nqueue 3\n"
    world, outcome = simulated(tmp_path, text, limit)
    assert outcome.problems == ()
    assert {status.name for status in world.queue.status.values()} == {"COMPLETED"}
    assert outcome.summary["utilisation"] == 0
    ends = [change.at - BEGINNING for change in world.queue.changes if change.status.name == "COMPLETED"]
    assert [round(at / 3600) for at in ends] == [1, 1, 2]
    again = World(replace(world.plan, exhaustive=True)).run()
    assert again.digest == World(world.plan).run().digest


FILE = """
policy = '''
START = True
SUSPEND = False
PREEMPT = False
KILL = False
IS_OWNER = False
WANT_SUSPEND = False
MAXJOBRETIREMENTTIME = 3600
'''
[jobs.a]
run = "1h"
Color = "blue"
[[scenario]]
name = "one"
steps = [ { at = "1m", submit = "a" }, { at = "5m", expect = %s } ]
"""


def expected(folder: Path, expectation: str) -> Verdict:
    file = folder / "s.toml"
    file.write_text(FILE % expectation)
    (scenario,) = read_scenarios(file)
    return run_scenario(scenario, SystemHost(), Coverage())


def test_what_is_expected_of_a_job_is_compared_with_its_ad_and_its_log(tmp_path: Path) -> None:
    met = (
        '{ jobs = { a = { status = "running", starts = 1, exits = 0, log = ["submit", "execute"], Color = "blue" } } }'
    )
    assert expected(tmp_path, met).passed
    wrong = '{ jobs = { a = { status = "held", starts = 2, exits = 1, log = ["submit"], Color = "red" } } }'
    assert [(miss.wanted, miss.found) for miss in expected(tmp_path, wrong).failures] == [
        ("job a held", "job a running"),
        ("job a: 2 starts", "job a: 1 starts"),
        ("job a: 1 exits", "job a: 0 exits"),
        ("job a: log submit", "job a: log submit, execute"),
        ("job a: Color = red", 'job a: Color = "blue"'),
    ]


@pytest.mark.parametrize(
    ("expectation", "problem"),
    [
        ('{ jobs = { b = "idle" } }', "no job 'b' has been submitted before this step"),
        ('{ jobs = { a = { status = "gone" } } }', "a job's place must be one of to_come, idle"),
        ('{ jobs = { a = { log = ["began"] } } }', "an event must be one of submit, execute"),
        ("{ jobs = { a = 3 } }", "what is expected of a job is a place or a table"),
        ('{ Color = "blue" }', "s.toml:16: Color is not an attribute of the slot: it is an attribute of the job"),
    ],
)
def test_expectations_that_mean_nothing_are_refused_with_their_place(
    tmp_path: Path, expectation: str, problem: str
) -> None:
    with pytest.raises(LabError, match=re.escape(problem)):
        expected(tmp_path, expectation)


def test_a_scenario_sees_what_the_slot_shows_the_pool(tmp_path: Path) -> None:
    assert expected(tmp_path, '{ "RetirementTimeRemaining > 3300" = true, Requirements = true }').passed
