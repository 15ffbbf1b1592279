"""What the sensors of a simulated machine read, and the ads that its slots are polled with.

Readings are functions of time: of the owner's trace, and of which slots run jobs. A running job loads its cores. The
startd's own modules apportion load and idle times to slots, and compute CpuBusyTime.

`clocks` and `steps` describe the same readings for `steadiness`: which attributes grow by one each second, and when
others change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Final

from roost.base.fast_records import record
from roost.base.records import dataclass
from roost.classad import ClassAd, Value
from roost.classad.ad import Cell, ad_of_cells
from roost.model.slots import SlotId
from roost.sim.forecast.steadiness import Reach
from roost.sim.inputs.owners import DAY_S, OwnerTrace
from roost.startd.idleness import Connections, Idleness, slot_idleness
from roost.startd.load import apportion
from roost.startd.slot_ad.ad import clock

#: Attributes that change with the load of the owner's programs.
_OF_LOAD: Final = ("loadavg", "totalloadavg", "cpuisbusy", "cpubusytime")

_NAMES: Final = (
    "KeyboardIdle ConsoleIdle TotalLoadAvg TotalCondorLoadAvg LoadAvg CondorLoadAvg CpuIsBusy CpuBusyTime "
    "ClockMin ClockDay MyCurrentTime"
)


@record
class Loads:
    """The load of a machine at one instant, as in its slots' ads: in hundredths."""

    system: float
    jobs: float
    #: For each slot: LoadAvg and CondorLoadAvg.
    slots: tuple[tuple[float, float], ...]


@lru_cache(maxsize=4096)
def _alone(load: float, job: float) -> Loads:
    """There are few different loads, and most recur."""
    system, own = round(load + job, 2), round(job, 2)
    return Loads(system=system, jobs=own, slots=((system, own),))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensors:
    """The sensors of one machine."""

    owner: OwnerTrace
    connected: Connections = Connections(console=10**6, keyboard=10**6, boost_s=1200)
    #: Seconds east of UTC.
    zone_offset_s: int = 0

    def loads(self, now: float, jobs: Sequence[float], ids: Sequence[SlotId], states: Sequence[str]) -> Loads:
        """The loads of a machine with the loads `jobs` of its slots' jobs."""
        own = sum(jobs)
        system = self.owner.load(now) + own
        shared = apportion(system, dict(zip(ids, jobs, strict=True)), dict(zip(ids, states, strict=True)))
        each = (shared.slots[one] for one in ids)
        slots = tuple((round(one.total, 2), round(one.condor, 2)) for one in each)
        return Loads(system=round(system, 2), jobs=round(own, 2), slots=slots)

    def load_alone(self, now: float, own: float) -> Loads:
        """The loads of a machine with one slot, whose job has the load `own`."""
        return _alone(self.owner.load(now), own)

    def ad(self, fixed: ClassAd, slot: SlotId, now: float, loads: Loads, number: int, started_at: float) -> ClassAd:
        """The ad of one slot without its latches; it shares `fixed`."""
        keyboard_s, console_s = self._idle(slot, now, started_at)
        load, own = loads.slots[number]
        minute, day = clock(now, self.zone_offset_s)
        cells: dict[str, Cell] = {
            "keyboardidle": keyboard_s,
            "consoleidle": console_s,
            "totalloadavg": loads.system,
            "totalcondorloadavg": loads.jobs,
            "loadavg": load,
            "condorloadavg": own,
            "clockmin": minute,
            "clockday": day,
            "mycurrenttime": int(now),
        }
        return ad_of_cells(cells, fixed)

    def _idle(self, slot: SlotId, now: float, started_at: float) -> tuple[int, int]:
        idle_s = self.owner.idle_s(now)
        if slot.number <= self.connected.keyboard and slot.number <= self.connected.console:
            return idle_s, idle_s
        machine = Idleness(keyboard_s=idle_s, console_s=idle_s)
        seen = slot_idleness(machine, slot, self.connected, now=now, started_at=started_at)
        assert seen.console_s is not None
        return seen.keyboard_s, seen.console_s

    def clocks(self, slot: SlotId, now: float, latched: Mapping[str, Value]) -> dict[str, float]:
        """Attributes of a slot that grow by one each second."""
        clocks = {"mycurrenttime": 1.0}
        away = not self.owner.is_present(now)
        if away or slot.number > self.connected.keyboard:
            clocks["keyboardidle"] = 1.0
        if away or slot.number > self.connected.console:
            clocks["consoleidle"] = 1.0
        if latched.get("CpuIsBusy") is True:
            clocks["cpubusytime"] = 1.0
        return clocks

    def steps(self, now: float) -> dict[str, float]:
        """Attributes that change at known instants."""
        local = int(now) + self.zone_offset_s
        steps = dict.fromkeys(_OF_LOAD, self.owner.next_load(now))
        steps["keyboardidle"] = steps["consoleidle"] = self.owner.next_presence(now)
        steps["clockmin"] = float(int(now) + 60 - local % 60)
        steps["clockday"] = float(int(now) + DAY_S - local % DAY_S)
        return steps

    def reaches(self, slot: SlotId, now: float) -> dict[str, Reach]:
        """Idle times that are reset to 0 when the owner comes: a limit to when they exceed it."""
        beyond = partial(self.owner.idle_beyond, now)
        found: dict[str, Reach] = {}
        if slot.number <= self.connected.keyboard:
            found["keyboardidle"] = beyond
        if slot.number <= self.connected.console:
            found["consoleidle"] = beyond
        return found


# Ads are filled by folded names here, so the spellings must be registered first.
ClassAd(dict.fromkeys(_NAMES.split(), 0))
