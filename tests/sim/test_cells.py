"""Pools with a Grid Engine cell in which things go wrong: nothing is lost, given twice, or half started."""

from __future__ import annotations

from random import Random

import pytest

from roost.base.records import replace
from roost.config import MemoryHost
from roost.gridengine.cell import Cell, new_cell, write_cell
from roost.gridengine.pool.cycle import ActiveCell
from roost.lab.inputs.cell import checked, whole
from roost.schedd.status import JobStatus
from roost.sim.bus import Faults
from roost.sim.cell import CellPlan
from roost.sim.inputs.owners import NOBODY
from roost.sim.inputs.workload import Job, Truth, make_job
from roost.sim.machine.pattern import Hardware, load_config, make_pattern
from roost.sim.world import BEGINNING, Plan, World

DAY_S = 86_400
UNTIL_S = 0.12 * DAY_S
HOSTS = ("node1", "node2", "node3")
OBJECTS = {
    "centry": "licence lic INT <= YES YES 0 0\n",
    "execution/global": "complex_values licence=3\n",
    "pe/mpi": "slots 99\nallocation_rule $round_robin\n",
    "cqueues/all.q": f"hostlist {' '.join(HOSTS)}\nslots 3\npe_list mpi\nsubordinate_list low.q=3\n",
    "cqueues/low.q": "hostlist node1 node2\nslots 2\n",
}
PARTITIONABLE = "NUM_SLOTS_TYPE_1 = 1\nSLOT_TYPE_1 = 100%\nSLOT_TYPE_1_PARTITIONABLE = True\n"
KINDS = (
    {"CellQueues": "all.q"},
    {"CellQueues": "low.q"},
    {"CellResources": "licence=1"},
    {"CellParallel": "mpi 4", "CellQueues": "all.q"},
    {"CellParallel": "mpi 2-6", "CellResources": "licence=1"},
)


def cell() -> Cell:
    files = dict(write_cell(new_cell()))
    for name, text in OBJECTS.items():
        files[name] = whole(name, text, files.get(name))
    return checked(files)


def jobs(chance: Random) -> tuple[Job, ...]:
    found = []
    for _ in range(40):
        kind = chance.choice(KINDS)
        at = BEGINNING + float(chance.randrange(int(UNTIL_S)))
        truth = Truth(run_s=float(chance.randrange(60, 2400)))
        given = {**kind, "Requirements": "true", "JobLeaseDuration": chance.choice((300, 2400))}
        found.append((at, truth, given))
    return tuple(
        make_job(number, chance.choice(("ann", "ben")), at, truth, given, str(sorted(given.items())))
        for number, (at, truth, given) in enumerate(sorted(found, key=lambda each: each[0]), 1)
    )


def plan(seed: int, policy: str, faults: Faults) -> Plan:
    host = MemoryHost(files={"/policy": policy})
    pattern = make_pattern(load_config(host, ("/policy",), Hardware(cpus=5), "m"), Hardware(cpus=5))
    machines = tuple(pattern.machine(name, NOBODY, started_at=BEGINNING, phase_s=0) for name in HOSTS)
    return Plan(
        machines=machines,
        jobs=jobs(Random(seed)),
        days=0.3,
        seed=seed,
        cycle_s=15.0,
        faults=faults,
        queue=pattern.queue,
        cell=CellPlan(cell=cell()),
    )


FAULTS = {
    "messages": Faults(lost=0.05, doubled=0.05, late=0.05, until_s=UNTIL_S),
    "deaths": Faults(machine_death_s=7200, queue_death_s=7200, until_s=UNTIL_S),
    "cuts": Faults(machine_cut=0.3, starter_crash=0.2, queue_cut=200, machine_death_s=7200, until_s=UNTIL_S),
}


@pytest.mark.parametrize("policy", ["", PARTITIONABLE], ids=["static", "partitionable"])
@pytest.mark.parametrize("name", FAULTS)
def test_nothing_is_lost_given_twice_or_half_started(name: str, policy: str) -> None:
    world = World(plan(11, policy, FAULTS[name]))
    outcome = world.run()
    assert outcome.problems == ()
    ended = {job: status.name for job, status in world.queue.status.items() if status is not JobStatus.COMPLETED}
    assert ended == {}
    assert world.queue.core.claim_table.claims == {}


def test_more_than_there_is_would_be_noticed() -> None:
    world = World(plan(11, "", Faults()))
    world.engine.run(BEGINNING + UNTIL_S / 2)
    assert world.cell is not None
    assert any(slot.process is not None for machine in world.machines for slot in machine.slots)
    closed = {name: replace(queue, defaults=replace(queue.defaults, slots=0)) for name, queue in cell().queues.items()}
    world.cell._active = ActiveCell.of(1, replace(world.cell.cell, queues=closed))
    world.checker.check_all()
    assert world.checker.problems
    assert all("of 0 slots in use" in problem for problem in world.checker.problems)
