"""A machine before the run."""

from __future__ import annotations

from roost.base.records import dataclass
from roost.node.host_plan import Division, SlotPlan
from roost.sim.machine.sensors import Sensors


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinePlan:
    """A machine."""

    name: str
    slots: tuple[SlotPlan, ...]
    sensors: Sensors
    polling_s: int = 5
    update_s: int = 300
    #: Seconds after the beginning at which the grid of polls begins.
    phase_s: int = 0
    mips: int = 1000
    kflops: int = 1_000_000
    #: STARTD_LATCH_EXPRS and STARTD_SLOT_ATTRS.
    latch_names: tuple[str, ...] = ()
    neighbour_names: tuple[str, ...] = ()
    #: Numbers of slots and hooks that are to tell a source what becomes of its work, and are not configured.
    silent_hooks: frozenset[tuple[int, str]] = frozenset()
    #: STARTER_SCRIPT_USERS: who prologs and epilogs may run as beside the job's owner.
    script_users: frozenset[str] = frozenset()
    #: None for a machine of static slots that keeps no accounts.
    division: Division | None = None

    @property
    def cores(self) -> int:
        """Cores of all slots that there are at first."""
        return sum(slot.cpus for slot in self.slots)


__all__ = ["Division", "MachinePlan", "SlotPlan"]
