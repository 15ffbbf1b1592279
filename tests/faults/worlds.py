"""Pools drawn from a seed, for runs in which everything goes wrong that can.

A world is small: a few machines of one kind, some dozens of short jobs, half a day in which things go wrong, and time
enough after it for what is left to come right. The seed decides how the machines are divided, under which policy they
run, what the jobs are like, what administrators order, and what goes wrong.

Once nothing goes wrong any more, all owners leave the machines and every drain is cancelled. Each policy here then lets
jobs run to their end; `hopeless` names jobs that their policy is right to throw out forever.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Final

from roost.base.records import dataclass, replace
from roost.classad import parse_expression
from roost.config import MemoryHost
from roost.model.events import DrainSchedule
from roost.sim.bus import Faults
from roost.sim.chance import stream
from roost.sim.inputs.owners import HOUR_S, OwnerTrace, diurnal
from roost.sim.inputs.workload import Job, Truth, make_job
from roost.sim.machine.pattern import Hardware, Pattern, load_config, make_pattern
from roost.sim.world import BEGINNING, Order, Plan
from roost.startd.draining import DrainOrder, OnCompletion

#: Time in which things go wrong, s.
FAULTY_S: Final = 12 * HOUR_S
#: Simulated days, the time to come right included.
DAYS: Final = 2.0

_DESKTOP: Final = "use POLICY : Desktop\n"
_ALWAYS: Final = (
    "START = True\nIS_OWNER = False\nSUSPEND = False\nPREEMPT = False\nWANT_SUSPEND = False\nKILL = False\n"
)

#: How machines are divided: cores, and configuration.
LAYOUTS: Final[Mapping[str, tuple[int, str]]] = {
    "one static slot": (1, ""),
    "static slots": (3, "NUM_SLOTS = 3\nSLOTS_CONNECTED_TO_KEYBOARD = 2\n"),
    "partitionable": (4, "SLOT_TYPE_1 = 100%\nSLOT_TYPE_1_PARTITIONABLE = True\nNUM_SLOTS_TYPE_1 = 1\n"),
    "mixed": (
        4,
        "SLOT_TYPE_1 = 1/4\nNUM_SLOTS_TYPE_1 = 1\n"
        "SLOT_TYPE_2 = 3/4\nSLOT_TYPE_2_PARTITIONABLE = True\nNUM_SLOTS_TYPE_2 = 1\n",
    ),
}

#: Policies.
POLICIES: Final[Mapping[str, str]] = {
    "desktop": _DESKTOP,
    "impatient desktop": _DESKTOP + "MaxSuspendTime = 30\nStartIdleTime = 60\nCLAIM_WORKLIFE = 600\n",
    "desktop that vacates": _DESKTOP + "WANT_SUSPEND = False\nMAXJOBRETIREMENTTIME = 1200\nMachineMaxVacateTime = 30\n",
    "dedicated": _ALWAYS,
    "dedicated, retiring": _ALWAYS + "MAXJOBRETIREMENTTIME = 1800\nCLAIM_WORKLIFE = 3600\n",
    "ranked": _ALWAYS + 'RANK = (Owner == "ada") * 10 + (Owner == "ben")\nMAXJOBRETIREMENTTIME = 300\n',
    "by priority": _ALWAYS
    + "PREEMPTION_REQUIREMENTS = MY.TotalJobRunTime > 600 && RemoteUserPrio > 2 * SubmitterUserPrio\n",
    "starter evicts": _DESKTOP
    + "STARTER_EVICT = ImageSize > (Memory * 1024)\nSTARTER_WANT_VACATE = True\n"
    + "STARTER_KILL = (CurrentTime - EnteredCurrentState) > 300\n",
    "starter kills": _ALWAYS + "STARTER_EVICT = ImageSize > (Memory * 1024)\nSTARTER_WANT_VACATE = False\n",
    "holds": _ALWAYS
    + "PREEMPT = TARGET.ImageSize > (Memory * 1024)\nWANT_HOLD = TARGET.ImageSize > (Memory * 1024)\n"
    + 'WANT_HOLD_REASON = "too large"\nSTARTER_UPDATE_INTERVAL = 60\n',
    "backfill": _DESKTOP
    + "ENABLE_BACKFILL = True\nBACKFILL_SYSTEM = BOINC\n"
    + "START_BACKFILL = $(StateTimer) > 600\nEVICT_BACKFILL = KeyboardIdle < 60\n",
    "fetches": _ALWAYS
    + "STARTD_JOB_HOOK_KEYWORD = W\nW_HOOK_FETCH_WORK = /hook\nW_HOOK_REPLY_FETCH = /hook\nFetchWorkDelay = 120\n",
    "suspendable": "use POLICY : Suspendable_Slots\n",
}
#: Policies that need a layout of their own.
_LAYOUT_OF: Final = {"suspendable": ("static slots", 2, "")}

_USERS: Final = ("ada", "ben", "cyd")
_MEMORY_MB: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A world."""

    plan: Plan
    #: In words.
    layout: str
    policy: str
    #: Jobs that need not complete.
    hopeless: frozenset[str]


def drawn(seed: int) -> Drawn:
    """The world of a seed."""
    chance = stream(seed, "world")
    policy = chance.choice(list(POLICIES))
    layout = chance.choice(list(LAYOUTS))
    cpus, text = LAYOUTS[layout]
    if policy in _LAYOUT_OF:
        layout, cpus, text = _LAYOUT_OF[policy]
    pattern = _pattern(POLICIES[policy] + text, cpus, seed)
    count = chance.randrange(1, 4)
    jobs = _jobs(chance, policy, chance.randrange(6, 30))
    fetched = tuple(_fetched(chance, number) for number in range(8)) if policy == "fetches" else ()
    plan = Plan(
        machines=tuple(
            pattern.machine(
                f"m{index}",
                _owner(seed, index),
                started_at=BEGINNING,
                phase_s=stream(seed, "phase", index).randrange(300),
            )
            for index in range(count)
        ),
        jobs=tuple(jobs),
        days=DAYS,
        seed=seed,
        cycle_s=60.0,
        faults=draw_faults(chance),
        negotiator=replace(pattern.negotiator, halflife_s=4 * HOUR_S),
        queue=pattern.queue,
        fetched=fetched,
        orders=tuple(_orders(chance, count)),
    )
    hopeless = frozenset(job.name for job in jobs if job.truth.image_kb(job.truth.run_s) > job.truth.memory[0][1])
    return Drawn(plan=plan, layout=layout, policy=policy, hopeless=hopeless)


def _pattern(text: str, cpus: int, seed: int) -> Pattern:
    hardware = Hardware(cpus=cpus, memory_mb=_MEMORY_MB * cpus)
    config = load_config(MemoryHost(files={"/world.config": text}), ["/world.config"], hardware, "m", seed)
    return make_pattern(config, hardware, accounts=True)


def _owner(seed: int, index: int) -> OwnerTrace:
    trace = diurnal(stream(seed, "owner", index), BEGINNING, 1)
    end = BEGINNING + FAULTY_S
    present = tuple((begin, min(stop, end)) for begin, stop in trace.present if begin < end)
    loads = (*((at, load) for at, load in trace.loads if at < end), (end, 0.0))
    return OwnerTrace(present=present, loads=loads, last_key_before=BEGINNING - 4 * HOUR_S)


def draw_faults(chance: Random) -> Faults:
    """Each kind of mishap is there in two worlds of three."""

    def maybe(most: float) -> float:
        return chance.random() * most if chance.random() < 2 / 3 else 0.0

    return Faults(
        lost=maybe(0.2),
        doubled=maybe(0.2),
        late=maybe(0.3),
        late_s=chance.choice((5.0, 120.0, 1200.0)),
        machine_death_s=chance.choice((0.0, 4 * HOUR_S, 24 * HOUR_S)),
        queue_death_s=chance.choice((0.0, 6 * HOUR_S)),
        machine_cut=maybe(0.8),
        starter_crash=maybe(0.3),
        queue_cut=chance.choice((0.0, 40.0)),
        away_s=chance.choice((30.0, 900.0, 5400.0)),
        until_s=FAULTY_S,
    )


def _jobs(chance: Random, policy: str, count: int) -> list[Job]:
    times = sorted(float(chance.randrange(int(FAULTY_S))) for _ in range(count))
    return [_job(chance, policy, number, BEGINNING + at) for number, at in enumerate(times, 1)]


def _job(chance: Random, policy: str, number: int, at: float) -> Job:
    owner = chance.choice(_USERS)
    universe = 1 if chance.random() < 0.15 else 5
    truth = _truth(chance, grows=universe == 5)
    memory = chance.choice([size for size in (128, 400, 700) if size * 1024 > truth.memory[0][1]])
    if "Suspendable" in POLICIES[policy]:
        suspendable = chance.random() < 0.5
    else:
        suspendable = False
    attributes: dict[str, object] = {
        "RequestMemory": memory,
        "RequestCpus": chance.choice((1, 1, 1, 2)) if policy != "suspendable" else 1,
        "JobUniverse": universe,
        "ImageSize": truth.memory[0][1],
        "JobLeaseDuration": chance.choice((600, 1200, 2400)),
        "ShouldTransferFiles": chance.choice(("YES", "NO")),
    }
    if suspendable:
        attributes["IsSuspendableJob"] = True
    if chance.random() < 0.2:
        attributes["JobMaxVacateTime"] = chance.choice((0, 20, 2000))
    if truth.image_kb(truth.run_s) > truth.memory[0][1]:
        # A user who submits a job that grows beyond measure does not want it started forever.
        attributes["PeriodicHold"] = parse_expression("JobStatus == 1 && NumVacates > 5")
    if truth.exits_to_save_s is not None:
        attributes["SuccessCheckpointExitCode"] = truth.save_code
    if chance.random() < 0.2:
        attributes["Rank"] = "Memory"
    telling = ("RequestMemory", "RequestCpus", "JobUniverse", "IsSuspendableJob", "Rank")
    shown = "/".join(f"{name}={attributes[name]}" for name in telling if name in attributes)
    return make_job(number, owner, at, truth, attributes, f"{owner}/{shown}")


def _truth(chance: Random, *, grows: bool) -> Truth:
    size = chance.choice((20, 64, 300)) * 1024
    run_s = float(chance.choice((5, 60, 600, 1800, 5400)) + chance.randrange(60))
    truth = Truth(
        run_s=run_s,
        checkpoints=chance.random() < 0.4,
        farewell_s=float(chance.choice((0, 1, 10, 100))),
        ignores_soft_kill=chance.random() < 0.15,
        death_s=chance.choice((0.5, 1.0, 1.0, 45.0)),
        memory=((0.0, size),),
        input_s=chance.choice((0.0, 3.0)),
        output_s=chance.choice((0.0, 3.0)),
    )
    if grows and chance.random() < 0.12:
        # Not too soon: a job that is thrown out forever is started again forever.
        run_s += 3600
        truth = replace(truth, run_s=run_s, memory=((0.0, size), (run_s * 0.5, size), (run_s * 0.8, 3000 * 1024)))
    if chance.random() < 0.1:
        truth = replace(truth, exits_to_save_s=300.0)
    return truth


def _fetched(chance: Random, number: int) -> Job:
    truth = Truth(run_s=float(chance.choice((30, 600, 2400))), checkpoints=chance.random() < 0.5)
    return make_job(
        1_000_000 + number, "web", BEGINNING + chance.randrange(int(FAULTY_S)), truth, {"RequestMemory": 128}, "web"
    )


def _orders(chance: Random, machines: int) -> list[Order]:
    orders = []
    for machine in range(machines):
        drains = [_drain(chance) for _ in range(chance.choice((0, 0, 1, 2)))]
        orders += [Order(at_s=float(chance.randrange(int(FAULTY_S))), machine=machine, drain=each) for each in drains]
        for _ in range(chance.choice((0, 1))):
            at_s, how = float(chance.randrange(int(FAULTY_S))), chance.choice(("graceful", "fast"))
            orders.append(Order(at_s=at_s, machine=machine, vacate=how))
        if chance.random() < 0.5:
            orders.append(Order(at_s=float(chance.randrange(int(FAULTY_S))), machine=machine, cancel_drain=True))
        orders.append(Order(at_s=float(FAULTY_S), machine=machine, cancel_drain=True))
        # A daemon that was away then hears it when it is back.
        orders.append(Order(at_s=float(FAULTY_S + 2 * HOUR_S), machine=machine, cancel_drain=True))
    return orders


def _drain(chance: Random) -> DrainOrder:
    start = chance.choice((None, None, 'Owner == "ada"', "true"))
    return DrainOrder(
        schedule=chance.choice(list(DrainSchedule)),
        on_completion=chance.choice((OnCompletion.NOTHING, OnCompletion.RESUME, OnCompletion.RESTART)),
        start=None if start is None else parse_expression(start),
        reason="drawn",
    )


__all__ = ["DAYS", "FAULTY_S", "LAYOUTS", "POLICIES", "Drawn", "draw_faults", "drawn"]
