"""`roost lab simulate`: a policy, machines and a workload in; timelines, records, figures and a report out.

The output directory gets ``records.jsonl`` (everything that happened, one JSON object per line), ``summary.json``
(the figures, the digest, and the command that repeats the run), ``report.html``, and, if matplotlib is installed,
``timeline.png`` and ``metrics.png``.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from roost.base.records import dataclass, replace
from roost.config import Config, Host
from roost.gridengine.cell import Cell
from roost.gridengine.instances import resolve
from roost.gridengine.pool.lacking import not_carried_out
from roost.lab.inputs.cell import read_cell_directory
from roost.lab.inputs.cell_jobs import in_cell
from roost.lab.inputs.pool_file import NOT_RECORDED, Group, read_pool
from roost.lab.inputs.recorded_pool import RecordedPool
from roost.lab.inputs.text_file import read_text
from roost.lab.inputs.workloads import jobs_of, read_jobs, renumbered
from roost.lab.machines import Hardware, LabError, Pattern, load_config, make_pattern
from roost.lab.policy_check import not_acted_on, refuse_unreadable
from roost.lab.report.cell_figures import CellFigures
from roost.lab.report.pictures import can_draw, draw
from roost.lab.report.simulation import html_report
from roost.lab.report.timelines import Timelines, interval_s
from roost.model.slots import SlotKind
from roost.schedd.jobs.local import is_local
from roost.sim.bus import Faults
from roost.sim.cell import CellPlan
from roost.sim.chance import stream
from roost.sim.inputs.owners import NOBODY, OwnerTrace, diurnal
from roost.sim.inputs.owners_file import TraceProblem, read_csv
from roost.sim.inputs.workload import Job, generated
from roost.sim.machine.host import Machine
from roost.sim.machine.plan import MachinePlan
from roost.sim.queue.local_jobs import local_machine_plan, runs_locally
from roost.sim.world import BEGINNING, Outcome, Plan, World

#: Default number of machines.
MACHINES: Final = 20
#: Memory of a host of a cell for each slot, MB.
MEMORY_MB_PER_SLOT: Final = 2048
#: Default number of jobs per machine and day.
JOBS_PER_MACHINE_DAY: Final = 3
#: Most generated jobs: each takes a kilobyte or two of memory.
JOBS_MAX: Final = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be simulated."""

    configs: tuple[str, ...]
    #: The directory of the pool's Grid Engine cell; None if there is none.
    cell: str | None = None
    #: The parallel environment for recorded jobs with several cores; "" for none.
    environment: str = ""
    #: A pool file; None if the next four fields describe the machines.
    pool: str | None = None
    #: None for 20, or as many as in the owners' file.
    machines: int | None = None
    hardware: Hardware = Hardware()
    #: A recorded trace of owners; None for generated ones.
    owners: str | None = None
    days: float = 7.0
    seed: int = 1
    #: Files of jobs; none for a generated mix.
    workload: tuple[str, ...] = ()
    mix: str = "desktop"
    #: Jobs of the mix; None for `JOBS_PER_MACHINE_DAY`.
    jobs: int | None = None
    faults: Faults = Faults()
    exhaustive: bool = False
    #: A pool that is there, which has the machines and jobs instead of all that is said above; None for none.
    recorded: RecordedPool | None = None

    @property
    def command(self) -> str:
        """The command line that repeats the run."""
        words = ["roost", "lab", "simulate", *(word for path in self.configs for word in ("--config", path))]
        words += ["--cell", self.cell] if self.cell is not None else []
        words += ["--pe", self.environment] if self.environment else []
        if self.pool is not None:
            words += ["--pool", self.pool]
        else:
            words += ["--machines", str(self.machines)] if self.machines is not None else []
            if self.cell is None:
                words += ["--cpus", str(self.hardware.cpus), "--memory", str(self.hardware.memory_mb)]
            words += ["--owners", self.owners] if self.owners else []
        words += ["--days", f"{self.days:g}", "--seed", str(self.seed)]
        for path in self.workload:
            words += ["--jobs", path]
        if not self.workload:
            words += ["--mix", self.mix, *(["--count", str(self.jobs)] if self.jobs is not None else [])]
        for name in ("lost", "doubled", "late", "machine_death_s", "queue_death_s"):
            value = getattr(self.faults, name)
            words += [f"--{name.removesuffix('_s').replace('_', '-')}", f"{value:g}"] if value else []
        words += ["--exhaustive"] if self.exhaustive else []
        return shlex.join(words)

    @property
    def groups(self) -> tuple[Group, ...]:
        """The machines; the hosts of a cell are one group each. Raises LabError, OSError."""
        if self.recorded is not None:
            return self.recorded.groups
        if self.pool is not None:
            return read_pool(Path(self.pool))
        recorded = self.owners is not None and self.owners not in NOT_RECORDED
        count = self.machines if self.machines is not None or recorded else MACHINES
        return (Group(count=count, hardware=self.hardware, owners=self.owners or "diurnal"),)


def plan_of(request: Request, host: Host) -> Plan:
    """The plan of a run. Raises LabError, OSError."""
    return prepare(request, host).plan


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that is ready to start."""

    plan: Plan
    #: Parts of the input that it does not use, in sentences.
    notes: tuple[str, ...]
    #: Machine to its configuration.
    configs: Mapping[str, Config]


def prepare(request: Request, host: Host) -> Prepared:
    """The plan of a run, and what it leaves out. Raises LabError, OSError."""
    machines: list[MachinePlan] = []
    patterns: list[Pattern] = []
    loaded: dict[str, Config] = {}
    ineffective: dict[str, None] = {}
    cell = None if request.cell is None else read_cell_directory(Path(request.cell))
    try:
        _check_count(request)
        for group in request.groups if cell is None or request.pool is not None else _hosts(request, cell):
            configs = request.configs if group.configs is None else group.configs
            config = load_config(host, configs, group.hardware, group.name, request.seed, group.settings)
            refuse_unreadable(config)
            ineffective |= dict.fromkeys(not_acted_on(config))
            pattern = make_pattern(config, group.hardware)
            patterns.append(pattern)
            made = list(_machines(request, group, pattern))
            machines += made
            loaded |= dict.fromkeys((machine.name for machine in made), config)
        _check_names(request, machines)
        notes = list(dict.fromkeys(doubt for each in patterns for doubt in each.doubts))
        notes += ineffective
        jobs = _jobs(request, machines, patterns[0].config, notes, cell)
    except (TraceProblem, ValueError) as error:
        raise LabError(str(error)) from None
    plan = Plan(
        machines=tuple(machines),
        jobs=tuple(jobs),
        days=request.days,
        seed=request.seed,
        cell=None if cell is None else CellPlan(cell=cell),
        cycle_s=min(each.cycle_s for each in patterns) if cell is None else cell.scheduler.schedule_interval.number,
        negotiator=patterns[0].negotiator,
        queue=patterns[0].queue,
        informs=patterns[0].informs,
        defrag=patterns[0].defrag,
        faults=request.faults,
        exhaustive=request.exhaustive,
        beside=local_machine_plan(patterns[0].config, BEGINNING) if runs_locally(tuple(jobs)) else None,
    )
    lacking = () if cell is None else (f"not yet supported by pools: {each}" for each in not_carried_out(cell))
    return Prepared(plan, (*notes, *lacking, *(() if cell else _too_large(plan))), loaded)


def _hosts(request: Request, cell: Cell) -> Iterator[Group]:
    """The hosts of a cell as machines, each with a core for every slot of its queue instances."""
    slots: Counter[str] = Counter()
    for one in resolve(cell):
        slots[one.host] += one.settings.slots
    if not slots:
        raise LabError(f"{request.cell}: no queue of the cell has hosts")
    for host, count in slots.items():
        hardware = replace(request.hardware, cpus=max(1, count), memory_mb=max(1, count) * MEMORY_MB_PER_SLOT)
        yield Group(name=host, count=1, hardware=hardware, owners="nobody")


def _too_large(plan: Plan) -> Iterator[str]:
    """A note on jobs that can never run because they request more cores than any slot has."""
    most = max(slot.cpus for machine in plan.machines for slot in machine.slots)
    jobs = [job.ad for job in plan.jobs if not is_local(job.ad)]
    asked = [cpus for ad in jobs if isinstance(cpus := ad.eval("RequestCpus"), int) and cpus > most]
    if asked:
        yield (
            f"too large: {len(asked):,} of {len(plan.jobs):,} jobs, which request up to {max(asked):,} cores, "
            f"but no slot has more than {most:,}; use --cpus or a pool file to get larger machines"
        )


def _check_count(request: Request) -> None:
    """Refuse more jobs than fit into memory before any is created."""
    count = request.jobs
    if count is None and not request.workload and request.recorded is None:
        count = round(sum(group.count or 0 for group in request.groups) * request.days * JOBS_PER_MACHINE_DAY)
    if count is not None and count > JOBS_MAX:
        raise LabError(f"{count:,} jobs exceed {JOBS_MAX:,}; use --count, or fewer machines or days")


def _check_names(request: Request, machines: Sequence[MachinePlan]) -> None:
    where = request.pool or request.owners or "the pool"
    if not machines:
        raise LabError(f"{where}: it contains no machines")
    if not any(machine.slots for machine in machines):
        raise LabError(f"{', '.join(request.configs)}: no machine has a slot; set NUM_SLOTS to 1 or more")
    counts = Counter(machine.name for machine in machines)
    name, count = counts.most_common(1)[0]
    if count > 1:
        raise LabError(f"{where}: {count} machines have the name {name!r}; names must be unique")


def _machines(request: Request, group: Group, pattern: Pattern) -> Iterator[MachinePlan]:
    owners = _recorded(group)
    names = list(owners) if owners is not None else list(group.names)
    count = len(names) if group.count is None else group.count
    width = len(str(max(0, count - 1)))
    for index in range(count):
        name = names[index] if index < len(names) else f"{group.name}{index:0{width}}"
        if request.cell is not None and request.pool is None:
            name = group.name
        # The streams of group m have no name, for compatibility with results from when it was the only group.
        key = index if group.name == "m" else f"{group.name}{index}"
        if owners is not None:
            owner = owners.get(name, NOBODY)
        elif group.owners == "nobody":
            owner = NOBODY
        else:
            owner = diurnal(stream(request.seed, "owner", key), BEGINNING, request.days, group.habits)
        phase_s = stream(request.seed, "phase", key).randrange(300)
        yield pattern.machine(name, owner, started_at=BEGINNING, phase_s=phase_s)


def _recorded(group: Group) -> Mapping[str, OwnerTrace] | None:
    if group.owners in NOT_RECORDED:
        return None
    return read_csv(read_text(Path(group.owners)), BEGINNING, file=group.owners)


def _jobs(
    request: Request, machines: Sequence[MachinePlan], config: Config, notes: list[str], cell: Cell | None
) -> Sequence[Job]:
    found = _workload(request, machines, config, notes)
    return found if cell is None else list(in_cell(found, cell, request.environment))


def _workload(request: Request, machines: Sequence[MachinePlan], config: Config, notes: list[str]) -> Sequence[Job]:
    if request.recorded is not None:
        return _recorded_jobs(request.recorded, machines, notes)
    if not request.workload:
        chance = stream(request.seed, "jobs")
        count = round(len(machines) * request.days * JOBS_PER_MACHINE_DAY) if request.jobs is None else request.jobs
        return generated(chance, request.mix, count, BEGINNING, request.days)
    end = BEGINNING + request.days * 86_400
    asked = _asked_of_jobs(machines)
    read = [
        read_jobs(Path(path), BEGINNING, asked, config, in_cell=request.cell is not None) for path in request.workload
    ]
    for each in read:
        notes += each.warnings
    jobs = renumbered(each.jobs for each in read) if len(read) > 1 else list(read[0].jobs)
    found = [job for job in jobs if job.submitted_at < end]
    if never := sum(each.never_ran for each in read):
        notes.append(f"skipped: {never:,} of {len(jobs) + never:,} jobs, which are recorded but never ran")
    if late := len(jobs) - len(found):
        notes.append(
            f"skipped: {late:,} of {len(jobs):,} jobs, which would be submitted after the end; --days is "
            f"{request.days:g}"
        )
    if not found:
        raise LabError(f"{', '.join(request.workload)}: no job is submitted within {request.days:g} days")
    return found


def _asked_of_jobs(machines: Sequence[MachinePlan]) -> str:
    """The text of all that machines ask of jobs."""
    policies = {id(slot.policy): slot.policy.expressions for machine in machines for slot in machine.slots}
    return " ".join(dict.fromkeys(str(policy) for policy in policies.values()))


def _recorded_jobs(pool: RecordedPool, machines: Sequence[MachinePlan], notes: list[str]) -> Sequence[Job]:
    notes += pool.notes
    jobs = jobs_of(([ad] for ad in pool.jobs), BEGINNING, "the history of the pool", _asked_of_jobs(machines))
    if not jobs:
        raise LabError("no job was submitted to the pool in this time and ran: there is nothing to simulate")
    return jobs


def refused(world: World) -> tuple[str, ...]:
    """The jobs that the queue of a run refused, and why, in sentences."""
    reasons: dict[str, list[str]] = {}
    for name, text in world.queue.refused.items():
        reasons.setdefault(text, []).append(name)
    known = len(world.queue.jobs)
    return tuple(
        f"refused: {len(names):,} of {known:,} jobs, {names[0]} first; {text}" for text, names in reasons.items()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of a simulation."""

    request: Request
    outcome: Outcome
    files: tuple[Path, ...]
    #: Parts of the input that it did not use, in sentences.
    notes: tuple[str, ...] = ()


def simulate(request: Request, host: Host, out: Path, progress: Callable[[float], None] | None = None) -> Result:
    """Simulate, and write everything into `out`. Raises LabError, OSError."""
    prepared = prepare(request, host)
    plan = prepared.plan
    _make_directory(out)
    end_s = plan.days * 86_400
    divided = frozenset(
        slot.name for machine in plan.machines for slot in machine.slots if slot.kind is SlotKind.PARTITIONABLE
    )
    cores = {slot.name: float(slot.cpus) for machine in plan.machines for slot in machine.slots}
    timelines = Timelines(slots=list(cores), end_s=end_s, bin_s=interval_s(end_s), cores=cores, partitionable=divided)
    figures = CellFigures()
    with (out / "records.jsonl").open("w", encoding="ascii") as lines:
        world = World(plan, sinks=(timelines.take, figures.take), lines=lines.write)
        timelines.cores_of = partial(_cores_of, {machine.plan.name: machine for machine in world.machines})
        outcome = world.run(progress)
    timelines.close()
    if plan.cell is not None:
        outcome = replace(outcome, summary={**outcome.summary, "cell": figures.summary()})
    notes = (*prepared.notes, *refused(world))
    files = [out / "records.jsonl", out / "summary.json", out / "report.html"]
    data = {
        "command": request.command,
        "digest": outcome.digest,
        "records": outcome.records,
        "problems": list(outcome.problems),
        "notes": list(notes),
        "summary": outcome.summary,
    }
    files[1].write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    of = (*request.configs, *([] if request.cell is None else [request.cell]))
    title = "Simulation of " + ", ".join(Path(path).name for path in of)
    presence = _presence(plan)
    files[2].write_text(html_report(title, request.command, data, timelines, presence), encoding="utf-8")
    if can_draw():
        files += draw(out, title, outcome.summary, timelines, presence)
    return Result(request=request, outcome=outcome, files=tuple(files), notes=notes)


def _cores_of(machines: Mapping[str, Machine], slot: str) -> float:
    """Cores of a dynamic slot that was just created."""
    there = machines[slot.partition("@")[2]].slots
    return next((float(each.plan.cpus) for each in there if each.plan.name == slot), 1.0)


#: Results other than the records, which are written from the beginning.
_RESULTS: Final = ("summary.json", "report.html", "timeline.png", "metrics.png")


def _make_directory(out: Path) -> None:
    """Create the directory before the run, so that an unwritable one does not waste a run; results of an earlier run
    are removed."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name in _RESULTS:
            (out / name).unlink(missing_ok=True)
    except FileExistsError:
        raise LabError(f"{out}: this is a file, but the results need a directory; use another name for --out") from None
    except OSError as error:
        raise LabError(f"{out}: cannot create the directory: {error.strerror}; use another name for --out") from None


def _presence(plan: Plan) -> dict[str, list[tuple[float, float]]]:
    """Intervals of keyboard use by slot, s since the beginning."""
    end_s = plan.days * 86_400
    found = {}
    for machine in plan.machines:
        spans = [(begin - plan.start, min(end_s, end - plan.start)) for begin, end in machine.sensors.owner.present]
        for slot in machine.slots:
            found[slot.name] = [span for span in spans if span[0] < end_s]
    return found


def with_seed(request: Request, seed: int) -> Request:
    """The same request with another seed."""
    return replace(request, seed=seed)
