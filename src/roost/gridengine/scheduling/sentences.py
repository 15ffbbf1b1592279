"""The words in which Grid Engine says why a job waits, and how it prints amounts in them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from roost.gridengine.complex import Complex, Type
from roost.gridengine.pairs import Pair

ALL_DROPPED: Final = "All queues dropped because of overload or full"
HELD: Final = "Job is in hold state"
ERROR: Final = "Job is in error state"
DEPENDS: Final = "job dropped because of job dependencies"
TOO_EARLY: Final = "execution time not reached"
USER_LIMIT: Final = "job dropped because of user limitations"
TASK_LIMIT: Final = "not all array tasks may be started due to 'max_aj_instances'"
FULL: Final = "it is full"
DISABLED: Final = "it is disabled"
NOT_AVAILABLE: Final = "it is temporarily not available"


def dropped(instance: str, why: str) -> str:
    """An instance takes no job at all."""
    return f'queue instance "{instance}" dropped because {why}'


def not_in_queues(name: str) -> str:
    """A queue, host or instance is not among the queues that the job asks for."""
    return f'cannot run in queue "{name}" because it is not contained in its hard queue list (-q)'


def wanted(hard: Iterable[Pair]) -> str:
    """The hard requests of a job, as reasons begin with them."""
    return f"(-l {','.join(f'{name}={text}' for name, text in sorted(hard)) or 'NONE'})"


def amount(definition: Complex, value: float | str) -> str:
    """A value as reasons show it."""
    if isinstance(value, str):
        return value
    if value == float("inf"):
        return "INFINITY"
    match definition.type:
        case Type.MEMORY:
            for letter, unit in (("T", 2**40), ("G", 2**30), ("M", 2**20), ("K", 2**10)):
                if abs(value) >= unit:
                    return f"{value / unit:.3f}{letter}"
            return f"{value:.3f}"
        case Type.TIME:
            minutes, second = divmod(int(value), 60)
            return f"{minutes // 60:02d}:{minutes % 60:02d}:{second:02d}"
        case Type.BOOL:
            return "true" if value else "false"
        case _:
            return f"{value:.6f}"
