"""What a cell configures and a pool that runs by it does not carry out yet: said when the cell is imported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from roost.gridengine.calendar import Calendar, State
from roost.gridengine.cell import Cell
from roost.gridengine.queue import ClusterQueue, QueueSettings
from roost.gridengine.values import Quantity

#: Attributes of queues that act on jobs that run.
_OF_QUEUES: Final = (
    "suspend_thresholds", "priority", "prolog", "epilog", "starter_method", "suspend_method", "resume_method",
    "terminate_method", "subordinate_list", *(f"{kind}_{name}" for name in (
        "rt", "cpu", "fsize", "data", "stack", "core", "rss", "vmem",
    ) for kind in "sh"),
)  # fmt: skip
_DEFAULTS: Final = QueueSettings()
#: Attributes of the cell's or a host's configuration that do.
_OF_CONFIGURATIONS: Final = ("prolog", "epilog", "load_sensor", "starter_method")


def not_carried_out(cell: Cell) -> Iterator[str]:
    """What is configured and has no effect in a pool yet, an attribute each with where it is set."""
    places: dict[str, list[str]] = {}
    for queue in cell.queues.values():
        for name in _OF_QUEUES:
            if _acts(queue, name):
                places.setdefault(name, []).append(queue.name)
    for name in (name for name, each in cell.calendars.items() if _suspends(each)):
        places.setdefault("suspended hours", []).append(f"calendar {name}")
    for host, configuration in cell.configurations.items():
        for name in _OF_CONFIGURATIONS:
            if (configuration.get(name) or "none").lower() != "none":
                places.setdefault(name, []).append(f"configuration {host}")
    for name, found in places.items():
        yield f"{name} ({', '.join(found)})"


def _acts(queue: ClusterQueue, name: str) -> bool:
    """Whether a queue, or an override of it, sets an attribute to something else than its default, which is idle."""
    values = (getattr(queue.defaults, name), *queue.overrides.get(name, {}).values())
    return any(_plain(value) != _plain(getattr(_DEFAULTS, name)) for value in values)


def _plain(value: Any) -> Any:
    if isinstance(value, Quantity):
        return value.number
    return value.lower() if isinstance(value, str) else value


def _suspends(calendar: Calendar) -> bool:
    return any(rule.state is State.SUSPENDED for part in calendar.rules for rule in part)
