"""The pool of a replay: central manager, queue and one machine in one driven event loop, on a real bus and database.

What lasts from scenario to scenario (the bus's server, the nursery that starts jobs) is `Stage`; everything else is
made anew for each, in a directory of its own.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from roost.base.records import replace
from roost.config import Config
from roost.lab.machines import LabError
from roost.lab.node_changes import NodeChange
from roost.lab.replay.cell import ReplayCell
from roost.lab.replay.dags import ReplayFlow
from roost.lab.replay.driven_loop import DrivenClock, DrivenLoop
from roost.lab.replay.jobs import StandIns, ad_of
from roost.lab.replay.machine import ReplayNode, WatchedNursery
from roost.lab.replay.queue import ReplaySchedd, Together
from roost.lab.scenario.values import MACHINE, Order, Scenario, ScenarioMachine, ScheduledAction
from roost.model import events as nev
from roost.negotiator.accounts import CHARGED_EVERY_S
from roost.node.machine import NodeSlot
from roost.runtime.bus.client import ANSWER_S, Bus, Handler
from roost.runtime.bus.server import Accounts, NatsServer
from roost.runtime.bus.settings import BusSettings
from roost.runtime.central.daemon import CentralDaemon
from roost.runtime.home import Home
from roost.runtime.master_settings import master_settings
from roost.runtime.role import Ending, RoleContext
from roost.schedd import events as ev
from roost.schedd.identifiers import JobId
from roost.schedd.status import JobStatus
from roost.sim.inputs.workload import Job
from roost.sim.queue.clock import BESIDE_POLLS_S
from roost.sim.queue.job_changes import JobChange
from roost.sim.queue.sources import past_of
from roost.startd.draining import DrainOrder, OnCompletion
from roost.startd.work import Taken
from roost.wire.messages import Answer, Ask, Message
from roost.wire.requests.machine import CancelDrain, Drain, Vacate
from roost.wire.requests.verb import Request
from roost.wire.subjects import Role, Subjects
from roost.wire.verbs import ask_of

_POOL: Final = "replay"
#: The user who gives the scenario's orders.
CLIENT: Final = "lab"
_NAMES: Final = {Role.CENTRAL: "central@machine", Role.SCHEDD: "sim", Role.NODE: MACHINE, Role.CLIENT: CLIENT}
_SHUTDOWNS: Final = {
    "peaceful": nev.ShutdownKind.PEACEFUL,
    "graceful": nev.ShutdownKind.GRACEFUL,
    "fast": nev.ShutdownKind.FAST,
}
_SCHEDULES: Final = {
    "graceful": nev.DrainSchedule.GRACEFUL, "quick": nev.DrainSchedule.QUICK, "fast": nev.DrainSchedule.FAST,
}  # fmt: skip
_ACTIONS: Final = {
    Order.HOLD: ev.Action.HOLD,
    Order.RELEASE: ev.Action.RELEASE,
    Order.REMOVE: ev.Action.REMOVE,
    Order.SUSPEND: ev.Action.SUSPEND,
    Order.CONTINUE: ev.Action.CONTINUE,
    Order.VACATE_JOB: ev.Action.VACATE,
}


class MutedBus(Bus):
    """A bus whose user can be cut off from it."""

    # Time goes on while the server's answers are under way: they say nothing of its being there.
    ping_s = 10**9

    def __init__(self, settings: BusSettings) -> None:
        super().__init__(settings)
        self.muted = False
        #: Set while its user may say something.
        self.may_talk = asyncio.Event()
        self.may_talk.set()
        #: Subscriptions that the server has not confirmed yet.
        self.subscribing = 0
        #: Questions whose answers are waited for.
        self.asking = 0
        self._sent = 0

    async def send(self, subject: str, message: Message) -> None:
        """Send a message as soon as that may be, unless cut off."""
        await self.may_talk.wait()
        if not self.muted:
            await super().send(subject, message)

    async def listen(self, subject: str, handler: Handler) -> None:
        """Hand on every message, unless cut off."""

        def heard(message: Message, sender: str, reply: str) -> Any:
            return None if self.muted else handler(message, sender, reply)

        self.subscribing += 1
        try:
            await super().listen(subject, heard)
        finally:
            self.subscribing -= 1

    async def ask(self, subject: str, ask: Ask, timeout_s: float = ANSWER_S) -> Answer:
        """Ask, and wait for the answer."""
        self.asking += 1
        try:
            return await super().ask(subject, ask, timeout_s)
        finally:
            self.asking -= 1

    def talked(self) -> bool:
        """Whether anything was sent since this was asked last."""
        before, self._sent = self._sent, self.traffic[1]
        return self._sent != before

    def mute(self, muted: bool) -> None:
        """Cut the user off, or let it in again."""
        self.muted = muted
        if not muted and self.on_reconnect is not None:
            self.on_reconnect()


class ReplayCentral(CentralDaemon):
    """The central manager of a replay, which keeps the accounts of users to itself."""

    async def show_accounts(self) -> None:
        """Charge users also while no job asks for a slot, and publish no accounts."""
        # Machines look at full seconds: whether a slot is in use is known then.
        await asyncio.sleep(BESIDE_POLLS_S)
        while True:
            await asyncio.sleep(CHARGED_EVERY_S)
            await self.deciding.over()
            self.matchmaker.charge(self.table, self.clock.now())


class Stage:
    """What lasts from scenario to scenario."""

    def __init__(self, directory: Path, homes: Path) -> None:
        self.directory = directory
        self._homes = homes
        self.accounts = Accounts(directory, Subjects(_POOL))
        self.server = NatsServer(directory / "nats", self.accounts)
        self.nursery: WatchedNursery
        self._numbers = 0
        self._machines = {MACHINE}

    async def build(self) -> None:
        """Start what lasts. Raises ServerFailed, NurseryFailed."""
        for role, name in _NAMES.items():
            self.accounts.account(role, name)
        self.server.start()
        self.nursery = await WatchedNursery.start(self.directory / "nursery")
        self.nursery.families = {}

    async def clear(self) -> None:
        """End what lasts."""
        if hasattr(self, "nursery"):
            await self.nursery.close()
        self.server.stop()

    def admit(self, machines: Iterable[str]) -> None:
        """Let machines of these names use the server, which is restarted for new names. Raises ServerFailed."""
        if new := [name for name in machines if name not in self._machines]:
            self._machines.update(new)
            for name in new:
                self.accounts.account(Role.NODE, name)
            self.server.stop()
            self.server.start()

    def settings(self, role: Role, name: str) -> BusSettings:
        """How a daemon reaches the bus."""
        account = self.accounts.account(role, name)
        return BusSettings(
            urls=(self.server.url,), pool=_POOL, name=account.name, user=account.user, password=account.password
        )

    def home(self) -> Home:
        """The directory of the next scenario."""
        self._numbers += 1
        home = Home(self._homes / f"{self._numbers}")
        home.make()
        return home


class ReplayPool:
    """The pool of one scenario."""

    def __init__(self, stage: Stage, scenario: Scenario, start: float) -> None:
        self.stage = stage
        self.scenario = scenario
        self.start = start
        self.nursery = stage.nursery
        self.home = stage.home()
        #: Machine to its directory.
        self.homes = {each.name: stage.home() for each in scenario.machines}
        self.taken: list[tuple[str, Taken]] = []
        self.changes: list[JobChange] = []
        self.clock: DrivenClock
        self.jobs: StandIns
        self.nodes: dict[str, ReplayNode] = {}
        self.schedd: ReplaySchedd
        self.central: ReplayCentral
        #: The cell of the pool; None where there is none.
        self.cell: ReplayCell | None = None
        #: Of all daemons but the machines', and of the machines by their names.
        self.buses: dict[Role, MutedBus] = {}
        self.node_buses: dict[str, MutedBus] = {}
        #: The scenario's name of a job to that of the queue.
        self.ids: dict[str, JobId] = {}
        #: DAG to its run, once it is submitted.
        self.flows: dict[str, ReplayFlow] = {}
        self.node_changes: list[NodeChange] = []
        #: What the queue, the matchmaker and DAGs are configured with.
        self._config: Config
        #: How often a machine was silent for a while.
        self._silences = 0
        #: A daemon comes to the bus, or leaves it.
        self._changing_bus = False

    @property
    def passed_s(self) -> float:
        """How far it has come."""
        return self.clock.now() - self.start if hasattr(self, "clock") else 0.0

    @property
    def _all_buses(self) -> list[MutedBus]:
        return [*self.buses.values(), *self.node_buses.values()]

    # -- life ----------------------------------------------------------------------------------------

    async def open(
        self, loop: DrivenLoop, configured: Callable[[Path, Callable[[Path], Path]], Mapping[str, Config]]
    ) -> None:
        """Build it up; then it is `start`, and time is driven. `configured` is given the directory of hooks, makes a
        program there by the function beside it, and gives the configuration of each machine, and of the others by "".
        """
        self.stage.admit(self.homes)
        for role, name in _NAMES.items():
            if role is not Role.NODE:
                self.buses[role] = await MutedBus.connect(self.stage.settings(role, name))
        for name in self.homes:
            self.node_buses[name] = await MutedBus.connect(self.stage.settings(Role.NODE, name))
        self.clock = DrivenClock(loop, self.start)
        scenario = self.scenario
        self.jobs = StandIns(
            self.home.path / "jobs.socket",
            self.clock,
            scenario.submitted(self.start),
            scenario.brought(self.start),
            scenario.hooks,
        )
        await self.jobs.open()
        self.nursery.jobs = self.jobs
        self.jobs.is_to_end = lambda pid: all(node.is_to_end(pid) for node in self.nodes.values())
        configs = configured(self._hooks(), self.jobs.script)
        config = self._config = configs[""]
        loop.drive()
        self.clock = self.jobs.clock = DrivenClock(loop, self.start)
        loop.settle, loop.happened, loop.under_way = self._settle, self._happened, self._under_way
        context = partial(self._context, self.home)
        central, schedd = (context(role, _NAMES[role]) for role in (Role.CENTRAL, Role.SCHEDD))
        self.central = ReplayCentral(central, config, self.buses[Role.CENTRAL])
        self.schedd = ReplaySchedd(self, schedd, config, self.buses[Role.SCHEDD])
        await self.central.start()
        await self.schedd.start()
        if scenario.cell is not None:
            self.cell = ReplayCell(self, scenario.cell, self._programs())
            self.jobs.qconf = self.cell.qconf
            await self.cell.give(CLIENT)
        for machine in scenario.machines:
            await self.begin(machine, configs[machine.name])

    def _programs(self) -> Path:
        """The directory of the programs that a cell names, which run as their users."""
        self.stage.directory.chmod(0o711)
        return self.stage.directory / f"programs.{self.home.path.name}"

    async def begin(self, machine: ScenarioMachine, config: Config) -> None:
        """Start a machine's daemon."""
        name = machine.name
        context = self._context(self.homes[name], Role.NODE, name)
        self.nodes[name] = ReplayNode(self, machine, context, config, self.node_buses[name])
        await self.nodes[name].start()

    def _context(self, home: Home, role: Role, name: str) -> RoleContext:
        return RoleContext(
            role=str(role),
            name=name,
            home=home,
            roots=None,
            bus=self.stage.settings(role, name),
            clock=self.clock,
        )

    def _hooks(self) -> Path:
        directory = self.stage.directory / f"hooks.{self.home.path.name}"
        directory.mkdir(mode=0o700)
        self.jobs.hook(directory / "fetch")
        self.jobs.reply_hook(directory / "reply")
        return directory

    async def close(self, loop: DrivenLoop) -> None:
        """Take it down."""
        loop.settle, loop.happened, loop.under_way = None, lambda: None, lambda: ""
        await loop.settled()
        for flow in self.flows.values():
            await flow.close()
        for node in self.nodes.values():
            await node.die()
        if hasattr(self, "schedd"):
            await self.schedd.stop(Ending.LEAVE)
        if hasattr(self, "central"):
            await self.central.stop(Ending.LEAVE)
        if hasattr(self, "jobs"):
            await self.jobs.close()
        for family in self.nursery.running:
            await family.kill()
        self.nursery.families.clear()
        for bus in self._all_buses:
            await bus.close()

    def remove(self) -> None:
        """Remove its directories."""
        for home in (self.home, *self.homes.values()):
            shutil.rmtree(home.path, ignore_errors=True)

    # -- what is under way -----------------------------------------------------------------------------

    def let_machines_talk(self) -> None:
        """Let machines say what they have to say, unless one of them clears up after a job."""
        silent = any(node.clears_up for node in self.nodes.values())
        for bus in self.node_buses.values():
            if silent:
                bus.may_talk.clear()
            elif not bus.may_talk.is_set():
                self._silences += 1
                bus.may_talk.set()

    def _happened(self) -> object:
        moves = [node.moves for node in self.nodes.values()]
        return moves, self.jobs.heard, self._silences, [bus.traffic for bus in self._all_buses]

    def _under_way(self) -> str:
        if any(bus.subscribing for bus in self._all_buses):
            return "a subscription"
        if self._changing_bus:
            return "a connection to the bus"
        self.let_machines_talk()
        scripts = (flow.scripts.under_way() for flow in self.flows.values())
        return next(filter(None, scripts), "") or self.nursery.under_way(self.jobs)

    async def _settle(self) -> None:
        """Let everything arrive that is on its way: what was sent, and then what the server had for others."""
        talkers = [bus for bus in self._all_buses if bus.talked()]
        if talkers:
            await asyncio.gather(*(bus.settled() for bus in talkers))
            client = self.buses[Role.CLIENT]
            hearers = [bus for bus in self._all_buses if bus is not client or bus.asking]
            await asyncio.gather(*(bus.settled() for bus in hearers))
        for family in self.nursery.running:
            if self.jobs.look(family):
                await self.jobs.ask(family)

    # -- orders ----------------------------------------------------------------------------------------

    def submit(self, jobs: dict[str, Job]) -> str:
        """Hand the jobs of a cluster to the queue, by their names; why it refuses them, "" if it does not."""
        number = self.schedd.queue.book.next_cluster
        self.ids |= {name: JobId(number, proc) for proc, name in enumerate(jobs)}
        source = Together([replace(job, ad=ad_of(job, self.jobs)) for job in jobs.values()])
        owner = next(iter(jobs.values())).owner
        self.schedd.feed(ev.Submitted(clusters=(source,), owner=owner, reply_to=""))
        if number not in self.schedd.queue.book.clusters:
            # It was refused, and another cluster gets its number.
            self.ids = {name: job for name, job in self.ids.items() if name not in jobs}
            return self.schedd.refusal or "the queue takes no jobs now"
        for name, job in jobs.items():
            past = past_of(job)
            if past is not None:
                note, which = ev.Action.NOTE, (self.ids[name],)
                self.schedd.feed(
                    ev.Acted(action=note, jobs=which, user=CLIENT, superuser=True, reply_to="", attributes=past)
                )
        return ""

    def act(self, action: ev.Action, jobs: tuple[JobId, ...], *, reason: str = "") -> None:
        """Have the queue do something with jobs."""
        self.schedd.feed(ev.Acted(action=action, jobs=jobs, user=CLIENT, superuser=True, reply_to="", reason=reason))

    def place(self, name: str) -> JobStatus | None:
        """Where a job is; None before it was submitted."""
        job = self.ids.get(name)
        if job is None:
            return None
        cluster = self.schedd.queue.book.clusters.get(job.cluster)
        return JobStatus.GONE if cluster is None else cluster.status(job.proc)

    async def do(self, action: ScheduledAction, configured: Callable[[ScheduledAction], Mapping[str, Config]]) -> None:
        """Carry out an order; `configured` gives the configurations after it. Raises LabError for an order to
        something that does not exist.
        """
        node, now = self._node(action), self.clock.now()
        match action.order:
            case Order.HOLD | Order.RELEASE | Order.REMOVE | Order.SUSPEND | Order.CONTINUE | Order.VACATE_JOB:
                self.act(_ACTIONS[action.order], (self._job(action),))
            case Order.UPDATE:
                assert action.attributes is not None
                self._tell(action, nev.JobUpdated(attributes=action.attributes), now)
            case Order.CHECKPOINT:
                self._tell(action, nev.CheckpointRequested(), now)
            case Order.MATCH:
                slot = self._slot(action)
                self._tell(action, nev.MatchReceived(claim_id=slot.state.claim.id), now)
            case Order.SHUTDOWN:
                node.carry_out(node.machine.to_all(nev.ShutdownRequested(kind=_SHUTDOWNS[action.how]), now))
                if action.how == "graceful":
                    until = self.clock.at(now + master_settings(node.config).graceful_s)
                    asyncio.get_running_loop().call_at(until, self._hurry, node)
            case Order.VACATE:
                await self._ask(node, Vacate(slot=self._slot(action).name, fast=action.how == "fast"))
            case Order.DRAIN:
                order = DrainOrder(schedule=_SCHEDULES[action.how], reason="the scenario")
                then = OnCompletion.RESUME if action.then == "resume" else OnCompletion.NOTHING
                await self._ask(
                    node,
                    Drain(
                        schedule=int(order.schedule), on_completion=int(then), start=action.start, reason=order.reason
                    ),
                )
            case Order.CANCEL_DRAIN:
                await self._ask(node, CancelDrain())
            case Order.RESTART:
                await self._restart(node)
            case Order.RECONFIG:
                configs = configured(action)
                for name, each in self.nodes.items():
                    if action.machine in ("", name):
                        await each.reconfigure(configs[name])
                if not action.machine:
                    self._config = configs[""]
                    await self.schedd.reconfigure(configs[""])
                    await self.central.reconfigure(configs[""])
            case Order.DAG:
                self.flows[action.how] = ReplayFlow(self, self.scenario.dags[action.how], self._config)
            case Order.REMOVE_DAG:
                self.flows[action.how].remove()
            case Order.QMOD | Order.QCONF:
                assert self.cell is not None, "the order was refused when the file was read"
                await self.cell.do(action, CLIENT)
            case Order.QUEUE:
                self.buses[Role.SCHEDD].mute(action.how == "away")

    def _hurry(self, node: ReplayNode) -> None:
        """The master's time for an end in peace is over."""
        if self.nodes[node.context.name] is node and any(slot.state.shutdown for slot in node.machine.slots):
            fast = nev.ShutdownRequested(kind=nev.ShutdownKind.FAST)
            node.carry_out(node.machine.to_all(fast, self.clock.now()))

    def _job(self, action: ScheduledAction) -> JobId:
        """The job that an order is about. Raises LabError for one that has not been submitted."""
        if action.job not in self.ids:
            raise LabError(f"the job {action.job} has not been submitted when {action.order} is ordered")
        return self.ids[action.job]

    def _node(self, action: ScheduledAction) -> ReplayNode:
        """The machine that an order is given to."""
        return self.nodes[action.machine or self.scenario.machines[0].name]

    async def _ask(self, node: ReplayNode, request: Request[Any]) -> None:
        subject = Subjects(_POOL).ask_node(node.context.name, CLIENT)
        answer: Answer = await self.buses[Role.CLIENT].ask(subject, ask := ask_of(request))
        if not answer.ok:
            raise LabError(f"the machine refuses to {ask.what.replace('-', ' ')}: {answer.text}")

    async def _restart(self, node: ReplayNode) -> None:
        """A machine is switched off and on: its jobs are lost, what was only in memory, too."""
        config, name = node.config, node.context.name
        await node.die()
        self._changing_bus = True
        try:
            await self.node_buses[name].close()
            bus = await MutedBus.connect(self.stage.settings(Role.NODE, name))
        finally:
            self._changing_bus = False
        self.node_buses[name] = bus
        await self.begin(node.replayed, config)

    def _tell(self, action: ScheduledAction, event: Any, now: float) -> None:
        node = self._node(action)
        node.carry_out(node.machine.host.receive(self._slot(action), event, now))

    def _slot(self, action: ScheduledAction) -> NodeSlot:
        for slot in self._node(action).machine.slots:
            if str(slot.plan.id).removeprefix("slot") == action.slot:
                return slot
        raise LabError(f"there is no slot {action.slot} when {action.order} is ordered")
