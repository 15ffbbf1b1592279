"""Pools of several machines with a defragmentation daemon: large jobs come to run, and nothing is lost for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from roost.sim.bus import Faults
from roost.sim.chance import stream
from roost.sim.inputs.workload import Job, Truth, make_job
from roost.sim.machine.pattern import Hardware
from roost.sim.record import Record
from roost.sim.world import BEGINNING, Plan, World
from tests.sim.pools import pool

PARTS = """
NUM_SLOTS = 1
NUM_SLOTS_TYPE_1 = 1
SLOT_TYPE_1 = 100%
SLOT_TYPE_1_PARTITIONABLE = true
START = True
IS_OWNER = False
PREEMPT = False
WANT_SUSPEND = False
MAXJOBRETIREMENTTIME = 4 * 3600
"""
DAEMON = """
DAEMON_LIST = $(DAEMON_LIST) DEFRAG
DEFRAG_INTERVAL = 600
DEFRAG_DRAINING_MACHINES_PER_HOUR = 6
DEFRAG_MAX_CONCURRENT_DRAINING = 1
DEFRAG_REQUIREMENTS = NumDynamicSlots > 1
"""
HOURS = 5
LARGE = ("1001.0", "1002.0")


def _plan(text: str, **settings: Any) -> Plan:
    """Three machines of four cores, more small jobs than they can take, and two that want a machine for themselves."""
    chance = stream(1, "small")
    # A small one comes whenever about one ends: 12 cores, half an hour each.
    jobs: list[Job] = []
    for number in range(1, 1 + HOURS * 26):
        truth = Truth(run_s=float(chance.randrange(1200, 2400)))
        at = BEGINNING + number * 3600 / 26
        jobs.append(make_job(number, "ada", at, truth, {"RequestMemory": 100}, "small"))
    for name in LARGE:
        attributes = {"RequestCpus": 4, "RequestMemory": 400}
        number = int(float(name))
        jobs.append(make_job(number, "ben", BEGINNING + 5400, Truth(run_s=3600.0), attributes, "large"))
    hardware = Hardware(cpus=4, memory_mb=4096)
    plan = pool(PARTS + text, hardware=hardware, machines=3, jobs=0, **settings)
    return replace(plan, jobs=tuple(jobs), days=HOURS / 24)


def _run(plan: Plan) -> tuple[World, dict[str, Any], list[Record], str]:
    records: list[Record] = []
    world = World(plan, sinks=(records.append,))
    outcome = world.run()
    assert outcome.problems == ()
    return world, outcome.summary, records, outcome.digest


def test_large_jobs_wait_where_nobody_defragments_and_run_where_somebody_does() -> None:
    _, _, records, _ = _run(_plan(""))
    assert not [each for each in records if each["what"] == "start" and each["job"] in LARGE]
    world, summary, records, digest = _run(_plan(DAEMON))
    assert {each["job"] for each in records if each["what"] == "complete"} >= set(LARGE)
    # Machines are emptied in the time that their jobs have, so none is lost; and only one at a time.
    assert summary["evictions"] == 0
    draining: set[str] = set()
    for each in records:
        if each["what"] == "order":
            draining.add(each["machine"])
            assert len(draining) == 1
        elif each["what"] == "transition" and each["number"] == "34":
            draining.remove(each["slot"].partition("@")[2])
    assert world.defragmentation is not None
    assert world.defragmentation.ad.eval("DrainSuccesses") >= 2
    assert _run(replace(_plan(DAEMON), exhaustive=True))[3] == digest


@pytest.mark.parametrize("seed", range(2))
def test_invariants_hold_where_words_to_machines_that_drain_are_lost(seed: int) -> None:
    faults = Faults(lost=0.1, doubled=0.05, late=0.1, machine_death_s=4 * 3600)
    _run(_plan(DAEMON, seed=seed, faults=faults))
