"""Records about hosts and queue instances in a cell's reporting file: the `report_variables` of hosts.

Loads are recorded as hosts report them, consumables whenever a job takes or releases some. A host without its own
variables has those of `global`; they apply to its queue instances, too. The lines are those that Grid Engine 8.1.9
writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from roost.classad import ClassAd
from roost.gridengine.cell import Cell, read_cell
from roost.gridengine.instances import Resolver
from roost.gridengine.objects.complex import Type, value_number
from roost.gridengine.objects.host import GLOBAL
from roost.gridengine.objects.pairs import Pair
from roost.gridengine.pool.active_cell import ActiveCell
from roost.gridengine.pool.cycle import pool_hosts
from roost.gridengine.pool.hosts import Hosts, global_loads, load_values
from roost.gridengine.pool.tasks import all_grants_of, running_task
from roost.gridengine.scheduling import Grant
from roost.gridengine.scheduling.ledger import SLOTS, needs_of
from roost.gridengine.scheduling.loads import host_of
from roost.gridengine.scheduling.reasons import amount
from roost.model.cell_reporting import PlainReport
from roost.negotiator.snapshot import Snapshot
from roost.negotiator.timing import at_once

_MIB: Final = 2**20
#: Load averages that hosts report with two decimals.
_AVERAGES: Final = ("load_avg", "load_short", "load_medium", "load_long")


def variables(cell: Cell, host: str) -> tuple[str, ...]:
    """The variables recorded for a host."""
    found = (cell.hosts[name].report_variables for name in (host, GLOBAL) if name in cell.hosts)
    return next(filter(None, found), ())


def reports_any(cell: Cell) -> bool:
    """Whether anything is recorded about hosts."""
    return any(host.report_variables for host in cell.hosts.values())


def loads(active: ActiveCell, snapshot: Snapshot) -> dict[str, str]:
    """Host to the text of its loads in the file; only hosts that have some."""
    cell = active.cell
    machines = at_once(pool_hosts(snapshot, Hosts(cell, active.instances))).machines
    reported = {GLOBAL: global_loads(machines.values(), cell.complexes)}
    reported |= {host: dict(load_values(ad, cell.complexes)) for host, ad in machines.items()}
    found = {host: ",".join(_values(cell, host, values)) for host, values in reported.items()}
    return {host: text for host, text in found.items() if text}


def _values(cell: Cell, host: str, values: Mapping[str, str]) -> Iterator[str]:
    for name in variables(cell, host):
        if name in values:
            yield f"{name}={_load(cell, name, values[name])}"


def _load(cell: Cell, name: str, text: str) -> str:
    """A load value as an execution daemon of Grid Engine sends it."""
    try:
        number = float(text)
    except ValueError:
        return text
    if name in _AVERAGES:
        return f"{number:.2f}"
    return f"{number / _MIB:.6f}M" if cell.complexes[name].type is Type.MEMORY else text


class ConsumableReports:
    """Records consumables as jobs take and release them."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._resolver = Resolver(cell)
        #: Place to its recorded consumables, each with the text of its capacity.
        self._written_capacities: dict[str, dict[str, str]] = {}

    def lines(self, task: ClassAd, others: Iterable[ClassAd], at: int, *, begins: bool) -> Iterator[PlainReport]:
        """The lines for a job that begins or ends, given what the others have."""
        mine = list(self._amounts(task))
        if not any(self._capacities(place).keys() & amounts for grant, amounts in mine for place in _places(grant)):
            return
        used: Counter[tuple[str, str]] = Counter()
        for each in others:
            self._book(used, self._amounts(each), 1)
        if not begins:
            self._book(used, mine, 1)
        for grant, amounts in mine:
            self._book(used, ((grant, amounts),), 1 if begins else -1)
            for place in _places(grant):
                told = [
                    f"{name}={used[place, name]:.6f}={capacity}"
                    for name, capacity in self._capacities(place).items()
                    if name in amounts
                ]
                if told:
                    yield PlainReport(at, *_place_fields(place, at, ",".join(told)))

    def _book(
        self, used: Counter[tuple[str, str]], booked: Iterable[tuple[Grant, Mapping[str, float]]], sign: int
    ) -> None:
        for grant, amounts in booked:
            for place in _places(grant):
                for name, number in amounts.items():
                    used[place, name] += sign * number  # type: ignore[assignment]

    def _amounts(self, task: ClassAd) -> Iterator[tuple[Grant, dict[str, float]]]:
        """What a job has with each of its grants; what it takes once, with that of its master."""
        needs = needs_of(running_task((task,), 0, 0.0).request, self._cell.complexes)
        for number, grant in enumerate(all_grants_of(task)):
            amounts = {need.name: need.amount for need in needs if need.once and number == 0}
            amounts |= {need.name: need.amount * grant.slots for need in needs if not need.once}
            yield grant, {SLOTS: float(grant.slots)} | amounts

    def _capacities(self, place: str) -> dict[str, str]:
        found = self._written_capacities.get(place)
        if found is None:
            found = self._written_capacities[place] = dict(self._capacity_texts(place))
        return found

    def _capacity_texts(self, place: str) -> Iterator[tuple[str, str]]:
        cell, host = self._cell, host_of(place) if "@" in place else place
        pairs = {pair.name: pair.text for pair in self._complex_values(place, host)}
        for name in variables(cell, host):
            definition, text = cell.complexes.get(name), pairs.get(name)
            if definition is not None and definition.is_consumable and text is not None:
                number = value_number(definition.type, text)
                yield name, text if number is None else amount(definition, number)

    def _complex_values(self, place: str, host: str) -> Iterable[Pair]:
        if place == host:
            return self._cell.hosts[host].complex_values if host in self._cell.hosts else ()
        queue = self._cell.queues.get(place.partition("@")[0])
        if queue is None:
            return ()
        settings = self._resolver.instance(queue, host).settings
        return (*settings.complex_values, Pair(SLOTS, str(settings.slots)))


def consumable_reports(files: Mapping[str, str]) -> ConsumableReports | None:
    """The recorder of consumables for the texts of a cell; None if nothing is recorded."""
    if not any("report_variables" in text for text in files.values()):
        return None
    cell = read_cell(files)
    return ConsumableReports(cell) if reports_any(cell) else None


def _places(grant: Grant) -> tuple[str, str, str]:
    return GLOBAL, host_of(grant.instance), grant.instance


def _place_fields(place: str, at: int, told: str) -> tuple[str, tuple[str | int, ...]]:
    """Kind and fields of a line; hosts have a state that is always X, instances those of a healthy one."""
    queue, _, host = place.partition("@")
    return ("queue_consumable", (queue, host, at, "", told)) if host else ("host_consumable", (queue, at, "X", told))
