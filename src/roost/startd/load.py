"""The load of a machine, apportioned to its slots.

A slot's own load (CondorLoadAvg) is measured: the processor time of its job's processes over the last minute. What the
system's load average has beyond the sum of these is the owner's, and is handed to slots in a walk: first those in
Owner, then Unclaimed, Matched, Claimed, Preempting, each by number. A slot gets at most 1.0 as long as another follows;
the last one gets all that is left, so that only there a slot shows more than 1.0 of the owner's load. A machine with
one slot gives it everything.

The numbers of the logs are those of HTCondor: three decimals; ads have two.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from roost.base.records import dataclass
from roost.model.slots import SlotId

#: How far back a slot's own load looks, s.
WINDOW_S: Final = 60

#: States in the order in which slots get owner load; others come last.
_WALK: Final = {state: place for place, state in enumerate(("Owner", "Unclaimed", "Matched", "Claimed", "Preempting"))}


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuUse:
    """What the processes of a slot's job have used lately. A new slot has used nothing for a minute."""

    #: (seconds, percent of one core), latest first; no more than `WINDOW_S` seconds together.
    samples: tuple[tuple[int, float], ...] = ()

    def sampled(self, percent: float, *, since_s: float, polling_interval_s: int) -> CpuUse:
        """The use after another poll, `since_s` after the last one.

        A sample stands for the whole seconds since the last one, at least one, at most a polling interval: what
        happened during a longer gap is unknown.
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
        """The load that the slot's job makes, never more than the system's.

        `cpus` are the cores of the machine. On a machine with more to do than cores, a job that gets all it can get
        of them makes more load than its processor time says.
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

    #: CondorLoadAvg: its job's.
    condor: float
    #: Its part of the owner's.
    owner: float

    @property
    def total(self) -> float:
        """LoadAvg."""
        return self.owner + self.condor

    @property
    def line(self) -> str:
        """The line of the slot's log that tells it."""
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
        """What is the owner's."""
        return max(0.0, self.system - self.condor)

    @property
    def line(self) -> str:
        """The line of the machine's log that tells it."""
        return f"SystemLoad: {self.system:.3f} TotalCondorLoad: {self.condor:.3f} TotalOwnerLoad: {self.owner:.3f}"


def apportion(system_load: float, condor_loads: Mapping[SlotId, float], states: Mapping[SlotId, str]) -> MachineLoad:
    """Hand out the load of a machine. Both mappings have every slot; states are those of its ad."""
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
    """The line of the machine's log with the system's load averages."""
    return f"Load avg: {reading.one_minute:f} {reading.five_minutes:f} {reading.fifteen_minutes:f}"
