"""Selecting queue instances for `qselect` and `qstat`: by name, resources, states, environments and users."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, TypeAlias

from roost.cli.gridengine.asking import cell_files
from roost.gridengine.commands.errors import Failure
from roost.gridengine.commands.options import Given
from roost.gridengine.letters import SELECTABLE
from roost.wire.requests import central

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool
    from roost.gridengine.cell import Cell
    from roost.gridengine.instances import QueueInstance
    from roost.wire.requests.central import InstanceStatus

#: Options that select instances, and the values of each.
Wanted: TypeAlias = dict[str, list[str]]
CHOOSING: Final = ("l", "pe", "q", "qs", "U")


def wanted_by(given: Iterable[Given]) -> Wanted:
    """The selection of options. Raises Failure."""
    wanted: Wanted = {}
    for each in given:
        if each.name in CHOOSING:
            wanted.setdefault(each.name, []).extend(part for part in each.value.split(",") if part)
    letters = "".join(wanted.get("qs", ()))
    for letter in letters:
        if letter not in SELECTABLE:
            words = f"unknown queue state: {letter} found in string: {letters}"
            raise Failure(f"error: {words}\n{words}")
    return wanted


def select(pool: Pool, wanted: Wanted) -> list[InstanceStatus]:
    """The selected queue instances. Raises Failure."""
    found = pool.ask(central.QueueInstances())
    if letters := set("".join(wanted.get("qs", ()))):
        found = [one for one in found if letters & set(one.states)]
    if set(wanted) - {"qs"}:
        names = _by_cell(pool, {one.name for one in found}, wanted)
        found = [one for one in found if one.name in names]
    return found


def _by_cell(pool: Pool, names: set[str], wanted: Wanted) -> set[str]:
    """Those of the instances that match according to the cell."""
    from roost.gridengine.cell import read_cell
    from roost.gridengine.instances import resolve
    from roost.gridengine.pool.selection import admits
    from roost.gridengine.scheduling.patterns import QueuePatterns, environments

    cell = read_cell(cell_files(pool))
    instances = [one for one in resolve(cell) if one.name in names]
    if patterns := wanted.get("q"):
        reader = QueuePatterns(cell)
        instances = [one for one in instances if reader.any_instance(patterns, one)]
    if users := wanted.get("U"):
        instances = [one for one in instances if any(user == "*" or admits(cell, one, user) for user in users)]
    if patterns := wanted.get("pe"):
        if not any(environments(pattern, cell) for pattern in patterns):
            raise Failure("error: no such parallel environment")
        instances = [
            one
            for one in instances
            if any(fnmatchcase(name, pattern) for name in one.settings.pe_list for pattern in patterns)
        ]
    if requests := wanted.get("l"):
        instances = _with_resources(pool, cell, instances, ",".join(requests))
    return {one.name for one in instances}


def _with_resources(pool: Pool, cell: Cell, instances: list[QueueInstance], requests: str) -> list[QueueInstance]:
    from roost.gridengine.objects.complex import bad_value, by_any_name
    from roost.gridengine.pool.requests import pairs
    from roost.gridengine.pool.selection import Selection, reports_of
    from roost.gridengine.scheduling import CellSnapshot

    now = time.time()
    snapshot = CellSnapshot(
        cell=cell,
        instances=tuple(instances),
        reports=reports_of({row.name: row.reported for row in pool.ask(central.CellHosts())}, now),
        now=now,
        local_time=datetime.datetime.fromtimestamp(now),
    )
    selection, wanted = Selection(cell, snapshot), pairs(requests)
    known = by_any_name(cell.complexes.values())
    if any(pair.name in known and bad_value(known[pair.name], pair.text) for pair in wanted):
        # As in Grid Engine, without a message.
        raise Failure("")
    return [one for one in instances if selection.has(one, wanted)]
