"""Checking the layout of slots in a configuration, before any machine is laid out.

A problem that a machine with more cores, memory or disk space would not have counts as a warning: a configuration is
often checked on another machine than the one it is for. Every other problem would keep a node from starting on any
machine.
"""

from __future__ import annotations

from typing import Final

from roost.base.diagnostics import Diagnostic
from roost.config import Config, ConfigError, Severity
from roost.model.resources import CPUS, DISK, MEMORY, SWAP
from roost.model.slots import Filesystem, HostReading
from roost.startd.layout.layout import plan_layout
from roost.startd.layout.problems import LayoutProblem
from roost.startd.layout.resources import inventories

#: The machine that is assumed if the check is not for a particular one.
ASSUMED: Final = HostReading(
    cpus=64, memory_mb=262_144, swap_kb=8 << 20, filesystems={"/": Filesystem(name="/", free_kb=1 << 30)}
)
_OF_EVERY_MACHINE: Final = frozenset((CPUS, MEMORY, DISK, SWAP))


def check_layout(config: Config, reading: HostReading) -> list[Diagnostic]:
    """The problems of the slots that a configuration describes, on a given machine.

    Slots with resources that come from a command are not checked, because a check runs no such command.
    """
    try:
        if inventories(config):
            return []
        layout = plan_layout(config, reading)
    except ConfigError:
        return []
    return [_diagnostic(each, reading) for each in layout.problems]


def _depends_on_machine(problem: LayoutProblem) -> bool:
    """Whether a larger machine would not have the problem."""
    return problem.unmet is not None and _OF_EVERY_MACHINE.issuperset(problem.unmet.resources)


def _diagnostic(problem: LayoutProblem, reading: HostReading) -> Diagnostic:
    message = f"{problem.knob}: {problem.message}"
    here = _depends_on_machine(problem)
    if here:
        message += f", on this machine, which has {reading.cpus} cores and {reading.memory_mb} MB of memory"
    remedy = problem.remedy[:1].upper() + problem.remedy[1:]
    return Diagnostic(
        code=problem.code,
        message=message,
        span=problem.span,
        severity=Severity.WARNING if here or problem.is_warning else Severity.ERROR,
        remedy=f"{remedy}." if remedy else "",
        name=problem.knob,
    )
