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
    #: Offset of the grid of polls from the beginning, s.
    phase_s: int = 0
    mips: int = 1000
    kflops: int = 1_000_000
    #: STARTD_LATCH_EXPRS and STARTD_SLOT_ATTRS.
    latch_names: tuple[str, ...] = ()
    neighbour_names: tuple[str, ...] = ()
    #: Numbers of slots with hooks that should report to a source but are not configured.
    silent_hooks: frozenset[tuple[int, str]] = frozenset()
    #: STARTER_SCRIPT_USERS: users, besides the job's owner, as whom prologs and epilogs may run.
    script_users: frozenset[str] = frozenset()
    #: None for a machine of static slots that keeps no accounts.
    division: Division | None = None

    @property
    def cores(self) -> int:
        """Cores of all initial slots."""
        return sum(slot.cpus for slot in self.slots)


__all__ = ["Division", "MachinePlan", "SlotPlan"]
