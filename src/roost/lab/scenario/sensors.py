"""The sensors of a scenario's machine: what `sim.sensors` reads, plus a console separate from the terminals, and
attributes of the machine that change at known instants.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from functools import partial

from roost.base.records import dataclass
from roost.classad import ClassAd, Value
from roost.classad.values import fold
from roost.model.slots import SlotId
from roost.sim.forecast.steadiness import Reach
from roost.sim.inputs.owners import NOBODY, OwnerTrace
from roost.sim.machine.sensors import Loads, Sensors
from roost.startd.idleness import Idleness, slot_idleness


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioSensors(Sensors):
    """`owner` is the use of any keyboard; `console`, that of the machine's own keyboard."""

    console: OwnerTrace = NOBODY
    #: (epoch s, attributes of the machine from then on), in order.
    changes: tuple[tuple[float, ClassAd], ...] = ()

    def ad(self, fixed: ClassAd, slot: SlotId, now: float, loads: Loads, number: int, started_at: float) -> ClassAd:
        """The ad of one slot, except for its latches."""
        # `super()` without arguments does not work in a class that `slots=True` has created again.
        ad = Sensors.ad(self, fixed, slot, now, loads, number, started_at)
        for at, given in self.changes:
            if at <= now:
                for name in given:
                    ad.put(name, given.cell(fold(name)))  # type: ignore[arg-type]
        return ad

    def _idle(self, slot: SlotId, now: float, started_at: float) -> tuple[int, int]:
        machine = Idleness(keyboard_s=self.owner.idle_s(now), console_s=self.console.idle_s(now))
        seen = slot_idleness(machine, slot, self.connected, now=now, started_at=started_at)
        assert seen.console_s is not None
        return seen.keyboard_s, seen.console_s

    def clocks(self, slot: SlotId, now: float, latched: Mapping[str, Value]) -> dict[str, float]:
        """Attributes of a slot that grow by one each second."""
        clocks = Sensors.clocks(self, slot, now, latched)
        if slot.number <= self.connected.console:
            clocks.pop("consoleidle", None)
            if not self.console.is_present(now):
                clocks["consoleidle"] = 1.0
        return clocks

    def steps(self, now: float) -> dict[str, float]:
        """Attributes that change at known instants."""
        steps = Sensors.steps(self, now)
        steps["consoleidle"] = self.console.next_presence(now)
        times = [at for at, _ in self.changes]
        place = bisect_right(times, now)
        for at, given in self.changes[place:]:
            for name in given:
                steps[fold(name)] = min(at, steps.get(fold(name), math.inf))
        return steps

    def reaches(self, slot: SlotId, now: float) -> dict[str, Reach]:
        """Idle times that reset to 0 when the owner arrives; not those that are given."""
        found = Sensors.reaches(self, slot, now)
        if "consoleidle" in found:
            found["consoleidle"] = partial(self.console.idle_beyond, now)
        for name in {fold(name) for _, given in self.changes for name in given} & found.keys():
            del found[name]
        return found
