"""The administrator's programs in a scenario file: `[hooks.NAME]`, by the knob that configures each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from roost.base.records import replace
from roost.classad import ClassAd, ParseError, parse_expression
from roost.gridengine.cell import write_cell
from roost.lab.inputs.tables import Table
from roost.model.starter import HookPoint
from roost.sim.machine.scripts import USUAL_S, Script

if TYPE_CHECKING:
    from roost.config import Config
    from roost.sim.cell import CellPlan

HOOK_KEYS: Final = ("takes", "status", "prints")
PROGRAM_KEYS: Final = ("takes", "status", "qconf")
#: The directory in which simulated machines have their programs.
PLACE: Final = "/scenario"
_PRINTING: Final = (HookPoint.PREPARE_EARLY, HookPoint.PREPARE)
_AWAITED: Final = tuple(point for point in HookPoint if point is not HookPoint.UPDATE)
_HOOK: Final = re.compile(r"[A-Za-z0-9_]+_HOOK_(?P<point>[A-Z_]+)")
_KEYWORD: Final = re.compile(r"_HOOK_KEYWORD$", re.IGNORECASE)
_SCRIPT: Final = re.compile(r"(SLOT(_TYPE_)?\d+_)?STARTER_(PROLOG|EPILOG)")


def read_hooks(tables: tuple[Table, ...]) -> dict[str, Script]:
    """Knob to the program that it names; a later table overrides an earlier one. Raises LabError."""
    found: dict[str, Script] = {}
    for table in tables:
        hooks = table.child("hooks", "hooks")
        for name in hooks.values:
            found[name] = _script(hooks.child(name, f"hook {name}"), _point(hooks, name))
    return found


def read_programs(tables: tuple[Table, ...], cell: CellPlan | None) -> dict[str, Script]:
    """The programs that a cell names, by the last part of their path. Raises LabError."""
    found: dict[str, Script] = {}
    # A later qconf order may name one, and another scenario of the file may have another cell.
    objects = "" if cell is None else "\n".join((*write_cell(cell.cell).values(), *map(_table_text, tables)))
    for table in tables:
        programs = table.child("programs", "programs")
        for name in programs.values:
            if cell is None:
                table.fail("it is a cell that names programs, and the pool has none; describe it in [cell]", "programs")
            if name not in objects:
                remedy = "name it in an object, such as a queue's prolog, or remove it"
                programs.fail(f"no object of the cell names the program {name!r}; {remedy}", name)
            given = programs.child(name, f"program {name}")
            given.known(PROGRAM_KEYS)
            lines = given.texts("qconf") if "qconf" in given else ()
            plain = {key: value for key, value in given.values.items() if key != "qconf"}
            one = _script(Table(given.file, given.lines, given.path, plain, given.what), "")
            found[name] = replace(one, qconf=lines, passes_on=bool(lines) and "status" not in given)
    return found


def _table_text(table: Table) -> str:
    """The text of all cells in a scenario, or in a file with its scenarios, and of the orders that may change them
    later."""
    tables = [table.values, *table.values.get("scenario", ())]
    orders = [step.get("qconf") for each in tables for step in each.get("steps", ())]
    programs = table.child("programs", "programs").values.values()
    return str([*(each.get("cell") for each in tables), *orders, *programs])


def unused_hooks(hooks: Iterable[str], configs: Iterable[Config], said: Iterable[str]) -> list[str]:
    """Hooks that no job can have: neither a configuration nor a job or order names their keyword."""
    named = {str(config.get(name)).upper() for config in configs for name in config.names() if _KEYWORD.search(name)}
    texts = "\n".join(said).upper()
    keywords = {hook: hook.upper().split("_HOOK_")[0] for hook in hooks if _HOOK.fullmatch(hook)}
    return [hook for hook, keyword in keywords.items() if keyword not in named and keyword not in texts]


def read_scripts(table: Table) -> dict[str, Script]:
    """The scripts of a DAG, by the names of their programs. Raises LabError."""
    scripts = table.child("scripts", "scripts")
    return {name: _script(scripts.child(name, f"script {name}"), "") for name in scripts.values}


def _point(hooks: Table, name: str) -> str:
    """The point at which it runs: a `HookPoint`, or "" for a prolog or an epilog."""
    if _SCRIPT.fullmatch(name):
        return ""
    named = _HOOK.fullmatch(name)
    if named is not None and named["point"] in _AWAITED:
        return named["point"]
    hint = "; use fetch for work that a hook brings" if named is not None and "FETCH" in named["point"] else ""
    points = ", ".join(f"KEYWORD_HOOK_{point}" for point in _AWAITED)
    known = f"{points}, STARTER_PROLOG or STARTER_EPILOG"
    return hooks.fail(f"a program must be named by its knob: {known}; found {name!r}{hint}", name)


def _script(given: Table, point: str) -> Script:
    given.known(HOOK_KEYS)
    value = given.values.get("status", 0)
    statuses = value if isinstance(value, list) else [value]
    if not statuses or not all(type(each) is int and 0 <= each < 256 for each in statuses):
        given.fail(f"status must be a number from 0 to 255, or a list of them; found {value!r}", "status")
    if "prints" in given and point not in _PRINTING:
        given.fail(f"only the output of {' and '.join(_PRINTING)} has an effect", "prints")
    prints = ClassAd(_values(given.child("prints", given.what))) if "prints" in given else None
    return Script(takes_s=given.duration("takes", USUAL_S), statuses=tuple(statuses), prints=prints)


def _values(given: Table) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in given.values.items():
        if isinstance(value, dict):
            given.fail(f"the value of {name} must be a string, a number, true, false or a list of them", name)
        found[name] = value
        if isinstance(value, str) and value.startswith("="):
            try:
                found[name] = parse_expression(value[1:])
            except ParseError as error:
                given.fail(f"{value[1:]!r} is not an expression: {error}", name)
    return found
