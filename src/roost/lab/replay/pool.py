"""The pool of a replay: central manager, queue and machines in one event loop with simulated time, on a real bus and
database.

What persists across scenarios (the bus's server, the fork server that starts jobs) is `ReplayEnvironment`; everything
else is created for each scenario, in its own directory.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
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
from roost.lab.replay.machine import ReplayNode, WatchedForkServer
from roost.lab.replay.queue import INSTANT_S, ReplaySchedd, Together
from roost.lab.scenario.values import MACHINE, Scenario, ScenarioCommand, ScenarioMachine, ScheduledAction
from roost.model import events as nev
from roost.negotiator.accountant import CHARGED_EVERY_S
from roost.node.machine import NodeSlot
from roost.runtime.bus.client import ANSWER_S, Bus, Handler
from roost.runtime.bus.server import BusAccounts, NatsServer
from roost.runtime.bus_settings import BusSettings
from roost.runtime.central.daemon import CentralDaemon
from roost.runtime.daemon_orders import DaemonEnding
from roost.runtime.home import Home
from roost.runtime.master_settings import master_settings
from roost.runtime.role import RoleContext
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
    ScenarioCommand.HOLD: ev.Action.HOLD,
    ScenarioCommand.RELEASE: ev.Action.RELEASE,
    ScenarioCommand.REMOVE: ev.Action.REMOVE,
    ScenarioCommand.SUSPEND: ev.Action.SUSPEND,
    ScenarioCommand.CONTINUE: ev.Action.CONTINUE,
    ScenarioCommand.VACATE_JOB: ev.Action.VACATE,
}


class MutedBus(Bus):
    """A bus connection that can be cut off."""

    # Time advances while the server's replies are in transit, so a late reply does not mean that it is down.
    ping_s = 10**9

    def __init__(self, settings: BusSettings) -> None:
        super().__init__(settings)
        self.muted = False
        #: Set while its user may send messages.
        self.may_talk = asyncio.Event()
        self.may_talk.set()
        #: Subscriptions that the server has not confirmed yet.
        self.subscribing = 0
        #: Requests that await a reply.
        self.asking = 0
        self._sent = 0

    async def send(self, subject: str, message: Message) -> None:
        """Send a message as soon as permitted, unless cut off."""
        await self.may_talk.wait()
        if not self.muted:
            await super().send(subject, message)

    async def listen(self, subject: str, handler: Handler) -> None:
        """Pass on every message, unless cut off."""

        def heard(message: Message, sender: str, reply: str) -> Any:
            return None if self.muted else handler(message, sender, reply)

        self.subscribing += 1
        try:
            await super().listen(subject, heard)
        finally:
            self.subscribing -= 1

    async def ask(self, subject: str, ask: Ask, timeout_s: float = ANSWER_S) -> Answer:
        """Send a request, and wait for the reply."""
        self.asking += 1
        try:
            return await super().ask(subject, ask, timeout_s)
        finally:
            self.asking -= 1

    def talked(self) -> bool:
        """Whether anything was sent since the last call."""
        before, self._sent = self._sent, self.traffic[1]
        return self._sent != before

    def mute(self, muted: bool) -> None:
        """Cut the user off, or reconnect it."""
        self.muted = muted
        if not muted and self.on_reconnect is not None:
            self.on_reconnect()


class ReplayCentral(CentralDaemon):
    """The central manager of a replay, which does not publish users' accounts.

    A cycle begins once it has all news of the instant: in which order slots and queues report depends on the system.
    """

    async def _slots_heard(self) -> None:
        # Queues send their demands later than anything else of an instant.
        await asyncio.sleep(2 * INSTANT_S)
        await super()._slots_heard()

    async def show_accounts(self) -> None:
        """Charge users even if no job is idle, and publish no accounts."""
        # Machines poll at whole seconds: the use of slots is known after that.
        await asyncio.sleep(BESIDE_POLLS_S)
        while True:
            await asyncio.sleep(CHARGED_EVERY_S)
            await self.deciding.over()
            self.matchmaker.charge(self.table, self.clock.now())


class ReplayEnvironment:
    """What persists across scenarios."""

    def __init__(self, directory: Path, homes: Path) -> None:
        self.directory = directory
        self._homes = homes
        self.accounts = BusAccounts(directory, Subjects(_POOL))
        self.server = NatsServer(directory / "nats", self.accounts.server_text)
        self.fork_server: WatchedForkServer
        self._numbers = 0
        self._machines = {MACHINE}

    async def build(self) -> None:
        """Start it. Raises ServerFailed, ForkServerFailed."""
        for role, name in _NAMES.items():
            self.accounts.account(role, name)
        self.server.start()
        self.fork_server = await WatchedForkServer.start(self.directory / "nursery")
        self.fork_server.families = {}

    async def clear(self) -> None:
        """Stop it."""
        if hasattr(self, "fork_server"):
            await self.fork_server.close()
        self.server.stop()

    def admit(self, machines: Iterable[str]) -> None:
        """Permit machines of these names on the server, which is restarted for new names. Raises ServerFailed."""
        if new := [name for name in machines if name not in self._machines]:
            self._machines.update(new)
            for name in new:
                self.accounts.account(Role.NODE, name)
            self.server.stop()
            self.server.start()

    def settings(self, role: Role, name: str) -> BusSettings:
        """The bus settings of a daemon."""
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

    def __init__(self, stage: ReplayEnvironment, scenario: Scenario, start: float) -> None:
        self.stage = stage
        self.scenario = scenario
        self.start = start
        self.fork_server = stage.fork_server
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
        #: The cell of the pool; None if there is none.
        self.cell: ReplayCell | None = None
        #: Connections of all daemons except machines, and of machines by name.
        self.buses: dict[Role, MutedBus] = {}
        self.node_buses: dict[str, MutedBus] = {}
        #: The scenario's name of a job to that of the queue.
        self.ids: dict[str, JobId] = {}
        #: DAG to its run, once it is submitted.
        self.flows: dict[str, ReplayFlow] = {}
        self.node_changes: list[NodeChange] = []
        #: The configuration of the queue, the matchmaker and DAGs.
        self._config: Config
        #: How often a machine was silent for a while.
        self._silences = 0
        #: Whether a daemon is connecting to the bus or leaving it.
        #: The change of a daemon during which time stands still; "" for none.
        self._changing = ""

    @property
    def passed_s(self) -> float:
        """Elapsed time of the scenario, s."""
        return self.clock.now() - self.start if hasattr(self, "clock") else 0.0

    @property
    def _all_buses(self) -> list[MutedBus]:
        return [*self.buses.values(), *self.node_buses.values()]

    # -- life ----------------------------------------------------------------------------------------

    async def open(
        self, loop: DrivenLoop, configured: Callable[[Path, Callable[[Path], Path]], Mapping[str, Config]]
    ) -> None:
        """Set it up; then time is `start`, and simulated time runs. `configured` gets the directory of hooks and a
        function that creates a program there, and returns the configuration of each machine, and under "" that of the
        others.
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
        self.fork_server.jobs = self.jobs
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
        """The directory of the programs that a cell names, which run as different users."""
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
            await self.schedd.stop(DaemonEnding.LEAVE)
        if hasattr(self, "central"):
            await self.central.stop(DaemonEnding.LEAVE)
        if hasattr(self, "jobs"):
            await self.jobs.close()
        for family in self.fork_server.running:
            await family.kill()
        self.fork_server.families.clear()
        for bus in self._all_buses:
            await bus.close()

    def remove(self) -> None:
        """Remove its directories."""
        for home in (self.home, *self.homes.values()):
            shutil.rmtree(home.path, ignore_errors=True)

    # -- progress -----------------------------------------------------------------------------

    def let_machines_talk(self) -> None:
        """Let machines send their messages, unless one of them is cleaning up after a job."""
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
        if self._changing:
            return self._changing
        self.let_machines_talk()
        scripts = (flow.scripts.under_way() for flow in self.flows.values())
        return next(filter(None, scripts), "") or self.fork_server.under_way(self.jobs)

    async def _settle(self) -> None:
        """Wait until all messages in transit have arrived: those sent to the server, and then those for others."""
        talkers = [bus for bus in self._all_buses if bus.talked()]
        if talkers:
            await asyncio.gather(*(bus.settled() for bus in talkers))
            client = self.buses[Role.CLIENT]
            hearers = [bus for bus in self._all_buses if bus is not client or bus.asking]
            await asyncio.gather(*(bus.settled() for bus in hearers))
        for family in self.fork_server.running:
            if self.jobs.look(family):
                await self.jobs.ask(family)

    # -- orders ----------------------------------------------------------------------------------------

    def submit(self, jobs: dict[str, Job]) -> str:
        """Submit the jobs of a cluster by name, and return why the queue refused them, "" if it did not."""
        number = self.schedd.queue.book.next_cluster
        self.ids |= {name: JobId(number, proc) for proc, name in enumerate(jobs)}
        source = Together([replace(job, ad=ad_of(job, self.jobs)) for job in jobs.values()])
        owner = next(iter(jobs.values())).owner
        self.schedd.feed(ev.Submitted(clusters=(source,), owner=owner, reply_to=""))
        if number not in self.schedd.queue.book.clusters:
            # The cluster was refused, and another gets its number.
            self.ids = {name: job for name, job in self.ids.items() if name not in jobs}
            return self.schedd.refusal or "the queue does not accept jobs now"
        for name, job in jobs.items():
            past = past_of(job)
            if past is not None:
                note, which = ev.Action.NOTE, (self.ids[name],)
                self.schedd.feed(
                    ev.Acted(action=note, jobs=which, user=CLIENT, superuser=True, reply_to="", attributes=past)
                )
        return ""

    def act(self, action: ev.Action, jobs: tuple[JobId, ...], *, reason: str = "") -> None:
        """Perform an action on jobs in the queue."""
        self.schedd.feed(ev.Acted(action=action, jobs=jobs, user=CLIENT, superuser=True, reply_to="", reason=reason))

    def place(self, name: str) -> JobStatus | None:
        """The place of a job; None before it was submitted."""
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
            case (
                ScenarioCommand.HOLD
                | ScenarioCommand.RELEASE
                | ScenarioCommand.REMOVE
                | ScenarioCommand.SUSPEND
                | ScenarioCommand.CONTINUE
                | ScenarioCommand.VACATE_JOB
            ):
                self.act(_ACTIONS[action.order], (self._job(action),))
            case ScenarioCommand.UPDATE:
                assert action.attributes is not None
                self._tell(action, nev.JobUpdated(attributes=action.attributes), now)
            case ScenarioCommand.CHECKPOINT:
                self._tell(action, nev.CheckpointRequested(), now)
            case ScenarioCommand.MATCH:
                slot = self._slot(action)
                self._tell(action, nev.MatchReceived(claim_id=slot.state.claim.id), now)
            case ScenarioCommand.SHUTDOWN:
                node.carry_out(node.machine.to_all(nev.ShutdownRequested(kind=_SHUTDOWNS[action.how]), now))
                if action.how == "graceful":
                    until = self.clock.at(now + master_settings(node.config).graceful_s)
                    asyncio.get_running_loop().call_at(until, self._hurry, node)
            case ScenarioCommand.VACATE:
                await self._ask(node, Vacate(slot=self._slot(action).name, fast=action.how == "fast"))
            case ScenarioCommand.DRAIN:
                order = DrainOrder(schedule=_SCHEDULES[action.how], reason="the scenario")
                then = OnCompletion.RESUME if action.then == "resume" else OnCompletion.NOTHING
                await self._ask(
                    node,
                    Drain(
                        schedule=int(order.schedule), on_completion=int(then), start=action.start, reason=order.reason
                    ),
                )
            case ScenarioCommand.CANCEL_DRAIN:
                await self._ask(node, CancelDrain())
            case ScenarioCommand.RESTART:
                await self._restart(node)
            case ScenarioCommand.RECONFIG:
                with self._during("the new configuration"):
                    await self._reconfigure(action.machine, configured(action))
            case ScenarioCommand.DAG:
                self.flows[action.how] = ReplayFlow(self, self.scenario.dags[action.how], self._config)
            case ScenarioCommand.REMOVE_DAG:
                self.flows[action.how].remove()
            case ScenarioCommand.QMOD | ScenarioCommand.QCONF:
                assert self.cell is not None, "the order was refused when the file was read"
                await self.cell.do(action, CLIENT)
            case ScenarioCommand.QUEUE:
                self.buses[Role.SCHEDD].mute(action.how == "away")

    def _hurry(self, node: ReplayNode) -> None:
        """The master's time for a graceful shutdown is over."""
        if self.nodes[node.context.name] is node and any(slot.state.shutdown for slot in node.machine.slots):
            fast = nev.ShutdownRequested(kind=nev.ShutdownKind.FAST)
            node.carry_out(node.machine.to_all(fast, self.clock.now()))

    def _job(self, action: ScheduledAction) -> JobId:
        """The job that an order is about. Raises LabError for one that has not been submitted."""
        if action.job not in self.ids:
            raise action.no_job()
        return self.ids[action.job]

    def _node(self, action: ScheduledAction) -> ReplayNode:
        """The machine to which an order is given."""
        return self.nodes[action.machine or self.scenario.machines[0].name]

    async def _ask(self, node: ReplayNode, request: Request[Any]) -> None:
        subject = Subjects(_POOL).ask_node(node.context.name, CLIENT)
        answer: Answer = await self.buses[Role.CLIENT].ask(subject, ask := ask_of(request))
        if not answer.ok:
            raise LabError(f"the machine refused to {ask.what.replace('-', ' ')}: {answer.text}")

    async def _reconfigure(self, machine: str, configs: Mapping[str, Config]) -> None:
        """Give a machine, or for "" the whole pool, another configuration."""
        for name, each in self.nodes.items():
            if machine in ("", name):
                await each.reconfigure(configs[name])
        if not machine:
            self._config = configs[""]
            await self.schedd.reconfigure(configs[""])
            await self.central.reconfigure(configs[""])

    async def _restart(self, node: ReplayNode) -> None:
        """Switch a machine off and on: its jobs and all data in memory are lost."""
        config, name = node.config, node.context.name
        with self._during(f"the restart of {name}"):
            await node.die()
            await self.node_buses[name].close()
            self.node_buses[name] = await MutedBus.connect(self.stage.settings(Role.NODE, name))
            await self.begin(node.replayed, config)

    @contextmanager
    def _during(self, change: str) -> Iterator[None]:
        """Let time stand still: what a daemon waits for while it starts or changes is outside the loop."""
        self._changing = change
        try:
            yield
        finally:
            self._changing = ""

    def _tell(self, action: ScheduledAction, event: Any, now: float) -> None:
        node = self._node(action)
        node.carry_out(node.machine.host.receive(self._slot(action), event, now))

    def _slot(self, action: ScheduledAction) -> NodeSlot:
        slots = {str(slot.plan.id).removeprefix("slot"): slot for slot in self._node(action).machine.slots}
        if action.slot not in slots:
            raise action.no_slot(slots)
        return slots[action.slot]
