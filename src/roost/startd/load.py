"""The load of a machine, apportioned to its slots.

A slot's own load (CondorLoadAvg) is measured: the processor time of its job's processes over the last minute. Whatever
the system's load average has beyond the sum of these belongs to the owner, and is assigned to slots in order: first
those in Owner, then Unclaimed, Matched, Claimed, Preempting, each by number. A slot gets at most 1.0 as long as another
follows; the last one gets the rest, so only the last slot can show more than 1.0 of owner load. On a machine with one
slot, that slot gets all of it.

Log lines use HTCondor's precision of three decimals; ads have two.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from roost.base.records import dataclass
from roost.model.slots import SlotId

#: The window over which a slot's own load is averaged, s.
WINDOW_S: Final = 60

#: States in the order in which slots get owner load; others come last.
_WALK: Final = {state: place for place, state in enumerate(("Owner", "Unclaimed", "Matched", "Claimed", "Preempting"))}


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuUse:
    """Recent processor use of a slot's job. A new slot is assumed idle for the last minute."""

    #: (seconds, percent of one core), latest first; at most `WINDOW_S` seconds in total.
    samples: tuple[tuple[int, float], ...] = ()

    def sampled(self, percent: float, *, since_s: float, polling_interval_s: int) -> CpuUse:
        """The use after another poll, `since_s` after the previous one.

        A sample covers the whole seconds since the last one, at least one and at most a polling interval: what happened
        during a longer gap is unknown.
        """
        seconds = max(1, min(int(since_s), polling_interval_s))
        kept, room = [(min(seconds, WINDOW_S), percent)], WINDOW_S - seconds
        for length, value in self.samples:
            if room <= 0:
                break
            kept.append((min(length, room), value))
            room -= length
        return CpuUse(samples=tuple(kept))

    @property
    def mean_percent(self) -> float:
        """Mean over the window, percent of one core."""
        return sum(seconds * percent for seconds, percent in self.samples) / WINDOW_S

    def load(self, *, cpus: int, system_load: float) -> float:
        """The load that the slot's job causes, never more than the system's.

        `cpus` are the cores of the machine. On an overloaded machine, a job that gets all the processor time it can get
        causes more load than that time shows.
        """
        cores = max(1, cpus)
        return max(0.0, min(self.mean_percent / cores * max(cores, system_load) / 100, system_load))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadReading:
    """The system's load averages."""

    one_minute: float
    five_minutes: float = 0.0
    fifteen_minutes: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotLoad:
    """The load of a slot."""

    #: CondorLoadAvg: the load of its job.
    condor: float
    #: Its part of the owner's load.
    owner: float

    @property
    def total(self) -> float:
        """LoadAvg."""
        return self.owner + self.condor

    @property
    def line(self) -> str:
        """The slot's log line for it."""
        return f"SystemLoad: {self.total:.3f} CondorLoad: {self.condor:.3f} OwnerLoad: {self.owner:.3f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineLoad:
    """The load of a machine and of each of its slots."""

    #: TotalLoadAvg: the system's.
    system: float
    #: TotalCondorLoadAvg: the sum of the slots' own.
    condor: float
    slots: Mapping[SlotId, SlotLoad]

    @property
    def owner(self) -> float:
        """The owner's load."""
        return max(0.0, self.system - self.condor)

    @property
    def line(self) -> str:
        """The machine's log line for it."""
        return f"SystemLoad: {self.system:.3f} TotalCondorLoad: {self.condor:.3f} TotalOwnerLoad: {self.owner:.3f}"


def apportion(system_load: float, condor_loads: Mapping[SlotId, float], states: Mapping[SlotId, str]) -> MachineLoad:
    """Apportion the load of a machine. Both mappings have every slot; states are those of its ad."""
    condor = sum(condor_loads.values())
    remaining = max(0.0, system_load - condor)
    walk = sorted(states, key=lambda slot: (_WALK.get(states[slot], len(_WALK)), slot))
    owner: dict[SlotId, float] = {}
    for place, slot in enumerate(walk, start=1):
        owner[slot] = remaining if place == len(walk) else min(1.0, remaining)
        remaining -= owner[slot]
    slots = {slot: SlotLoad(condor=condor_loads.get(slot, 0.0), owner=owner[slot]) for slot in sorted(states)}
    return MachineLoad(system=system_load, condor=condor, slots=slots)


def averages_line(reading: LoadReading) -> str:
    """The machine's log line with the system's load averages."""
    return f"Load avg: {reading.one_minute:f} {reading.five_minutes:f} {reading.fifteen_minutes:f}"
