"""What a cell configures and a pool that runs by it does not carry out yet: said when the cell is imported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from roost.gridengine.cell import Cell
from roost.gridengine.objects.parallel import ParallelEnvironment
from roost.gridengine.objects.scheduler import SchedulerConfiguration
from roost.gridengine.pool.usage import needs_usage
from roost.gridengine.without_effect import idle
from roost.model.cell_usage import NAMES

#: What machines measure of jobs for their usage.
_MEASURED: Final = NAMES


def not_carried_out(cell: Cell) -> Iterator[str]:
    """What is configured and has no effect in a pool yet, an attribute each with where it is set."""
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
    """What counts in usage and is not measured, or not as Grid Engine does."""
    if any(one.name not in _MEASURED and one.number for one in scheduler.usage_weight_list):
        yield "usage_weight_list other than cpu, mem and io"


def lacking_of(environment: ParallelEnvironment) -> Iterator[str]:
    """What a parallel environment configures that a pool does not carry out."""
    if environment.qsort_args.casefold() != "none":
        yield "qsort_args"
