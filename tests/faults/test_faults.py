"""Worlds drawn from seeds: whatever goes wrong, invariants hold, and all comes right once nothing goes wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from roost.sim.world import World
from tests.faults.run import run_seed
from tests.faults.worlds import FAULTY_S, LAYOUTS, POLICIES, drawn

#: A sample of what `make sim` runs: every policy and every layout, and no two worlds of the same policy and layout.
#: "suspendable" is not in it: its first world takes as long as all others together.
SEEDS = [1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 16, 18, 20, 22, 23, 24, 123]


@pytest.mark.parametrize("seed", SEEDS)
def test_safety_holds_while_things_go_wrong_and_liveness_after_it(seed: int) -> None:
    outcome = run_seed(seed)
    assert outcome.problems == (), outcome.command


def test_seeds_differ_in_everything_that_matters() -> None:
    sample = [(world.policy, world.layout) for world in map(drawn, SEEDS)]
    assert len(set(sample)) == len(sample)
    assert {policy for policy, _ in sample} == {*POLICIES} - {"suspendable"}
    assert {layout for _, layout in sample} == {*LAYOUTS}
    worlds = [drawn(seed) for seed in range(80)]
    assert {world.policy for world in worlds} == set(POLICIES)
    assert {world.layout for world in worlds} == set(LAYOUTS)
    for name in ("lost", "doubled", "late", "machine_death_s", "queue_death_s", "machine_cut", "starter_crash"):
        assert {getattr(world.plan.faults, name) > 0 for world in worlds} == {True, False}, name


def test_a_seed_is_one_world_and_one_run() -> None:
    assert drawn(7).plan.faults == drawn(7).plan.faults
    assert run_seed(4).digest == run_seed(4).digest


def test_a_queue_that_starts_again_tells_jobs_apart_by_what_matters_to_slots() -> None:
    plan = drawn(234).plan
    assert plan.faults.queue_death_s or plan.faults.queue_cut
    deaths = []
    world = World(replace(plan, days=0.2), sinks=(lambda each: deaths.append(each["what"] == "dead"),))
    world.run()
    assert any(deaths)
    assert "issuspendablejob" in world.queue.core.told_significant
    assert world.queue.core.told_significant == world.matcher.significant


@pytest.mark.parametrize("seed", [3, 100])
def test_what_polls_leave_out_changes_nothing_where_things_go_wrong(seed: int) -> None:
    plan = replace(drawn(seed).plan, days=(FAULTY_S + 1800) / 86_400)
    assert World(plan).run().digest == World(replace(plan, exhaustive=True)).run().digest
