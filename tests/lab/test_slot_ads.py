"""What a slot shows the pool in simulation, and what it shows it on a real machine: attribute for attribute."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.classad.values import fold
from roost.lab.replay.driven_loop import DrivenLoop
from roost.lab.replay.pool import ReplayPool
from roost.lab.replay.worlds import BothWorlds
from roost.lab.scenario.coverage import Coverage
from roost.lab.scenario.file import read_scenarios
from roost.lab.scenario.run import _Run
from roost.lab.scenario.values import Scenario
from roost.runtime.machine import SystemHost
from roost.sim.machine.pool_ads import pool_ad

#: What a simulated slot does not show, with the reason.
REASONS = {
    "of a drain": (
        "ExpectedMachineGracefulDrainingBadput", "ExpectedMachineGracefulDrainingCompletion",
        "ExpectedMachineQuickDrainingBadput", "ExpectedMachineQuickDrainingCompletion",
        "TotalMachineDrainingBadput", "TotalMachineDrainingUnclaimedTime", "LastDrainStartTime", "LastDrainStopTime",
    ),  # sums over all slots of a machine, which only defragmentation asks for: it adds them itself
    "measured": ("CpusUsage", "NumPids"),  # a run is measured for what some expression asks
    "of the cell": ("CellHostLoads",),  # a scenario gives the loads of its cell's hosts to the run itself
    "of the message": ("UpdateSequenceNumber",),  # the simulated matchmaker looks at slots, which send nothing
}  # fmt: skip

SCENARIOS = '''
policy = """
START = True
IS_OWNER = False
SUSPEND = False
PREEMPT = False
RunBenchmarks = False
"""
machine = { cpus = 1 }
[jobs.a]
run = "20m"
[jobs.b]
run = "2m"

[[scenario]]
name = "busy"
steps = [{ at = "1m2s", submit = "a" }, { at = "12m", expect = { job = "a" } }]

[[scenario]]
name = "free again"
steps = [{ at = "1m2s", submit = "b" }, { at = "12m", expect = "Unclaimed" }]

[[scenario]]
name = "fetching"
settings = { STARTD_JOB_HOOK_KEYWORD = "WORK", WORK_HOOK_FETCH_WORK = "/bin/fetch", FetchWorkDelay = "30" }
steps = [{ at = "1m2s", expect = "Unclaimed" }]

[[scenario]]
name = "drained"
steps = [
  { at = "1m2s", submit = "a" },
  { at = "2m2s", drain = "graceful" },
  { at = "3m2s", expect = { Draining = true } },
]
'''


@pytest.fixture(scope="module")
def worlds() -> Iterator[BothWorlds]:
    with BothWorlds(SystemHost()) as found:
        yield found


@pytest.mark.parametrize("place", range(4), ids=["busy", "free again", "fetching", "drained"])
def test_a_simulated_slot_shows_what_a_real_one_shows(
    place: int, worlds: BothWorlds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "slots.toml"
    file.write_text(SCENARIOS)
    scenario: Scenario = read_scenarios(file)[place]
    run = _Run(scenario, SystemHost(), Coverage(), 100)
    run.verdict()
    (slot,) = run.world.machines[0].slots
    simulated = set(pool_ad(slot, run.world.engine.now).cells)
    real: dict[str, str] = {}
    close = ReplayPool.close

    async def look(pool: ReplayPool, loop: DrivenLoop) -> None:
        (node,) = pool.nodes.values()
        (ad,) = node.machine.ads(node.machine.slots, pool.clock.now())
        real.update({fold(name): name for name in ad})
        await close(pool, loop)

    monkeypatch.setattr(ReplayPool, "close", look)
    worlds.replay(scenario)
    missing = {name for key, name in real.items() if key not in simulated}
    assert missing <= {name for names in REASONS.values() for name in names}
    assert simulated <= real.keys()
