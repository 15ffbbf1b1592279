"""Pool files: the machines of a simulation, group by group, in TOML.

    [[machines]]
    name = "desk"
    count = 600
    cpus = 4
    memory = 16384
    settings = { IsDesktop = true }

    [[machines]]
    name = "node"
    count = 20
    cpus = 64
    memory = 262144
    owners = "nobody"

The machines of a group share hardware, configuration and owners. docs/reference/cli-lab.md describes every key.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Final

from roost.base.records import dataclass
from roost.config import Setting
from roost.lab.inputs.tables import Table, read_toml
from roost.lab.machines import Hardware
from roost.sim.inputs.owners import Habits

GROUP_KEYS: Final = (
    "name", "count", "cpus", "memory", "disk", "attributes", "config", "settings", "owners", "habits",
)  # fmt: skip
#: Key to the field of `Habits`, and whether it is a duration or a number.
HABIT_KEYS: Final = {
    "begin": "begin_h",
    "end": "end_h",
    "weekday": "weekday",
    "weekend": "weekend",
    "evening": "evening",
    "stretch": "stretch_s",
    "break": "break_s",
    "computes": "computes",
}
#: Values of `owners` that do not name a recorded trace: people who work during the day, or no owner at all.
NOT_RECORDED: Final = ("diurnal", "nobody")
#: Most machines of a pool.
MACHINES_MAX: Final = 100_000

assert set(HABIT_KEYS.values()) == {each.name for each in fields(Habits)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A group of equal machines."""

    name: str = "m"
    #: None for as many as in the owners' file.
    count: int | None = None
    #: What the machines are called; empty for the name with a number.
    names: tuple[str, ...] = ()
    hardware: Hardware = Hardware()
    #: None for the configuration of the command line.
    configs: tuple[str, ...] | None = None
    settings: tuple[Setting, ...] = ()
    #: "diurnal", "nobody", or the path of a recorded trace.
    owners: str = "diurnal"
    habits: Habits = Habits()


def read_pool(path: Path) -> tuple[Group, ...]:
    """The groups of a file. Raises LabError with place and remedy, OSError."""
    root = read_toml(path)
    root.known(("machines",))
    groups = tuple(_group(table, path.parent) for table in root.children("machines", ""))
    if not groups:
        root.fail("it contains no [[machines]]")
    for number, group in enumerate(groups):
        if any(group.name == other.name for other in groups[:number]):
            root.fail(f"two groups have the name {group.name!r}; use unique names", "machines")
    if sum(group.count or 0 for group in groups) > MACHINES_MAX:
        root.fail(f"more than {MACHINES_MAX:,} machines", "machines")
    return groups


def _group(table: Table, folder: Path) -> Group:
    table.known(GROUP_KEYS)
    owners = table.text("owners", "diurnal")
    recorded = owners not in NOT_RECORDED
    if recorded and not owners.endswith(".csv"):
        table.fail(f'owners must be "diurnal", "nobody" or the name of a .csv file; found {owners!r}', "owners")
    attributes = table.child("attributes", "attributes")
    for key, value in attributes.values.items():
        if isinstance(value, dict | list):
            attributes.fail(f"the attribute {key} must be a string, a number, true or false", key)
    return Group(
        name=table.text("name", "m"),
        count=None if recorded and "count" not in table else table.whole("count", 1),
        hardware=Hardware(
            cpus=table.whole("cpus", 1),
            memory_mb=table.whole("memory", 2048),
            disk_kb=table.whole("disk", 20_000_000),
            attributes=dict(attributes.values),
        ),
        configs=tuple(str(folder / each) for each in table.texts("config")) if "config" in table else None,
        settings=table.settings("settings", "settings"),
        owners=str(folder / owners) if recorded else owners,
        habits=_habits(table.child("habits", "habits")),
    )


def _habits(table: Table) -> Habits:
    table.known(HABIT_KEYS)
    given: dict[str, float] = {}
    for key, field in HABIT_KEYS.items():
        if key in table:
            value = table.duration(key, 0.0) if field.endswith("_s") else table.number(key, 0.0)
            most = 24.0 if field.endswith("_h") else 1e9 if field.endswith("_s") else 1.0
            if value > most:
                table.fail(f"{key} must be at most {most:g}", key)
            given[field] = value
    return Habits(**given)
