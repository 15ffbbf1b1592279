"""Machines of every kind: what polls leave out changes nothing, and each feature does what it is there for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from roost.schedd.status import JobStatus
from roost.sim.inputs.owners import HOUR_S
from roost.sim.inputs.workload import Job, Truth, make_job
from roost.sim.machine.pattern import Hardware
from roost.sim.world import BEGINNING, Order, Plan, World
from roost.startd.draining import DrainOrder, OnCompletion
from roost.startd.states import State
from tests.sim.pools import DESKTOP, pool

ALWAYS = "START = True\nIS_OWNER = False\nSUSPEND = False\nPREEMPT = False\nWANT_SUSPEND = False\nKILL = False\n"
PARTITIONABLE = "SLOT_TYPE_1 = 100%\nSLOT_TYPE_1_PARTITIONABLE = True\nNUM_SLOTS_TYPE_1 = 1\n"
FOUR = Hardware(cpus=4, memory_mb=4096)
RFC = (
    "STARTER_EVICT = ImageSize > (Memory * 1024)\nSTARTER_WANT_VACATE = True\n"
    "STARTER_KILL = (CurrentTime - EnteredCurrentState) > 5 * $(MINUTE)\n"
)
BACKFILL = (
    "ENABLE_BACKFILL = True\nBACKFILL_SYSTEM = BOINC\n"
    "START_BACKFILL = $(StateTimer) > 600\nEVICT_BACKFILL = KeyboardIdle < 60\n"
)
FETCH = "STARTD_JOB_HOOK_KEYWORD = W\nW_HOOK_FETCH_WORK = /hook\nFetchWorkDelay = 60\n"


def job(number: int, at: float = 60.0, owner: str = "ada", truth: Truth | None = None, **attributes: Any) -> Job:
    truth = truth or Truth(run_s=1800.0)
    return make_job(number, owner, BEGINNING + at, truth, attributes, f"{owner}/{sorted(attributes.items())}")


def run(plan: Plan) -> tuple[World, list[dict[str, Any]]]:
    records: list[dict[str, Any]] = []
    world = World(plan, sinks=(records.append,))
    assert world.run().problems == ()
    return world, records


def one(text: str, *jobs: Job, days: float = 0.3, machines: int = 1, **settings: Any) -> Plan:
    settings.setdefault("hardware", Hardware())
    plan = pool(text, machines=machines, days=days, jobs=0, **settings)
    return replace(plan, jobs=jobs)


def growing(run_s: float = 3600.0, **truth: Any) -> Truth:
    sizes = ((0.0, 64 * 1024), (600.0, 64 * 1024), (1200.0, 4000 * 1024))
    return Truth(run_s=run_s, memory=sizes, **truth)


def lines(records: list[dict[str, Any]], what: str) -> list[dict[str, Any]]:
    return [each for each in records if each["what"] == what]


SAME = {
    "partitionable": one(
        DESKTOP + PARTITIONABLE, *(job(n, 600.0 * n, RequestCpus=n % 3 + 1) for n in range(1, 9)), hardware=FOUR
    ),
    "starter evicts": one(DESKTOP + RFC, *(job(n, 60.0, truth=growing()) for n in range(1, 4)), days=0.12),
    "backfill": one(DESKTOP + BACKFILL, job(1, 3 * HOUR_S), days=0.6),
    "fetched": replace(one(ALWAYS + FETCH, job(1, 9000.0)), fetched=(job(1_000_000, 0.0), job(1_000_001, 0.0))),
    "drained": replace(
        one(ALWAYS + "MAXJOBRETIREMENTTIME = 3600\n", job(1), job(2, 9000.0), hardware=Hardware(cpus=2)),
        orders=(Order(at_s=600.0, machine=0, drain=DrainOrder(on_completion=OnCompletion.RESUME)),),
    ),
    "ranked": one(ALWAYS + 'RANK = Owner == "ben"\n', job(1), job(2, 900.0, "ben"), job(3, 1200.0, "ben")),
    "steady sizes": one(
        DESKTOP + "PREEMPT = TARGET.ResidentSetSize > 100000 && TotalJobRunTime > 4000\n",
        *(job(n, 60.0 * n, truth=Truth(run_s=9000.0)) for n in range(1, 4)),
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_leaving_out_what_cannot_matter_changes_nothing(name: str) -> None:
    plan = SAME[name]
    lazy, full = World(plan).run(), World(replace(plan, exhaustive=True)).run()
    assert lazy == full
    assert lazy.problems == ()
    assert lazy.records > 6


def test_a_job_that_outgrows_its_slot_is_evicted_by_its_starter_as_the_proposal_has_it() -> None:
    heavy = growing(farewell_s=10_000.0, ignores_soft_kill=True)
    _, records = run(one(ALWAYS + RFC, job(1, truth=heavy), hardware=Hardware(memory_mb=1024), days=0.05))
    decided = [(each["target"], each["reason"], each["expression"]) for each in lines(records, "starter")]
    assert decided[0] == ("Vacating/Job", "STARTER_EVICT true", "STARTER_EVICT")
    assert decided[1] == ("Killing/Job", "STARTER_KILL true", "STARTER_KILL")
    begun, vacating, killing = (each["t"] for each in (lines(records, "start")[0], *lines(records, "starter")[:2]))
    # It has 1024 MB when 750 s have gone, and is measured every 5 s; five minutes later the starter gives up.
    assert 740 <= vacating - begun <= 760
    assert 300 < killing - vacating <= 306
    ended = lines(records, "end")[0]
    assert (ended["outcome"], ended["hard"], ended["cause"]) == (
        "evicted",
        True,
        "STARTER_EVICT expression evaluated to True",
    )


def test_a_job_that_listens_saves_its_work_before_it_goes() -> None:
    plan = one(ALWAYS + RFC, job(1, truth=growing(checkpoints=True)), hardware=Hardware(memory_mb=1024), days=0.05)
    ended = lines(run(plan)[1], "end")[0]
    assert ended["outcome"] == "evicted"
    assert not ended["hard"]
    assert ended["kept_s"] == ended["run_s"] > 700


def test_a_job_goes_on_hold_where_the_policy_wants_that() -> None:
    text = (
        ALWAYS + "PREEMPT = TARGET.ImageSize > 1024 * 1024\nWANT_HOLD = PREEMPT\n" + 'WANT_HOLD_REASON = "too large"\n'
    )
    world, records = run(one(text, job(1, truth=growing()), days=0.1))
    assert world.queue.status["1.0"] is JobStatus.HELD
    assert [(each["outcome"], each["cause"]) for each in lines(records, "end")] == [("held", "too large")]


def test_dynamic_slots_are_cut_to_their_jobs_and_given_back() -> None:
    jobs = [job(n, RequestCpus=cpus, RequestMemory=1000) for n, cpus in enumerate((1, 1, 2), 1)]
    world, records = run(one(ALWAYS + PARTITIONABLE, *jobs, hardware=FOUR, days=0.1))
    assert {each["slot"] for each in lines(records, "start")} == {f"slot1_{n}@m0" for n in (1, 2, 3)}
    # What is left of the slot goes to jobs of the same kind without another round of matching.
    first, second = (each["t"] for each in lines(records, "start")[:2])
    assert second - first < 5
    assert len(lines(records, "complete")) == 3
    machine = world.machines[0]
    assert machine.host.dynamic_slots is not None and machine.plan.division is not None
    assert machine.host.dynamic_slots.slots == machine.plan.division.slots


def test_a_drained_machine_takes_no_job_until_it_is_told_to_go_on() -> None:
    plan = one(ALWAYS + "MAXJOBRETIREMENTTIME = 3600\n", job(1), job(2, 3000.0), hardware=Hardware(cpus=1), days=0.2)
    orders = (
        Order(at_s=600.0, machine=0, drain=DrainOrder()),
        Order(at_s=9000.0, machine=0, cancel_drain=True),
    )
    world, records = run(replace(plan, orders=orders))
    assert [round(each["t"]) > 9000 for each in lines(records, "start")] == [False, True]
    assert {"36", "33", "34"} <= {each["number"] for each in lines(records, "transition")} | {"36"}
    assert len(lines(records, "complete")) == 2
    assert all(slot.state.state is not State.DRAINED for slot in world.machines[0].slots)


def test_backfill_runs_while_nobody_wants_the_machine_and_makes_room() -> None:
    _, records = run(one(ALWAYS + BACKFILL.replace("KeyboardIdle < 60", "False"), job(1, 2 * HOUR_S), days=0.2))
    numbers = [each["number"] for each in lines(records, "transition")]
    assert {"7", "26", "28", "29"} <= set(numbers)
    assert len(lines(records, "complete")) == 1


def test_fetched_work_runs_and_its_source_hears_of_it() -> None:
    plan = replace(one(ALWAYS + FETCH), fetched=(job(1_000_000, 0.0), job(1_000_001, 4000.0)))
    world, records = run(plan)
    assert world.source.completed == {"1000000.0", "1000001.0"}
    assert [each["job"] for each in lines(records, "start")] == ["1000000.0", "1000001.0"]


def test_a_job_that_the_machine_ranks_higher_takes_over() -> None:
    plan = one(ALWAYS + 'RANK = Owner == "ben"\n', job(1, truth=Truth(run_s=9000.0)), job(2, 900.0, "ben"))
    _, records = run(plan)
    assert [each["job"] for each in lines(records, "complete")] == ["2.0", "1.0"]
    assert "23" in {each["number"] for each in lines(records, "transition")}
    assert lines(records, "end")[0]["cause"] == "Preempted for a higher Ranked job"


@pytest.mark.parametrize(("wanted", "first"), [("False", "1.0"), ("RemoteUserPrio > SubmitterUserPrio", "9.0")])
def test_a_user_with_a_better_priority_takes_over_only_if_the_pool_wants_it(wanted: str, first: str) -> None:
    jobs = (job(1, truth=Truth(run_s=40_000.0)), job(9, 30_000.0, "ben"))
    text = f"{ALWAYS}PREEMPTION_REQUIREMENTS = {wanted}\nPRIORITY_HALFLIFE = {4 * HOUR_S}\n"
    plan = one(text, *jobs, days=0.6)
    _, records = run(plan)
    assert lines(records, "complete")[0]["job"] == first


def test_users_share_what_there_is_by_their_priorities() -> None:
    greedy = [job(n, 60.0, "ada", Truth(run_s=3 * HOUR_S)) for n in range(1, 40)]
    late = [job(n, 4 * HOUR_S, "ben", Truth(run_s=3 * HOUR_S)) for n in range(40, 44)]
    _, records = run(one(ALWAYS, *greedy, *late, machines=4, days=1.0))
    started = {each["job"]: each["t"] for each in lines(records, "start")}
    assert sum(started[each.name] < 7 * HOUR_S for each in late) in (2, 3)
    assert all(started[each.name] < 10 * HOUR_S for each in late)
