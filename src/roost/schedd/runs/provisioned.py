"""What a job was provisioned with in its slot: XProvisioned and AssignedX of its ad, for each resource of the machine.

They are set as a run begins, and remain after it: the event log's table, the history and the job's own policy show how
much was provisioned besides how much was requested and used.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from roost.classad import ClassAd, Expr
from roost.classad.ad import MISSING
from roost.classad.values import fold

#: The resources of a slot that does not name them.
_USUAL: Final = "Cpus, Memory, Disk"
#: Shared by all jobs of the machine, and assigned to none.
_SHARED: Final = frozenset(("swap", "virtualmemory"))
_PROVISIONED: Final = "Provisioned"
_PROVISIONED_KEY: Final = _PROVISIONED.lower()


def provisioned(job_ad: ClassAd, slot_ad: ClassAd) -> dict[str, int | float | str | None]:
    """Attributes of a job that will run on a slot; None removes one that is left from another slot."""
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
    """Resources: name, folded name, names of the provisioned amount and of the assigned devices, the last one folded,
    too.
    """
    names = (name for name in said.replace(",", " ").split() if name.lower() not in _SHARED)
    return tuple(
        (name, fold(name), f"{name}{_PROVISIONED}", f"Assigned{name}", fold(f"Assigned{name}")) for name in names
    )


def _of_before(job_ad: ClassAd) -> list[str]:
    """Attributes left by an earlier run."""
    left = []
    for name in [key for key in job_ad.cells if key.endswith(_PROVISIONED_KEY)]:
        resource = job_ad.spelling(name)[: -len(_PROVISIONED)]
        left += [f"{resource}{_PROVISIONED}", f"Assigned{resource}"]
    return left
