"""`roost lab simulate`: a policy, machines and a workload in; timelines, records, figures and a report out.

Into the output directory go ``records.jsonl`` (everything that happened, one JSON object a line), ``summary.json`` (the
figures, the digest, and the command that repeats the run), ``report.html``, and where matplotlib is installed
``timeline.png`` and ``metrics.png``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from roost.config import Host
from roost.lab.machines import Hardware, LabError, Pattern, load_config, make_pattern
from roost.lab.pictures import can_draw, draw
from roost.lab.report import html_report
from roost.lab.timelines import Timelines
from roost.sim.bus import Faults
from roost.sim.chance import stream
from roost.sim.owners import NOBODY, OwnerTrace, TraceProblem, diurnal, read_csv
from roost.sim.swf import WorkloadProblem, read_swf
from roost.sim.workload import Job, generated
from roost.sim.world import BEGINNING, Outcome, Plan, World

#: Jobs where nothing else is said: so many a machine and day.
JOBS_PER_MACHINE_DAY: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be simulated."""

    configs: tuple[str, ...]
    machines: int = 20
    days: float = 7.0
    seed: int = 1
    #: A Standard Workload Format file; None for a generated mix.
    workload: str | None = None
    mix: str = "desktop"
    #: Jobs of the mix; None for `JOBS_PER_MACHINE_DAY`.
    jobs: int | None = None
    #: A recorded trace of owners; None for generated ones.
    owners: str | None = None
    hardware: Hardware = Hardware()  # noqa: RUF009
    faults: Faults = Faults()  # noqa: RUF009
    exhaustive: bool = False

    @property
    def command(self) -> str:
        """The line that repeats the run."""
        words = ["roost lab simulate", *(f"--config {path}" for path in self.configs)]
        words += [f"--machines {self.machines} --days {self.days:g} --seed {self.seed}"]
        words += [f"--jobs {self.workload}"] if self.workload else [f"--mix {self.mix} --count {self.job_count}"]
        words += [f"--owners {self.owners}"] if self.owners else []
        words += [f"--cpus {self.hardware.cpus} --memory {self.hardware.memory_mb}"]
        for name in ("lost", "doubled", "late", "machine_death_s", "queue_death_s"):
            value = getattr(self.faults, name)
            words += [f"--{name.replace('_s', '').replace('_', '-')} {value:g}"] if value else []
        words += ["--exhaustive"] if self.exhaustive else []
        return " ".join(words)

    @property
    def job_count(self) -> int:
        """Jobs of a generated mix."""
        return round(self.machines * self.days * JOBS_PER_MACHINE_DAY) if self.jobs is None else self.jobs


def plan_of(request: Request, host: Host) -> Plan:
    """The plan of a run. Raises LabError."""
    pattern = make_pattern(
        load_config(host, request.configs, request.hardware, "machine", request.seed), request.hardware
    )
    try:
        owners = _owners(request)
        jobs = _jobs(request)
    except (TraceProblem, WorkloadProblem, ValueError) as error:
        raise LabError(str(error)) from None
    return Plan(
        machines=tuple(_machines(request, pattern, owners)),
        jobs=tuple(jobs),
        days=request.days,
        seed=request.seed,
        cycle_s=pattern.cycle_s,
        faults=request.faults,
        exhaustive=request.exhaustive,
    )


def _machines(request: Request, pattern: Pattern, owners: Mapping[str, OwnerTrace] | None) -> Any:
    names = list(owners) if owners is not None else []
    width = len(str(max(0, request.machines - 1)))
    for index in range(request.machines):
        name = names[index] if index < len(names) else f"m{index:0{width}}"
        if owners is None:
            owner = diurnal(stream(request.seed, "owner", index), BEGINNING, request.days)
        else:
            owner = owners.get(name, NOBODY)
        phase_s = stream(request.seed, "phase", index).randrange(300)
        yield pattern.machine(name, owner, started_at=BEGINNING, phase_s=phase_s)


def _owners(request: Request) -> Mapping[str, OwnerTrace] | None:
    if request.owners is None:
        return None
    return read_csv(_text(request.owners), BEGINNING, file=request.owners)


def _jobs(request: Request) -> Sequence[Job]:
    if request.workload is None:
        chance = stream(request.seed, "jobs")
        return generated(chance, request.mix, request.job_count, BEGINNING, request.days)
    jobs = read_swf(_text(request.workload), BEGINNING, file=request.workload)
    end = BEGINNING + request.days * 86_400
    return [job for job in jobs if job.submitted_at < end]


def _text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8", errors="replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a simulation left."""

    request: Request
    outcome: Outcome
    files: tuple[Path, ...]


def simulate(request: Request, host: Host, out: Path, progress: Callable[[float], None] | None = None) -> Result:
    """Simulate, and write everything into `out`. Raises LabError, OSError."""
    plan = plan_of(request, host)
    out.mkdir(parents=True, exist_ok=True)
    end_s = plan.days * 86_400
    slots = [slot.name for machine in plan.machines for slot in machine.slots]
    timelines = Timelines(slots=slots, end_s=end_s, bin_s=max(300.0, math.ceil(end_s / 336 / 60) * 60.0))
    with (out / "records.jsonl").open("w", encoding="ascii") as lines:
        outcome = World(plan, sinks=(timelines.take,), lines=lines.write).run(progress)
    timelines.close()
    files = [out / "records.jsonl", out / "summary.json", out / "report.html"]
    data = {
        "command": request.command,
        "digest": outcome.digest,
        "records": outcome.records,
        "problems": list(outcome.problems),
        "summary": outcome.summary,
    }
    files[1].write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    title = "Simulation of " + ", ".join(Path(path).name for path in request.configs)
    presence = _presence(plan)
    files[2].write_text(html_report(title, request.command, data, timelines, presence), encoding="utf-8")
    if can_draw():
        files += draw(out, title, outcome.summary, timelines, presence)
    return Result(request=request, outcome=outcome, files=tuple(files))


def _presence(plan: Plan) -> dict[str, list[tuple[float, float]]]:
    """When keys are pressed, by slot, s since the beginning."""
    end_s = plan.days * 86_400
    found = {}
    for machine in plan.machines:
        spans = [(begin - plan.start, min(end_s, end - plan.start)) for begin, end in machine.sensors.owner.present]
        for slot in machine.slots:
            found[slot.name] = [span for span in spans if span[0] < end_s]
    return found


def with_seed(request: Request, seed: int) -> Request:
    """The same with another seed."""
    return replace(request, seed=seed)
