"""Worlds of all kinds, each run twice: what is left out because it cannot matter changes nothing."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from roost.schedd.events import Action
from roost.sim.inputs.owners import OwnerTrace
from roost.sim.inputs.workload import Job, Truth, make_job
from roost.sim.machine.pattern import Hardware
from roost.sim.world import BEGINNING, Outcome, Plan, World
from tests.sim.pools import DESKTOP, pool

LENGTH_S = 7200

_figures = st.one_of(
    st.sampled_from(["KeyboardIdle", "ConsoleIdle", "KeyboardIdle * 0.5", "600 - KeyboardIdle"]),
    st.sampled_from(["$(ActivityTimer)", "$(StateTimer)", "CurrentTime - QDate", "ClockMin * 60 % 1000"]),
    st.sampled_from(["TotalJobRunTime", "TotalClaimRunTime", "CpuBusyTime", "LoadAvg * 500"]),
    st.just("KeyboardIdle + $(ActivityTimer)"),
)
_comparisons = st.tuples(
    _figures,
    st.sampled_from(["<", "<=", ">", ">=", "==", "!="]),
    st.sampled_from([5, 9, 60, 61, 299, 300, 600, 899, 901, 3000]),
)
_facts = st.sampled_from(
    ["$(KeyboardBusy)", "$(CPUIdle)", 'Activity == "Suspended"', "TARGET.ImageSize > 90000", "MemoryUsage > 80", "True"]
)
_expressions = st.recursive(
    st.one_of(_comparisons.map(lambda t: f"({t[0]} {t[1]} {t[2]})"), _facts),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["&&", "||"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda x: f"!({x})"),
        st.tuples(inner, inner, inner).map(lambda t: f"ifThenElse({t[0]}, {t[1]}, {t[2]})"),
    ),
    max_leaves=4,
)
_knobs = ["START", "SUSPEND", "CONTINUE", "PREEMPT", "WANT_SUSPEND", "KILL", "IS_OWNER", "STARTER_EVICT", "CpuBusy"]
_policies = st.dictionaries(st.sampled_from(_knobs), _expressions, max_size=5)
_times = st.integers(0, LENGTH_S)
_jobs = st.lists(
    st.fixed_dictionaries(
        {
            "at": st.integers(0, LENGTH_S // 2),
            "run_s": st.sampled_from([3.0, 400.0, 4000.5, 20_000.0]),
            "lease_s": st.sampled_from([30, 90, 200, 600, 2400]),
            "grows": st.booleans(),
            "farewell_s": st.sampled_from([1.0, 70.0]),
            "stopped_at": st.one_of(st.none(), _times),
            "then": st.sampled_from([Action.VACATE, Action.HOLD]),
        }
    ),
    min_size=1,
    max_size=6,
)
#: Lengths of absences and stays in turn, s.
_stays = st.lists(st.integers(1, 1500), min_size=2, max_size=12)
_loads = st.lists(st.tuples(_times, st.sampled_from([0.0, 0.2, 0.4, 1.1])), max_size=4, unique_by=lambda load: load[0])
_owners = st.builds(lambda stays, loads: _owner(stays, loads), _stays, _loads)
#: When the queue falls silent, and when it is back.
_silences = st.one_of(st.none(), st.tuples(st.integers(0, LENGTH_S // 2), st.integers(LENGTH_S // 2, LENGTH_S)))


def _owner(stays: list[int], loads: list[tuple[int, float]]) -> OwnerTrace:
    edges = [BEGINNING + passed for passed in accumulate(stays[: len(stays) // 2 * 2])]
    return OwnerTrace(
        present=tuple(zip(edges[::2], edges[1::2], strict=True)),
        loads=tuple((BEGINNING + at, load) for at, load in sorted(loads)),
        last_key_before=BEGINNING - 100,
    )


def _job(number: int, made: dict[str, Any]) -> Job:
    sizes = ((0.0, 64 * 1024), (300.0, 64 * 1024), (900.0, 128 * 1024)) if made["grows"] else ()
    truth = Truth(run_s=made["run_s"], farewell_s=made["farewell_s"], memory=sizes)
    attributes = {"JobLeaseDuration": made["lease_s"]}
    return make_job(number, "ada", BEGINNING + made["at"], truth, attributes, f"ada/{made['lease_s']}")


def _made(*, at: int, stopped_at: int, lease_s: int) -> dict[str, Any]:
    more = {"run_s": 4000.5, "grows": True, "farewell_s": 70.0, "then": Action.VACATE}
    return {"at": at, "stopped_at": stopped_at, "lease_s": lease_s, **more}


def _plain(at: int, *, run_s: float = 3.0, lease_s: int = 30) -> dict[str, Any]:
    more = {"grows": False, "farewell_s": 1.0, "then": Action.VACATE}
    return {"at": at, "run_s": run_s, "stopped_at": None, "lease_s": lease_s, **more}


def _run(plan: Plan, jobs: list[dict[str, Any]], silence: tuple[int, int] | None) -> Outcome:
    world = World(plan)
    for number, made in enumerate(jobs, 1):
        if made["stopped_at"] is not None:
            stop = partial(world.queue.act, made["then"], f"{number}.0")
            world.engine.at(BEGINNING + max(made["stopped_at"], made["at"]) + 0.5, stop)
    for at, alive in zip(silence or (), (False, True), strict=False):
        world.engine.at(BEGINNING + at + 0.25, lambda _, alive=alive: world.queue.mute(not alive))
    return world.run()


@given(_policies, st.lists(_owners, min_size=2, max_size=2), _jobs, _silences, st.integers(0, 1000), st.integers(1, 2))
@example(
    # A claim whose job was killed hard has no lease any more, and keepalives go on until the queue hears of it.
    policy={
        "START": "$(KeyboardBusy)",
        "SUSPEND": "(KeyboardIdle < 5)",
        "KILL": "$(ActivityTimer) > 60",
        "CONTINUE": "False",
    },
    owners=[
        _owner([108, 797, 160, 19, 621, 728, 539, 298], [(767, 0.2), (273, 0.2), (346, 0.4), (122, 1.1)]),
        _owner([313, 1078, 192, 91, 953, 331], [(1193, 0.4), (1524, 0.4), (29, 0.4), (1008, 0.4)]),
    ],
    jobs=[_made(at=742, stopped_at=2363, lease_s=90)],
    silence=None,
    seed=285,
    cpus=2,
)
@example(
    # The owner's load goes from slot to slot as their states change.
    policy={
        "SUSPEND": "(KeyboardIdle < 5)",
        "START": "(KeyboardIdle * 0.5 < 9)",
        "KILL": "(KeyboardIdle * 0.5 <= 60)",
        "IS_OWNER": "ifThenElse($(KeyboardBusy), True, (LoadAvg * 500 < 5))",
        "WANT_SUSPEND": "(TotalJobRunTime > 600)",
    },
    owners=[
        _owner([78, 1500], [(7014, 1.1)]),
        _owner([657, 108, 1136, 73, 219, 409, 71, 13, 104, 554, 503, 802], [(3347, 0.2)]),
    ],
    jobs=[_made(at=692, stopped_at=1682, lease_s=200)],
    silence=(1366, 6388),
    seed=296,
    cpus=2,
)
@example(
    # A machine has not yet looked at itself for the first time.
    policy={
        "CONTINUE": "((KeyboardIdle + $(ActivityTimer) < 5) && $(KeyboardBusy))",
        "PREEMPT": "(KeyboardIdle + $(ActivityTimer) < 5)",
        "IS_OWNER": "$(KeyboardBusy)",
    },
    owners=[_owner([292, 2, 297, 1178], [(178, 0.4)]), _owner([1195, 165], [(1248, 0.0)])],
    jobs=[_plain(741), _plain(0)],
    silence=None,
    seed=226,
    cpus=1,
)
@example(
    # The answer to a keepalive comes when the claim has just been given back.
    policy={},
    owners=[_owner([2644, 951], []), _owner([1439, 990], [])],
    jobs=[_plain(131, run_s=4000.5, lease_s=2400)],
    silence=None,
    seed=342,
    cpus=1,
)
@example(
    # The queue looks after itself just when a lease would end, with the keepalive of that instant on its way.
    policy={},
    owners=[_owner([], []), _owner([], [])],
    jobs=[
        _plain(0, run_s=20_000.0, lease_s=2400),
        {**_made(at=0, stopped_at=5337, lease_s=2400), "run_s": 20_000.0, "then": Action.HOLD},
    ],
    silence=None,
    seed=0,
    cpus=1,
)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_run_comes_out_the_same_with_everything_that_is_left_out(
    policy: dict[str, str],
    owners: list[OwnerTrace],
    jobs: list[dict[str, Any]],
    silence: tuple[int, int] | None,
    seed: int,
    cpus: int,
) -> None:
    text = DESKTOP + "StartIdleTime = 300\n" + "".join(f"{name} = {value}\n" for name, value in policy.items())
    hardware = Hardware(cpus=cpus, memory_mb=2048)
    plan = pool(text, machines=2, days=LENGTH_S / 86_400, jobs=0, seed=seed, hardware=hardware)
    machines = tuple(
        replace(machine, sensors=replace(machine.sensors, owner=owner))
        for machine, owner in zip(plan.machines, owners, strict=True)
    )
    plan = replace(plan, machines=machines, jobs=tuple(_job(number, made) for number, made in enumerate(jobs, 1)))
    assert _run(plan, jobs, silence) == _run(replace(plan, exhaustive=True), jobs, silence)
