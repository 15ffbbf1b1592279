"""What a job was given of its slot: XProvisioned and AssignedX of its ad, for each resource of the machine.

They are set as a run begins, and stay behind it: the event log's table, the history and the job's own policy show how
much there was beside how much was asked for and used.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from roost.classad import ClassAd, Expr
from roost.classad.ad import MISSING
from roost.classad.values import fold

#: Of a slot that does not say which resources it has.
_USUAL: Final = "Cpus, Memory, Disk"
#: Shared by all jobs of the machine, and given to none.
_SHARED: Final = frozenset(("swap", "virtualmemory"))
_PROVISIONED: Final = "Provisioned"
_PROVISIONED_KEY: Final = _PROVISIONED.lower()


def provisioned(job_ad: ClassAd, slot_ad: ClassAd) -> dict[str, int | float | str | None]:
    """Attributes of a job that is to run on a slot; None takes away what is left of another slot."""
    found: dict[str, int | float | str | None] = dict.fromkeys(_of_before(job_ad))
    said = slot_ad.get("MachineResources")
    for name, key, provided, assigned, assigned_key in _resources(said if isinstance(said, str) else _USUAL):
        amount = slot_ad.cell(key)
        if amount.__class__ is Expr:
            amount = slot_ad.get(name)
        if amount.__class__ is int or amount.__class__ is float:
            found[provided] = amount
        devices = slot_ad.cell(assigned_key)
        if devices is not MISSING and isinstance(devices := slot_ad.get(assigned), str) and devices:
            found[assigned] = devices
    return found


@lru_cache(maxsize=1024)
def _resources(said: str) -> tuple[tuple[str, str, str, str, str], ...]:
    """Resources: name, folded name, name of what a job is given, and that of its devices, the last one folded, too."""
    names = (name for name in said.replace(",", " ").split() if name.lower() not in _SHARED)
    return tuple(
        (name, fold(name), f"{name}{_PROVISIONED}", f"Assigned{name}", fold(f"Assigned{name}")) for name in names
    )


def _of_before(job_ad: ClassAd) -> list[str]:
    """Attributes that an earlier run has left."""
    left = []
    for name in [key for key in job_ad.cells if key.endswith(_PROVISIONED_KEY)]:
        resource = job_ad.spelling(name)[: -len(_PROVISIONED)]
        left += [f"{resource}{_PROVISIONED}", f"Assigned{resource}"]
    return left
