"""The worlds of fault runs: every tenth seed has a Grid Engine cell, the others are as `worlds` draws them.

A cell has two or three hosts and two queues that overlap, one of which may suspend the other, a licence, perhaps a
quota and load adjustments, and parallel environments. Any of its jobs can run once nothing goes wrong any more.
"""

from __future__ import annotations

from random import Random
from typing import Final

from roost.base.records import replace
from roost.config import MemoryHost
from roost.gridengine.cell import Cell, new_cell, write_cell
from roost.lab.inputs.cell import checked, whole
from roost.sim.cell import CellPlan
from roost.sim.chance import stream
from roost.sim.inputs.owners import HOUR_S, NOBODY
from roost.sim.inputs.workload import Job, Truth, make_job
from roost.sim.machine.pattern import Hardware, load_config, make_pattern
from roost.sim.world import BEGINNING, Plan
from tests.faults.worlds import Drawn, draw_faults, drawn

#: One of so many seeds has a cell.
CELL_EVERY: Final = 10
#: Time in which things go wrong, s, and simulated days with the time to come right. Runs of cells take long.
_FAULTY_S: Final = 3 * HOUR_S
_DAYS: Final = 0.4
_CORES: Final = 5
_LAYOUTS: Final = {
    "static slots": "",
    "partitionable": "NUM_SLOTS_TYPE_1 = 1\nSLOT_TYPE_1 = 100%\nSLOT_TYPE_1_PARTITIONABLE = True\n",
}
_SUBORDINATES: Final = ("NONE", "low.q", "low.q=1", "slots=3(low.q:1:sr)")
_RULES: Final = ("$fill_up", "$round_robin", "2")
_KINDS: Final = (
    {"CellQueues": "all.q"},
    {"CellQueues": "low.q"},
    {"CellResources": "licence=1"},
    {"CellParallel": "mpi 4", "CellQueues": "all.q"},
    {"CellParallel": "mpi 2-4", "CellResources": "licence=1"},
)
_USERS: Final = ("ann", "ben", "cyd")


def world_of(seed: int) -> Drawn:
    """The world of a seed."""
    return drawn(seed) if seed % CELL_EVERY else _cell_world(seed)


def _cell_world(seed: int) -> Drawn:
    chance = stream(seed, "world with a cell")
    hosts = tuple(f"node{number}" for number in range(1, chance.choice((3, 4))))
    layout = chance.choice(sorted(_LAYOUTS))
    hardware = Hardware(cpus=_CORES)
    config = load_config(MemoryHost(files={"/policy": _LAYOUTS[layout]}), ("/policy",), hardware, "m")
    pattern = make_pattern(config, hardware)
    plan = Plan(
        machines=tuple(pattern.machine(name, NOBODY, started_at=BEGINNING, phase_s=0) for name in hosts),
        jobs=_jobs(chance),
        days=_DAYS,
        seed=seed,
        cycle_s=60.0,
        faults=replace(draw_faults(chance), until_s=_FAULTY_S),
        queue=pattern.queue,
        cell=CellPlan(cell=_cell(chance, hosts)),
    )
    return Drawn(plan=plan, layout=layout, policy="cell", hopeless=frozenset())


def _cell(chance: Random, hosts: tuple[str, ...]) -> Cell:
    texts = {
        "centry": "licence lic INT <= YES YES 0 0\n",
        "execution/global": f"complex_values licence={chance.choice((4, 6))}\n",
        "pe/mpi": f"slots {chance.choice((4, 99))}\nallocation_rule {chance.choice(_RULES)}\n",
        "cqueues/all.q": (
            f"hostlist {' '.join(hosts)}\nslots 3\npe_list mpi\nsubordinate_list {chance.choice(_SUBORDINATES)}\n"
        ),
        "cqueues/low.q": f"hostlist {' '.join(hosts[:2])}\nslots 2\n",
    }
    if chance.random() < 0.4:
        limit = chance.choice(("users {*} to slots=4", "queues low.q to slots=2"))
        texts["resource_quotas/limits"] = f"{{\n name limits\n enabled TRUE\n limit {limit}\n}}\n"
    files = dict(write_cell(new_cell()))
    for name, text in texts.items():
        files[name] = whole(name, text, files.get(name))
    return checked(files)


def _jobs(chance: Random) -> tuple[Job, ...]:
    times = sorted(float(chance.randrange(int(_FAULTY_S))) for _ in range(chance.randrange(6, 24)))
    found = []
    for number, at_s in enumerate(times, 1):
        kind = chance.choice(_KINDS)
        truth = Truth(run_s=float(chance.randrange(60, 2400)), farewell_s=float(chance.choice((0, 1, 10))))
        given = {**kind, "Requirements": "true", "JobLeaseDuration": chance.choice((600, 2400))}
        shown = str(sorted(kind.items()))
        found.append(make_job(number, chance.choice(_USERS), BEGINNING + at_s, truth, given, shown))
    return tuple(found)
