"""The resources that an advance reservation offers to its jobs: a snapshot with only its resources.

The jobs of a reservation are matched like any other, with the same cell, but only its queue instances have consumables,
namely those reserved there: `slots` as granted, other amounts for as many slots. An amount per job is reserved once,
for the whole cell. Quotas do not count, for the jobs or for the reservation itself. Only the granted parallel
environment exists, with the granted slots.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from roost.base.records import replace
from roost.gridengine.instances import QueueInstance
from roost.gridengine.objects.complex import Complex
from roost.gridengine.objects.host import GLOBAL, ExecutionHost
from roost.gridengine.objects.pairs import Pair
from roost.gridengine.scheduling.ledger import SLOTS, Need, Window, exclusive_names, needs_of
from roost.gridengine.scheduling.snapshot import Booked, CellSnapshot


def window_of(one: Booked) -> Window:
    """When a reservation has its resources."""
    return Window(one.start, one.end)


def inside(snapshot: CellSnapshot, one: Booked) -> CellSnapshot:
    """The snapshot for the jobs of a reservation, with all instances at their positions."""
    cell, granted = snapshot.cell, dict(one.grants)
    needs = needs_of(one.request, cell.complexes)
    exclusive = exclusive_names(one.request, cell.complexes)
    hosts = {
        name: replace(host, complex_values=_kept(host.complex_values, cell.complexes, exclusive))
        for name, host in cell.hosts.items()
    }
    shared = hosts.get(GLOBAL, ExecutionHost(name=GLOBAL))
    once = tuple(_pairs((need for need in needs if need.once), 1))
    hosts[GLOBAL] = replace(shared, complex_values=(*shared.complex_values, *once))
    environments = cell.parallel_environments
    slots = sum(granted.values())
    return replace(
        snapshot,
        cell=replace(
            cell,
            hosts=hosts,
            quota_sets={},
            parallel_environments={
                name: replace(each, slots=slots) for name, each in environments.items() if name == one.environment
            },
        ),
        instances=tuple(
            _instance(each, granted[each.name], needs, cell.complexes, exclusive) if each.name in granted else each
            for each in snapshot.instances
        ),
        running=tuple(task for task in snapshot.running if task.reservation == one.number),
        pending=(),
        reservations=(),
    )


def _instance(
    one: QueueInstance, slots: int, needs: tuple[Need, ...], complexes: Mapping[str, Complex], exclusive: frozenset[str]
) -> QueueInstance:
    amounts = _pairs((need for need in needs if not need.once and need.name != SLOTS), slots)
    values = (*_kept(one.settings.complex_values, complexes, exclusive), *amounts)
    return replace(one, settings=replace(one.settings, slots=slots, complex_values=values))


def _kept(pairs: Iterable[Pair], complexes: Mapping[str, Complex], exclusive: frozenset[str]) -> tuple[Pair, ...]:
    """Values of a place that are not amounts; exclusive use only if the reservation has it."""
    return tuple(
        pair
        for pair in pairs
        if (definition := complexes.get(pair.name)) is None or not definition.is_consumable or pair.name in exclusive
    )


def _pairs(needs: Iterable[Need], slots: int) -> Iterator[Pair]:
    for need in needs:
        amount = need.amount * slots
        yield Pair(need.name, "infinity" if math.isinf(amount) else f"{amount:.6f}")
