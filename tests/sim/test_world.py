"""Runs: the same seed gives the same run, polls left out change nothing, and whatever goes wrong, invariants hold."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from roost.sim.bus import Faults
from roost.sim.machine.pattern import Hardware
from roost.sim.world import World
from tests.sim.pools import DESKTOP, pool

#: Policies under which one slot does not do what the other does, timers run, and clocks of all kinds are read.
POLICIES = {
    "desktop": (DESKTOP, Hardware()),
    "impatient": (
        DESKTOP + "MaxSuspendTime = 30\nStartIdleTime = 60\nContinueIdleTime = 7\nCLAIM_WORKLIFE = 600\n",
        Hardware(),
    ),
    "retirement": (DESKTOP + "MAXJOBRETIREMENTTIME = 3600\nWANT_SUSPEND = False\n", Hardware()),
    "two slots": (
        DESKTOP + "SLOTS_CONNECTED_TO_KEYBOARD = 1\nSLOTS_CONNECTED_TO_CONSOLE = 1\nKILL = $(ActivityTimer) > 20\n",
        Hardware(cpus=2, memory_mb=4096),
    ),
    "working hours": ("use POLICY : Desktop_After_Hours(8, 17)\n", Hardware()),
    "odd arithmetic": (
        "START = KeyboardIdle * 2 - 100 > (time() % 700) && ClockMin > 60\nIS_OWNER = START =?= False\n"
        "SUSPEND = (CurrentTime - EnteredCurrentActivity) / 60 > 11\nCONTINUE = TotalJobSuspendTime > 77\n"
        "PREEMPT = TotalJobRunTime > 4000 || random() < 0.0001\nWANT_SUSPEND = TotalJobRunTime < 3000\nKILL = False\n"
        "SLOTS_CONNECTED_TO_KEYBOARD = 9\n",
        Hardware(),
    ),
    "neighbours": (
        DESKTOP + 'STARTD_SLOT_ATTRS = State\nSTART = ($(START)) && (slot1_State =!= "Claimed" || SlotID == 1)\n',
        Hardware(cpus=2, memory_mb=4096),
    ),
}


@pytest.mark.parametrize("name", POLICIES)
def test_leaving_out_polls_that_cannot_matter_changes_nothing(name: str) -> None:
    text, hardware = POLICIES[name]
    plan = pool(text, machines=2, days=0.5, jobs=14, hardware=hardware, seed=len(name))
    lazy, full = World(plan), World(replace(plan, exhaustive=True))
    first, second = lazy.run(), full.run()
    assert first == second
    assert first.problems == ()
    assert first.records > 20
    if name not in ("neighbours", "odd arithmetic"):
        assert first.effort["polls"] * 4 < second.effort["polls"]


def test_another_seed_is_another_run() -> None:
    assert World(pool(seed=1)).run().digest != World(pool(seed=2)).run().digest


def test_one_machine_more_leaves_the_owners_of_the_others_alone() -> None:
    few, many = pool(machines=2), pool(machines=3)
    assert [each.sensors for each in few.machines] == [each.sensors for each in many.machines[:2]]


_SCRIPT = """
from dataclasses import replace
from roost.sim.world import World
from roost.sim.bus import Faults
from tests.faults.worlds import drawn
from tests.sim.pools import pool
print(World(pool(faults=Faults(lost=0.05, doubled=0.05, late=0.1, machine_death_s=20000), days=0.5)).run().digest)
# Dynamic slots, backfill, evictions by starters: the first hours have all of them.
print(*(World(replace(drawn(seed).plan, days=0.3)).run().digest for seed in (4, 715, 22)))
"""


def test_the_digest_does_not_depend_on_the_hash_seed() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", _SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


CALM = "START = True\nIS_OWNER = False\nSUSPEND = False\nPREEMPT = False\nWANT_SUSPEND = False\nKILL = False\n"
FAULTS = Faults(lost=0.08, doubled=0.08, late=0.1, machine_death_s=20_000, queue_death_s=30_000, until_s=43_200)


@pytest.mark.parametrize("seed", range(4))
def test_invariants_hold_whatever_is_lost_doubled_late_or_dead(seed: int) -> None:
    outcome = World(pool(seed=seed, mix="short", jobs=30, faults=FAULTS)).run()
    assert outcome.problems == ()
    assert outcome.effort["messages lost"] > 0


@pytest.mark.parametrize("seed", range(3))
def test_all_jobs_complete_once_nothing_goes_wrong_any_more(seed: int) -> None:
    plan = pool(CALM, seed=seed, mix="short", jobs=40, days=2.0, faults=FAULTS)
    plan = replace(plan, jobs=tuple(job for job in plan.jobs if job.submitted_at < plan.start + 86_400))
    outcome = World(plan).run()
    assert outcome.problems == ()
    assert outcome.summary["jobs_completed"] == outcome.summary["jobs_submitted"] == len(plan.jobs)


def test_no_lease_runs_out_while_the_queue_lives() -> None:
    # Among so many claims, the lease of some runs out while the last keepalive is on its way.
    summary = World(pool(CALM, seed=4, machines=300, jobs=600, days=0.17)).run().summary
    assert summary["jobs_started"] > 500
    assert summary["evictions_by_cause"] == {}


def test_time_that_jobs_ran_is_accounted_for_to_the_second() -> None:
    records: list[dict[str, object]] = []
    outcome = World(pool(jobs=40), sinks=(records.append,)).run()
    ran = sum(float(str(each["run_s"])) for each in records if each["what"] == "end")
    summary = outcome.summary
    assert abs(ran / 3600 - summary["goodput_h"] - summary["badput_h"] - summary["open_h"]) < 0.05
    assert summary["jobs_submitted"] == 40
    assert 0 < summary["utilisation"] < 1
    assert summary["owner_interference_s"] > 0
