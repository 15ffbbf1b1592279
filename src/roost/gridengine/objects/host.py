"""Hosts: host groups, execution hosts with `global`, and the lists of administrative and submit hosts.

A host group holds hosts and other groups; `roost.gridengine.instances` resolves them. The execution host `global` has
the values for the whole cell. `load_values` and `processors` are reports of the running system: they are read and
printed, and do not count as configuration.
"""

from __future__ import annotations

from typing import Final

from roost.base.records import dataclass
from roost.gridengine.objects.pairs import FACTORS, HOST_PAIRS, Factor, Pair
from roost.gridengine.objects.rows import attribute
from roost.gridengine.objects.values import BLANK_NAMES, COMMA_NAMES, GROUP_HOSTS, ULONG

#: the execution host that stands for the whole cell
GLOBAL: Final = "global"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostGroup:
    """A host group; its name begins with `@`."""

    name: str
    hostlist: tuple[str, ...] = attribute(GROUP_HOSTS, "NONE", "Hosts and other groups.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionHost:
    """An execution host, or `global`."""

    name: str
    load_scaling: tuple[Factor, ...] = attribute(FACTORS, "NONE", "Factors by which load values are multiplied.")
    complex_values: tuple[Pair, ...] = attribute(HOST_PAIRS, "NONE", "Resources of the host, over all its queues.")
    load_values: tuple[Pair, ...] = attribute(HOST_PAIRS, "NONE", "Load values the host reported.", reported=True)
    processors: int = attribute(ULONG, "0", "Processors the host reported.", reported=True)
    user_lists: tuple[str, ...] = attribute(BLANK_NAMES, "NONE", "User lists that may use the host.")
    xuser_lists: tuple[str, ...] = attribute(BLANK_NAMES, "NONE", "User lists that may not use the host.")
    projects: tuple[str, ...] = attribute(BLANK_NAMES, "NONE", "Projects that may use the host.")
    xprojects: tuple[str, ...] = attribute(BLANK_NAMES, "NONE", "Projects that may not use the host.")
    usage_scaling: tuple[Factor, ...] = attribute(FACTORS, "NONE", "Factors by which used resources are multiplied.")
    report_variables: tuple[str, ...] = attribute(
        COMMA_NAMES, "NONE", "Resources that are written to the reporting file."
    )
