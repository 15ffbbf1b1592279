"""Slots: their kinds, numbers and sizes, and the machine that they divide.

What this module does not do: decide how a machine is divided (`roost.startd.layout.layout`), or what a slot does
(`roost.startd.machine`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction

from roost.base.records import dataclass, field
from roost.classad import ClassAd, Value
from roost.model.resources import CPUS, DISK, MEMORY, Amount, Amounts


class SlotKind(StrEnum):
    """How a slot came to be; the names are those of SlotType."""

    STATIC = "Static"
    PARTITIONABLE = "Partitionable"
    DYNAMIC = "Dynamic"


@dataclass(frozen=True, slots=True, order=True)
class SlotId:
    """The number of a slot on its machine; slots sort by it, dynamic ones after their parent."""

    #: SlotID, from 1; a dynamic slot has its parent's.
    number: int
    #: DSlotID, from 1; 0 for a slot that is not dynamic.
    dynamic: int = 0

    @property
    def is_dynamic(self) -> bool:
        """Whether the slot is dynamic."""
        return self.dynamic > 0

    @property
    def parent(self) -> SlotId:
        """The partitionable slot of a dynamic one; the slot itself for any other."""
        return SlotId(self.number)

    def __str__(self) -> str:
        return f"slot{self.number}_{self.dynamic}" if self.dynamic else f"slot{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotSize:
    """What a slot has in total or has left."""

    cpus: Amount
    memory_mb: Amount
    disk_kb: Amount
    swap_kb: Amount
    #: Custom resource to units.
    custom: Mapping[str, Amount] = field(default_factory=dict)

    @property
    def amounts(self) -> Amounts:
        """The amounts divided between slots: all except swap."""
        return Amounts({CPUS: self.cpus, MEMORY: self.memory_mb, DISK: self.disk_kb, **self.custom})


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotShape:
    """A static or partitionable slot as configured."""

    number: int
    type_id: int
    kind: SlotKind
    cpus: int
    memory_mb: int
    #: Shares of totals that change while the machine runs, 0 to 1.
    disk_share: Fraction
    swap_share: Fraction
    #: Name of the filesystem that holds the scratch directory.
    filesystem: str
    #: Custom resource to units.
    custom: Mapping[str, int] = field(default_factory=dict)
    #: Custom resource to the identifiers of the slot's units; a resource without identifiers is left out.
    assigned: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Why the slot is smaller than configured and must not be used; None if it is usable.
    broken: str | None = None

    @property
    def id(self) -> SlotId:
        """Its number."""
        return SlotId(self.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomResource:
    """A resource that the administrator named."""

    #: As published: the configured spelling with a capital first letter.
    name: str
    #: Units found, including offline ones.
    detected: int
    #: Identifiers of the units that may be used; empty for a resource that is only counted.
    ids: tuple[str, ...] = ()
    #: Identifiers of units that no job may get.
    offline: tuple[str, ...] = ()
    #: Further attributes that its inventory printed.
    properties: Mapping[str, Value] = field(default_factory=dict)
    #: Identifier of a unit to its properties; units without properties are left out.
    units: Mapping[str, ClassAd] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Units that may be used."""
        return self.detected - len(self.offline)


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineResources:
    """What is divided between slots, as configured."""

    detected_cpus: int
    detected_memory_mb: int
    cpus: int
    memory_mb: int
    swap_kb: int
    #: Filesystem to its space minus the reserved part, KB.
    disk_kb: Mapping[str, int]
    custom: tuple[CustomResource, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all resources of slots (MachineResources)."""
        return ("Cpus", "Memory", "Disk", "Swap", *(each.name for each in self.custom))


@dataclass(frozen=True, slots=True, kw_only=True)
class Filesystem:
    """Where scratch directories are."""

    #: Identifies the filesystem, for instance the device or the mount point.
    name: str
    free_kb: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReading:
    """Sensor readings of a machine: everything that a layout depends on apart from the configuration."""

    cpus: int
    memory_mb: int
    swap_kb: int = 0
    #: Directory to the filesystem that it is on; the longest prefix of a path counts.
    filesystems: Mapping[str, Filesystem] = field(default_factory=dict)
    #: Custom resource, as spelled in MACHINE_RESOURCE_INVENTORY_<NAME>, to what its command printed.
    inventories: Mapping[str, str] = field(default_factory=dict)

    def filesystem_of(self, path: str) -> Filesystem:
        """The filesystem of a path; the first known one if no directory contains the path, else an empty one."""
        leading = [each for each in self.filesystems if _leads_to(each, path)]
        if leading:
            return self.filesystems[max(leading, key=len)]
        return next(iter(self.filesystems.values()), Filesystem(name="", free_kb=0))


def _leads_to(directory: str, path: str) -> bool:
    stem = directory.rstrip("/")
    return path == stem or path.startswith(stem + "/")
