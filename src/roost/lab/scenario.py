"""Scenario files: what happens on one machine over time, and what its policy has to make of it.

A file is TOML. It names the policy (``config``, paths relative to the file, or ``policy``, the text itself) and holds
scenarios, each a list of steps in the order of time; docs/guides/lab.md describes all of it. `read_scenarios` checks a
file and gives `Scenario` values; `scenario_run` runs them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from roost.classad import ClassAd, ParseError, parse_expression
from roost.lab.durations import seconds_of
from roost.lab.machines import Hardware, LabError
from roost.sim.owners import OwnerTrace
from roost.sim.workload import Job, Truth, make_job
from roost.startd.states import PAIRS

_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_PAIRS: Final = frozenset(str(pair) for pair in PAIRS)
_STATES: Final = frozenset(pair.state.value for pair in PAIRS)
_DEEDS: Final = frozenset(("submit", "keys", "load", "update", "vacate", "expect"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What has to be at one instant."""

    at_s: float
    slot: int = 1
    #: A pair, or only a state; None where it does not matter.
    pair: str | None = None
    #: The job that runs; "" for none; None where it does not matter.
    job: str | None = None
    #: Policy expression to the value that it has to have.
    values: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """Something that is done at one instant beside submitting jobs and pressing keys."""

    at_s: float
    slot: int = 1
    #: New figures of the running job.
    update: ClassAd | None = None
    #: "graceful" or "fast": the administrator's command.
    vacate: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One scenario."""

    name: str
    file: str
    configs: tuple[str, ...]
    #: Text of the policy; None where files are given.
    policy: str | None
    hardware: Hardware
    #: Seconds since Monday 00:00 at which it begins.
    begins_s: float
    #: When somebody pressed a key last before it, s.
    idle_s: float
    cycle_s: float
    presses: tuple[tuple[float, float], ...]
    loads: tuple[tuple[float, float], ...]
    jobs: tuple[tuple[float, str, Mapping[str, Any]], ...]
    deeds: tuple[Deed, ...]
    expectations: tuple[Expectation, ...]

    @property
    def end_s(self) -> float:
        """When everything that matters is over, s since its beginning."""
        times = [each.at_s for each in self.expectations] + [each.at_s for each in self.deeds]
        return max([*times, *(at for at, _, _ in self.jobs)], default=0.0) + 1

    def owner(self, start: float) -> OwnerTrace:
        """The trace of its owner, for a beginning at `start`, epoch s."""
        present = [(start + begin, start + end) for begin, end in self.presses]
        loads = tuple(sorted((start + at, load) for at, load in self.loads))
        return OwnerTrace(present=tuple(sorted(present)), loads=loads, last_key_before=start - self.idle_s)

    def submitted(self, start: float) -> list[Job]:
        """Its jobs."""
        made = []
        for number, (at, name, described) in enumerate(self.jobs, 1):
            given = {key: value for key, value in described.items() if key not in ("run", "checkpoints", "farewell")}
            truth = Truth(
                run_s=_duration(described, "run", 3600.0, name),
                checkpoints=bool(described.get("checkpoints", False)),
                farewell_s=_duration(described, "farewell", 5.0, name),
            )
            owner = str(given.get("Owner", "ada"))
            made.append(make_job(number, owner, start + at, truth, given, f"{name}/{number}"))
        return made


@dataclass(slots=True)
class _Steps:
    """Steps, sorted by what they are."""

    presses: list[tuple[float, float]] = field(default_factory=list)
    loads: list[tuple[float, float]] = field(default_factory=list)
    jobs: list[tuple[float, str, Mapping[str, Any]]] = field(default_factory=list)
    deeds: list[Deed] = field(default_factory=list)
    expectations: list[Expectation] = field(default_factory=list)


def read_scenarios(path: Path) -> list[Scenario]:
    """The scenarios of a file. Raises LabError with place and remedy, OSError."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LabError(f"{path}: {error}") from None
    unknown = set(data) - {"config", "policy", "machine", "jobs", "scenario", "cycle"}
    if unknown:
        raise LabError(f"{path}: unknown key {min(unknown)!r}; known: config, policy, machine, jobs, cycle, scenario")
    if ("config" in data) == ("policy" in data):
        raise LabError(f"{path}: name the policy either by config = [\"FILE\", …] or by policy = '''…'''")
    if not data.get("scenario"):
        raise LabError(f"{path}: no [[scenario]] in it")
    return list(_scenarios(path, data))


def _scenarios(path: Path, data: Mapping[str, Any]) -> Iterator[Scenario]:
    given = data.get("config", [])
    configs = tuple(str(path.parent / each) for each in ([given] if isinstance(given, str) else given))
    for number, table in enumerate(data["scenario"], 1):
        name = table.get("name", f"scenario {number}")
        place = f"{path}: {name!r}"
        unknown = set(table) - {"name", "machine", "jobs", "begins", "idle", "steps", "cycle"}
        if unknown:
            raise LabError(
                f"{place}: unknown key {min(unknown)!r}; known: name, begins, idle, cycle, machine, jobs, steps"
            )
        steps = _steps(table.get("steps", []), {**data.get("jobs", {}), **table.get("jobs", {})}, place)
        yield Scenario(
            name=name,
            file=str(path),
            configs=configs,
            policy=data.get("policy"),
            hardware=_hardware({**data.get("machine", {}), **table.get("machine", {})}, place),
            begins_s=_begins(table.get("begins", "Tue 22:00"), place),
            idle_s=_duration(table, "idle", 7200.0, place),
            cycle_s=_duration({**data, **table}, "cycle", 5.0, place),
            presses=tuple(steps.presses),
            loads=tuple(steps.loads),
            jobs=tuple(steps.jobs),
            deeds=tuple(steps.deeds),
            expectations=tuple(steps.expectations),
        )


def _hardware(table: Mapping[str, Any], place: str) -> Hardware:
    sizes = {"cpus": "cpus", "memory": "memory_mb", "disk": "disk_kb"}
    given = {sizes[key]: value for key, value in table.items() if key in sizes}
    if not all(isinstance(value, int) and value > 0 for value in given.values()):
        raise LabError(f"{place}: cpus, memory (MB) and disk (KB) of a machine are positive whole numbers")
    return Hardware(**given, attributes={key: value for key, value in table.items() if key not in sizes})


def _begins(text: str, place: str) -> float:
    """``Tue 22:00`` as seconds since Monday 00:00."""
    words = text.lower().split()
    clock = words[-1].split(":") if words else []
    if len(words) == 2 and words[0][:3] in _DAYS and len(clock) == 2 and all(each.isdigit() for each in clock):
        return float(_DAYS.index(words[0][:3]) * 86_400 + int(clock[0]) * 3_600 + int(clock[1]) * 60)
    raise LabError(f'{place}: begins is a day and a time, for instance "Tue 22:00"; found {text!r}')


def _duration(table: Mapping[str, Any], key: str, otherwise: float, place: str) -> float:
    seconds = otherwise if key not in table else seconds_of(table[key])
    if seconds is None or seconds < 0:
        raise LabError(f'{place}: {key} is a duration such as 90, "5m" or "1h30m"; found {table[key]!r}')
    return seconds


def _steps(steps: list[Mapping[str, Any]], jobs: Mapping[str, Mapping[str, Any]], place: str) -> _Steps:
    found = _Steps()
    last = 0.0
    for step in steps:
        at_s = _duration(step, "at", last, place)
        if at_s < last:
            raise LabError(
                f"{place}: the step at {step['at']!r} comes after a later one; put steps in the order of time"
            )
        last = at_s
        deeds = _DEEDS & set(step)
        unknown = set(step) - _DEEDS - {"at", "slot", "for"}
        if unknown or not deeds:
            what = f"unknown key {min(unknown)!r}" if unknown else "nothing to do"
            raise LabError(
                f"{place}: the step at {step.get('at', last)!r} has {what}; known: at, {', '.join(sorted(_DEEDS))}"
            )
        _step(found, step, at_s, jobs, f"{place}, step at {step.get('at', last)}")
    return found


def _step(
    found: _Steps, step: Mapping[str, Any], at_s: float, jobs: Mapping[str, Mapping[str, Any]], place: str
) -> None:
    slot = int(step.get("slot", 1))
    if "submit" in step:
        if step["submit"] not in jobs:
            raise LabError(f"{place}: there is no job {step['submit']!r}; describe it in [jobs.{step['submit']}]")
        found.jobs.append((at_s, step["submit"], jobs[step["submit"]]))
    if "keys" in step:
        length = _duration(step, "keys", 1.0, place)
        found.presses.append((float(int(at_s)), float(int(at_s + max(1.0, length)))))
    if "load" in step:
        found.loads.append((at_s, float(step["load"])))
        if "for" in step:
            found.loads.append((at_s + _duration(step, "for", 0.0, place), 0.0))
    if "update" in step:
        found.deeds.append(Deed(at_s=at_s, slot=slot, update=ClassAd(step["update"])))
    if "vacate" in step:
        if step["vacate"] not in ("graceful", "fast"):
            raise LabError(f'{place}: vacate is "graceful" or "fast"')
        found.deeds.append(Deed(at_s=at_s, slot=slot, vacate=step["vacate"]))
    if "expect" in step:
        found.expectations.append(_expectation(step["expect"], at_s, slot, place))


def _expectation(given: object, at_s: float, slot: int, place: str) -> Expectation:
    table = {"state": given} if isinstance(given, str) else given
    if not isinstance(table, dict):
        raise LabError(
            f'{place}: expect is "State/Activity" or a table such as {{ state = "Claimed/Busy", job = "a" }}'
        )
    pair = table.get("state")
    if pair is not None and pair not in _PAIRS | _STATES:
        raise LabError(f"{place}: {pair!r} is no state; there are: {', '.join(sorted(_PAIRS))}")
    values = tuple((name, value) for name, value in table.items() if name not in ("state", "job"))
    for name, _ in values:
        try:
            parse_expression(name)
        except ParseError as error:
            raise LabError(f"{place}: {name!r} is no expression: {error}") from None
    return Expectation(at_s=at_s, slot=slot, pair=pair, job=table.get("job"), values=values)
