"""The machine of a replay: the real node daemon, with sensors that read the scenario.

Keyboard, console, load, attributes and size are those of the scenario at every instant. Jobs run as the user of the
replay, and their sizes are those given by the scenario.

In the simulation cleaning up after a job takes no time, and decisions take into account all jobs that have ended at an
instant. So no machine reports the end of a job here before cleanup is done for all of them.

A running job has the cores of its slot to itself, as in the simulation; the resulting load is averaged over a minute,
as the daemon does with its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from roost.base.records import dataclass, replace
from roost.config import Config
from roost.lab.replay.jobs import StandIns, stand_in_for
from roost.lab.scenario.sensors import ScenarioSensors
from roost.lab.scenario.values import ScenarioMachine
from roost.model.events import FetchedWorkOffered
from roost.model.queue_context import QueueContext
from roost.model.slots import SlotId
from roost.model.starter import Usage
from roost.node.host_slots import Starter
from roost.node.machine import Machine, NodeSlot
from roost.node.plan import Reading
from roost.runtime.node.daemon import NodeDaemon
from roost.runtime.node.runs.local_run import Surroundings
from roost.runtime.node.sensors import Replacements, Sensors
from roost.runtime.node.starter_orders import RunCalls
from roost.runtime.node.state import NodeState
from roost.runtime.processes.family import Family, bury
from roost.runtime.processes.fork_server import ForkServer
from roost.runtime.processes.shepherd.processes import kill_family
from roost.runtime.processes.spawn_order import NotStarted, SpawnOrder
from roost.sim.machine.own_work import BENCHMARK_S, FETCH_S
from roost.sim.machine.pattern import platform
from roost.startd.machine import SlotStep
from roost.startd.slot_state import SlotState
from roost.startd.work import Taken
from roost.starter.starter_state import StarterState
from roost.starter.states import Stage, State

_MIPS: Final = 1000
_KFLOPS: Final = 1_000_000


class ReplayFamily(Family):
    """The processes of a run, which take as long to die as in the simulation."""

    #: The processes of all jobs.
    jobs: StandIns | None = None

    async def kill(self) -> bool:
        """Send SIGKILL to every process when it is due, and return whether all are gone."""
        if self.jobs is not None:
            await self.jobs.die(self)
        return await super().kill()


class WatchedForkServer(ForkServer):
    """A fork server that tracks what it has started and what is being started."""

    family_type = ReplayFamily
    #: The processes of the current scenario's jobs; None between scenarios.
    jobs: StandIns | None = None
    starting = 0
    families: dict[str, Family]

    async def spawn(self, order: SpawnOrder) -> Family | NotStarted:
        """Start a program."""
        self.starting += 1
        try:
            found = await super().spawn(stand_in_for(order))
        finally:
            self.starting -= 1
        if isinstance(found, ReplayFamily):
            found.jobs = self.jobs
            self.families[found.key] = found
        return found

    def under_way(self, jobs: StandIns) -> str:
        """What is known to be in progress; "" for nothing."""
        if self.starting:
            return "the start of a program"
        for key, family in list(self.families.items()):
            if family.is_ended:
                del self.families[key]
            elif found := self._doing(key, family, jobs):
                return found
        return ""

    def _doing(self, key: str, family: Family, jobs: StandIns) -> str:
        if _is_client(key) or (_is_hook(key) and jobs.waits(family)):
            return ""
        return f"the hook {key}" if _is_hook(key) else jobs.under_way(family)

    @property
    def running(self) -> list[Family]:
        """The existing jobs."""
        return [
            family
            for key, family in self.families.items()
            if not family.is_ended and not _is_hook(key) and not _is_client(key)
        ]


def _is_hook(key: str) -> bool:
    return key.startswith("fetch.") or "/hook" in key


def _is_client(key: str) -> bool:
    return key.startswith("backfill")


async def _cut_off(family: Family) -> None:
    """A power failure kills a job and its shepherd, which does not observe the end; its control group is removed,
    too."""
    os.kill(family.shepherd, signal.SIGSTOP)
    await asyncio.to_thread(kill_family, family.shepherd, None)
    os.kill(family.shepherd, signal.SIGKILL)
    await asyncio.to_thread(bury, family.record, family.key, family.started)


@dataclass(slots=True, kw_only=True)
class ScenarioReadings(Sensors):
    """The sensors of a scenario's machine."""

    replayed: ScenarioMachine
    seen: ScenarioSensors
    node: ReplayNode

    def read(self, cpu_percent: Any = None, *, now: float | None = None) -> Reading:
        """The sensor readings at an instant."""
        assert now is not None
        machine = self.node.machine
        wanted = {slot.plan.id: float(slot.plan.cpus) for slot in machine.slots if self.node.runs(slot)}
        owner, cores = self.seen.owner.load(now), max(1, self.replayed.hardware.cpus)
        scale = min(1.0, cores / max(1e-9, owner + sum(wanted.values())))
        percents = {slot: 100 * cpus * scale for slot, cpus in wanted.items()}
        self.replacements = Replaced(self._values(now, owner, cores, percents))
        return Sensors.read(self, percents, now=now)

    def _values(self, now: float, owner: float, cores: int, percents: dict[SlotId, float]) -> dict[str, Any]:
        mean = self.node.mean_percent(percents, now) / 100
        system = owner + mean
        if system > cores and mean < cores:
            system = max(cores, owner / (1 - mean / cores))
        attributes: dict[str, Any] = {}
        for at, given in self.seen.changes:
            if at <= now:
                attributes |= {name: given.cell(name.lower()) for name in given}
        return {
            **_size(self.replayed),
            "keyboard_idle_s": self.seen.owner.idle_s(now),
            "console_idle_s": self.seen.console.idle_s(now),
            "load": system,
            "attributes": attributes,
        }


def _size(replayed: ScenarioMachine) -> dict[str, Any]:
    hardware = replayed.hardware
    return {
        "cpus": hardware.cpus,
        "memory_mb": hardware.memory_mb,
        "swap_kb": 0,
        "disk_kb": hardware.disk_kb,
        "zone_offset_s": 0,
    }


class Replaced(Replacements):
    """Values instead of a file of them."""

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__(None)
        self._given = values

    def values(self) -> dict[str, Any]:
        """The values."""
        return self._given


class _Forgetful(NodeState):
    """Keeps no records: no daemon of a replay resumes from another's."""

    def touch(self, slot: NodeSlot, machine: Machine) -> None:
        """A slot has changed."""

    def starter_stepped(self, slot: NodeSlot, machine: Machine) -> None:
        """A starter has taken a step."""

    def keep_claim(self, slot: NodeSlot, machine: Machine) -> None:
        """A claim for further tasks of a parallel job is granted."""


def _clears_up(state: SlotState) -> bool:
    """Whether the job of a slot has ended, but not its starter."""
    activation = state.claim.activation
    return activation is not None and activation.ended


def _ends(state: StarterState) -> bool:
    """Whether a starter whose job is told to end has not learnt of that yet, or has only its own work left."""
    return state.stage in (Stage.JOB, Stage.OUTPUT, Stage.CLEANUP)


class MachinePool(Protocol):
    """The interface of the pool for a machine."""

    #: The beginning of the scenario, epoch s.
    start: float
    fork_server: WatchedForkServer
    jobs: StandIns
    #: Slot and transition, in order.
    taken: list[tuple[str, Taken]]

    def let_machines_talk(self) -> None:
        """Let machines send their messages, unless one of them is cleaning up after a job."""


class ReplayNode(NodeDaemon):
    """The machine's daemon."""

    def __init__(self, pool: MachinePool, replayed: ScenarioMachine, *args: Any) -> None:
        self.pool = pool
        self.replayed = replayed
        #: Count of starters' events and orders to processes.
        self.moves = 0
        super().__init__(*args)
        # Jobs of all owners run as the user of the replay.
        self.file_workers.are_needed = False
        self.state = _Forgetful(self.context.home.run / "slots", self.clock, self.reports)

    def execute_directories(self, config: Config) -> Mapping[int, Path]:
        """A directory within the replay, whatever the scenario's EXECUTE is."""
        return {0: self.context.home.execute}

    def _sensors(self, config: Config) -> Sensors:
        from roost.startd.idleness import connections

        replayed = self.replayed
        return ScenarioReadings(
            execute=self.scratch.configured[0],
            replacements=Replaced(_size(replayed)),
            replayed=replayed,
            seen=replayed.sensors(self.pool.start, connections(config)),
            node=self,
        )

    def platform(self, config: Config) -> dict[str, Any]:
        """The platform of the simulation's machines."""
        return {**platform(config), **self.replayed.hardware.attributes}

    async def start_fork_server(self) -> ForkServer:
        """The fork server of the pool."""
        return self.pool.fork_server

    async def benchmark(self) -> tuple[int | None, int | None]:
        """The benchmark results of the simulation's machines."""
        await asyncio.sleep(BENCHMARK_S)
        return _MIPS, _KFLOPS

    def surroundings(self, slot: NodeSlot, starter: Starter, calls: RunCalls) -> Surroundings:
        """The surroundings in which a starter carries out effects."""
        found = super().surroundings(slot, starter, calls)

        def tell(event: Any) -> None:
            self.moves += 1
            found.tell(event)

        return replace(found, tell=tell, measure=self._measured, as_daemon=True, context=self._private(found.context))

    def _private(self, context: QueueContext | None) -> QueueContext | None:
        """The context of a queue instance with TMPDIR inside the replay's directory, which is removed with it."""
        return None if context is None else replace(context, tmpdir=str(self.context.home.execute))

    async def _measured(self, family: Family) -> Usage | None:
        return self.pool.jobs.usage(family)

    def runs(self, slot: NodeSlot) -> bool:
        """Whether the job of a slot is running and not stopped."""
        runner = None if slot.starter is None else self.starter_orders.runners.get(slot.starter)
        return runner is not None and self.pool.jobs.runs(runner.family)

    def is_to_end(self, pid: int) -> bool:
        """Whether the job of this process must end; one that continues is only asked to save its work."""
        return not any(
            runner.family is not None and runner.family.pid == pid and starter.state.state is State.RUNNING
            for starter, runner in self.starter_orders.runners.items()
        )

    def mean_percent(self, percents: dict[SlotId, float], now: float) -> float:
        """The average use of all slots' jobs after a poll with these samples, percent of one core."""
        polled_at, polling_s = self.machine.polled_at, self.machine.plan.polling_s
        since_s = polling_s if polled_at is None else max(1.0, now - polled_at)
        uses = (
            slot.use.sampled(percents.get(slot.plan.id, 0.0), since_s=since_s, polling_interval_s=polling_s)
            for slot in self.machine.slots
        )
        return sum(use.mean_percent for use in uses)

    def fetched(self, slot: NodeSlot, event: FetchedWorkOffered) -> None:
        """A hook has answered whether there is work, after as long as in the simulation."""
        asyncio.get_running_loop().call_later(FETCH_S, super().fetched, slot, event)

    def carry_out(self, outs: Any) -> None:
        """Carry out the core's effects."""
        if outs:
            self.moves += sum(out.starter is not None for out in outs)
        super().carry_out(outs)

    def stepped(self, slot: NodeSlot, before: SlotState, taken: SlotStep, now: float) -> None:
        """A slot has taken a step."""
        self.pool.taken += [(slot.name, each) for each in taken.transitions]
        super().stepped(slot, before, taken, now)
        self.pool.let_machines_talk()

    @property
    def clears_up(self) -> bool:
        """Whether a job is ending or being cleaned up."""
        if any(_clears_up(each.state) for each in self.machine.slots):
            return True
        runners = self.starter_orders.runners.items()
        return any(_ends(starter.state) and self.pool.jobs.ends(runner.family) for starter, runner in runners)

    async def die(self) -> None:
        """The machine's power fails: daemon and jobs are gone without a message."""
        self._background.cancel()
        self.slot_orders.drop_timers()
        for runner in list(self.starter_orders.runners.values()):
            family = runner.family
            # A family that was dropped is over.
            lives = family is not None and not family.is_ended
            runner.forget()
            if family is not None and lives:
                await _cut_off(family)
        self.door.close()
        await self.backfill.stop()
        self.fork_server = None
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
        self.state.close()
