"""``condor_status -compact``: the slots of each machine as one row.

Sizes of partitionable slots are those still free; those of their dynamic slots are in use.
"""

from __future__ import annotations

from typing import Any, Final

from roost.cli.condor.printing.renderers import RENDERERS
from roost.cli.condor.printing.rows import AdRow

#: The attributes of each slot that it needs.
LOOKED_AT: Final = (
    "Machine", "Arch", "OpSys", "OpSysAndVer", "Cpus", "GPUs", "Memory", "LoadAvg", "State", "Activity", "TotalCpus",
    "TotalMemory", "TotalLoadAvg", "PartitionableSlot", "DynamicSlot", "Name",
)  # fmt: skip
_MB: Final = 1024.0


def machines(rows: list[AdRow]) -> list[AdRow]:
    """One row per machine, in the order of their first slots."""
    found: dict[str, list[AdRow]] = {}
    for row in rows:
        found.setdefault(row.text("Machine"), []).append(row)
    return [_machine(name, slots) for name, slots in found.items()]


def _machine(name: str, slots: list[AdRow]) -> AdRow:
    first = slots[0]
    platform = RENDERERS["PLATFORM"].render(first, first.value("Arch")) or "?"
    free = [slot for slot in slots if slot.text("State") in ("Unclaimed", "Owner")]
    claimed = [slot for slot in slots if slot.text("State") == "Claimed"]
    data: dict[str, Any] = {
        "Machine": name,
        "Platform": platform,
        "Slots": sum(1 for slot in slots if slot.value("PartitionableSlot") is not True),
        "Cpus": first.whole("TotalCpus", sum(slot.whole("Cpus") for slot in slots)),
        "GPUs": sum(slot.whole("GPUs") for slot in slots),
        "TotalGb": first.number("TotalMemory", sum(slot.number("Memory") for slot in slots)) / _MB,
        "FreeCpu": sum(slot.whole("Cpus") for slot in free),
        "FreeGb": sum(slot.number("Memory") for slot in free) / _MB,
        "LoadAvg": first.number("TotalLoadAvg", sum(slot.number("LoadAvg") for slot in slots)),
        "ST": _letters(slots),
        "JobsMin": 0,
        "MaxSlotGb": int(max((slot.number("Memory") for slot in claimed), default=0.0) / _MB),
    }
    return AdRow(data)


def _letters(slots: list[AdRow]) -> str:
    """State and activity of the slots, if all are the same; otherwise ``**``."""
    found = {f"{slot.text('State')[:1]}{slot.text('Activity')[:1].lower()}" for slot in slots}
    return found.pop() if len(found) == 1 else "**"
