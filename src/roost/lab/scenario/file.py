"""Scenario files: TOML in, checked `Scenario` values out.

A file names a policy and holds scenarios, each a list of steps in the order of time. The tables below list the keys
allowed in each place; docs/reference/scenario-files.md describes each key, and a test compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from roost.base.records import replace
from roost.config import Setting
from roost.gridengine.instances import resolve
from roost.lab.inputs.cell import read_cell_tables
from roost.lab.inputs.tables import Table, read_toml
from roost.lab.machines import Hardware
from roost.lab.scenario.dags import read_dags
from roost.lab.scenario.described import read_jobs
from roost.lab.scenario.hooks import PLACE, read_hooks, read_programs
from roost.lab.scenario.steps import MachineSteps, Steps, read_steps
from roost.lab.scenario.unused import notes_on_unused
from roost.lab.scenario.values import MACHINE, Scenario, ScenarioMachine
from roost.sim.cell import CellPlan

_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

FILE_KEYS: Final = (
    "config", "policy", "settings", "cell", "machine", "machines", "hooks", "programs", "jobs", "dags", "begins",
    "idle", "cycle", "scenario",
)  # fmt: skip
SCENARIO_KEYS: Final = (
    "name", "settings", "cell", "machine", "machines", "hooks", "programs", "jobs", "dags", "begins", "idle",
    "remote_idle", "cycle", "steps",
)  # fmt: skip
#: Sizes of a machine; any other key of its table becomes an attribute of its ads.
MACHINE_KEYS: Final = ("cpus", "memory", "disk")
#: Keys of a machine in a scenario with several.
MACHINES_KEYS: Final = ("settings", "idle", "remote_idle")
#: Names of hosts.
_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,61}[A-Za-z0-9])?")

#: Most scenarios in one file, and most steps in one scenario.
SCENARIOS_MAX: Final = 2_000
STEPS_MAX: Final = 10_000
#: Most machines in one scenario.
MACHINES_MAX: Final = 100


def read_scenarios(path: Path) -> list[Scenario]:
    """The scenarios of a file. Raises LabError with place and remedy, OSError."""
    root = read_toml(path)
    root.known(FILE_KEYS)
    if ("config" in root) == ("policy" in root) and ("config" in root or "cell" not in root):
        root.fail("name the policy either by config = [\"FILE\", …] or by policy = '''…'''")
    if not root.values.get("scenario"):
        root.fail("it contains no [[scenario]]; add one with its steps")
    if len(list(root.children("scenario", ""))) > SCENARIOS_MAX:
        root.fail(f"at most {SCENARIOS_MAX} scenarios in one file; use several files", "scenario")
    read = list(_scenarios(path, root))
    notes = tuple(notes_on_unused(root, read))
    return [replace(scenario, notes=notes) for _, scenario in read]


def _scenarios(path: Path, root: Table) -> Iterator[tuple[Table, Scenario]]:
    configs = tuple(str(path.parent / each) for each in root.texts("config"))
    policy = _policy(root) if "policy" in root else None if configs else ""
    seen: dict[str, int] = {}
    for number, table in enumerate(root.children("scenario", ""), 1):
        name = table.text("name", f"scenario {number}")
        table = Table(table.file, table.lines, table.path, table.values, f"scenario {name!r}")
        table.known(SCENARIO_KEYS)
        if name in seen:
            table.fail(f"another scenario, on line {seen[name]}, has the same name", "name")
        seen[name] = table.line("name")
        if isinstance(table.values.get("steps"), list) and len(table.values["steps"]) > STEPS_MAX:
            table.fail(f"at most {STEPS_MAX} steps; use several scenarios", "steps")
        cell = read_cell_tables((root, table), path.parent)
        jobs = read_jobs((root, table), in_cell=cell is not None)
        dags = read_dags((root, table), jobs.templates)
        machines, hooks = _machines(root, table, cell), read_hooks((root, table))
        programs = read_programs((root, table), cell)
        known = {**hooks, **programs}
        steps = read_steps(
            table,
            Steps(jobs, {each.name: MachineSteps() for each in machines}, known, dags, in_cell=cell is not None),
        )
        if not steps.expectations:
            table.fail(
                'it has no expectations, so it cannot fail; add a step such as { at = "1h", expect = "Claimed/Busy" }'
            )
        begins = table if "begins" in table else root
        scenario = Scenario(
            name=name,
            file=str(path),
            line=table.line(),
            configs=configs,
            policy=policy,
            settings=(
                *root.settings("settings", "settings"),
                *table.settings("settings", "settings"),
                *(Setting(name, f"{PLACE}/{name}") for name in hooks),
            ),
            hooks=known,
            cell=cell,
            machines=tuple(_moved(each, steps.machines[each.name]) for each in machines),
            begins_s=_begins(begins),
            cycle_s=max(1.0, (table if "cycle" in table else root).duration("cycle", _cycle_s(cell))),
            jobs=tuple(steps.jobs),
            fetched=tuple(steps.fetched),
            dags=dags,
            described=jobs.described,
            templates=jobs.templates,
            actions=tuple(steps.actions),
            expectations=tuple(steps.expectations),
        )
        yield table, scenario


def _policy(root: Table) -> str:
    """The text of the policy, padded so that its line numbers match those of the file."""
    text = root.text("policy", "")
    line = root.line("policy")
    rest = Path(root.file).read_text(encoding="utf-8").splitlines()[line - 1 :]
    quoted = rest[0].split("=", 1)[-1].strip() if rest else ""
    first = line if quoted in ("'''", '"""') else line - 1
    return "\n" * first + text


def _cycle_s(cell: CellPlan | None) -> float:
    """Longest interval between scheduling runs: the `schedule_interval` of the cell."""
    return 5.0 if cell is None else cell.cell.scheduler.schedule_interval.number


def _hosts(cell: CellPlan | None, usual: tuple[Table, ...], idle_s: float, remote_s: float) -> list[ScenarioMachine]:
    """The hosts of a cell as machines, each with a core for every slot of its queue instances."""
    slots: dict[str, int] = {}
    for one in () if cell is None else resolve(cell.cell):
        slots[one.host] = slots.get(one.host, 0) + one.settings.slots
    return [
        ScenarioMachine(
            name=host, hardware=_hardware(*usual, cpus=max(1, count)), idle_s=idle_s, remote_idle_s=remote_s
        )
        for host, count in slots.items()
    ]


def _machines(root: Table, table: Table, cell: CellPlan | None) -> tuple[ScenarioMachine, ...]:
    """The machines of a scenario, or the only one; a scenario's `machines` replace the file's.

    If none is named, the hosts of the cell are its machines.
    """
    usual = (root.child("machine", "machine"), table.child("machine", "machine"))
    idle_s = (table if "idle" in table else root).duration("idle", 7200.0)
    remote_s = table.duration("remote_idle", idle_s)
    owner = table if "machines" in table else root
    found = []
    given = owner.child("machines", "machines")
    if len(given.values) > MACHINES_MAX:
        owner.fail(f"at most {MACHINES_MAX} machines; describe fewer", "machines")
    for name in given.values:
        if not _NAME.fullmatch(name):
            given.fail(f"{name!r} is not a valid machine name; use letters, digits, hyphens and dots", name)
        each = given.child(name, f"machine {name!r}")
        machine_idle_s = each.duration("idle", idle_s)
        found.append(
            ScenarioMachine(
                name=name,
                hardware=_hardware(*usual, each),
                settings=each.settings("settings", "settings"),
                idle_s=machine_idle_s,
                remote_idle_s=each.duration("remote_idle", machine_idle_s if "idle" in each else remote_s),
            )
        )
    found = found or _hosts(cell, usual, idle_s, remote_s)
    alone = ScenarioMachine(name=MACHINE, hardware=_hardware(*usual), idle_s=idle_s, remote_idle_s=remote_s)
    return tuple(found) or (alone,)


def _moved(machine: ScenarioMachine, steps: MachineSteps) -> ScenarioMachine:
    """A machine with the actions of its owner."""
    return replace(
        machine,
        presses=tuple(steps.presses),
        remote_presses=tuple(steps.remote_presses),
        loads=tuple(steps.loads),
        attributes=tuple(steps.attributes),
    )


def _hardware(*tables: Table, cpus: int = 1) -> Hardware:
    sizes = {"cpus": cpus, "memory": 2048, "disk": 20_000_000}
    attributes: dict[str, Any] = {}
    for each in tables:
        one_of_several = each.path[-2:-1] == ("machines",)
        each.attributes((*MACHINE_KEYS, *(MACHINES_KEYS if one_of_several else ())))
        for key, value in each.values.items():
            if one_of_several and key in MACHINES_KEYS:
                continue
            if key in sizes:
                sizes[key] = each.whole(key, 1)
            elif isinstance(value, dict | list):
                each.fail(f"the attribute {key} must be a string, a number, true or false", key)
            else:
                attributes[key] = value
    return Hardware(cpus=sizes["cpus"], memory_mb=sizes["memory"], disk_kb=sizes["disk"], attributes=attributes)


def _begins(table: Table) -> float:
    """``Tue 22:00`` as seconds since Monday 00:00."""
    text = table.text("begins", "Tue 22:00")
    words = text.lower().split()
    clock = words[-1].split(":") if words else []
    if len(words) == 2 and words[0][:3] in _DAYS and len(clock) == 2 and all(each.isdecimal() for each in clock):
        hours, minutes = int(clock[0]), int(clock[1])
        if hours < 24 and minutes < 60:
            return float(_DAYS.index(words[0][:3]) * 86_400 + hours * 3_600 + minutes * 60)
    return table.fail(f'begins must be a day and a time, for example "Tue 22:00"; found {text!r}', "begins")
