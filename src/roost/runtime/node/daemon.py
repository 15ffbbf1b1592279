"""The daemon of an execute machine: its core, connected to bus, sensors, fork server and disk.

Sensors are read whenever the core polls. Effects of the core become messages, timers, and work that `Runner`s do for
the runs of jobs. Ends of runs are kept on disk until the queue confirms that it has stored them.

It makes no decisions; `roost.node` does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from roost.base.records import replace
from roost.base.structs import replaced
from roost.classad import ClassAd
from roost.config import Config, ConfigError
from roost.config.in_force import configuration_record
from roost.model import events as ev
from roost.model.addresses import daemon_address
from roost.model.audit import AuditRecord
from roost.model.causes import CauseIds, submission_of
from roost.model.events import ShutdownKind
from roost.model.slots import SlotId
from roost.model.starter_effects import ReportExit
from roost.node.cron import STARTD_CRON, CronPlan, cron_plan
from roost.node.decisions import Recorder, is_eviction, is_starter_eviction, of_slot, of_starter
from roost.node.host_slots import Starter
from roost.node.machine import Machine, NodeSlot, Outs
from roost.node.plan import NodePlan, make_plan
from roost.policy.decision import Decision
from roost.runtime.audit_sender import AuditSender
from roost.runtime.background import Background
from roost.runtime.bus.client import Carrier
from roost.runtime.bus.lanes import Lanes
from roost.runtime.causes import present_request
from roost.runtime.cell_root import let_users_to, write_root
from roost.runtime.daemon_ads import REFRESH_S, DutyCycle, master_ad, place_of
from roost.runtime.daemon_orders import DaemonEnding
from roost.runtime.files.file_workers import FileWorkers
from roost.runtime.node.answers import NodeAnswers
from roost.runtime.node.backfill import BackfillClient, ClientAround
from roost.runtime.node.benchmarks import run_benchmarks
from roost.runtime.node.fetching import Fetching
from roost.runtime.node.impediments import AGAIN_S, Impediments
from roost.runtime.node.inventories import Inventories
from roost.runtime.node.load_log import log_loads
from roost.runtime.node.load_sensors import LoadSensors
from roost.runtime.node.messages import system_platform
from roost.runtime.node.outbox import SHORT_LEASE_S, Outbox
from roost.runtime.node.queue_requests import QueueRequests
from roost.runtime.node.runs.containers import container_abilities
from roost.runtime.node.runs.docker import docker_abilities
from roost.runtime.node.runs.local_run import Surroundings
from roost.runtime.node.runs.reports import Reports
from roost.runtime.node.runs.reused_sandboxes import Sandboxes
from roost.runtime.node.runs.scratch import Scratch, directories_of
from roost.runtime.node.runs.shells import Shells
from roost.runtime.node.sensors import Sensors
from roost.runtime.node.sessions import Sessions
from roost.runtime.node.slot_ads import SlotPublisher
from roost.runtime.node.slot_orders import SlotOrders
from roost.runtime.node.starter_orders import RunCalls, StarterOrders
from roost.runtime.node.state import NodeState
from roost.runtime.node.takeover import take_over
from roost.runtime.node.tasks.door import TaskDoor
from roost.runtime.node.tasks.slave_tasks import SlaveTasks
from roost.runtime.node.transition_log import TransitionLog
from roost.runtime.processes.accounts import can_switch_user
from roost.runtime.processes.cron import CronAround, CronPrograms
from roost.runtime.processes.fork_server import ForkServer, ForkServerFailed
from roost.runtime.processes.isolation import isolation_problem
from roost.runtime.processes.memory_control import limits_memory
from roost.runtime.role import ConfigurationRefused, RoleContext, must_go_on
from roost.startd.layout.change import PresentLayout
from roost.startd.layout.problems import LayoutRefused
from roost.startd.machine import SlotStep
from roost.startd.slot_ad.ad import host_identity
from roost.startd.slot_state import SlotState
from roost.startd.states import BACKFILL_BUSY, State
from roost.starter.machine import StarterStep
from roost.starter.unit_environment import check as check_unit_environment
from roost.wire import messages as m
from roost.wire.audit import audit_data
from roost.wire.messages import Message

_log = logging.getLogger("roost.node")
_starter_log = logging.getLogger("roost.starter")

#: How long hooks that still run when the daemon stops may take to exit, s.
HOOKS_END_S: Final = 10.0
#: How often whatever still runs is ordered to end when the daemon stops.
_ROUNDS: Final = 3
#: Interval at which idle file workers are looked for, s.
TIDY_S: Final = 15.0


class NodeDaemon:
    """A running execute machine."""

    def __init__(self, context: RoleContext, config: Config, bus: Carrier) -> None:
        self.context = context
        self.clock = context.clock
        self.name = context.name
        self.config = config
        self.bus = bus
        self.subjects = bus.subjects
        self.started_at = self.clock.now()
        self._duty = DutyCycle()
        self.scratch = Scratch(self.execute_directories(config), context.home)
        self.sensors = self._sensors(config)
        self._inventories = Inventories()
        #: UTC offset, seconds east, as last measured.
        self._zone_offset_s: int | None = None
        plan = self._plan(config)
        #: The last message about records that cannot be read.
        self._unreadable = ""
        self.reports = Reports(context.home.jobs)
        self.state = NodeState(context.home.run / "slots", self.clock, self.reports)
        birth, key = self.state.next_birth(), context.home.secret()
        self.machine = Machine(plan, self, birth=birth, key=key, now=self.started_at)
        self.outbox = Outbox(self.name, bus, self.reports, self.clock)
        self.starter_orders = StarterOrders(self)
        self.slot_orders = SlotOrders(self, self.starter_orders)
        self.transition_log = TransitionLog(context.home.log / "transitions.jsonl", config)
        path = context.home.run / "node-audit.jsonl"
        self.audit = AuditSender(self._tell_decisions, role=context.role, now=self.started_at, path=path)
        self.configuration = ""
        self._background = Background(_log)
        self.spawn = self._background.spawn
        self.fetching = Fetching(self.machine, config, context.home.execute, self.clock, self.spawn, self.fetched)
        self.ads = SlotPublisher(self.machine, self.name, self.outbox.to_pool, self.clock)
        self.queue_requests = QueueRequests(self)
        self.slave_tasks = SlaveTasks(self)
        self.sessions = Sessions(context.home.run / "sessions")
        self.shells = Shells(self, context.home.run / "shells")
        self._has_cell_root = False
        self.door = TaskDoor(self)
        self.lanes = Lanes(bus, NodeAnswers(self).on_ask)
        self._poll_now = asyncio.Event()
        self._poll_is_far = False
        #: When polls began, on the event loop's clock.
        self._polls_since = 0.0
        self._stopping = False
        self._empty = asyncio.Event()
        self.fork_server: ForkServer | None = None
        self.file_workers = FileWorkers()
        #: For each directory with scratch directories.
        self.sandboxes = {each: Sandboxes(each) for each in self.scratch.current}
        self.backfill = self._backfill_client(config)
        directories = dict.fromkeys((*self.scratch.current, context.home.execute, context.home.jobs))
        self.impediments = Impediments(directories, partial(context.home.note_problem, context.role))
        self.cron = CronPrograms(self._cron_around(), self._cron_plan(config))
        self.load_sensors = LoadSensors(
            self.context.home.execute,
            self._cron_around().fork_server,
            self.spawn,
            user=lambda: self.config.get("STARTD_LOAD_SENSOR_USER", subsys="STARTD") or "",
            admit=self.context.home.let_others_to,
            changed=lambda: self._cron_changed(True),
        )
        #: Programs have asked that their output be published at once.
        self._tell_cron = False

    def _backfill_client(self, config: Config) -> BackfillClient:
        around = ClientAround(
            home=self.context.home,
            file_workers=self.file_workers,
            spawn=self.spawn,
            slot_ad=self._ad_of_backfill,
            tell=lambda runs: self.carry_out(self.machine.host.backfill(runs, self.clock.now())),
        )
        return BackfillClient(around, config)

    def _cron_around(self) -> CronAround:
        def fork_server() -> ForkServer:
            assert self.fork_server is not None
            return self.fork_server

        return CronAround(
            clock=self.clock,
            execute=self.context.home.execute,
            directory=self.context.home.log,
            fork_server=fork_server,
            spawn=self.spawn,
            ad=lambda: self.machine.ad(self.machine.slots[0], self.clock.now()) if self.machine.slots else ClassAd(),
            changed=self._cron_changed,
            log=_log,
        )

    def _cron_plan(self, config: Config) -> CronPlan:
        try:
            return cron_plan(config, STARTD_CRON)
        except ConfigError as error:
            raise ConfigurationRefused(str(error)) from None

    def _cron_changed(self, at_once: bool) -> None:
        """Note output of programs: policies see it at once, the pool with a slot's next ad."""
        self._tell_cron = self._tell_cron or at_once
        self._poll_now.set()

    def _ad_of_backfill(self) -> ClassAd | None:
        slot = next((each for each in self.machine.slots if each.state.state is State.BACKFILL), None)
        return None if slot is None else self.machine.ad(slot, self.clock.now())

    def execute_directories(self, config: Config) -> Mapping[int, Path]:
        """Slot, 0 for the machine, to the directory in which its scratch directories are made."""
        try:
            return directories_of(config)
        except ConfigError as error:
            raise ConfigurationRefused(str(error)) from None

    def _sensors(self, config: Config) -> Sensors:
        try:
            first, *more = self.scratch.configured
            return Sensors.configured(config, first, tuple(more))
        except ConfigError as error:
            raise ConfigurationRefused(str(error)) from None

    def plan_with(self, present: PresentLayout, config: Config | None = None) -> NodePlan:
        """The plan of a machine that already has slots. Raises ConfigurationRefused."""
        return self._plan(config or self.config, self.machine.plan, present)

    def _plan(self, config: Config, earlier: NodePlan | None = None, present: PresentLayout | None = None) -> NodePlan:
        try:
            identity = host_identity(
                config,
                machine=self.name,
                address=self._address("startd"),
                started_at=self.started_at,
                platform=self.platform(config),
            )
            plan = make_plan(
                config,
                self.sensors.host(self._inventories.read(config)),
                identity,
                zone_offset_s=self.clock.zone_offset_s() if self._zone_offset_s is None else self._zone_offset_s,
                as_root=can_switch_user(),
                earlier=earlier,
                present=present,
            )
            if isinstance(plan, LayoutRefused):
                raise ConfigurationRefused(str(plan))
            check_unit_environment(plan.slots.resources.names, config)
        except ConfigError as error:
            raise ConfigurationRefused(str(error)) from None
        for line in plan.warnings:
            _log.warning("%s", line)
        return plan

    def platform(self, config: Config) -> dict[str, Any]:
        """The attributes of slot ads that describe the system."""
        return {**system_platform(config), **container_abilities(config), **docker_abilities(config)}

    # -- life ----------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start: the fork server, runs that an earlier daemon left, the bus, sensors."""
        try:
            self.fork_server = await self.start_fork_server()
        except ForkServerFailed as error:
            raise ConfigurationRefused(str(error)) from None
        self.fetching.fork_server = self.backfill.fork_server = self.fork_server
        await self._limit_memory()
        self._check_isolation()
        self.audit.load()
        self._note_configuration(None)
        self.sessions.load()
        await self.shells.load()
        await take_over(self, self.reports.load())
        self.sessions.taken_over()
        await self.shells.taken_over()
        self._note_unreadable()
        await self.slave_tasks.resume()
        self.cron.begin()
        await self.impediments.begin()
        await self.bus.listen(f"{self.subjects.prefix}.all.*", self._on_central)
        await self.bus.listen(self.subjects.node(self.name, "*"), self.queue_requests.on_message)
        await self.bus.listen(self.subjects.matched(self.name, "*"), self.queue_requests.on_match)
        await self.bus.listen(self.subjects.tasks(self.name, "*"), self.slave_tasks.on_message)
        await self.bus.listen(self.subjects.ask_node(self.name, "*"), self.lanes.take)
        await self.door.begin()
        self.bus.on_reconnect = self.ads.all_anew
        for name, work in (
            ("polling", self._polls()),
            ("sending messages", self.outbox.send_all()),
            ("repeating reports", self.outbox.repeat(self.machine)),
            ("renewing leases", self.outbox.ask_for_life(self.machine)),
            ("the daemon's own ad", self._tell_master()),
            ("tidying", self._tidy()),
            ("watching sessions", self.sessions.watch()),
            ("publishing slots", self.ads.refresh()),
            ("recording transitions", self.transition_log.keep()),
            ("sending decisions", self.audit.send_all()),
        ):
            must_go_on(self.spawn(work, name))

    async def start_fork_server(self) -> ForkServer:
        """Start the fork server, from which jobs are started. Raises ForkServerFailed."""
        base = self.config.get("BASE_CGROUP", subsys="STARTER") or ""
        return await ForkServer.start(self.context.home.run / "nursery", base=base)

    def need_cell_root(self) -> None:
        """Install Grid Engine's commands where programs of a cell's jobs look for them."""
        if self._has_cell_root:
            return
        self._has_cell_root = True
        try:
            write_root(self.context.home)
            if can_switch_user():
                let_users_to(self.context.home)
        except OSError as problem:
            _log.warning(
                "jobs will find no commands in SGE_ROOT: cannot write %s: %s", problem.filename, problem.strerror
            )

    async def _limit_memory(self) -> None:
        """Limit the memory of jobs if CGROUP_MEMORY_LIMIT_POLICY asks for it, or log why that is not possible."""
        text = ""
        if self.fork_server is not None and limits_memory(self.config):
            text = await self.fork_server.limit_memory()
        if text:
            text = f"the memory of jobs is not limited, though CGROUP_MEMORY_LIMIT_POLICY asks for it: {text}"
            _log.warning("%s", text)
        self.context.home.note_shortcoming(self.context.role, text, "memory")

    def _check_isolation(self) -> None:
        """Say why jobs are not isolated, where the configuration asks for it and they are not."""
        text = isolation_problem(self.config)
        if text:
            _log.warning("%s", text)
        self.context.home.note_shortcoming(self.context.role, text, "isolation")

    async def reconfigure(self, config: Config) -> list[str]:
        """Use another policy from the next poll on, and another layout as slots become free; return what is
        waited for.
        """
        plan, programs = self.plan_with(self.machine.present, config), self._cron_plan(config)
        self._note_configuration(config)
        self.config = config
        await self._limit_memory()
        self._check_isolation()
        self.carry_out(self.machine.reconfigure(plan, self.clock.now()))
        self.fetching.reconfigure(config)
        self.backfill.reconfigure(config)
        self.transition_log.reconfigure(config)
        await self.cron.reconfigure(programs)
        self.ads.all_anew()
        self._poll_now.set()
        waiting = self.machine.awaited_layout()
        for line in waiting:
            _log.info("%s", line)
        return waiting

    async def stop(self, ending: DaemonEnding) -> None:
        """Let the jobs end, quickly or with the time they are entitled to; or leave them running."""
        if ending is not DaemonEnding.LEAVE:
            self._stopping = True
            kind = ShutdownKind.FAST if ending is DaemonEnding.FAST else ShutdownKind.GRACEFUL
            self.carry_out(self.machine.to_all(ev.ShutdownRequested(kind=kind), self.clock.now()))
            self._look_empty()
            await self._empty.wait()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(3):
                    await self.reports.all_taken()
            self.ads.withdraw()
        elif self.fork_server is not None:
            self.fork_server.leave()
        self.lanes.close()
        self.door.close()
        await self.backfill.stop()
        await self.outbox.sent()
        for runner in self.starter_orders.runners.values():
            runner.forget()
        self.slave_tasks.close()
        self.shells.close()
        # Hooks that still run are killed, and their input and output is removed; the end of one may start another.
        for _ in range(_ROUNDS):
            await self._background.end(HOOKS_END_S)
        if self.fork_server is not None:
            await self.fork_server.close()
        self.file_workers.close()
        for sandboxes in self.sandboxes.values():
            sandboxes.close()
        self.transition_log.write(explained=True)
        self.state.close()
        self.state.write(self.machine, unripe=True)

    def _look_empty(self) -> None:
        if self._stopping and all(slot.starter is None for slot in self.machine.slots):
            self._empty.set()

    # -- sensors -------------------------------------------------------------------------------------

    async def _polls(self) -> None:
        self._polls_since = asyncio.get_running_loop().time()
        problem = trouble = ""
        while True:
            percents = {
                slot.plan.id: self.starter_orders.runners[slot.starter].cpu_percent()
                for slot in self.machine.slots
                if slot.starter is not None and slot.starter in self.starter_orders.runners
            }
            percents |= await self._backfill_percents()
            for slot_id, percent in (await self.slave_tasks.percents()).items():
                percents[slot_id] = percents.get(slot_id, 0.0) + percent
            self.state.restore(self.machine)
            await self.impediments.look()
            reading = self.sensors.read(percents, now=self.clock.now())
            if self.impediments.text:
                reading = replace(reading, attributes={**reading.attributes, "MachineProblem": self.impediments.text})
            if self.sensors.problem != problem:
                problem = self.sensors.problem
                _log.warning("sensors: %s", problem or "the sensors file can be read again")
            self._in_zone(reading.zone_offset_s)
            tell, self._tell_cron = self._tell_cron, False
            reading = replace(reading, cron=(*self.cron.ads, *self.load_sensors.ads))
            self.carry_out(self.machine.poll(reading, self.clock.now()))
            log_loads(self.machine, reading, self.clock.now())
            if self.impediments.text != trouble or tell:
                trouble = self.impediments.text
                self.ads.all_anew()
            await self._until_next_poll()

    def _in_zone(self, offset_s: int) -> None:
        """Note a change of the UTC offset: hours in policies are those of the current local time."""
        before, self._zone_offset_s = self._zone_offset_s, offset_s
        if before not in (None, offset_s):
            _log.info("local time is %+d s from UTC now; it was %+d s", offset_s, before)
            self.carry_out(self.machine.reconfigure(self.plan_with(self.machine.present), self.clock.now()))

    def job_failed(self, text: str) -> None:
        """Note that a job could not be run here: the pool must learn of it before another job arrives."""
        self.impediments.found(text)
        self._poll_now.set()

    async def _backfill_percents(self) -> dict[SlotId, float]:
        """The backfill client's load is not the owner's: it is divided among the slots that do backfill."""
        slots = [slot.plan.id for slot in self.machine.slots if slot.state.pair == BACKFILL_BUSY]
        return dict.fromkeys(slots, await self.backfill.cpu_percent() / len(slots)) if slots else {}

    async def _until_next_poll(self) -> None:
        """Wait until the next poll is due, or until one is requested."""
        self._poll_now.clear()
        self._poll_is_far = self.machine.interval_s > self.machine.plan.polling_s
        wait_s = min(self.machine.interval_s, AGAIN_S) if self.impediments.text else self.machine.interval_s
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._to_grid_s(wait_s)):
                await self._poll_now.wait()

    def _to_grid_s(self, interval_s: float) -> float:
        """Time to the next instant of the grid that began with the first poll, s."""
        return interval_s - (asyncio.get_running_loop().time() - self._polls_since) % interval_s

    def _poll_as_if_claimed(self) -> None:
        """Poll at the normal rate again: a machine that was polled rarely has got a claim, so its policy matters from
        now on.
        """
        if self._poll_is_far:
            self._poll_is_far = False
            asyncio.get_running_loop().call_later(self._to_grid_s(self.machine.plan.polling_s), self._poll_now.set)

    # -- steps of the core -------------------------------------------------------------------------

    def stepped(self, slot: NodeSlot, before: SlotState, taken: SlotStep, now: float) -> None:
        """Handle a step of a slot."""
        if before is not taken.state:
            self.state.touch(slot, self.machine)
            self._lease_began(before, taken.state)
            if before.claim.id is not taken.state.claim.id:
                self.slave_tasks.claim_over(before.claim.id.text)
        if taken.state.broken is not None and taken.state.broken != before.broken:
            _log.warning(
                "%s accepts no jobs until you run `roost reopen %s`: %s", slot.name, slot.name, taken.state.broken
            )
        if taken.transitions and self._poll_is_far:
            self._poll_as_if_claimed()
        job = taken.state.claim.job_ad
        submission = submission_of(before.claim.job_ad if job is None else job) if taken.transitions else ""
        for each in taken.transitions:
            ids = self.transition_log.note(slot.plan.id.number, before, taken.state, each, submission)
            of = ids.bracketed()
            _log.info("%s: %s -> %s (%s: %s)%s", slot.name, each.source, each.target, each.number, each.reason, of)
            if is_eviction(each):
                about = of_slot(
                    before,
                    taken.state,
                    each,
                    Recorder(self.name, self.configuration),
                    place=self._place_of(each.decision, slot),
                    rank=self.transition_log.expression("RANK", slot.plan.id.number),
                )
                self.record(about, ids)

    def _place_of(self, decision: Decision | None, slot: NodeSlot) -> str:
        """Where the expression of a decision was set; "" if nowhere."""
        return "" if decision is None else self.transition_log.place(decision.name, slot.plan.id.number)

    def _lease_began(self, before: SlotState, after: SlotState) -> None:
        lease_s = after.claim.lease_s
        if lease_s is not None and lease_s < SHORT_LEASE_S and before.claim is not after.claim:
            self.outbox.leases_changed.set()

    def starter_stepped(self, slot: NodeSlot, starter: Starter, taken: StarterStep, now: float) -> None:
        """Handle a step of a starter."""
        self.state.starter_stepped(slot, self.machine)
        for effect in taken.effects:
            if isinstance(effect, ReportExit):
                self.transition_log.note_exit(slot.name, effect.report)
        for each in taken.transitions:
            ids = self.transition_log.starter_ids(slot.name, starter.state.job_ad)
            of = ids.bracketed()
            _starter_log.debug(
                "%s %s: %s -> %s (%s)%s", slot.name, slot.run_name, each.source, each.target, each.reason, of
            )
            if is_starter_eviction(each):
                self.transition_log.note_starter(slot.plan.id.number, slot.state, starter.state.job_ad, each)
            place = self._place_of(each.decision, slot)
            self.record(
                of_starter(
                    slot.name,
                    starter.state.job_ad,
                    slot.run_name,
                    each,
                    Recorder(self.name, self.configuration),
                    kind=slot.state.claim.kind,
                    place=place,
                )
            )

    # -- orders of the core --------------------------------------------------------------------------

    def carry_out(self, outs: Outs | None) -> None:
        """Carry out the effects of the core."""
        if outs is None:
            return
        for out in outs:
            if out.starter is not None:
                self.starter_orders.perform(out)
            else:
                self.slot_orders.perform(out.slot, out.effect)
        self.slot_orders.after_drain()
        self._look_empty()

    def fetched(self, slot: NodeSlot, event: ev.FetchedWorkOffered) -> None:
        """Note a hook's answer whether there is work for a slot."""
        self.carry_out(self.machine.host.receive(slot, event, self.clock.now()))

    async def benchmark(self) -> tuple[int | None, int | None]:
        """The speed of the machine: Mips and KFlops."""
        return await run_benchmarks()

    def surroundings(self, slot: NodeSlot, starter: Starter, calls: RunCalls) -> Surroundings:
        """The surroundings of a starter's runner."""
        assert self.fork_server is not None
        execute = self.scratch.of(slot.plan.id.number)
        if starter.state.launch.context is not None:
            self.need_cell_root()
        return Surroundings(
            home=self.context.home,
            fork_server=self.fork_server,
            sandboxes=self.sandboxes[execute],
            execute=execute,
            scratch=self.scratch,
            file_workers=self.file_workers,
            bus=self.bus,
            name=self.name,
            config=self.config,
            clock=self.clock,
            context=starter.state.launch.context,
            sessions=self.sessions,
            shells=self.shells,
            record=self.reports.record(slot.run_name),
            problem=partial(self.reports.problem, slot.run_name),
            done=partial(self.reports.done, slot.run_name),
            tell=calls.tell,
            failed=self.job_failed,
            began=calls.began,
            stopped=calls.stopped,
            moved=calls.moved,
            lost=calls.lost,
        )

    # -- records -------------------------------------------------------------------------------------

    async def _tell_master(self) -> None:
        """Publish the master's ad: the master has no connection of its own, and runs as long as this machine does."""
        while True:
            self.outbox.to_pool(m.DaemonAds(ads=[self._master_ad()]))
            await asyncio.sleep(REFRESH_S)

    def _master_ad(self) -> dict[str, Any]:
        return {
            **master_ad(self.name, address=self._address("master"), started_at=self.started_at),
            **self._duty.read(),
        }

    def _address(self, daemon: str) -> str:
        return daemon_address(place_of(self.context.bus.urls), self.name, daemon)

    async def _tidy(self) -> None:
        while True:
            await asyncio.sleep(TIDY_S)
            self.file_workers.tidy()
            self._note_unreadable()

    def _note_unreadable(self) -> None:
        """Report records that cannot be read, until they are gone."""
        text = self.reports.unreadable()
        if text != self._unreadable:
            self._unreadable = text
            self.context.home.note_shortcoming(self.context.role, text, "records")

    async def _tell_decisions(self, message: m.Audit) -> None:
        self.outbox.to_pool(message)

    def record(self, decision: AuditRecord | None, ids: CauseIds | None = None) -> None:
        """Record a decision; `ids` are the requests that led to it, by default the one being carried out."""
        if decision is not None:
            ids = ids or CauseIds(request=present_request())
            self.audit.add([audit_data(replaced(decision, **ids._asdict()))])

    def _note_configuration(self, config: Config | None) -> None:
        after = self.config if config is None else config
        found = configuration_record(
            None if config is None else self.config, after, self.clock.now(), role=self.context.role
        )
        self.configuration = found.configuration
        self.record(found)

    # -- words of others -----------------------------------------------------------------------------

    def poll_now(self) -> None:
        """Evaluate the policy of all slots without delay."""
        self._poll_now.set()

    def _on_central(self, message: Message, sender: str, reply: str) -> None:
        match message:
            case m.Hello():
                self.outbox.to_pool(m.DaemonAds(ads=[self._master_ad()]))
                self.ads.all_anew()
            case m.AuditKept(kept=kept):
                self.audit.kept(kept.get(f"{self.context.role} {self.name}", 0))


def make(context: RoleContext, config: Config, bus: Carrier) -> NodeDaemon:
    """The daemon of an execute machine."""
    return NodeDaemon(context, config, bus)
