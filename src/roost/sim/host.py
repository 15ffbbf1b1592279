"""A simulated execute machine: the real slot cores, fed with sensor readings, and their orders carried out.

Polling. A machine polls its slots on a grid: every POLLING_INTERVAL while some slot is claimed, being freed or does
backfill, else every UPDATE_INTERVAL. With `exhaustive` every poll of the grid happens. Otherwise `quiet` says until
when polls can't matter, and only the first one that can happens. Before an event reaches a slot, its ad is made that
of the last poll of the grid, left out or not. So both ways give the same run; the first is there to prove that.

What it does not do: partitionable slots (an order to split one is refused), backfill clients, and fetched work.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from roost.classad import ClassAd, Expr, Value
from roost.classad.ad import MISSING
from roost.classad.refs import references_in
from roost.classad.values import fold
from roost.model import effects as ef
from roost.model import events as ev
from roost.model.identifiers import ClaimIdSource
from roost.model.slots import SlotId, SlotKind
from roost.sim.engine import RANK_POLL, Engine
from roost.sim.process import End, Process
from roost.sim.quiet import quiet_until
from roost.sim.sensors import Loads, Sensors
from roost.startd.attributes import OWNED
from roost.startd.machine import Step, step
from roost.startd.policy_inputs import Inputs, SlotPolicy, StepWorld, truth_of
from roost.startd.slot_ad_latches import Latches
from roost.startd.slot_ad_neighbours import shown_to_neighbours
from roost.startd.slot_state import SlotState, new_slot
from roost.startd.states import State
from roost.startd.timers import polling_needed

#: How long benchmarks take, s.
BENCHMARK_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotPlan:
    """One slot of a machine before the run."""

    name: str
    id: SlotId
    policy: SlotPolicy
    #: Attributes that don't change: sizes, names, WithinResourceLimits.
    ad: ClassAd
    cpus: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinePlan:
    """A machine before the run."""

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


class Watcher(Protocol):
    """Who is told what happens on machines."""

    def stepped(self, machine: Machine, slot: Slot, step: Step, now: float) -> None:
        """A slot has taken transitions."""

    def run_begun(self, machine: Machine, slot: Slot, process: Process, now: float) -> None:
        """A job has begun to run."""

    def ran(self, machine: Machine, slot: Slot, process: Process, begin: float, end: float) -> None:
        """A job has run for a stretch without standing still."""

    def run_ended(self, machine: Machine, slot: Slot, process: Process, end: End, now: float) -> None:
        """A run is over."""

    def reply(self, machine: Machine, slot: Slot, effect: ef.Effect, now: float) -> None:
        """A slot has something to say to a queue."""


class Slot:
    """A slot at work."""

    __slots__ = ("benchmark", "machine", "order", "plan", "process", "rejected", "state", "timers")

    def __init__(self, plan: SlotPlan, machine: Machine, state: SlotState) -> None:
        self.plan = plan
        self.machine = machine
        self.state = state
        self.process: Process | None = None
        #: Number of the only setting of each timer that counts.
        self.timers = dict.fromkeys(ev.Timer, 0)
        self.benchmark = 0
        #: Place in the order in which a matcher offers slots.
        self.order = 0
        #: Kind of job to the time of the poll at which it did not match.
        self.rejected: dict[str, float] = {}


class Machine:
    """A machine at work."""

    __slots__ = (
        "_born_at", "_busy_is_sensed", "_event_at", "_generation", "_has_busy", "_ids", "_start", "alive", "engine",
        "exhaustive", "index", "jobs", "latches", "lives", "plan", "polled_at", "polls", "slots", "watcher",
    )  # fmt: skip

    def __init__(
        self,
        plan: MachinePlan,
        index: int,
        engine: Engine,
        watcher: Watcher,
        jobs: Callable[[ClassAd], tuple[object, float]],
        *,
        exhaustive: bool = False,
    ) -> None:
        self.plan = plan
        self.index = index
        self.engine = engine
        self.watcher = watcher
        #: Job's ad to the job, and the work of it that is done.
        self.jobs = jobs
        # What slots show each other and other latches are not followed: such machines are polled whenever it is due.
        self.exhaustive = exhaustive or bool(plan.neighbour_names or plan.latch_names)
        self.alive = False
        self.lives = 0
        #: Polls that happened.
        self.polls = 0
        self._generation = 0
        self._has_busy = any(each.policy.expressions.cell("cpubusy") is not MISSING for each in plan.slots)
        self._ids = [each.id for each in plan.slots]
        self._start = engine.now + plan.phase_s
        self.begin(engine.now)

    # -- life and death ------------------------------------------------------------------------------

    def begin(self, now: float) -> None:
        """The daemon starts, with fresh slots."""
        self.alive = True
        self.lives += 1
        self._born_at = now
        self.latches = [Latches()] * len(self.plan.slots)
        self.polled_at = now
        self._event_at = now
        self.slots = [Slot(each, self, self._fresh(each, now)) for each in self.plan.slots]
        loads = self._loads(now)
        for number, slot in enumerate(self.slots):
            slot.state = replace(slot.state, ad=self._sense(number, now, loads))
        self._busy_is_sensed = self._only_sensed()
        # A daemon looks at its policy as soon as it runs; machines are not started in step.
        self._generation += 1
        generation = self._generation
        first = max(now, self._start)
        self.engine.at(
            first, lambda then: self._poll(then) if generation == self._generation else None, RANK_POLL, self.index
        )

    def _fresh(self, plan: SlotPlan, now: float) -> SlotState:
        ids = ClaimIdSource(
            address=f"<{self.plan.name}>", birth=int(now), block=plan.id.number, key=f"{self.lives}".encode()
        )
        return new_slot(plan.name, kind=SlotKind.STATIC, ids=ids, now=now, ad=plan.ad)

    def die(self, now: float) -> None:
        """The daemon and everything below it are gone."""
        self.alive = False
        self._generation += 1
        for slot in self.slots:
            process, slot.process = slot.process, None
            if process is not None:
                self.watcher.run_ended(self, slot, process, process.vanish(now), now)

    # -- polls -------------------------------------------------------------------------------------

    def _grid(self, now: float, fast: bool) -> tuple[float, float]:
        """The last instant of the grid that is not after `now`, and the first one that is."""
        last, after = -math.inf, math.inf
        for interval in (self.plan.update_s, self.plan.polling_s) if fast else (self.plan.update_s,):
            passed = math.floor((now - self._start) / interval)
            last = max(last, self._start + passed * interval)
            after = min(after, self._start + (passed + 1) * interval)
        return last, after

    @property
    def _fast(self) -> bool:
        return polling_needed(slot.state for slot in self.slots)

    def _plan_poll(self, now: float, quiet: float = -math.inf) -> None:
        """Plan the first poll after `now` that is not before the end of the quiet."""
        self._generation += 1
        fast = self._fast
        _, at = self._grid(now, fast)
        if quiet > at:
            if quiet == math.inf:
                return
            last, after = self._grid(quiet, fast)
            at = last if last >= quiet else after
        generation = self._generation
        self.engine.at(
            at, lambda then: self._poll(then) if generation == self._generation else None, RANK_POLL, self.index
        )

    def _poll(self, now: float) -> None:
        # After an event there is seldom anything to do; at the end of a quiet time there mostly is.
        if not self.exhaustive and self._event_at > self.polled_at:
            quiet = self._look(now)
            if quiet > now:
                self._plan_poll(now, quiet)
                return
        self.polls += 1
        self.polled_at = now
        neighbours = self._neighbours(now)
        for number, slot in enumerate(self.slots):
            ad = self._sense_anew(number, now, self._loads(now))
            for name, value in neighbours.items():
                ad.put(name, value)
            self._take(slot, step(slot.state, ev.Polled(ad=ad), now, slot.plan.policy), now)
        self._plan_poll(now, -math.inf if self.exhaustive else self._quiet(now))

    def _look(self, now: float) -> float:
        """Until when polls can't matter, this one included; if so, the ads are those of this poll."""
        before = [slot.state for slot in self.slots]
        loads = self._loads(now)
        for number, slot in enumerate(self.slots):
            ad = self._sense(number, now, loads)
            if self._has_busy:
                world = StepWorld(slot.plan.policy, slot.state.name, now)
                busy = truth_of(self._latch_ad(slot, ad, now).eval("CpuBusy", None, world)) is True
                if busy is not (self.latches[number].busy_since is not None):
                    quiet = now
                    break
            slot.state = replace(slot.state, ad=ad)
        else:
            quiet = self._quiet(now)
        if quiet > now:
            self.polled_at = now
        else:
            for slot, state in zip(self.slots, before, strict=True):
                slot.state = state
        return quiet

    def _neighbours(self, now: float) -> dict[str, Value]:
        """What STARTD_SLOT_ATTRS shows of each slot to the others."""
        names = self.plan.neighbour_names
        if not names:
            return {}
        policy = self.slots[0].plan.policy
        ads = {slot.plan.id: Inputs(slot.state, slot.plan.policy, now).my for slot in self.slots}
        return shown_to_neighbours(ads, names, StepWorld(policy, self.plan.name, now))

    def _quiet(self, now: float) -> float:
        """Until when polls can't matter."""
        until = math.inf
        steps = self.plan.sensors.steps(now)
        for number, slot in enumerate(self.slots):
            latched = {"CpuIsBusy": self.latches[number].busy_since is not None}
            clocks = self.plan.sensors.clocks(slot.plan.id, now, latched)
            until = min(until, self._quiet_of(slot, now, clocks, steps))
            if until <= now:
                break
        return until

    def _quiet_of(self, slot: Slot, now: float, clocks: dict[str, float], steps: dict[str, float]) -> float:
        reaches = self.plan.sensors.reaches(slot.plan.id, now)
        return quiet_until(slot.state, slot.plan.policy, now, clocks, steps, reaches, latch=self._has_busy)

    def sync(self, now: float) -> None:
        """Make the ads those of the last poll of the grid, if that was left out."""
        if self.exhaustive or not self.alive:
            return
        last, _ = self._grid(now, self._fast)
        if last <= self.polled_at or last <= self._event_at:
            return
        self.polled_at = last
        loads = self._loads(last)
        for number, slot in enumerate(self.slots):
            slot.state = replace(slot.state, ad=self._sense(number, last, loads))

    # -- sensors -------------------------------------------------------------------------------------

    def _loads(self, now: float) -> Loads:
        jobs = [
            float(slot.plan.cpus) if slot.process is not None and slot.process.running_since is not None else 0.0
            for slot in self.slots
        ]
        states = [slot.state.state for slot in self.slots]
        return self.plan.sensors.loads(now, jobs, self._ids, states)

    def _sense(self, number: int, now: float, loads: Loads) -> ClassAd:
        """The ad of a slot, its latches as they are."""
        plan = self.plan.slots[number]
        ad = self.plan.sensors.ad(plan.ad, plan.id, now, loads, number, self._born_at)
        since = self.latches[number].busy_since
        if self._has_busy:
            ad.cells["cpuisbusy"] = since is not None
            ad.cells["cpubusytime"] = 0 if since is None else int(now - since)
        return ad

    def _sense_anew(self, number: int, now: float, loads: Loads) -> ClassAd:
        """The ad of a slot as a poll makes it: latches are looked at."""
        ad = self._sense(number, now, loads)
        slot = self.slots[number]
        policy = slot.plan.policy
        if self._has_busy or self.plan.latch_names:
            my = self._latch_ad(slot, ad, now)
            world = StepWorld(policy, slot.state.name, now)
            self.latches[number], found = self.latches[number].advanced(my, self.plan.latch_names, now=now, world=world)
            for name, value in found.items():
                ad.put(name, value)
        return ad

    def _latch_ad(self, slot: Slot, ad: ClassAd, now: float) -> ClassAd:
        """The slot's whole ad, or as much of it as CpuBusy asks for."""
        if not self._busy_is_sensed:
            return Inputs(replace(slot.state, ad=ad), slot.plan.policy, now).my
        small = ClassAd()
        small.cells["cpubusy"] = slot.plan.policy.expressions.cells["cpubusy"]
        small.chained = ad
        return small

    def _only_sensed(self) -> bool:
        """Whether CpuBusy asks for nothing but what sensors say and what never changes."""
        if not self._has_busy or self.plan.latch_names:
            return False
        for slot in self.slots:
            expression = slot.plan.policy.expressions.cell("cpubusy")
            if not isinstance(expression, Expr) or "cpubusy" in slot.state.ad:
                return False
            found = references_in(expression, slot.state.ad)
            own = OWNED.union(slot.plan.policy.expressions.cells)
            if found.external or any(fold(name) in own for name in found.internal):
                return False
        return True

    # -- events and orders ---------------------------------------------------------------------------

    def receive(self, number: int, event: ev.Event, now: float, life: int) -> None:
        """An event reaches a slot, unless the daemon that it was meant for is dead."""
        if not self.alive or life != self.lives:
            return
        slot = self.slots[number]
        if isinstance(event, ev.AliveReceived):
            # No expression is asked, and nothing but the lease changes: the plan of polls stays.
            taken = step(slot.state, event, now, slot.plan.policy)
            assert not taken.transitions
            self._take(slot, taken, now)
            return
        self.sync(now)
        self._take(slot, step(slot.state, event, now, slot.plan.policy), now)
        self._event_at = now
        self._plan_poll(now)

    def _take(self, slot: Slot, taken: Step, now: float) -> None:
        slot.state = taken.state
        if taken.transitions:
            slot.rejected.clear()
            self.watcher.stepped(self, slot, taken, now)
        for effect in taken.effects:
            self._perform(slot, effect, now)

    def _perform(self, slot: Slot, effect: ef.Effect, now: float) -> None:
        match effect:
            case ef.ActivateStarter():
                self._start_job(slot, effect, now)
            case ef.SuspendJob() if slot.process is not None:
                slot.process.suspend(now)
            case ef.ContinueJob() if slot.process is not None:
                slot.process.resume(now)
            case ef.SoftKill(notice=notice) if slot.process is not None:
                slot.process.soft_kill(notice, now)
            case ef.HardKill(notice=notice) if slot.process is not None:
                slot.process.hard_kill(notice, now)
            case ef.KillFamily() if slot.process is not None:
                slot.process.hard_kill(None, now)
            case ef.SetTimer(timer=timer, at=at):
                self._set_timer(slot, timer, max(at, now))
            case ef.CancelTimer(timer=timer):
                slot.timers[timer] += 1
            case ef.RunBenchmarks():
                self._benchmark(slot, now)
            case ef.CancelBenchmarks():
                slot.benchmark += 1
            case ef.SendClaimReply() | ef.SendActivationReply() | ef.SendAliveReply() | ef.TellSchedd():
                self.watcher.reply(self, slot, effect, now)

    def _start_job(self, slot: Slot, effect: ef.ActivateStarter, now: float) -> None:
        job, done_s = self.jobs(effect.job_ad)
        number, life = self.slots.index(slot), self.lives

        def ended(process: Process, end: End, then: float) -> None:
            # The load of the job belongs to the polls before its end.
            self.sync(then)
            slot.process = None
            self.watcher.run_ended(self, slot, process, end, then)
            self.receive(number, ev.StarterExited(), then, life)

        def stretch(process: Process, begin: float, end: float) -> None:
            self.watcher.ran(self, slot, process, begin, end)

        slot.process = Process(self.engine, job, done_s, now, ended, stretch)  # type: ignore[arg-type]
        self.watcher.run_begun(self, slot, slot.process, now)

    def _set_timer(self, slot: Slot, timer: ev.Timer, at: float) -> None:
        slot.timers[timer] += 1
        setting, number, life = slot.timers[timer], self.slots.index(slot), self.lives

        def fire(now: float) -> None:
            if slot.timers[timer] == setting:
                self.receive(number, ev.TimerFired(timer=timer), now, life)

        self.engine.at(at, fire)

    def _benchmark(self, slot: Slot, now: float) -> None:
        slot.benchmark += 1
        setting, number, life = slot.benchmark, self.slots.index(slot), self.lives
        event = ev.BenchmarksFinished(mips=self.plan.mips, kflops=self.plan.kflops)

        def finish(then: float) -> None:
            if slot.benchmark == setting:
                self.receive(number, event, then, life)

        self.engine.at(now + BENCHMARK_S, finish)

    def is_free(self, slot: Slot) -> bool:
        """Whether a matcher may offer the slot."""
        return self.alive and slot.state.state is State.UNCLAIMED
