"""Settings of a cell that a pool does not carry out yet: reported when the cell is imported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from roost.gridengine.cell import Cell
from roost.gridengine.objects.parallel import ParallelEnvironment
from roost.gridengine.objects.scheduler import SchedulerConfiguration
from roost.gridengine.pool.usage import needs_usage
from roost.gridengine.without_effect import idle
from roost.model.cell_usage import NAMES

#: The usage that machines measure.
_MEASURED: Final = NAMES


def not_carried_out(cell: Cell) -> Iterator[str]:
    """Configured attributes that have no effect in a pool yet, each with its places."""
    places: dict[str, list[str]] = {}
    if needs_usage(cell):
        for name in _of_usage(cell.scheduler):
            places.setdefault(name, []).append("scheduler configuration")
    for environment in cell.parallel_environments.values():
        for name in lacking_of(environment):
            places.setdefault(name, []).append(f"parallel environment {environment.name}")
    for name, place in idle(cell):
        places.setdefault(name, []).append(place)
    for name, found in places.items():
        yield f"{name} ({', '.join(found)})"


def _of_usage(scheduler: SchedulerConfiguration) -> Iterator[str]:
    """Usage that is configured but not measured, or not as in Grid Engine."""
    if any(one.name not in _MEASURED and one.number for one in scheduler.usage_weight_list):
        yield "usage_weight_list other than cpu, mem and io"


def lacking_of(environment: ParallelEnvironment) -> Iterator[str]:
    """Settings of a parallel environment that a pool does not carry out."""
    if environment.qsort_args.casefold() != "none":
        yield "qsort_args"
