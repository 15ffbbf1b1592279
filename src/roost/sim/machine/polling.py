"""When a simulated machine is polled, and what its sensors then read.

A machine polls its slots on a grid: every POLLING_INTERVAL while some slot is claimed, being freed or does backfill, or
the machine is being drained, otherwise every UPDATE_INTERVAL. If it is exhaustive, every poll of the grid happens.
Otherwise `quiescence` says until when polls cannot matter, and only the first one that can matter happens. Before an
event reaches a slot, its ad is brought to the state of the last poll of the grid, whether that happened or not. Both
modes therefore produce the same run; the first exists to prove that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from roost.base.fast_records import replace
from roost.classad import ClassAd, Expr, Value
from roost.classad.ad import MISSING, ad_of_cells
from roost.classad.functions.registry import FUNCTIONS
from roost.classad.refs import references_in
from roost.classad.values import fold
from roost.model.slots import SlotKind
from roost.negotiator.reach import calls
from roost.policy.decision import StepWorld
from roost.sim.engine import RANK_POLL
from roost.sim.forecast.quiescence import quiescent_until
from roost.sim.machine.sensors import Loads
from roost.startd.attributes import OWNED
from roost.startd.policy_inputs import Inputs
from roost.startd.slot_ad.latches import Latches, is_busy
from roost.startd.slot_ad.neighbours import shown_to_neighbours
from roost.startd.slot_state import SlotState
from roost.startd.states import State
from roost.startd.timers import idle_interval_s, polling_needed

if TYPE_CHECKING:
    from roost.sim.machine.host import Machine, SimulatedSlot


#: States for which `polling_needed` holds in a static slot.
_FAST = frozenset((State.CLAIMED, State.PREEMPTING, State.BACKFILL))


#: Attributes of a slot that are functions only of the loads of its machine.
_LOADS: Final = frozenset(("loadavg", "condorloadavg", "totalloadavg", "totalcondorloadavg"))
_CALLS: Final = frozenset(FUNCTIONS)
#: Identity of CpuBusy, which is kept alive, and the loads, to whether it is TRUE.
_BUSY: Final[dict[tuple[int, float, float, tuple[float, float]], tuple[Expr, bool]]] = {}
#: Maximum number of those remembered.
_BUSY_MAX: Final = 50_000


def _world(slot: SimulatedSlot, now: float) -> StepWorld:
    return StepWorld(slot.plan.policy, slot.state.name, now)


def _job_load(slot: SimulatedSlot) -> float:
    """The load of a slot's job."""
    return float(slot.plan.cpus) if slot.run is not None and slot.run.process.running_since is not None else 0.0


def _put_back(slots: Sequence[SimulatedSlot], known: Sequence[tuple[SlotState, Latches]]) -> None:
    for slot, (state, latches) in zip(slots, known, strict=True):
        slot.state, slot.latches = state, latches


class Polling:
    """The polls of one machine."""

    __slots__ = (
        "_born_at", "_busy_is_of_load", "_busy_is_sensed", "_due_at", "_generation", "_has_busy", "_idle_s",
        "_matters_at", "_planned_at", "_start", "count", "event_at", "machine", "plan", "polled_at",
    )  # fmt: skip

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.plan = machine.plan
        #: Number of polls that happened.
        self.count = 0
        #: When the ads were made, and when the last event arrived.
        self.polled_at = machine.engine.now
        self.event_at = machine.engine.now
        self._generation = 0
        #: When the next poll is planned; infinite if none is.
        self._planned_at = math.inf
        #: The first instant of the grid after the ads were made or the last event came; nothing is due before it.
        self._due_at = -math.inf
        #: Until when the only possible effect of a poll is a new value of CpuBusy, as of the last evaluation.
        self._matters_at = -math.inf
        self._start = machine.engine.now + machine.plan.phase_s
        self._born_at = machine.engine.now
        self._read_plan()
        self._busy_is_sensed = self._busy_is_of_load = False

    def _read_plan(self) -> None:
        plan = self.plan
        self._has_busy = any(each.policy.expressions.cell("cpubusy") is not MISSING for each in plan.slots)
        self._idle_s = idle_interval_s(plan.polling_s, plan.update_s)

    def begin(self, now: float) -> None:
        """Start the daemon. It evaluates its policy at once; machines are not started in step."""
        self._born_at = self.polled_at = self.event_at = now
        loads = self._loads(now)
        for number, slot in enumerate(self.machine.host.slots):
            slot.state = replace(slot.state, ad=self._sense(number, now, loads))
        self._check_busy()
        # The grid begins with the daemon's first poll, after a restart with the first one of that.
        self._start = max(now, self._start)
        self._due_at = self._start
        self._at(self._due_at)

    def reconfigured(self, now: float) -> None:
        """Note a new plan of the machine. The daemon evaluates its new policy at once."""
        self.plan = self.machine.plan
        self._read_plan()
        self._check_busy()
        self.event_at = now
        self._due_at = -math.inf
        self._at(now)

    def end(self) -> None:
        """Stop the daemon."""
        self._cancel()

    # -- the grid --------------------------------------------------------------------------------------

    def _cancel(self) -> None:
        self._generation += 1
        self._planned_at = math.inf

    def _at(self, time: float) -> None:
        if time == self._planned_at:
            return
        self._generation += 1
        self._planned_at = time
        generation = self._generation
        self.machine.engine.at(
            time,
            lambda then: self._poll(then) if generation == self._generation else None,
            RANK_POLL,
            self.machine.index,
        )

    def _grid(self, now: float, fast: bool) -> tuple[float, float]:
        """The last instant of the grid that is not after `now`, and the first one that is."""
        start, update_s = self._start, self._idle_s
        passed = math.floor((now - start) / update_s)
        last, after = start + passed * update_s, start + (passed + 1) * update_s
        if fast:
            interval = self.plan.polling_s
            passed = math.floor((now - start) / interval)
            last, after = max(last, start + passed * interval), min(after, start + (passed + 1) * interval)
        return last, after

    @property
    def _fast(self) -> bool:
        host = self.machine.host
        if len(host.slots) == 1 and host.slots[0].plan.kind is SlotKind.STATIC:
            return host.slots[0].state.state in _FAST or host.drains.active
        return polling_needed([slot.state for slot in host.slots]) or host.drains.active

    def plan_next(self, now: float, quiet: float = -math.inf) -> None:
        """Plan the first poll after `now` that is not before the end of the quiet period."""
        fast = self._fast
        _, at = self._grid(now, fast)
        self._due_at = at
        if quiet > at:
            if quiet == math.inf:
                self._cancel()
                return
            last, after = self._grid(quiet, fast)
            at = last if last >= quiet else after
        self._at(at)

    def disturbed(self, now: float) -> None:
        """Note an event that a poll may see."""
        self.event_at = now
        self.plan_next(now)

    def _poll(self, now: float) -> None:
        self._planned_at = math.inf
        machine = self.machine
        # Immediately after an event a poll rarely has an effect; at the end of a quiet period it usually has.
        if not machine.exhaustive and (self.event_at > self.polled_at or now < self._matters_at):
            quiet = self._look(now)
            if quiet > now:
                self.plan_next(now, quiet)
                return
        self.count += 1
        self.polled_at = now
        before = self._of_loads()
        machine.polled(lambda slot: self._sense_anew(slot, now), now)
        if machine.alive:
            self.plan_next(now, -math.inf if machine.exhaustive else self._quiet_after(before, now))

    def _quiet_after(self, before: object, now: float) -> float:
        """Until when polls cannot matter, after one with this result apart from the loads of the slots."""
        if self._of_loads() == before:
            return self._quiet(now)
        # The next poll will find other loads than this one did; until then the slots do not know of that.
        slots = self.machine.host.slots
        known = [(slot.state, slot.latches) for slot in slots]
        quiet = self._look(now)
        flipped = any(slot.latches is not latches for slot, (_, latches) in zip(slots, known, strict=True))
        _put_back(slots, known)
        return now if flipped else quiet

    def _look(self, now: float) -> float:
        """Until when polls cannot matter, including this one; if so, ads and latches are those of this poll."""
        machine = self.machine
        if machine.host.drains.active:
            self._matters_at = now
            return now
        slots = machine.host.slots
        known = [(slot.state, slot.latches) for slot in slots]
        facts = machine.host.drains.facts(now)
        loads = self._loads(now)
        for number, slot in enumerate(slots):
            ad = self._sense(number, now, loads)
            if self._has_busy:
                latches = self._latched(slot, ad, number, loads, now)
                if latches is not slot.latches:
                    slot.latches = latches
                    ad = self._sense(number, now, loads)
            slot.state = replace(slot.state, ad=ad, machine=facts)
        quiet = self._quiet(now)
        if quiet > now:
            self.polled_at = now
        else:
            _put_back(slots, known)
        return quiet

    def _neighbours(self, now: float) -> dict[str, Value]:
        """What STARTD_SLOT_ATTRS shows of each slot in the others' ads."""
        names = self.plan.neighbour_names
        if not names:
            return {}
        slots = self.machine.host.slots
        ads = {slot.plan.id: Inputs(slot.state, slot.plan.policy, now).my for slot in slots}
        return shown_to_neighbours(ads, names, StepWorld(slots[0].plan.policy, self.plan.name, now))

    def _quiet(self, now: float) -> float:
        """Until when polls cannot matter."""
        matters_at = math.inf
        sensors = self.plan.sensors
        steps = sensors.steps(now)
        # Functions of the loads keep their values while the loads do.
        flips_at, latch = (steps["loadavg"], False) if self._busy_is_of_load else (math.inf, self._has_busy)
        for slot in self.machine.host.slots:
            latched = {"CpuIsBusy": slot.latches.busy_since is not None}
            clocks = sensors.clocks(slot.plan.id, now, latched)
            reaches = sensors.reaches(slot.plan.id, now)
            quiet = quiescent_until(slot.state, slot.plan.policy, now, clocks, steps, reaches, latch=latch)
            matters_at, flips_at = min(matters_at, quiet.matters_at), min(flips_at, quiet.flips_at)
            if matters_at <= now:
                break
        self._matters_at = matters_at
        return min(matters_at, flips_at)

    def sync(self, now: float) -> None:
        """Bring the ads to the state of the last poll of the grid, if that was left out."""
        if now < self._due_at:
            return
        machine = self.machine
        last, after = self._grid(now, self._fast)
        if last <= self.polled_at or last <= self.event_at:
            return
        self.polled_at = last
        self._due_at = after
        facts = machine.host.drains.facts(last)
        loads = self._loads(last)
        for number, slot in enumerate(machine.host.slots):
            slot.state = replace(slot.state, ad=self._sense(number, last, loads), machine=facts)

    # -- sensors -----------------------------------------------------------------------------------------

    def _loads(self, now: float) -> Loads:
        slots, sensors = self.machine.host.slots, self.plan.sensors
        if len(slots) == 1:
            return sensors.load_alone(now, _job_load(slots[0]))
        jobs, states = [_job_load(slot) for slot in slots], [slot.state.state for slot in slots]
        return sensors.loads(now, jobs, [slot.plan.id for slot in slots], states)

    def _of_loads(self) -> object:
        """The inputs of the loads besides the time: on several slots the owner's load depends on their states."""
        slots = self.machine.host.slots
        if len(slots) == 1:
            return _job_load(slots[0])
        return [(_job_load(slot), slot.state.state) for slot in slots]

    def _sense(self, number: int, now: float, loads: Loads) -> ClassAd:
        """The ad of a slot, its latches as they are."""
        slot = self.machine.host.slots[number]
        plan = slot.plan
        ad = self.plan.sensors.ad(plan.ad, plan.id, now, loads, number, self._born_at)
        since = slot.latches.busy_since
        if self._has_busy:
            ad.cells["cpuisbusy"] = since is not None
            ad.cells["cpubusytime"] = 0 if since is None else int(now - since)
        return ad

    def _sense_anew(self, slot: SimulatedSlot, now: float) -> ClassAd:
        """The ad of a slot as a poll makes it, with updated latches and neighbours."""
        number, loads = self.machine.host.slots.index(slot), self._loads(now)
        if self._busy_is_of_load:
            slot.latches = self._latched(slot, None, number, loads, now)
        ad = self._sense(number, now, loads)
        if not self._busy_is_of_load and (self._has_busy or self.plan.latch_names):
            my = self._latch_ad(slot, ad, now)
            names = self.plan.latch_names
            slot.latches, found = slot.latches.advanced(my, names, now=now, world=_world(slot, now))
            for name, value in found.items():
                ad.put(name, value)
        for name, value in self._neighbours(now).items():
            ad.put(name, value)
        return ad

    def _latched(self, slot: SimulatedSlot, ad: ClassAd | None, number: int, loads: Loads, now: float) -> Latches:
        """The slot's latches after a pass; `ad`, as sensed, if CpuBusy refers to more than loads."""
        if not self._busy_is_of_load:
            assert ad is not None
            latches, _ = slot.latches.advanced(self._latch_ad(slot, ad, now), (), now=now, world=_world(slot, now))
            return latches
        expression = slot.plan.policy.expressions.cells["cpubusy"]
        key = id(expression), loads.system, loads.jobs, loads.slots[number]
        known = _BUSY.get(key)
        if known is None:
            if len(_BUSY) >= _BUSY_MAX:
                _BUSY.clear()
            ad = self._sense(number, now, loads) if ad is None else ad
            assert isinstance(expression, Expr)
            known = _BUSY[key] = expression, is_busy(self._latch_ad(slot, ad, now), _world(slot, now))
        return slot.latches.with_busy(known[1], now)

    def _latch_ad(self, slot: SimulatedSlot, ad: ClassAd, now: float) -> ClassAd:
        """The slot's whole ad, or the part of it that CpuBusy refers to."""
        if not self._busy_is_sensed:
            return Inputs(replace(slot.state, ad=ad), slot.plan.policy, now).my
        return ad_of_cells({"cpubusy": slot.plan.policy.expressions.cells["cpubusy"]}, ad)

    def _check_busy(self) -> None:
        """Determine whether CpuBusy refers only to sensor readings and constants, or only to loads."""
        self._busy_is_sensed = self._busy_is_of_load = self._has_busy and not self.plan.latch_names
        for slot in self.machine.host.slots if self._busy_is_sensed else ():
            expression = slot.plan.policy.expressions.cell("cpubusy")
            if not isinstance(expression, Expr) or "cpubusy" in slot.state.ad:
                self._busy_is_sensed = self._busy_is_of_load = False
                return
            found = references_in(expression, slot.state.ad)
            names, own = set(map(fold, found.internal)), OWNED.union(slot.plan.policy.expressions.cells)
            self._busy_is_sensed = self._busy_is_sensed and not found.external and names.isdisjoint(own)
            of_load = self._busy_is_sensed and names <= _LOADS and not calls(expression, _CALLS)
            self._busy_is_of_load = self._busy_is_of_load and of_load
